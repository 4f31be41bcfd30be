/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is under a path: the mount, its kind, and the disks below it. Nothing that could block or
 * act is opened: a FIFO, a terminal or a tape is refused from its inode alone.
 * Source: statx(2), statvfs(3), linux/magic.h, the kernel's
 * Documentation/filesystems/overlayfs.rst.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "probe/mountinfo.h"
#include "probe/probe_stack.h"

enum { N_LAYERS_MAX = 8 }; /* overlayfs itself allows 2 */

struct fs_kind {
	const char *type;
	enum fs_class fs_class;
	uint32_t magic; /* statfs f_type, for a system without /proc; 0: not needed */
};

/* Everything that is not here is local. */
/* clang-format off */
static const struct fs_kind fs_kinds[] = {
	{ "tmpfs",      FS_MEMORY,  0x01021994 },
	{ "ramfs",      FS_MEMORY,  0x858458f6 },
	{ "devtmpfs",   FS_MEMORY,  0 },
	{ "rootfs",     FS_MEMORY,  0 },
	{ "hugetlbfs",  FS_MEMORY,  0x958458f6 },
	/* Views of the kernel, no storage either. */
	{ "proc",       FS_MEMORY,  0x00009fa0 },
	{ "sysfs",      FS_MEMORY,  0x62656572 },
	{ "cgroup",     FS_MEMORY,  0x0027e0eb },
	{ "cgroup2",    FS_MEMORY,  0x63677270 },
	{ "devpts",     FS_MEMORY,  0x00001cd1 },
	{ "debugfs",    FS_MEMORY,  0x64626720 },
	{ "tracefs",    FS_MEMORY,  0x74726163 },
	{ "securityfs", FS_MEMORY,  0x73636673 },
	{ "configfs",   FS_MEMORY,  0x62656570 },
	{ "pstore",     FS_MEMORY,  0x6165676c },
	{ "bpf",        FS_MEMORY,  0xcafe4a11 },
	{ "mqueue",     FS_MEMORY,  0 },
	{ "efivarfs",   FS_MEMORY,  0xde5e81e4 },
	{ "autofs",     FS_MEMORY,  0x00000187 },
	{ "nfs",        FS_NETWORK, 0x00006969 },
	{ "nfs4",       FS_NETWORK, 0 },
	{ "cifs",       FS_NETWORK, 0xff534d42 },
	{ "smb3",       FS_NETWORK, 0xfe534d42 },
	{ "smbfs",      FS_NETWORK, 0x0000517b },
	{ "ncpfs",      FS_NETWORK, 0x0000564c },
	{ "afs",        FS_NETWORK, 0x5346414f },
	{ "coda",       FS_NETWORK, 0x73757245 },
	{ "ceph",       FS_NETWORK, 0x00c36400 },
	{ "9p",         FS_NETWORK, 0x01021997 },
	{ "virtiofs",   FS_NETWORK, 0 },
	{ "glusterfs",  FS_NETWORK, 0 },
	{ "lustre",     FS_NETWORK, 0x0bd00bd0 },
	{ "beegfs",     FS_NETWORK, 0x19830326 },
	{ "gpfs",       FS_NETWORK, 0x47504653 },
	{ "orangefs",   FS_NETWORK, 0x20030528 },
	{ "pvfs2",      FS_NETWORK, 0 },
	{ "wekafs",     FS_NETWORK, 0 },
	{ "panfs",      FS_NETWORK, 0xaad7aaea },
	{ "vboxsf",     FS_NETWORK, 0x786f4256 },
	{ "vmhgfs",     FS_NETWORK, 0xbacbacbc },
	{ "prl_fs",     FS_NETWORK, 0x7c7c6673 },
	{ "fuse",       FS_NETWORK, 0x65735546 },
};
/* clang-format on */

enum { N_FS_KINDS = sizeof(fs_kinds) / sizeof(fs_kinds[0]) };

/* "fuse.sshfs" is fuse; "fuseblk" (ntfs-3g) has a block device of ours and is local. */
static enum fs_class class_of(const char *type)
{
	if (strncmp(type, "fuse.", strlen("fuse.")) == 0)
		return FS_NETWORK;
	for (size_t i = 0; i < N_FS_KINDS; i++) {
		if (strcmp(fs_kinds[i].type, type) == 0)
			return fs_kinds[i].fs_class;
	}
	return FS_LOCAL;
}

static const struct fs_kind *kind_by_magic(const char *path)
{
	struct statfs sfs;

	if (statfs(path, &sfs) < 0)
		return NULL;
	for (size_t i = 0; i < N_FS_KINDS; i++) {
		if (fs_kinds[i].magic != 0 && fs_kinds[i].magic == (uint32_t)sfs.f_type)
			return &fs_kinds[i];
	}
	return NULL;
}

static const char *mode_text(mode_t mode)
{
	if (S_ISCHR(mode))
		return "a character device";
	if (S_ISFIFO(mode))
		return "a FIFO";
	if (S_ISSOCK(mode))
		return "a socket";
	return "of an unknown type";
}

/* Whether a failure to reach a path is about what was asked, not about a disk. */
static enum err_kind reach_kind(int sys)
{
	switch (sys) {
	case ENOENT:
	case ENOTDIR:
	case EACCES:
	case EPERM:
	case ELOOP:
	case ENAMETOOLONG:
		return ERR_USAGE;
	default:
		return ERR_IO;
	}
}

static int resolve_path(const char *path, struct target_facts *t, struct stat *st, struct err *e)
{
	char *real cleanup(free_p) = NULL;

	if (stat(path, st) < 0)
		return err_set(
			e, reach_kind(errno), errno, "cannot find the target '%.200s'", path);
	if (S_ISDIR(st->st_mode))
		t->kind = TARGET_DIRECTORY;
	else if (S_ISREG(st->st_mode))
		t->kind = TARGET_FILE;
	else if (S_ISBLK(st->st_mode))
		t->kind = TARGET_BLOCK_DEVICE;
	else
		return err_set(e, ERR_USAGE, 0,
			"'%.200s' is %s; name a directory, a file or a block device", path,
			mode_text(st->st_mode));
	real = realpath(path, NULL);
	if (!real)
		return err_set(
			e, reach_kind(errno), errno, "cannot resolve the target '%.200s'", path);
	if (strlen(real) >= sizeof(t->real_path) || strlen(path) >= sizeof(t->path))
		return err_set(e, ERR_USAGE, ENAMETOOLONG,
			"cannot use the target '%.100s'; change into its directory", path);
	sysfile_copy(t->path, sizeof(t->path), path);
	sysfile_copy(t->real_path, sizeof(t->real_path), real);
	return 0;
}

/* What a layer stands on: another directory of this machine. Return: 0; -1 it is the last */
static int lower_path(struct libmnt_fs *fs, char *path, size_t room_bytes)
{
	const char *type = mnt_fs_get_fstype(fs);
	const char *source = mnt_fs_get_source(fs);

	if (!type)
		return -1;
	if (strcmp(type, "overlay") == 0)
		return mountinfo_option(fs, "upperdir", path, room_bytes);
	if (strcmp(type, "ecryptfs") == 0 && source && source[0] == '/') {
		sysfile_copy(path, room_bytes, source);
		return 0;
	}
	return -1;
}

/*
 * From the mount of the target down through stacked file systems. The class is that of the lowest
 * one: an overlay of tmpfs is memory. A layer that cannot be seen from here (a container's upper
 * directory is a path of the host) ends the walk without a disk.
 */
static void walk_layers(const struct probe_root *root, struct libmnt_table *table,
	struct libmnt_fs *fs, struct target_facts *t, struct probe_stack *stack)
{
	char path[PATH_MAX];

	sysfile_copy(path, sizeof(path), t->real_path);
	for (int depth = 0; fs && depth < N_LAYERS_MAX; depth++) {
		const char *type = mnt_fs_get_fstype(fs);
		char *real cleanup(free_p) = NULL;

		t->fs_class = class_of(type ? type : "");
		if (lower_path(fs, path, sizeof(path)) < 0) {
			if (t->fs_class == FS_LOCAL && (!type || strcmp(type, "overlay") != 0))
				probe_stack_add_mount(probe_root_sys(root), fs, path, stack);
			return;
		}
		real = probe_sys_is_real(probe_root_sys(root)) ? realpath(path, NULL)
							       : strdup(path);
		if (!real)
			return;
		sysfile_copy(path, sizeof(path), real);
		fs = mountinfo_find(root, table, path);
	}
}

static void describe_mount(struct libmnt_fs *fs, struct target_facts *t)
{
	const char *type = mnt_fs_get_fstype(fs);
	const char *options = mnt_fs_get_options(fs);

	sysfile_clean(t->fs_type, sizeof(t->fs_type), type ? type : "");
	sysfile_copy(t->fs_source, sizeof(t->fs_source), mnt_fs_get_source(fs));
	sysfile_copy(t->fs_options, sizeof(t->fs_options), options);
	sysfile_copy(t->mount_point, sizeof(t->mount_point), mnt_fs_get_target(fs));
}

/* Without /proc: the type by its magic number, the disk by the file's device number. */
static void describe_unlisted(const struct probe_root *root, const struct stat *st,
	struct target_facts *t, struct probe_stack *stack)
{
	const struct fs_kind *kind = kind_by_magic(t->real_path);
	struct probe_dev dev = { major(st->st_dev), minor(st->st_dev) };

	if (kind) {
		sysfile_copy(t->fs_type, sizeof(t->fs_type), kind->type);
		t->fs_class = kind->fs_class;
	}
	if (dev.major != 0)
		probe_stack_add(probe_root_sys(root), dev, stack);
}

static uint64_t blocks_to_bytes(uint64_t n_blocks, uint64_t block_bytes)
{
	uint64_t n_bytes;

	return __builtin_mul_overflow(n_blocks, block_bytes, &n_bytes) ? 0 : n_bytes;
}

static int fill_file_system(const struct probe_root *root, const struct stat *st,
	struct target_facts *t, struct probe_stack *stack, struct err *e)
{
	struct libmnt_table *table cleanup(mnt_unref_table_p) = mountinfo_load(root);
	struct libmnt_fs *fs = table ? mountinfo_find(root, table, t->real_path) : NULL;
	struct statvfs vfs;

	if (statvfs(t->real_path, &vfs) < 0)
		return err_set(e, ERR_IO, errno, "cannot ask the file system of '%.200s'", t->path);
	t->fs_size_bytes = blocks_to_bytes(vfs.f_blocks, vfs.f_frsize);
	t->fs_free_bytes = blocks_to_bytes(vfs.f_bavail, vfs.f_frsize);
	t->read_only = (vfs.f_flag & ST_RDONLY) != 0;
	if (t->kind == TARGET_FILE)
		t->size_bytes = (uint64_t)st->st_size;
	if (!fs) {
		describe_unlisted(root, st, t, stack);
		return 0;
	}
	describe_mount(fs, t);
	walk_layers(root, table, fs, t, stack);
	return 0;
}

static void fill_device(const struct probe_root *root, const struct stat *st,
	struct target_facts *t, struct probe_stack *stack)
{
	const char *sys = probe_root_sys(root);
	struct probe_dev dev = { major(st->st_rdev), minor(st->st_rdev) };
	uint64_t n_sectors;
	uint64_t is_read_only;

	if (sysfile_u64(&n_sectors, "%s/dev/block/%u:%u/size", sys, dev.major, dev.minor) == 0)
		t->size_bytes = blocks_to_bytes(n_sectors, 512);
	if (sysfile_u64(&is_read_only, "%s/dev/block/%u:%u/ro", sys, dev.major, dev.minor) == 0)
		t->read_only = is_read_only != 0;
	probe_stack_add(sys, dev, stack);
}

int probe_target(
	const struct probe_root *root, const char *path, struct target_facts *ret, struct err *e)
{
	struct target_facts *t cleanup(free_p) = calloc(1, sizeof(*t));
	struct probe_stack stack = { 0 };
	struct stat st;

	if (!t)
		return err_set(e, ERR_NOMEM, 0, "out of memory");
	if (resolve_path(path, t, &st, e) < 0)
		return -1;
	if (t->kind == TARGET_BLOCK_DEVICE)
		fill_device(root, &st, t, &stack);
	else if (fill_file_system(root, &st, t, &stack, e) < 0)
		return -1;
	t->n_disks = stack.n_leaves;
	t->disks_incomplete = stack.incomplete;
	for (unsigned i = 0; i < stack.n_leaves; i++)
		probe_disk_facts(probe_root_sys(root), stack.leaves[i], &t->disks[i]);
	*ret = *t;
	return 0;
}

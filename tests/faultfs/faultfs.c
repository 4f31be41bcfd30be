/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A file system for tests: everything passes through to another directory, except what a rule
 * (rules.h) makes fail, lie or wait.
 *
 *   faultfs MOUNTPOINT -o root=DIR [-o rule=RULE]... [-o direct=refuse] [-o direct_io]
 *           [-o keep_cache] [-o writeback] [-o hard_remove]
 *
 * direct=refuse: open with O_DIRECT is EINVAL, as on overlay file systems of old; else the kernel
 * bypasses its cache and this program uses the cache below, so direct I/O is accepted and what
 * comes back need not be from a device. direct_io: no file goes through the kernel's cache.
 * keep_cache: the cache survives an open. writeback: the kernel gathers writes. Without
 * hard_remove a file removed while open is renamed to .fuse_hidden..., as NFS does.
 *
 * It serves one request at a time, so that the n-th is the n-th. umount ends it.
 */
#define FUSE_USE_VERSION 31
#include <fuse.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "rules.h"

struct faultfs {
	struct rules *rules;
	char *root;
	int root_fd;
	int refuses_direct, direct_io, keep_cache, writeback, hard_remove;
};

static struct faultfs *self(void)
{
	return fuse_get_context()->private_data;
}

/* "/a/b" as openat() wants it; the root itself is ".". */
static const char *below(const char *path)
{
	return path[1] ? path + 1 : ".";
}

static int result(int rc)
{
	return rc < 0 ? -errno : 0;
}

static struct fault ask(enum fault_op op, const char *path, off_t offset_bytes, size_t n_bytes)
{
	struct fault f = rules_apply(self()->rules, op, path, offset_bytes, n_bytes);
	struct timespec wait = {
		.tv_sec = (time_t)(f.delay_ms / 1000),
		.tv_nsec = (long)(f.delay_ms % 1000) * 1000000,
	};

	if (f.delay_ms)
		nanosleep(&wait, NULL);
	return f;
}

static int fails(enum fault_op op, const char *path)
{
	return -ask(op, path, 0, 0).sys;
}

/* ---- names ---- */

static void *fs_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
	struct faultfs *fs = self();

	config->use_ino = 1;
	config->nullpath_ok = 0; /* rules ask for names of open files */
	config->hard_remove = fs->hard_remove;
	config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
	if (fs->writeback)
		conn->want |= conn->capable & FUSE_CAP_WRITEBACK_CACHE;
	return fs;
}

static int fs_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	if (fi)
		return result(fstat((int)fi->fh, st));
	return result(fstatat(self()->root_fd, below(path), st, AT_SYMLINK_NOFOLLOW));
}

static int fs_mkdir(const char *path, mode_t mode)
{
	int failed = fails(FAULT_MKDIR, path);

	return failed ? failed : result(mkdirat(self()->root_fd, below(path), mode));
}

static int fs_unlink(const char *path)
{
	int failed = fails(FAULT_UNLINK, path);

	return failed ? failed : result(unlinkat(self()->root_fd, below(path), 0));
}

static int fs_rmdir(const char *path)
{
	int failed = fails(FAULT_RMDIR, path);

	return failed ? failed : result(unlinkat(self()->root_fd, below(path), AT_REMOVEDIR));
}

static int fs_rename(const char *from, const char *to, unsigned flags)
{
	int failed = fails(FAULT_RENAME, from);
	int fd = self()->root_fd;

	return failed ? failed : result(renameat2(fd, below(from), fd, below(to), flags));
}

static int fs_link(const char *from, const char *to)
{
	int fd = self()->root_fd;

	return result(linkat(fd, below(from), fd, below(to), 0));
}

static int fs_chmod(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	if (fi)
		return result(fchmod((int)fi->fh, mode));
	return result(fchmodat(self()->root_fd, below(path), mode, 0));
}

static int fs_chown(const char *path, uid_t uid, gid_t gid, struct fuse_file_info *fi)
{
	if (fi)
		return result(fchown((int)fi->fh, uid, gid));
	return result(fchownat(self()->root_fd, below(path), uid, gid, AT_SYMLINK_NOFOLLOW));
}

static int fs_utimens(const char *path, const struct timespec ts[2], struct fuse_file_info *fi)
{
	if (fi)
		return result(futimens((int)fi->fh, ts));
	return result(utimensat(self()->root_fd, below(path), ts, AT_SYMLINK_NOFOLLOW));
}

static int fs_statfs(const char *path, struct statvfs *st)
{
	(void)path;
	return result(fstatvfs(self()->root_fd, st));
}

static int fs_readdir(const char *path, void *entries, fuse_fill_dir_t fill, off_t offset_bytes,
	struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
	int fd = openat(self()->root_fd, below(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	(void)offset_bytes;
	(void)fi;
	(void)flags;
	if (!dir)
		return -errno;
	for (struct dirent *d = readdir(dir); d; d = readdir(dir)) {
		struct stat st = { .st_ino = d->d_ino, .st_mode = (mode_t)d->d_type << 12 };

		if (fill(entries, d->d_name, &st, 0, (enum fuse_fill_dir_flags)0))
			break;
	}
	closedir(dir);
	return 0;
}

/* ---- files ---- */

static int open_file(enum fault_op op, const char *path, mode_t mode, struct fuse_file_info *fi)
{
	const struct faultfs *fs = self();
	/* Kernel caches need reading where the file is only written; direct I/O ends here. */
	int flags = fi->flags & ~(O_DIRECT | O_APPEND | O_NOFOLLOW);
	int failed = fails(op, path);
	int fd;

	if (failed)
		return failed;
	if (fs->refuses_direct && (fi->flags & O_DIRECT))
		return -EINVAL;
	if ((flags & O_ACCMODE) == O_WRONLY && fs->writeback)
		flags = (flags & ~O_ACCMODE) | O_RDWR;
	fd = openat(fs->root_fd, below(path), flags | O_CLOEXEC, mode);
	if (fd < 0)
		return -errno;
	fi->fh = (uint64_t)fd;
	fi->direct_io = (unsigned)fs->direct_io & 1;
	fi->keep_cache = (unsigned)fs->keep_cache & 1;
	return 0;
}

static int fs_open(const char *path, struct fuse_file_info *fi)
{
	return open_file(FAULT_OPEN, path, 0, fi);
}

static int fs_create(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	fi->flags |= O_CREAT;
	return open_file(FAULT_CREATE, path, mode, fi);
}

static int fs_release(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	close((int)fi->fh);
	return 0;
}

static int fs_truncate(const char *path, off_t size_bytes, struct fuse_file_info *fi)
{
	int fd = fi ? (int)fi->fh
		    : openat(self()->root_fd, below(path), O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	int rc = fd < 0 ? -1 : ftruncate(fd, size_bytes);
	int failed = result(rc);

	if (!fi && fd >= 0)
		close(fd);
	return failed;
}

static int fs_fallocate(
	const char *path, int mode, off_t offset_bytes, off_t n_bytes, struct fuse_file_info *fi)
{
	(void)path;
	return result(fallocate((int)fi->fh, mode, offset_bytes, n_bytes));
}

static size_t at_most(size_t n_bytes, uint64_t most)
{
	return most && most < n_bytes ? (size_t)most : n_bytes;
}

static int fs_read(
	const char *path, char *data, size_t n_bytes, off_t offset_bytes, struct fuse_file_info *fi)
{
	struct fault f = ask(FAULT_READ, path, offset_bytes, n_bytes);
	ssize_t n;

	if (f.sys)
		return -f.sys;
	n = pread((int)fi->fh, data, at_most(n_bytes, f.short_bytes),
		offset_bytes + f.misplace_bytes);
	if (n < 0)
		return -errno;
	if (f.zeros)
		memset(data, 0, (size_t)n);
	if (f.corrupts && n > 0)
		data[n / 2] = (char)~data[n / 2];
	return (int)n;
}

static int fs_write(const char *path, const char *data, size_t n_bytes, off_t offset_bytes,
	struct fuse_file_info *fi)
{
	struct fault f = ask(FAULT_WRITE, path, offset_bytes, n_bytes);
	size_t n_now = at_most(n_bytes, f.short_bytes);
	char *changed = NULL;
	ssize_t n;

	if (f.sys)
		return -f.sys;
	if (f.loses)
		return (int)n_now;
	if (f.corrupts || f.zeros) {
		changed = calloc(1, n_now);
		if (!changed)
			return -ENOMEM;
		if (!f.zeros)
			memcpy(changed, data, n_now);
		if (f.corrupts)
			changed[n_now / 2] = (char)~changed[n_now / 2];
	}
	n = pwrite((int)fi->fh, changed ? changed : data, n_now, offset_bytes + f.misplace_bytes);
	free(changed);
	return n < 0 ? -errno : (int)n;
}

static int fs_fsync(const char *path, int data_only, struct fuse_file_info *fi)
{
	int failed = fails(FAULT_FSYNC, path);

	if (failed)
		return failed;
	return result(data_only ? fdatasync((int)fi->fh) : fsync((int)fi->fh));
}

static const struct fuse_operations operations = {
	.init = fs_init,
	.getattr = fs_getattr,
	.mkdir = fs_mkdir,
	.unlink = fs_unlink,
	.rmdir = fs_rmdir,
	.rename = fs_rename,
	.link = fs_link,
	.chmod = fs_chmod,
	.chown = fs_chown,
	.utimens = fs_utimens,
	.statfs = fs_statfs,
	.readdir = fs_readdir,
	.open = fs_open,
	.create = fs_create,
	.release = fs_release,
	.truncate = fs_truncate,
	.fallocate = fs_fallocate,
	.read = fs_read,
	.write = fs_write,
	.fsync = fs_fsync,
};

/* ---- starting ---- */

enum { KEY_RULE };

static const struct fuse_opt options[] = {
	{ "root=%s", offsetof(struct faultfs, root), 0 },
	{ "direct=refuse", offsetof(struct faultfs, refuses_direct), 1 },
	{ "direct_io", offsetof(struct faultfs, direct_io), 1 },
	{ "keep_cache", offsetof(struct faultfs, keep_cache), 1 },
	{ "writeback", offsetof(struct faultfs, writeback), 1 },
	{ "hard_remove", offsetof(struct faultfs, hard_remove), 1 },
	{ "rule=", UINT_MAX, KEY_RULE }, /* FUSE_OPT_KEY() warns with clang */
	FUSE_OPT_END,
};

static int take_option(void *data, const char *arg, int key, struct fuse_args *rest)
{
	struct faultfs *fs = data;
	const char *why;

	(void)rest;
	if (key != KEY_RULE)
		return 1;
	if (rules_add(fs->rules, arg + strlen("rule="), &why) == 0)
		return 0;
	fprintf(stderr, "faultfs: %s: %s\n", arg, why);
	return -1;
}

int main(int argc, char **argv)
{
	struct fuse_args args = FUSE_ARGS_INIT(argc, argv);
	struct faultfs fs = { .rules = rules_new(), .root_fd = -1 };
	int status = 2;

	umask(0); /* the kernel has applied the caller's */
	if (!fs.rules || fuse_opt_parse(&args, &fs, options, take_option) != 0) {
		fprintf(stderr, "faultfs: a wrong option\n");
	} else if (!fs.root ||
		   (fs.root_fd = open(fs.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
		fprintf(stderr, "faultfs: give the directory below as -o root=DIR\n");
	} else {
		fuse_opt_add_arg(&args, "-s");
		status = fuse_main(args.argc, args.argv, &operations, &fs);
	}
	fuse_opt_free_args(&args);
	rules_free(fs.rules);
	free(fs.root);
	if (fs.root_fd >= 0)
		close(fs.root_fd);
	return status;
}

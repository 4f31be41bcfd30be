/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mounts by libmount. Source: proc_pid_mountinfo(5), statx(2), the kernel's
 * Documentation/filesystems/{xfs,overlayfs}.rst for the options that name devices.
 */
#include "probe/mountinfo.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static int ignore_damaged_line(struct libmnt_table *table, const char *file, int line)
{
	(void)table;
	(void)file;
	(void)line;
	return 1;
}

struct libmnt_table *mountinfo_load(const struct probe_root *root)
{
	char path[SYSFILE_PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/self/mountinfo", probe_root_proc(root));
	struct libmnt_table *table cleanup(mnt_unref_table_p) = mnt_new_table();

	if (n < 0 || (size_t)n >= sizeof(path) || !table)
		return NULL;
	mnt_table_set_parser_errcb(table, ignore_damaged_line);
	if (mnt_table_parse_file(table, path) < 0)
		return NULL;
	return take(table);
}

static struct libmnt_fs *find_by_id(struct libmnt_table *table, uint64_t id)
{
	struct libmnt_iter *iter cleanup(mnt_free_iter_p) = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *fs;

	while (iter && mnt_table_next_fs(table, iter, &fs) == 0) {
		int fs_id = mnt_fs_get_id(fs);

		if (fs_id >= 0 && (uint64_t)fs_id == id)
			return fs;
	}
	return NULL;
}

/* Whether a path is a mount point or below it; returns the length that matched, 0 if not. */
static size_t match_bytes(const char *path, const char *mount_point)
{
	size_t n_bytes = strlen(mount_point);

	if (strcmp(mount_point, "/") == 0)
		return path[0] == '/';
	if (strncmp(path, mount_point, n_bytes) != 0)
		return 0;
	return path[n_bytes] == '/' || path[n_bytes] == '\0' ? n_bytes : 0;
}

/* The longest mount point; of equal ones the last, which lies on top. libmount would stat(2). */
static struct libmnt_fs *find_by_path(struct libmnt_table *table, const char *path)
{
	struct libmnt_iter *iter cleanup(mnt_free_iter_p) = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *found = NULL;
	size_t found_bytes = 1;
	struct libmnt_fs *fs;

	while (iter && mnt_table_next_fs(table, iter, &fs) == 0) {
		const char *mount_point = mnt_fs_get_target(fs);
		size_t n_bytes = mount_point ? match_bytes(path, mount_point) : 0;

		if (n_bytes >= found_bytes) {
			found = fs;
			found_bytes = n_bytes;
		}
	}
	return found;
}

/*
 * In a chroot the mount of "/" may be missing from the list: another mount of the same file
 * system tells the type and the device, while the longest path would name the wrong one.
 */
static struct libmnt_fs *find_by_statx(struct libmnt_table *table, const struct statx *stx)
{
	struct libmnt_fs *fs = find_by_id(table, stx->stx_mnt_id);

	if (fs)
		return fs;
	return mnt_table_find_devno(
		table, makedev(stx->stx_dev_major, stx->stx_dev_minor), MNT_ITER_BACKWARD);
}

struct libmnt_fs *mountinfo_find(
	const struct probe_root *root, struct libmnt_table *table, const char *real_path)
{
	struct statx stx;

	if (strcmp(probe_root_proc(root), "/proc") == 0 &&
		statx(AT_FDCWD, real_path, 0, STATX_MNT_ID, &stx) == 0 &&
		(stx.stx_mask & STATX_MNT_ID) != 0)
		return find_by_statx(table, &stx);
	return find_by_path(table, real_path);
}

int mountinfo_option(struct libmnt_fs *fs, const char *name, char *value, size_t room_bytes)
{
	char *start = NULL;
	size_t n_bytes = 0;

	if (mnt_fs_get_option(fs, name, &start, &n_bytes) != 0 || !start || n_bytes == 0)
		return -1;
	if (n_bytes >= room_bytes)
		return -1;
	memcpy(value, start, n_bytes);
	value[n_bytes] = '\0';
	return 0;
}

struct dm_search {
	const char *sys;
	const char *name;
	struct probe_dev *ret_dev;
	bool found;
};

static bool try_dm(const char *entry, void *ctx)
{
	struct dm_search *search = ctx;
	char name[256];

	if (strncmp(entry, "dm-", 3) != 0)
		return true;
	if (sysfile_read(name, sizeof(name), "%s/class/block/%s/dm/name", search->sys, entry) < 0)
		return true;
	if (strcmp(name, search->name) != 0)
		return true;
	search->found =
		sysfile_dev(search->ret_dev, "%s/class/block/%s/dev", search->sys, entry) == 0;
	return !search->found;
}

/* By name in sysfs, for trees of another machine where device nodes mean nothing. */
static int dev_by_name(const char *sys, const char *path, struct probe_dev *ret_dev)
{
	const char *name = strrchr(path, '/') + 1;
	struct dm_search search = { .sys = sys, .name = name, .ret_dev = ret_dev };
	char dir[SYSFILE_PATH_MAX];

	if (*name == '\0' || *name == '.')
		return -1;
	if (strncmp(path, "/dev/mapper/", strlen("/dev/mapper/")) != 0)
		return sysfile_dev(ret_dev, "%s/class/block/%s/dev", sys, name);
	int n = snprintf(dir, sizeof(dir), "%s/class/block", sys);
	if (n < 0 || (size_t)n >= sizeof(dir))
		return -1;
	sysfile_dir_each(dir, try_dm, &search);
	return search.found ? 0 : -1;
}

int mountinfo_source_dev(const char *sys, const char *path, struct probe_dev *ret_dev)
{
	struct stat st;

	if (path[0] != '/')
		return -1;
	if (!probe_sys_is_real(sys))
		return dev_by_name(sys, path, ret_dev);
	if (stat(path, &st) < 0 || !S_ISBLK(st.st_mode))
		return -1;
	*ret_dev = (struct probe_dev){ major(st.st_rdev), minor(st.st_rdev) };
	return 0;
}

/* Each path of "/dev/sda:/dev/sdb" (bcachefs). Return: false when @fn stopped. */
static bool each_source(
	const char *sys, const char *source, bool (*fn)(struct probe_dev dev, void *ctx), void *ctx)
{
	struct probe_dev dev;

	while (source && *source) {
		char path[SYSFILE_PATH_MAX];
		size_t n_bytes = strcspn(source, ":");

		if (n_bytes < sizeof(path)) {
			memcpy(path, source, n_bytes);
			path[n_bytes] = '\0';
			if (strncmp(path, "/dev/", strlen("/dev/")) == 0 &&
				mountinfo_source_dev(sys, path, &dev) == 0 && !fn(dev, ctx))
				return false;
		}
		source += n_bytes;
		if (*source == ':')
			source++;
	}
	return true;
}

void mountinfo_each_device(const char *sys, struct libmnt_fs *fs,
	bool (*fn)(struct probe_dev dev, void *ctx), void *ctx)
{
	static const char *const option_names[] = { "logdev", "rtdev" };
	dev_t devno = mnt_fs_get_devno(fs);
	char path[SYSFILE_PATH_MAX];
	struct probe_dev dev = { major(devno), minor(devno) };

	if (dev.major != 0) {
		if (!fn(dev, ctx))
			return;
	} else if (!each_source(sys, mnt_fs_get_source(fs), fn, ctx)) {
		return;
	}
	for (size_t i = 0; i < sizeof(option_names) / sizeof(option_names[0]); i++) {
		if (mountinfo_option(fs, option_names[i], path, sizeof(path)) == 0 &&
			mountinfo_source_dev(sys, path, &dev) == 0 && !fn(dev, ctx))
			return;
	}
}

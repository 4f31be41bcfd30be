/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who uses a device. First the set of all devices that share its bytes is collected, then mounts,
 * swap, btrfs members and holders are held against the set.
 * Source: Documentation/ABI/stable/sysfs-block (partition, start, size, holders, loop), proc(5)
 * (swaps), proc_pid_mountinfo(5).
 */
#include "probe/probe_in_use.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "probe/mountinfo.h"
#include "probe/probe_stack.h"

enum { N_RELATED_MAX = 128 };

enum relation {
	RELATION_SELF,
	RELATION_DISK,	    /* the whole disk that a partition lies on */
	RELATION_PARTITION, /* a partition of it, or one that overlaps it */
	RELATION_HOLDER,    /* built on one of the others */
	N_RELATIONS
};

/* Between the name of the one in use and that of the device that was asked about. */
static const char *const relation_texts[N_RELATIONS] = {
	[RELATION_DISK] = "the disk of",
	[RELATION_PARTITION] = "a partition of",
	[RELATION_HOLDER] = "which is built on",
};

struct related {
	struct probe_dev dev;
	enum relation relation;
};

struct related_set {
	const char *sys;
	const char *path;
	unsigned n;
	bool incomplete;
	struct related rows[N_RELATED_MAX];
	struct related row;	    /* the one in hand; a copy, rows grow meanwhile */
	char dir[SYSFILE_PATH_MAX]; /* the directory in hand */
	uint64_t start_sector;	    /* of the partition asked about, and its end */
	uint64_t end_sector;
};

static const struct related *find(const struct related_set *set, struct probe_dev dev)
{
	for (unsigned i = 0; i < set->n; i++) {
		if (probe_dev_equal(set->rows[i].dev, dev))
			return &set->rows[i];
	}
	return NULL;
}

static void add(struct related_set *set, struct probe_dev dev, enum relation relation)
{
	if (find(set, dev))
		return;
	if (set->n == N_RELATED_MAX) {
		set->incomplete = true;
		return;
	}
	set->rows[set->n++] = (struct related){ dev, relation };
}

static bool enter(struct related_set *set, const char *suffix)
{
	int n = snprintf(set->dir, sizeof(set->dir), "%s/dev/block/%u:%u%s", set->sys,
		set->row.dev.major, set->row.dev.minor, suffix);

	return n > 0 && (size_t)n < sizeof(set->dir);
}

static bool add_holder(const char *name, void *ctx)
{
	struct related_set *set = ctx;
	struct probe_dev dev;

	if (sysfile_dev(&dev, "%s/%s/dev", set->dir, name) == 0)
		add(set, dev, RELATION_HOLDER);
	else
		set->incomplete = true;
	return true;
}

/* Below a disk, a directory with a file "partition" is one. A holder's partitions are built on us.
 */
static bool add_partition(const char *name, void *ctx)
{
	struct related_set *set = ctx;
	struct probe_dev dev;

	if (!sysfile_exists("%s/%s/partition", set->dir, name))
		return true;
	if (sysfile_dev(&dev, "%s/%s/dev", set->dir, name) == 0)
		add(set, dev,
			set->row.relation == RELATION_HOLDER ? RELATION_HOLDER
							     : RELATION_PARTITION);
	else
		set->incomplete = true;
	return true;
}

/* Sectors [start, end) of the partition in a directory. Return: 0; -1 not known */
static int read_range(const char *dir, const char *name, uint64_t *start, uint64_t *end)
{
	uint64_t n_sectors;

	if (sysfile_u64(start, "%s/%s/start", dir, name) < 0 ||
		sysfile_u64(&n_sectors, "%s/%s/size", dir, name) < 0)
		return -1;
	return __builtin_add_overflow(*start, n_sectors, end) ? -1 : 0;
}

/* A logical partition lies within the extended one; damaged tables have others that overlap. */
static bool add_overlapping(const char *name, void *ctx)
{
	struct related_set *set = ctx;
	uint64_t start_sector;
	uint64_t end_sector;

	if (!sysfile_exists("%s/%s/partition", set->dir, name))
		return true;
	if (read_range(set->dir, name, &start_sector, &end_sector) == 0 &&
		(start_sector >= set->end_sector || end_sector <= set->start_sector))
		return true;
	return add_partition(name, ctx);
}

/* A loop device takes its backing device without holding it: only its own attribute tells. */
static bool add_loop(const char *name, void *ctx)
{
	struct related_set *set = ctx;
	char backing[SYSFILE_TEXT_MAX + 1];
	struct probe_dev dev;

	if (strncmp(name, "loop", strlen("loop")) != 0)
		return true;
	if (sysfile_read(backing, sizeof(backing), "%s/class/block/%s/loop/backing_file", set->sys,
		    name) < 0 ||
		strncmp(backing, "/dev/", strlen("/dev/")) != 0)
		return true;
	if (mountinfo_source_dev(set->sys, backing, &dev) == 0 &&
		probe_dev_equal(dev, set->row.dev) &&
		sysfile_dev(&dev, "%s/class/block/%s/dev", set->sys, name) == 0)
		add(set, dev, RELATION_HOLDER);
	return true;
}

static void add_disk_of(struct related_set *set)
{
	struct probe_dev disk;

	if (!enter(set, ""))
		return;
	if (!sysfile_exists("%s/partition", set->dir))
		return;
	if (sysfile_dev(&disk, "%s/../dev", set->dir) < 0) {
		set->incomplete = true;
		return;
	}
	add(set, disk, RELATION_DISK);
	if (read_range(set->dir, ".", &set->start_sector, &set->end_sector) == 0 &&
		enter(set, "/.."))
		sysfile_dir_each(set->dir, add_overlapping, set);
}

static void expand(struct related_set *set)
{
	/* The other partitions of its disk do not concern a partition. */
	if (set->row.relation != RELATION_DISK && enter(set, ""))
		sysfile_dir_each(set->dir, add_partition, set);
	if (enter(set, "/holders"))
		sysfile_dir_each(set->dir, add_holder, set);
	int n = snprintf(set->dir, sizeof(set->dir), "%s/class/block", set->sys);
	if (n > 0 && (size_t)n < sizeof(set->dir))
		sysfile_dir_each(set->dir, add_loop, set);
}

static void collect(struct related_set *set, struct probe_dev dev)
{
	add(set, dev, RELATION_SELF);
	set->row = set->rows[0];
	add_disk_of(set);
	for (unsigned i = 0; i < set->n; i++) {
		set->row = set->rows[i];
		expand(set);
	}
}

/* "'/dev/sda'", or "'sda1', a partition of '/dev/sda'," */
static const char *subject(
	const struct related_set *set, const struct related *row, char *text, size_t room_bytes)
{
	char name[PROBE_NAME_MAX];

	probe_disk_name(set->sys, row->dev, name, sizeof(name));
	if (row->relation == RELATION_SELF)
		snprintf(text, room_bytes, "'%.80s'", set->path);
	else
		snprintf(text, room_bytes, "'%s', %s '%.80s',", name, relation_texts[row->relation],
			set->path);
	return text;
}

struct mount_search {
	const struct related_set *set;
	const struct related *found;
};

static bool is_related(struct probe_dev dev, void *ctx)
{
	struct mount_search *search = ctx;

	search->found = find(search->set, dev);
	return !search->found;
}

static int check_mounts(const struct probe_root *root, const struct related_set *set, struct err *e)
{
	struct libmnt_table *table cleanup(mnt_unref_table_p) = mountinfo_load(root);
	struct libmnt_iter *iter cleanup(mnt_free_iter_p) = mnt_new_iter(MNT_ITER_FORWARD);
	struct mount_search search = { .set = set };
	struct libmnt_fs *fs;
	char text[256];

	if (!table || !iter)
		return err_set(e, ERR_USAGE, 0,
			"cannot tell whether '%.80s' is mounted; mount /proc first", set->path);
	while (mnt_table_next_fs(table, iter, &fs) == 0) {
		const char *mount_point = mnt_fs_get_target(fs);

		mountinfo_each_device(set->sys, fs, is_related, &search);
		if (search.found)
			return err_set(e, ERR_USAGE, 0,
				"%s is mounted on '%.120s'; unmount it before writing to it",
				subject(set, search.found, text, sizeof(text)),
				mount_point ? mount_point : "?");
	}
	return 0;
}

/* "/dev/sda2\040x  partition  2097148  0  -2": octal escapes as in mountinfo. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *p = text; *p; to++) {
		bool octal = p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' &&
			     p[2] <= '7' && p[3] >= '0' && p[3] <= '7';

		if (octal) {
			*to = (char)((p[1] - '0') * 64 + (p[2] - '0') * 8 + (p[3] - '0'));
			p += 4;
		} else {
			*to = *p++;
		}
	}
	*to = '\0';
}

static int check_swaps(const struct probe_root *root, const struct related_set *set, struct err *e)
{
	char path[SYSFILE_PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/swaps", probe_root_proc(root));
	FILE *file cleanup(fclose_p) = n > 0 && (size_t)n < sizeof(path) ? fopen(path, "re") : NULL;
	char *line cleanup(free_p) = NULL;
	size_t line_room = 0;
	char text[256];

	/* A kernel without swap has no such file. */
	while (file && getline(&line, &line_room, file) > 0) {
		struct probe_dev dev;

		line[strcspn(line, " \t\n")] = '\0';
		unescape(line);
		if (mountinfo_source_dev(set->sys, line, &dev) < 0)
			continue;
		const struct related *row = find(set, dev);
		if (row)
			return err_set(e, ERR_USAGE, 0,
				"%s is in use as swap; 'swapoff' it before writing to it",
				subject(set, row, text, sizeof(text)));
	}
	return 0;
}

struct btrfs_check {
	const struct related_set *set;
	char dir[SYSFILE_PATH_MAX];
	const struct related *found;
};

static bool check_member(const char *name, void *ctx)
{
	struct btrfs_check *check = ctx;
	struct probe_dev dev;

	if (sysfile_dev(&dev, "%s/%s/dev", check->dir, name) == 0)
		check->found = find(check->set, dev);
	return !check->found;
}

static bool check_btrfs(const char *uuid, void *ctx)
{
	struct btrfs_check *check = ctx;
	int n = snprintf(
		check->dir, sizeof(check->dir), "%s/fs/btrfs/%s/devices", check->set->sys, uuid);

	if (n > 0 && (size_t)n < sizeof(check->dir))
		sysfile_dir_each(check->dir, check_member, check);
	return !check->found;
}

/* A btrfs names one member in mountinfo; its directory in sysfs, there while mounted, names all. */
static int check_btrfs_members(const struct related_set *set, struct err *e)
{
	struct btrfs_check check = { .set = set };
	char dir[SYSFILE_PATH_MAX];
	char text[256];
	int n = snprintf(dir, sizeof(dir), "%s/fs/btrfs", set->sys);

	if (n > 0 && (size_t)n < sizeof(dir))
		sysfile_dir_each(dir, check_btrfs, &check);
	if (!check.found)
		return 0;
	return err_set(e, ERR_USAGE, 0,
		"%s belongs to a mounted btrfs; unmount it or take the device out of it first",
		subject(set, check.found, text, sizeof(text)));
}

static int check_holders(const struct related_set *set, struct err *e)
{
	char name[PROBE_NAME_MAX];

	for (unsigned i = 0; i < set->n; i++) {
		if (set->rows[i].relation != RELATION_HOLDER)
			continue;
		probe_disk_name(set->sys, set->rows[i].dev, name, sizeof(name));
		return err_set(e, ERR_USAGE, 0,
			"'%s' is built on '%.80s'; take it down first "
			"(dmsetup remove, vgchange -an, mdadm --stop, losetup -d)",
			name, set->path);
	}
	if (set->incomplete)
		return err_set(e, ERR_USAGE, 0,
			"cannot tell what is built on '%.80s'; write to a device that nothing uses",
			set->path);
	return 0;
}

int probe_in_use(
	const struct probe_root *root, struct probe_dev dev, const char *path, struct err *e)
{
	struct related_set *set cleanup(free_p) = calloc(1, sizeof(*set));

	if (!set)
		return err_set(e, ERR_NOMEM, 0, "out of memory");
	set->sys = probe_root_sys(root);
	set->path = path;
	if (!sysfile_exists("%s/dev/block/%u:%u", set->sys, dev.major, dev.minor))
		return err_set(e, ERR_USAGE, 0,
			"cannot tell who uses '%.80s': /sys does not show it; mount /sys first",
			path);
	collect(set, dev);
	if (check_mounts(root, set, e) < 0 || check_swaps(root, set, e) < 0 ||
		check_btrfs_members(set, e) < 0)
		return -1;
	return check_holders(set, e);
}

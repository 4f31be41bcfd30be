/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The block stack, read from sysfs. A work list instead of recursion: the depth is the kernel's,
 * the bound is ours. Source: Documentation/ABI/stable/sysfs-block (partition, slaves), the
 * attributes of btrfs in /sys/fs/btrfs (fs/btrfs/sysfs.c), BTRFS_IOC_FS_INFO in linux/btrfs.h.
 */
#include "probe/probe_stack.h"

#include <fcntl.h>
#include <linux/btrfs.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "probe/mountinfo.h"

enum { N_SEEN_MAX = 256 };

struct walk {
	const char *sys;
	struct probe_stack *stack;
	unsigned n_seen;
	struct probe_dev seen[N_SEEN_MAX]; /* the work list: done up to the one in hand */
	struct probe_dev dev;		   /* the one in hand */
};

static void push(struct walk *walk, struct probe_dev dev)
{
	for (unsigned i = 0; i < walk->n_seen; i++) {
		if (probe_dev_equal(walk->seen[i], dev))
			return;
	}
	if (walk->n_seen == N_SEEN_MAX) {
		walk->stack->incomplete = true;
		return;
	}
	walk->seen[walk->n_seen++] = dev;
}

static void add_leaf(struct probe_stack *stack, struct probe_dev dev)
{
	for (unsigned i = 0; i < stack->n_leaves; i++) {
		if (probe_dev_equal(stack->leaves[i], dev))
			return;
	}
	if (stack->n_leaves == PROBE_N_LEAVES_MAX) {
		stack->incomplete = true;
		return;
	}
	stack->leaves[stack->n_leaves++] = dev;
}

static bool push_slave(const char *name, void *ctx)
{
	struct walk *walk = ctx;
	struct probe_dev slave;

	if (sysfile_dev(&slave, "%s/dev/block/%u:%u/slaves/%s/dev", walk->sys, walk->dev.major,
		    walk->dev.minor, name) < 0)
		walk->stack->incomplete = true;
	else
		push(walk, slave);
	return true;
}

/* The link in dev/block is resolved before "..": what is above a partition is its disk. */
static void step(struct walk *walk)
{
	struct probe_dev disk;
	char dir[SYSFILE_PATH_MAX];
	int n = snprintf(dir, sizeof(dir), "%s/dev/block/%u:%u", walk->sys, walk->dev.major,
		walk->dev.minor);

	if (n < 0 || (size_t)n >= sizeof(dir) - strlen("/slaves") || !sysfile_exists("%s", dir))
		return;
	if (sysfile_exists("%s/partition", dir)) {
		if (sysfile_dev(&disk, "%s/../dev", dir) == 0)
			push(walk, disk);
		else
			walk->stack->incomplete = true;
		return;
	}
	snprintf(dir + n, sizeof(dir) - (size_t)n, "/slaves");
	if (sysfile_dir_each(dir, push_slave, walk) <= 0)
		add_leaf(walk->stack, walk->dev);
}

void probe_stack_add(const char *sys, struct probe_dev dev, struct probe_stack *stack)
{
	struct walk walk = { .sys = sys, .stack = stack };

	push(&walk, dev);
	for (unsigned i = 0; i < walk.n_seen; i++) {
		walk.dev = walk.seen[i];
		step(&walk);
	}
}

struct btrfs_search {
	const char *sys;
	struct probe_stack *stack;
	char dir[SYSFILE_PATH_MAX]; /* of the file system in hand: .../UUID/devices */
	struct probe_dev wanted;    /* a member that tells which file system */
	bool found;
};

static bool add_member(const char *name, void *ctx)
{
	struct btrfs_search *search = ctx;
	struct probe_dev dev;

	if (sysfile_dev(&dev, "%s/%s/dev", search->dir, name) == 0)
		probe_stack_add(search->sys, dev, search->stack);
	else
		search->stack->incomplete = true;
	return true;
}

static bool is_wanted_member(const char *name, void *ctx)
{
	struct btrfs_search *search = ctx;
	struct probe_dev dev;

	if (sysfile_dev(&dev, "%s/%s/dev", search->dir, name) == 0)
		search->found = probe_dev_equal(dev, search->wanted);
	return !search->found;
}

static bool is_wanted_btrfs(const char *uuid, void *ctx)
{
	struct btrfs_search *search = ctx;
	int n = snprintf(
		search->dir, sizeof(search->dir), "%s/fs/btrfs/%s/devices", search->sys, uuid);

	if (n > 0 && (size_t)n < sizeof(search->dir))
		sysfile_dir_each(search->dir, is_wanted_member, search);
	return !search->found;
}

/* Return: 0 with search->dir set; -1 not a btrfs, or not in sysfs */
static int btrfs_dir_by_ioctl(const char *path, struct btrfs_search *search)
{
	struct btrfs_ioctl_fs_info_args info = { 0 };
	int fd cleanup(close_p) = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, BTRFS_IOC_FS_INFO, &info) < 0)
		return -1;
	const unsigned char *u = info.fsid;
	int n = snprintf(search->dir, sizeof(search->dir),
		"%s/fs/btrfs/%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x"
		"/devices",
		search->sys, u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10],
		u[11], u[12], u[13], u[14], u[15]);
	if (n < 0 || (size_t)n >= sizeof(search->dir))
		return -1;
	return sysfile_exists("%s", search->dir) ? 0 : -1;
}

static int btrfs_dir_by_source(const char *source, struct btrfs_search *search)
{
	char dir[SYSFILE_PATH_MAX];
	int n = snprintf(dir, sizeof(dir), "%s/fs/btrfs", search->sys);

	if (n < 0 || (size_t)n >= sizeof(dir) || !source)
		return -1;
	if (mountinfo_source_dev(search->sys, source, &search->wanted) < 0)
		return -1;
	sysfile_dir_each(dir, is_wanted_btrfs, search);
	return search->found ? 0 : -1;
}

static bool add_device(struct probe_dev dev, void *ctx)
{
	struct btrfs_search *search = ctx;

	probe_stack_add(search->sys, dev, search->stack);
	return true;
}

void probe_stack_add_mount(
	const char *sys, struct libmnt_fs *fs, const char *path, struct probe_stack *stack)
{
	struct btrfs_search search = { .sys = sys, .stack = stack };
	const char *type = mnt_fs_get_fstype(fs);

	if (type && strcmp(type, "btrfs") == 0 &&
		(btrfs_dir_by_ioctl(path, &search) == 0 ||
			btrfs_dir_by_source(mnt_fs_get_source(fs), &search) == 0)) {
		sysfile_dir_each(search.dir, add_member, &search);
		return;
	}
	mountinfo_each_device(sys, fs, add_device, &search);
}

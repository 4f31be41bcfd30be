/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernel's list of mounts, floor 1, private to probe/: /proc/self/mountinfo read by libmount,
 * and the devices that a row of it stands on.
 */
#pragma once

#include <libmount.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "probe/sysfile.h"

DEFINE_CLEANUP(struct libmnt_table *, mnt_unref_table)
DEFINE_CLEANUP(struct libmnt_iter *, mnt_free_iter)

/* Return: the table, caller unrefs; NULL if it cannot be read. Damaged lines are left out. */
struct libmnt_table *mountinfo_load(const struct probe_root *root);

/**
 * mountinfo_find() - the mount that a path lies on
 * @real_path: absolute, without links
 *
 * By the mount id of statx(2) where the running kernel's list is read: bind mounts and mounts on
 * top of each other are told apart. By the longest mount point otherwise.
 *
 * Return: borrowed from @table; NULL: not in the list
 */
struct libmnt_fs *mountinfo_find(
	const struct probe_root *root, struct libmnt_table *table, const char *real_path);

/* The value of a mount option, which may be cut by nothing. Return: 0; -1 not there, too long */
int mountinfo_option(struct libmnt_fs *fs, const char *name, char *value, size_t room_bytes);

/**
 * mountinfo_each_device() - every block device that a mount names
 * @fn: returns false to stop
 *
 * The device number of the mount, or for file systems with an anonymous one (btrfs, bcachefs,
 * ZFS) the device nodes in its source; and those in options (the log and real-time devices of
 * XFS).
 */
void mountinfo_each_device(const char *sys, struct libmnt_fs *fs,
	bool (*fn)(struct probe_dev dev, void *ctx), void *ctx);

/**
 * mountinfo_source_dev() - the number of a device that a mount or swap names by a path
 * @path: "/dev/sda1", "/dev/mapper/home"
 *
 * Return: 0; -1 not a block device
 */
int mountinfo_source_dev(const char *sys, const char *path, struct probe_dev *ret_dev);

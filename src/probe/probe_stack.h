/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From a block device down to the disks it stands on, floor 1, private to probe/.
 */
#pragma once

#include "probe/sysfile.h"

struct libmnt_fs;

struct probe_stack {
	unsigned n_leaves;
	struct probe_dev leaves[PROBE_N_LEAVES_MAX]; /* each once */
	bool incomplete; /* a device below could not be read, or there are more */
};

/**
 * probe_stack_add() - adds the leaves below a device
 *
 * A partition stands on its disk, a stacked device (dm, md, bcache) on each of its slaves/; what
 * stands on nothing is a leaf. Every device is looked at once, so a cycle ends. A device that
 * sysfs does not know adds nothing.
 */
void probe_stack_add(const char *sys, struct probe_dev dev, struct probe_stack *stack);

/**
 * probe_stack_add_mount() - adds the leaves below a mounted file system
 * @path: on that file system, for the ioctl that names a btrfs
 *
 * Members of a btrfs come from /sys/fs/btrfs/UUID/devices.
 */
void probe_stack_add_mount(
	const char *sys, struct libmnt_fs *fs, const char *path, struct probe_stack *stack);

/* Facts of one whole disk; what is not known stays empty. */
void probe_disk_facts(const char *sys, struct probe_dev dev, struct disk_facts *ret);

/* The kernel's name of a device, as below /dev; "" if sysfs does not know it. */
void probe_disk_name(const char *sys, struct probe_dev dev, char *name, size_t room_bytes);

/**
 * probe_stat_add() - adds one disk's stat file to a sum; public for the fuzzer
 * @text: its text, without the line end
 *
 * Return: 0; -1 damaged, or the sum overflows (@sum untouched)
 */
int probe_stat_add(const char *text, struct disk_counters *sum);

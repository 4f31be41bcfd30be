/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether somebody uses a block device, floor 1, private to probe/.
 */
#pragma once

#include "probe/sysfile.h"

struct err;

/**
 * probe_in_use() - whether writing to a device would reach what is in use, as far as /sys and
 * /proc show it
 * @path: how to call the device in the message
 *
 * Looked at are the device, the disk it is part of, its partitions and those that overlap it, and
 * everything built on one of these (dm, md, LVM, bcache, loop): whether it is mounted (also as a
 * member of a btrfs), used as swap or held. What another mount namespace or a program holds is not
 * seen here: the exclusive open tells that.
 *
 * Return: 0 not in use; -1 with ERR_USAGE, the reason and its cure
 */
int probe_in_use(
	const struct probe_root *root, struct probe_dev dev, const char *path, struct err *e);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parts of the decision whether a device may be written, floor 1, private to probe/ and its tests.
 */
#pragma once

#include "probe/sysfile.h"

struct err;

/**
 * probe_device_is_named() - whether a name that a person repeated is this device's own
 * @name: kernel name with or without "/dev/", name of a device-mapper device with or without
 *        "/dev/mapper/", or serial number of a whole disk
 *
 * A serial number does not name a partition, and a link does not name a device: neither says
 * which one it is without looking it up, and that is what the repeating is for.
 */
bool probe_device_is_named(const char *sys, struct probe_dev dev, const char *name);

/**
 * probe_device_signature() - refuses what libblkid knows the content of
 * @fd:   open for reading
 * @path: for the message
 *
 * Return: 0 nothing known on it; -1 with ERR_USAGE and what was found
 */
int probe_device_signature(int fd, const char *path, struct err *e);

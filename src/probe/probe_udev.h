/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What udev has found out about a device, floor 1, private to probe/. A machine without udev (a
 * container, a small system) knows nothing.
 */
#pragma once

#include "probe/sysfile.h"

/* A property ("ID_SERIAL") of a block device. Return: 0; -1 not known (@value untouched) */
int probe_udev_property(struct probe_dev dev, const char *key, char *value, size_t room_bytes);

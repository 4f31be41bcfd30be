/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Properties from the udev database by libudev. Source: libudev(3), udev_device_new_from_devnum(3).
 */
#include "probe/probe_udev.h"

#include <libudev.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"

DEFINE_CLEANUP(struct udev *, udev_unref)
DEFINE_CLEANUP(struct udev_device *, udev_device_unref)

int probe_udev_property(struct probe_dev dev, const char *key, char *value, size_t room_bytes)
{
	struct udev *udev cleanup(udev_unref_p) = udev_new();

	if (!udev)
		return -1;
	struct udev_device *device cleanup(udev_device_unref_p) =
		udev_device_new_from_devnum(udev, 'b', makedev(dev.major, dev.minor));
	const char *text = device ? udev_device_get_property_value(device, key) : NULL;
	if (!text || strlen(text) >= room_bytes)
		return -1;
	sysfile_copy(value, room_bytes, text);
	return 0;
}

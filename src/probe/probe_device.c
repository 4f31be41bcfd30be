/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether a device may be written: named by the person, used by nobody, empty as far as can be
 * seen. Every doubt refuses. Source: libblkid's blkid_do_safeprobe, open(2) on O_EXCL without
 * O_CREAT: EBUSY while a block device, or for a whole disk a partition of it, is claimed.
 */
#include "probe/probe_device.h"

#include <blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "probe/probe_in_use.h"
#include "probe/probe_stack.h"
#include "probe/probe_udev.h"

enum { SERIAL_MAX = 256 };

DEFINE_CLEANUP(blkid_probe, blkid_free_probe)

/* Longest first: "/dev/mapper/home" is "home". */
static const char *without_prefix(const char *name)
{
	static const char *const prefixes[] = { "/dev/mapper/", "/dev/" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t n_bytes = strlen(prefixes[i]);

		if (strncmp(name, prefixes[i], n_bytes) == 0)
			return name + n_bytes;
	}
	return name;
}

static bool is_kernel_name(const char *sys, struct probe_dev dev, const char *name)
{
	char own[PROBE_NAME_MAX];

	probe_disk_name(sys, dev, own, sizeof(own));
	if (own[0] == '\0')
		return false;
	if (strncmp(name, "/dev/", strlen("/dev/")) == 0)
		name += strlen("/dev/");
	return strcmp(own, name) == 0;
}

static bool is_dm_name(const char *sys, struct probe_dev dev, const char *name)
{
	char own[SYSFILE_TEXT_MAX + 1];

	return sysfile_read(own, sizeof(own), "%s/dev/block/%u:%u/dm/name", sys, dev.major,
		       dev.minor) > 0 &&
	       strcmp(own, without_prefix(name)) == 0;
}

static bool is_serial(const char *sys, struct probe_dev dev, const char *name)
{
	static const char *const attributes[] = { "serial", "device/serial" };
	static const char *const properties[] = { "ID_SERIAL_SHORT", "ID_SERIAL" };
	char own[SERIAL_MAX];

	if (sysfile_exists("%s/dev/block/%u:%u/partition", sys, dev.major, dev.minor))
		return false;
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		sysfile_label(own, sizeof(own), "%s/dev/block/%u:%u/%s", sys, dev.major, dev.minor,
			attributes[i]);
		if (own[0] != '\0' && strcmp(own, name) == 0)
			return true;
	}
	for (size_t i = 0; i < sizeof(properties) / sizeof(properties[0]); i++) {
		if (probe_sys_is_real(sys) &&
			probe_udev_property(dev, properties[i], own, sizeof(own)) == 0 &&
			own[0] != '\0' && strcmp(own, name) == 0)
			return true;
	}
	return false;
}

bool probe_device_is_named(const char *sys, struct probe_dev dev, const char *name)
{
	if (!name || name[0] == '\0')
		return false;
	return is_kernel_name(sys, dev, name) || is_dm_name(sys, dev, name) ||
	       is_serial(sys, dev, name);
}

static const char *lookup(blkid_probe probe, const char *key)
{
	const char *value = NULL;

	return blkid_probe_lookup_value(probe, key, &value, NULL) == 0 && value ? value : "";
}

static int refuse_signature(blkid_probe probe, const char *path, struct err *e)
{
	const char *type = lookup(probe, "TYPE");
	const char *table = lookup(probe, "PTTYPE");
	const char *label = lookup(probe, "LABEL");
	const char *usage = lookup(probe, "USAGE");
	const char *what = "signature";

	if (type[0] == '\0')
		return err_set(e, ERR_USAGE, 0,
			"'%.80s' holds a partition table (%.20s); "
			"'wipefs -a %.80s' if nothing on it is needed",
			path, table[0] ? table : "unknown type", path);
	if (strcmp(usage, "filesystem") == 0)
		what = "file system";
	else if (strcmp(usage, "raid") == 0)
		what = "RAID or volume signature";
	else if (strcmp(usage, "crypto") == 0)
		what = "encrypted volume";
	return err_set(e, ERR_USAGE, 0,
		"'%.80s' holds %s %.32s %s%s%.40s%s; 'wipefs -a %.80s' if nothing on it is needed",
		path, strchr("aeioux", type[0]) ? "an" : "a", type, what,
		label[0] ? " (label '" : "", label, label[0] ? "')" : "", path);
}

/* Damaged checksums count as a signature: what is left of a file system may still be wanted. */
int probe_device_signature(int fd, const char *path, struct err *e)
{
	blkid_probe probe cleanup(blkid_free_probe_p) = blkid_new_probe();

	if (!probe || blkid_probe_set_device(probe, fd, 0, 0) != 0)
		return err_set(e, ERR_USAGE, errno, "cannot look at the content of '%.80s'", path);
	blkid_probe_enable_superblocks(probe, 1);
	blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_LABEL |
							 BLKID_SUBLKS_USAGE | BLKID_SUBLKS_MAGIC |
							 BLKID_SUBLKS_BADCSUM);
	blkid_probe_enable_partitions(probe, 1);
	blkid_probe_set_partitions_flags(probe, BLKID_PARTS_MAGIC | BLKID_PARTS_FORCE_GPT);
	errno = 0;
	switch (blkid_do_safeprobe(probe)) {
	case 0:
		return refuse_signature(probe, path, e);
	case 1:
		return 0;
	case -2:
		return err_set(e, ERR_USAGE, 0,
			"'%.80s' holds several signatures (RAID, file system or partitions); "
			"'wipefs -a %.80s' if nothing on it is needed",
			path, path);
	default:
		return err_set(e, ERR_USAGE, errno, "cannot look at the content of '%.80s'", path);
	}
}

static int check_name(
	const char *sys, struct probe_dev dev, const char *path, const char *name, struct err *e)
{
	char own[PROBE_NAME_MAX];

	if (probe_device_is_named(sys, dev, name))
		return 0;
	probe_disk_name(sys, dev, own, sizeof(own));
	return err_set(e, ERR_USAGE, 0,
		"'%.80s' is not the name of '%.80s'; to write to it, repeat its own name '%s' "
		"or its serial number",
		name ? name : "", path, own);
}

static int check_medium(const char *sys, struct probe_dev dev, const char *path, struct err *e)
{
	uint64_t value;

	if (sysfile_u64(&value, "%s/dev/block/%u:%u/ro", sys, dev.major, dev.minor) == 0 &&
		value != 0)
		return err_set(e, ERR_USAGE, 0,
			"'%.80s' is read-only; 'blockdev --setrw' it if it may be written", path);
	if (sysfile_u64(&value, "%s/dev/block/%u:%u/size", sys, dev.major, dev.minor) == 0 &&
		value == 0)
		return err_set(e, ERR_USAGE, 0,
			"'%.80s' has no medium, its size is 0; attach one first", path);
	return 0;
}

/* Read-only, so that nothing changes and udev does not look at it again on close. */
static int open_exclusive(const char *path, struct probe_dev dev, struct err *e)
{
	int fd cleanup(close_p) = open(path, O_RDONLY | O_EXCL | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == EBUSY)
		return err_set(e, ERR_USAGE, 0,
			"'%.80s' is held by the kernel or by another program "
			"(a mount of a container, RAID, LVM, swap); free it before writing to it",
			path);
	if (fd < 0 && (errno == EACCES || errno == EPERM))
		return err_set(e, ERR_USAGE, errno,
			"cannot open '%.80s', which needs root or the group 'disk'", path);
	if (fd < 0)
		return err_set(e, ERR_USAGE, errno, "cannot open '%.80s' for itself alone", path);
	if (fstat(fd, &st) < 0 || !S_ISBLK(st.st_mode) || major(st.st_rdev) != dev.major ||
		minor(st.st_rdev) != dev.minor)
		return err_set(e, ERR_USAGE, 0,
			"'%.80s' became another device meanwhile; name it by its kernel name",
			path);
	return take_fd(&fd);
}

int probe_device_writable(
	const struct probe_root *root, const char *path, const char *name, struct err *e)
{
	const char *sys = probe_root_sys(root);
	struct stat st;

	if (stat(path, &st) < 0)
		return err_set(e, ERR_USAGE, errno, "cannot find the device '%.80s'", path);
	if (!S_ISBLK(st.st_mode))
		return err_set(e, ERR_USAGE, 0,
			"'%.80s' is not a block device; writing by name is only for devices", path);
	struct probe_dev dev = { major(st.st_rdev), minor(st.st_rdev) };
	if (check_name(sys, dev, path, name, e) < 0 || check_medium(sys, dev, path, e) < 0 ||
		probe_in_use(root, dev, path, e) < 0)
		return -1;
	int fd cleanup(close_p) = open_exclusive(path, dev, e);
	if (fd < 0)
		return -1;
	return probe_device_signature(fd, path, e);
}

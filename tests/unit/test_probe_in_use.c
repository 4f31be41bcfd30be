/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who uses a device and how it is named, on recorded trees; real devices are in tests/io. */
#include "test.h"

#include "probe_tree.h"

#include "base/err.h"
#include "probe/probe_device.h"
#include "probe/probe_in_use.h"

static const char sda[] = "pci0000:00/ata1/sda";
static const char sda1[] = "pci0000:00/ata1/sda/sda1";
static const char sda2[] = "pci0000:00/ata1/sda/sda2";
static const char sda5[] = "pci0000:00/ata1/sda/sda5";
static const char sdb[] = "pci0000:00/ata2/sdb";
static const char dm0[] = "virtual/block/dm-0";
static const char dm1[] = "virtual/block/dm-1";

static void lay_range(
	const struct tree *tree, const char *device, const char *start, const char *size)
{
	tree_attr(tree, device, "start", start);
	tree_attr(tree, device, "size", size);
}

/* sda with sda1, the extended sda2 and the logical sda5 in it; sdb; a loop device; no mounts. */
static void lay_machine(const struct tree *tree)
{
	tree_disk(tree, sda, "8:0");
	tree_partition(tree, sda1, "8:1", "1\n");
	lay_range(tree, sda1, "2048\n", "2048\n");
	tree_partition(tree, sda2, "8:2", "2\n");
	lay_range(tree, sda2, "4096\n", "8192\n");
	tree_partition(tree, sda5, "8:5", "5\n");
	lay_range(tree, sda5, "6144\n", "2048\n");
	tree_disk(tree, sdb, "8:16");
	tree_disk(tree, "virtual/block/loop0", "7:0");
	tree_attr(tree, "virtual/block/loop0", "loop/backing_file", "/srv/image\n");
	tree_file(tree, "proc/self/mountinfo", "20 1 0:5 / / rw - tmpfs none rw\n");
	tree_file(tree, "proc/swaps", "Filename Type Size Used Priority\n");
}

static void mount_sda1(const struct tree *tree)
{
	tree_file(tree, "proc/self/mountinfo", "21 1 8:1 / /mnt\\040x rw - ext4 /dev/sda1 rw\n");
}

static void mount_sda5(const struct tree *tree)
{
	tree_file(tree, "proc/self/mountinfo", "21 1 8:5 / /mnt rw - ext4 /dev/sda5 rw\n");
}

static void mount_sda_whole(const struct tree *tree)
{
	tree_file(tree, "proc/self/mountinfo", "21 1 8:0 / /mnt rw - ext4 /dev/sda rw\n");
}

static void mount_anonymous(const struct tree *tree)
{
	tree_file(tree, "proc/self/mountinfo", "21 1 0:44 / /mnt rw - btrfs /dev/sda1 rw\n");
}

static void mount_log_device(const struct tree *tree)
{
	tree_file(tree, "proc/self/mountinfo",
		"21 1 8:16 / /mnt rw - xfs /dev/sdb rw,logdev=/dev/sda1\n");
}

static void second_btrfs_member(const struct tree *tree)
{
	tree_file(tree, "proc/self/mountinfo", "21 1 0:44 / /mnt rw - btrfs /dev/sdb rw\n");
	tree_link(tree, "sys/fs/btrfs/1-2/devices/sdb", "sys/devices/pci0000:00/ata2/sdb");
	tree_link(tree, "sys/fs/btrfs/1-2/devices/sda1", "sys/devices/pci0000:00/ata1/sda/sda1");
}

static void swap_on_sda5(const struct tree *tree)
{
	tree_file(tree, "proc/swaps",
		"Filename Type Size Used Priority\n/dev/sd\\1415 partition 100 0 -2\n");
}

static void swap_on_file(const struct tree *tree)
{
	tree_file(tree, "proc/swaps", "Filename Type Size Used Priority\n/swap file 100 0 -2\n");
}

static void dm_on_sda1(const struct tree *tree)
{
	tree_disk(tree, dm0, "253:0");
	tree_stack(tree, dm0, sda1);
}

static void mounted_dm_on_dm_on_sda1(const struct tree *tree)
{
	dm_on_sda1(tree);
	tree_disk(tree, dm1, "253:1");
	tree_stack(tree, dm1, dm0);
	tree_file(tree, "proc/self/mountinfo", "21 1 253:1 / /home rw - ext4 /dev/dm-1 rw\n");
}

static void dm_cycle(const struct tree *tree)
{
	dm_on_sda1(tree);
	tree_disk(tree, dm1, "253:1");
	tree_stack(tree, dm1, dm0);
	tree_stack(tree, dm0, dm1);
}

static void loop_on_sda1(const struct tree *tree)
{
	tree_attr(tree, "virtual/block/loop0", "loop/backing_file", "/dev/sda1\n");
}

static void damaged_holder(const struct tree *tree)
{
	tree_attr(tree, sda1, "holders/dm-7/dev", "what\n");
}

static void no_mountinfo(const struct tree *tree)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/self/mountinfo", tree->proc);
	assert_int_equal(unlink(path), 0);
}

/* NULL: not in use */
struct use_case {
	const char *name;
	void (*lay)(const struct tree *tree);
	const char *sda;
	const char *sda1;
	const char *sda2;
	const char *sdb;
};

/* clang-format off */
static const struct use_case use_cases[] = {
	{ "nothing in use", NULL, NULL, NULL, NULL, NULL },
	{ "a mounted partition", mount_sda1,
		"'sda1', a partition of 'DEV', is mounted on '/mnt x'; unmount",
		"'DEV' is mounted on '/mnt x'; unmount", NULL, NULL },
	{ "a mounted logical partition", mount_sda5,
		"'sda5', a partition of", NULL, "'sda5', a partition of 'DEV', is mounted", NULL },
	{ "a mounted whole disk", mount_sda_whole,
		"'DEV' is mounted on '/mnt'", "'sda', the disk of 'DEV', is mounted on '/mnt'",
		"'sda', the disk of", NULL },
	{ "a mount that only its source names", mount_anonymous,
		"'sda1', a partition of", "'DEV' is mounted on", NULL, NULL },
	{ "the log of a mounted XFS", mount_log_device,
		"'sda1', a partition of", "'DEV' is mounted on", NULL, "'DEV' is mounted on" },
	{ "the member of a btrfs that mountinfo leaves out", second_btrfs_member,
		"'sda1', a partition of 'DEV', belongs to a mounted btrfs",
		"'DEV' belongs to a mounted btrfs", NULL, "'DEV' is mounted on" },
	{ "swap", swap_on_sda5,
		"'sda5', a partition of 'DEV', is in use as swap", NULL,
		"is in use as swap; 'swapoff'", NULL },
	{ "swap in a file", swap_on_file, NULL, NULL, NULL, NULL },
	{ "a holder", dm_on_sda1, "'dm-0' is built on 'DEV'", "'dm-0' is built on 'DEV'", NULL, NULL },
	{ "a mounted holder of a holder", mounted_dm_on_dm_on_sda1,
		"'dm-1', which is built on 'DEV', is mounted on '/home'",
		"'dm-1', which is built on 'DEV', is mounted on '/home'", NULL, NULL },
	{ "holders in a cycle", dm_cycle, "is built on", "is built on", NULL, NULL },
	{ "a loop device on a device", loop_on_sda1,
		"'loop0' is built on 'DEV'", "'loop0' is built on 'DEV'", NULL, NULL },
	{ "a holder that cannot be read", damaged_holder,
		"cannot tell what is built on", "cannot tell what is built on", NULL, NULL },
	{ "mounts that cannot be read", no_mountinfo,
		"cannot tell whether", "cannot tell whether", "cannot tell whether",
		"cannot tell whether" },
};
/* clang-format on */

static void check_use(
	const struct tree *tree, const char *name, struct probe_dev dev, const char *expected)
{
	struct err e = { 0 };
	int rc = probe_in_use(&tree->root, dev, "DEV", &e);

	if (!expected && rc != 0)
		fail_msg("%s: %u:%u refused: %s", name, dev.major, dev.minor, e.msg);
	if (!expected)
		return;
	if (rc != -1 || e.kind != ERR_USAGE || !strstr(e.msg, expected))
		fail_msg("%s: %u:%u '%s' is not '%s'", name, dev.major, dev.minor, e.msg, expected);
}

static void a_device_in_use_is_refused_with_its_user(void **state)
{
	struct tree *tree = *state;

	for (size_t i = 0; i < sizeof(use_cases) / sizeof(use_cases[0]); i++) {
		const struct use_case *c = &use_cases[i];

		tree_reset(tree);
		lay_machine(tree);
		if (c->lay)
			c->lay(tree);
		check_use(tree, c->name, (struct probe_dev){ 8, 0 }, c->sda);
		check_use(tree, c->name, (struct probe_dev){ 8, 1 }, c->sda1);
		check_use(tree, c->name, (struct probe_dev){ 8, 2 }, c->sda2);
		check_use(tree, c->name, (struct probe_dev){ 8, 16 }, c->sdb);
	}
}

static void a_device_that_sysfs_does_not_show_is_refused(void **state)
{
	const struct tree *tree = *state;
	struct err e = { 0 };

	lay_machine(tree);
	assert_int_equal(probe_in_use(&tree->root, (struct probe_dev){ 9, 9 }, "DEV", &e), -1);
	assert_contains(e.msg, "/sys does not show it");
}

static void more_holders_than_fit_are_refused(void **state)
{
	const struct tree *tree = *state;
	struct err e = { 0 };

	lay_machine(tree);
	for (int i = 0; i < 200; i++) {
		char device[64];
		char dev[32];

		snprintf(device, sizeof(device), "pci0000:00/ata2/sdb/sdb%d", i);
		snprintf(dev, sizeof(dev), "259:%d", i);
		tree_partition(tree, device, dev, "1\n");
	}
	assert_int_equal(probe_in_use(&tree->root, (struct probe_dev){ 8, 16 }, "DEV", &e), -1);
	assert_contains(e.msg, "cannot tell what is built on");
}

static void only_its_own_name_names_a_device(void **state)
{
	static const struct {
		struct probe_dev dev;
		const char *name;
		bool named;
	} cases[] = {
		{ { 8, 0 }, "sda", true },
		{ { 8, 0 }, "/dev/sda", true },
		{ { 8, 0 }, "WD-123 45", true },
		{ { 8, 0 }, "sda1", false },
		{ { 8, 0 }, "sd", false },
		{ { 8, 0 }, "SDA", false },
		{ { 8, 0 }, "", false },
		{ { 8, 0 }, "/dev/", false },
		{ { 8, 0 }, "/dev/../dev/sda", false },
		{ { 8, 0 }, "/dev/mapper/sda", false },
		{ { 8, 0 }, "/dev/disk/by-id/sda", false },
		{ { 8, 0 }, "8:0", false },
		{ { 8, 0 }, "WD-123", false },
		{ { 8, 1 }, "sda1", true },
		{ { 8, 1 }, "sda", false },
		{ { 8, 1 }, "WD-123 45", false }, /* the disk's, not the partition's */
		{ { 8, 16 }, "sdb", true },
		{ { 8, 16 }, "", false }, /* its serial number is empty */
		{ { 253, 0 }, "dm-0", true },
		{ { 253, 0 }, "vg-home", true },
		{ { 253, 0 }, "/dev/mapper/vg-home", true },
		{ { 253, 0 }, "home", false },
		{ { 9, 9 }, "", false },
		{ { 9, 9 }, "sda", false },
	};
	const struct tree *tree = *state;

	lay_machine(tree);
	dm_on_sda1(tree);
	tree_attr(tree, dm0, "dm/name", "vg-home\n");
	tree_attr(tree, sda, "device/serial", "  WD-123 45  \n");
	tree_attr(tree, sda1, "device/serial", "WD-123 45\n");
	tree_attr(tree, sdb, "serial", "\n");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (probe_device_is_named(tree->sys, cases[i].dev, cases[i].name) != cases[i].named)
			fail_msg("%u:%u '%s'", cases[i].dev.major, cases[i].dev.minor,
				cases[i].name);
	}
	assert_false(probe_device_is_named(tree->sys, (struct probe_dev){ 8, 0 }, NULL));
}

static void what_is_no_block_device_is_refused(void **state)
{
	const struct tree *tree = *state;
	struct err e = { 0 };

	assert_int_equal(probe_device_writable(&tree->root, tree->dir, "sda", &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_contains(e.msg, "is not a block device");
	assert_int_equal(probe_device_writable(&tree->root, "/dev/null", "null", &e), -1);
	assert_contains(e.msg, "is not a block device");
	assert_int_equal(probe_device_writable(&tree->root, "/nosuch", "sda", &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_contains(e.msg, "No such file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(a_device_in_use_is_refused_with_its_user),
		TREE_TEST(a_device_that_sysfs_does_not_show_is_refused),
		TREE_TEST(more_holders_than_fit_are_refused),
		TREE_TEST(only_its_own_name_names_a_device),
		TREE_TEST(what_is_no_block_device_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

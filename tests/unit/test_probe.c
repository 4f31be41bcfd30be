/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The block stack and the mount under a path, on recorded trees. */
#include "test.h"

#include "probe_tree.h"

#include "base/err.h"
#include "probe/probe_stack.h"

static const char nvme0[] = "pci0000:00/0000:00:1d.0/nvme/nvme0/nvme0n1";
static const char nvme0p2[] = "pci0000:00/0000:00:1d.0/nvme/nvme0/nvme0n1/nvme0n1p2";
static const char sda[] = "pci0000:00/ata1/sda";
static const char sda1[] = "pci0000:00/ata1/sda/sda1";
static const char sdb[] = "pci0000:00/ata2/sdb";
static const char sdb1[] = "pci0000:00/ata2/sdb/sdb1";
static const char md0[] = "virtual/block/md0";
static const char dm0[] = "virtual/block/dm-0";
static const char dm1[] = "virtual/block/dm-1";

static void lay_nvme(const struct tree *tree)
{
	tree_disk(tree, nvme0, "259:0");
	tree_partition(tree, nvme0p2, "259:2", "2\n");
}

static void lay_two_disks(const struct tree *tree)
{
	tree_disk(tree, sda, "8:0");
	tree_partition(tree, sda1, "8:1", "1\n");
	tree_disk(tree, sdb, "8:16");
	tree_partition(tree, sdb1, "8:17", "1\n");
}

static void lay_mirror(const struct tree *tree)
{
	lay_two_disks(tree);
	tree_disk(tree, md0, "9:0");
	tree_stack(tree, md0, sda1);
	tree_stack(tree, md0, sdb1);
}

static void lay_lvm_on_luks(const struct tree *tree)
{
	lay_nvme(tree);
	tree_disk(tree, dm0, "253:0");
	tree_attr(tree, dm0, "dm/name", "luks-root\n");
	tree_stack(tree, dm0, nvme0p2);
	tree_disk(tree, dm1, "253:1");
	tree_attr(tree, dm1, "dm/name", "vg-home\n");
	tree_stack(tree, dm1, dm0);
}

static void lay_cycle(const struct tree *tree)
{
	tree_disk(tree, dm0, "253:0");
	tree_disk(tree, dm1, "253:1");
	tree_stack(tree, dm0, dm1);
	tree_stack(tree, dm1, dm0);
}

static void lay_garbage_slave(const struct tree *tree)
{
	lay_mirror(tree);
	tree_file(tree, "sys/devices/virtual/block/md0/slaves/bad/dev", "eight:17\n");
}

struct stack_case {
	const char *name;
	void (*lay)(const struct tree *tree);
	struct probe_dev dev;
	const char *leaves; /* names, in the order found */
	bool incomplete;
};

static const struct stack_case stack_cases[] = {
	{ "a whole disk is its own leaf", lay_nvme, { 259, 0 }, "nvme0n1 ", false },
	{ "a partition stands on its disk", lay_nvme, { 259, 2 }, "nvme0n1 ", false },
	{ "a mirror stands on both disks", lay_mirror, { 9, 0 }, "sda sdb ", false },
	{ "LVM over LUKS over a partition", lay_lvm_on_luks, { 253, 1 }, "nvme0n1 ", false },
	{ "a cycle ends without a leaf", lay_cycle, { 253, 0 }, "", false },
	{ "a damaged slave is said", lay_garbage_slave, { 9, 0 }, "sda sdb ", true },
	{ "an unknown number adds nothing", lay_nvme, { 0, 77 }, "", false },
};

static void leaf_names(const struct tree *tree, const struct probe_stack *stack, char *names)
{
	*names = '\0';
	for (unsigned i = 0; i < stack->n_leaves; i++) {
		char name[PROBE_NAME_MAX];
		size_t n_bytes = strlen(names);

		probe_disk_name(tree->sys, stack->leaves[i], name, sizeof(name));
		snprintf(names + n_bytes, 256 - n_bytes, "%s ", name);
	}
}

/* readdir gives slaves in any order; the expected names are sorted as here. */
static int by_minor(const void *a, const void *b)
{
	const struct probe_dev *x = a;
	const struct probe_dev *y = b;

	return (x->minor > y->minor) - (x->minor < y->minor);
}

static void walks_down_to_the_disks(void **state)
{
	struct tree *tree = *state;

	for (size_t i = 0; i < sizeof(stack_cases) / sizeof(stack_cases[0]); i++) {
		const struct stack_case *c = &stack_cases[i];
		struct probe_stack stack = { 0 };
		char names[256];

		tree_reset(tree);
		c->lay(tree);
		probe_stack_add(tree->sys, c->dev, &stack);
		qsort(stack.leaves, stack.n_leaves, sizeof(stack.leaves[0]), by_minor);
		leaf_names(tree, &stack, names);
		if (strcmp(names, c->leaves) != 0 || stack.incomplete != c->incomplete)
			fail_msg("%s: '%s', not '%s'", c->name, names, c->leaves);
	}
}

static void more_leaves_than_fit_are_incomplete(void **state)
{
	const struct tree *tree = *state;
	struct probe_stack stack = { 0 };

	tree_disk(tree, md0, "9:0");
	for (int i = 0; i < PROBE_N_LEAVES_MAX + 1; i++) {
		char device[64];
		char dev[32];

		snprintf(device, sizeof(device), "virtual/block/disk%d", i);
		snprintf(dev, sizeof(dev), "250:%d", i);
		tree_disk(tree, device, dev);
		tree_stack(tree, md0, device);
	}
	probe_stack_add(tree->sys, (struct probe_dev){ 9, 0 }, &stack);
	assert_int_equal(stack.n_leaves, PROBE_N_LEAVES_MAX);
	assert_true(stack.incomplete);
}

/* Room for the target of one test: too large for the stack. */
static int with_target(const struct tree *tree, const char *mountinfo,
	void (*check)(const struct tree *tree, const struct target_facts *t))
{
	struct target_facts *t = calloc(1, sizeof(*t));
	struct err e = { 0 };

	assert_non_null(t);
	tree_file(tree, "proc/self/mountinfo", mountinfo);
	int rc = probe_target(&tree->root, tree->dir, t, &e);
	if (rc == 0)
		check(tree, t);
	free(t);
	return rc;
}

static void check_partition(const struct tree *tree, const struct target_facts *t)
{
	assert_int_equal(t->kind, TARGET_DIRECTORY);
	assert_string_equal(t->real_path, tree->dir);
	assert_string_equal(t->fs_type, "ext4");
	assert_int_equal(t->fs_class, FS_LOCAL);
	assert_string_equal(t->fs_source, "/dev/nvme0n1p2");
	assert_string_equal(t->fs_options, "rw,noatime,data=ordered");
	assert_string_equal(t->mount_point, "/tmp");
	assert_true(t->fs_size_bytes > 0);
	assert_int_equal(t->size_bytes, 0);
	assert_int_equal(t->n_disks, 1);
	assert_string_equal(t->disks[0].name, "nvme0n1");
	assert_false(t->disks_incomplete);
}

static void finds_the_mount_and_the_disk(void **state)
{
	const struct tree *tree = *state;

	lay_nvme(tree);
	/* The damaged line in between is left out. */
	assert_int_equal(with_target(tree,
				 "20 1 0:5 / / rw - rootfs rootfs rw\n"
				 "damaged \xff line\n"
				 "21 20 259:2 / /tmp rw,noatime shared:1 - ext4 /dev/nvme0n1p2 "
				 "rw,data=ordered\n"
				 "22 20 8:1 / /tmpfiles rw - xfs /dev/sda1 rw\n",
				 check_partition),
		0);
}

static void check_btrfs(const struct tree *tree, const struct target_facts *t)
{
	(void)tree;
	assert_string_equal(t->fs_type, "btrfs");
	assert_int_equal(t->n_disks, 2);
	assert_int_not_equal(t->disks[0].minor, t->disks[1].minor);
}

static void every_member_of_a_btrfs_counts(void **state)
{
	const struct tree *tree = *state;

	lay_two_disks(tree);
	tree_link(tree, "sys/fs/btrfs/1-2-3/devices/sda1", "sys/devices/pci0000:00/ata1/sda/sda1");
	tree_link(tree, "sys/fs/btrfs/1-2-3/devices/sdb1", "sys/devices/pci0000:00/ata2/sdb/sdb1");
	tree_file(tree, "sys/fs/btrfs/features/raid1c34", "0\n");
	assert_int_equal(
		with_target(tree, "21 1 0:41 /@home /tmp rw - btrfs /dev/sdb1 rw,subvol=/@home\n",
			check_btrfs),
		0);
}

static void check_mapper(const struct tree *tree, const struct target_facts *t)
{
	(void)tree;
	assert_int_equal(t->n_disks, 1);
	assert_string_equal(t->disks[0].name, "nvme0n1");
}

static void a_source_below_dev_mapper_is_found_by_name(void **state)
{
	const struct tree *tree = *state;

	lay_lvm_on_luks(tree);
	assert_int_equal(
		with_target(tree, "21 1 0:41 / /tmp rw - bcachefs /dev/mapper/vg-home rw\n",
			check_mapper),
		0);
}

static void check_log_device(const struct tree *tree, const struct target_facts *t)
{
	(void)tree;
	assert_int_equal(t->n_disks, 2);
}

static void the_log_device_of_xfs_counts(void **state)
{
	const struct tree *tree = *state;

	lay_two_disks(tree);
	assert_int_equal(
		with_target(tree, "21 1 8:1 / /tmp rw - xfs /dev/sda1 rw,logdev=/dev/sdb1\n",
			check_log_device),
		0);
}

static void check_loop(const struct tree *tree, const struct target_facts *t)
{
	(void)tree;
	assert_int_equal(t->n_disks, 1);
	assert_string_equal(t->disks[0].name, "loop3");
	assert_string_equal(t->disks[0].backing, "/home/disk image.raw");
}

static void a_loop_device_is_a_leaf_with_its_backing_file(void **state)
{
	const struct tree *tree = *state;

	tree_disk(tree, "virtual/block/loop3", "7:3");
	tree_attr(tree, "virtual/block/loop3", "loop/backing_file", "/home/disk image.raw\n");
	assert_int_equal(
		with_target(tree, "21 1 7:3 / /tmp rw - ext4 /dev/loop3 rw\n", check_loop), 0);
}

static void check_overlay_on_disk(const struct tree *tree, const struct target_facts *t)
{
	(void)tree;
	assert_string_equal(t->fs_type, "overlay");
	assert_int_equal(t->fs_class, FS_LOCAL);
	assert_int_equal(t->n_disks, 1);
	assert_string_equal(t->disks[0].name, "nvme0n1");
}

static void check_overlay_in_memory(const struct tree *tree, const struct target_facts *t)
{
	(void)tree;
	assert_string_equal(t->fs_type, "overlay");
	assert_int_equal(t->fs_class, FS_MEMORY);
	assert_int_equal(t->n_disks, 0);
}

static void check_no_disk(const struct tree *tree, const struct target_facts *t)
{
	(void)tree;
	assert_int_equal(t->fs_class, FS_LOCAL);
	assert_int_equal(t->n_disks, 0);
}

static void an_overlay_is_its_upper_directory(void **state)
{
	static const char overlay[] = "22 20 0:50 / /tmp rw - overlay overlay "
				      "rw,lowerdir=/low,upperdir=/var/upper,workdir=/var/work\n";
	const struct tree *tree = *state;
	char mountinfo[1024];

	lay_nvme(tree);
	snprintf(mountinfo, sizeof(mountinfo), "20 1 259:2 / / rw - ext4 /dev/nvme0n1p2 rw\n%s",
		overlay);
	assert_int_equal(with_target(tree, mountinfo, check_overlay_on_disk), 0);
	snprintf(mountinfo, sizeof(mountinfo),
		"20 1 259:2 / / rw - ext4 /dev/nvme0n1p2 rw\n21 20 0:9 / /var rw - tmpfs none rw\n%s",
		overlay);
	assert_int_equal(with_target(tree, mountinfo, check_overlay_in_memory), 0);
	/* Only the overlay can be seen, and an overlay whose upper directory is itself. */
	assert_int_equal(with_target(tree, overlay, check_no_disk), 0);
	assert_int_equal(
		with_target(tree, "22 20 0:50 / /tmp rw - overlay overlay rw,upperdir=/tmp/x\n",
			check_no_disk),
		0);
}

static enum fs_class seen_class;
static unsigned seen_n_disks;

static void see_class(const struct tree *tree, const struct target_facts *t)
{
	(void)tree;
	seen_class = t->fs_class;
	seen_n_disks = t->n_disks;
}

static void types_have_their_class(void **state)
{
	static const struct {
		const char *type;
		const char *source;
		enum fs_class fs_class;
	} cases[] = {
		{ "tmpfs", "none", FS_MEMORY },
		{ "ramfs", "none", FS_MEMORY },
		{ "devtmpfs", "none", FS_MEMORY },
		{ "nfs", "server:/export", FS_NETWORK },
		{ "nfs4", "server:/dev/sda1", FS_NETWORK },
		{ "cifs", "//server/share", FS_NETWORK },
		{ "ceph", "1.2.3.4:6789:/", FS_NETWORK },
		{ "9p", "share", FS_NETWORK },
		{ "virtiofs", "share", FS_NETWORK },
		{ "fuse", "x", FS_NETWORK },
		{ "fuse.sshfs", "me@there:", FS_NETWORK },
		{ "lustre", "mgs@tcp:/fs", FS_NETWORK },
		{ "beegfs", "beegfs_nodev", FS_NETWORK },
		{ "fuseblk", "/dev/nosuchdisk", FS_LOCAL },
		{ "zfs", "tank/home", FS_LOCAL },
		{ "xfs", "/dev/nosuchdisk", FS_LOCAL },
		{ "fused", "x", FS_LOCAL },
	};
	const struct tree *tree = *state;

	lay_two_disks(tree);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char mountinfo[256];

		snprintf(mountinfo, sizeof(mountinfo), "21 1 0:41 / /tmp rw - %s %s rw\n",
			cases[i].type, cases[i].source);
		assert_int_equal(with_target(tree, mountinfo, see_class), 0);
		if (seen_class != cases[i].fs_class || seen_n_disks != 0)
			fail_msg("%s is class %d with %u disks", cases[i].type, (int)seen_class,
				seen_n_disks);
	}
}

static void without_mountinfo_the_disk_is_still_not_invented(void **state)
{
	const struct tree *tree = *state;
	struct target_facts *t = calloc(1, sizeof(*t));
	struct err e = { 0 };

	assert_non_null(t);
	assert_int_equal(probe_target(&tree->root, tree->dir, t, &e), 0);
	assert_int_equal(t->n_disks, 0);
	assert_string_equal(t->mount_point, "");
	free(t);
}

static void what_is_no_storage_is_refused_without_opening_it(void **state)
{
	const struct tree *tree = *state;
	struct target_facts *t = calloc(1, sizeof(*t));
	char fifo[128];
	char link[128];
	const struct {
		const char *path;
		const char *part;
	} cases[] = {
		{ fifo, "is a FIFO" },
		{ link, "is a FIFO" },
		{ "/dev/null", "is a character device" },
		{ "/nosuch/path", "No such file" },
		{ "", "No such file" },
		{ "/dev/null/x", "Not a directory" },
	};

	assert_non_null(t);
	snprintf(fifo, sizeof(fifo), "%s/fifo", tree->dir);
	snprintf(link, sizeof(link), "%s/link", tree->dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(symlink("fifo", link), 0);
	t->size_bytes = 4711;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err e = { 0 };

		assert_int_equal(probe_target(&tree->root, cases[i].path, t, &e), -1);
		assert_int_equal(e.kind, ERR_USAGE);
		assert_contains(e.msg, cases[i].part);
	}
	assert_int_equal(t->size_bytes, 4711); /* untouched on failure */
	free(t);
}

static void a_file_has_its_size(void **state)
{
	const struct tree *tree = *state;
	struct target_facts *t = calloc(1, sizeof(*t));
	struct err e = { 0 };
	char path[128];

	assert_non_null(t);
	tree_file(tree, "file", "0123456789");
	snprintf(path, sizeof(path), "%s/file", tree->dir);
	assert_int_equal(probe_target(&tree->root, path, t, &e), 0);
	assert_int_equal(t->kind, TARGET_FILE);
	assert_int_equal(t->size_bytes, 10);
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(walks_down_to_the_disks),
		TREE_TEST(more_leaves_than_fit_are_incomplete),
		TREE_TEST(finds_the_mount_and_the_disk),
		TREE_TEST(every_member_of_a_btrfs_counts),
		TREE_TEST(a_source_below_dev_mapper_is_found_by_name),
		TREE_TEST(the_log_device_of_xfs_counts),
		TREE_TEST(a_loop_device_is_a_leaf_with_its_backing_file),
		TREE_TEST(an_overlay_is_its_upper_directory),
		TREE_TEST(types_have_their_class),
		TREE_TEST(without_mountinfo_the_disk_is_still_not_invented),
		TREE_TEST(what_is_no_storage_is_refused_without_opening_it),
		TREE_TEST(a_file_has_its_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

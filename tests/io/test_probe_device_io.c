/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What may be written and what not, on real loop devices. */
#include "loop_rig.h"

static void refused(const char *path, const char *name, const char *part)
{
	struct err e = { 0 };

	if (probe_device_writable(NULL, path, name, &e) != -1)
		fail_msg("'%s' as '%s' was accepted", path, name);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_contains(e.msg, part);
	assert_null(strchr(e.msg, '\n'));
}

static void accepted(const char *path, const char *name)
{
	struct err e = { 0 };

	if (probe_device_writable(NULL, path, name, &e) != 0)
		fail_msg("'%s' as '%s' was refused: %s", path, name, e.msg);
}

static void an_empty_device_is_accepted_by_its_own_name_only(void **state)
{
	const struct rig *rig = *state;
	char link[80];

	accepted(rig->device, rig->name);
	accepted(rig->device, rig->device);
	refused(rig->device, "loop", "repeat its own name");
	refused(rig->device, "", "repeat its own name");
	refused(rig->device, "sda", rig->name);
	/* A link leads to it but does not name it. */
	snprintf(link, sizeof(link), "%s/link", work_dir);
	assert_int_equal(symlink(rig->device, link), 0);
	accepted(link, rig->name);
	refused(link, link, "repeat its own name");
	unlink(link);
}

static void a_file_system_is_refused_with_type_and_label(void **state)
{
	const struct rig *rig = *state;

	make_ext4(rig, rig->device);
	refused(rig->device, rig->name, "holds an ext4 file system (label 'la'b')");
	refused(rig->device, rig->name, "wipefs -a /dev/loop");
}

static void a_damaged_file_system_is_still_one(void **state)
{
	struct rig rig;

	(void)state;
	assert_int_equal(rig_make_sized(&rig, BTRFS_IMAGE_BYTES, false, 0), 0);
	const char *const argv[] = { "mkfs.btrfs", "-q", "-f", rig.device, NULL };
	if (run(argv) != 0) {
		rig_release(&rig);
		skip();
	}
	/* A byte of the label: the checksum of the superblock is wrong now. */
	assert_int_equal(pwrite(rig.fd, "X", 1, 65536 + 0x12b), 1);
	assert_int_equal(fsync(rig.fd), 0);
	refused(rig.device, rig.name, "btrfs");
	rig_release(&rig);
}

static void swap_is_refused(void **state)
{
	const struct rig *rig = *state;
	const char *const argv[] = { "mkswap", rig->device, NULL };

	if (run(argv) != 0)
		skip();
	refused(rig->device, rig->name, "holds a swap");
	if (swapon(rig->device, 0) < 0)
		return; /* a kernel or container without swap */
	struct err e = { 0 };
	int rc = probe_device_writable(NULL, rig->device, rig->name, &e);
	assert_int_equal(swapoff(rig->device), 0);
	assert_int_equal(rc, -1);
	assert_contains(e.msg, "is in use as swap");
}

static void a_mounted_device_is_refused_with_its_mount_point(void **state)
{
	const struct rig *rig = *state;

	make_and_mount_ext4(rig);
	refused(rig->device, rig->name, "is mounted on '/tmp/clyde-test-");
	assert_int_equal(umount(mount_dir), 0);
	refused(rig->device, rig->name, "file system");
}

/* Mounts in a name space that we do not see, until the pipe closes. */
static pid_t mount_elsewhere(const char *device, int *ret_ready_fd)
{
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		bool ok = unshare(CLONE_NEWNS) == 0 &&
			  mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
			  mount(device, mount_dir, "ext4", 0, "") == 0;

		if (write(fds[1], ok ? "y" : "n", 1) == 1)
			pause();
		_exit(0);
	}
	assert_true(pid > 0);
	close(fds[1]);
	*ret_ready_fd = fds[0];
	return pid;
}

static void a_mount_in_another_name_space_is_refused(void **state)
{
	const struct rig *rig = *state;
	char answer = '?';
	int ready_fd = -1;
	struct err e = { 0 };

	make_ext4(rig, rig->device);
	pid_t pid = mount_elsewhere(rig->device, &ready_fd);
	ssize_t n = read(ready_fd, &answer, 1);
	int rc = probe_device_writable(NULL, rig->device, rig->name, &e);
	close(ready_fd);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(n, 1);
	assert_int_equal(answer, 'y');
	assert_int_equal(rc, -1);
	assert_contains(e.msg, "is held by");
}

static void the_disk_of_a_mounted_partition_is_refused(void **state)
{
	struct rig rig;

	(void)state;
	if (rig_make_sized(&rig, IMAGE_BYTES, true, LO_FLAGS_PARTSCAN) < 0) {
		rig_release(&rig);
		fail_msg("no loop device with partitions");
	}
	add_partition(&rig);
	if (access(rig.partition, F_OK) < 0) {
		rig_release(&rig);
		skip(); /* a /dev of our own, where nobody makes the node */
	}
	const char *partition_name = rig.partition + strlen("/dev/");
	refused(rig.device, rig.name, "holds a partition table (dos)");
	accepted(rig.partition, partition_name);
	refused(rig.partition, rig.name, "repeat its own name");
	make_ext4(&rig, rig.partition);
	assert_int_equal(mount(rig.partition, mount_dir, "ext4", 0, ""), 0);
	refused(rig.device, rig.name, ", a partition of '/dev/loop");
	refused(rig.partition, partition_name, "is mounted on");
	assert_int_equal(umount(mount_dir), 0);
	rig_release(&rig);
}

static void a_read_only_device_is_refused(void **state)
{
	struct rig rig;

	(void)state;
	assert_int_equal(rig_make_sized(&rig, IMAGE_BYTES, false, LO_FLAGS_READ_ONLY), 0);
	refused(rig.device, rig.name, "is read-only");
	rig_release(&rig);
}

static void a_device_under_device_mapper_is_refused(void **state)
{
	const struct rig *rig = *state;
	char name[64];
	char table[96];
	struct err e = { 0 };

	snprintf(name, sizeof(name), "clyde-test-%ld", (long)getpid());
	snprintf(table, sizeof(table), "0 2048 linear %s 0", rig->device);
	const char *const create[] = { "dmsetup", "create", "--noudevsync", name, "--table", table,
		NULL };
	const char *const removal[] = { "dmsetup", "remove", "--noudevsync", "--retry", name,
		NULL };
	if (run(create) != 0)
		skip();
	int rc = probe_device_writable(NULL, rig->device, rig->name, &e);
	assert_int_equal(run(removal), 0);
	assert_int_equal(rc, -1);
	assert_contains(e.msg, "is built on '/dev/loop");
}

static void a_device_under_another_loop_device_is_refused(void **state)
{
	const struct rig *rig = *state;
	struct rig upper = { .fd = -1 };
	int fd cleanup(close_p) = open(rig->device, O_RDWR | O_CLOEXEC);

	assert_int_equal(attach(&upper, fd, 0), 0);
	refused(rig->device, rig->name, "is built on '/dev/loop");
	accepted(upper.device, upper.name);
	rig_release(&upper);
}

static void both_members_of_a_btrfs_are_found_and_refused(void **state)
{
	struct rig a;
	struct rig b;

	(void)state;
	assert_int_equal(rig_make_sized(&a, BTRFS_IMAGE_BYTES, false, 0), 0);
	assert_int_equal(rig_make_sized(&b, BTRFS_IMAGE_BYTES, false, 0), 0);
	const char *const argv[] = { "mkfs.btrfs", "-q", "-f", "-d", "raid0", "-m", "raid1",
		a.device, b.device, NULL };
	char options[64];
	snprintf(options, sizeof(options), "device=%s", b.device);
	if (run(argv) != 0 || mount(a.device, mount_dir, "btrfs", 0, options) < 0) {
		rig_release(&a);
		rig_release(&b);
		skip();
	}
	struct target_facts *t cleanup(free_p) = target_of(mount_dir);
	assert_int_equal(t->n_disks, 2);
	assert_false(t->disks_incomplete);
	refused(a.device, a.name, "mounted");
	refused(b.device, b.name, "belongs to a mounted btrfs");
	assert_int_equal(umount(mount_dir), 0);
	refused(b.device, b.name, "btrfs file system");
	rig_release(&a);
	rig_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(an_empty_device_is_accepted_by_its_own_name_only),
		RIG_TEST(a_file_system_is_refused_with_type_and_label),
		RIG_TEST(a_damaged_file_system_is_still_one),
		RIG_TEST(swap_is_refused),
		RIG_TEST(a_mounted_device_is_refused_with_its_mount_point),
		RIG_TEST(a_mount_in_another_name_space_is_refused),
		RIG_TEST(the_disk_of_a_mounted_partition_is_refused),
		RIG_TEST(a_read_only_device_is_refused),
		RIG_TEST(a_device_under_device_mapper_is_refused),
		RIG_TEST(a_device_under_another_loop_device_is_refused),
		RIG_TEST(both_members_of_a_btrfs_are_found_and_refused),
	};

	return rig_run(tests, sizeof(tests) / sizeof(tests[0]));
}

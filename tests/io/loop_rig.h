/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Loop devices and mounts for the tests of probe/ on a real system. Needs root and loop devices.
 *
 * Nothing outlives the process, however it ends: loop devices clear themselves when the last
 * user closes them, and mounts are in a mount name space of our own. What a kill -9 leaves is a
 * directory of sparse images in /tmp.
 */
#pragma once

#include "../unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/blkpg.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "probe/probe.h"

#define RIG_HELPER __attribute__((unused)) static

enum { SKIPPED = 77, MIB = 1024 * 1024, BTRFS_IMAGE_BYTES = 128 * MIB, IMAGE_BYTES = 64 * MIB };

struct rig {
	char image[64];
	char device[32]; /* "/dev/loop7" */
	char partition[40];
	const char *name; /* in device, behind /dev/ */
	int fd;		  /* keeps the loop device set up */
};

/* Where everything is mounted; a directory of ours. */
static char work_dir[] = "/tmp/clyde-test-XXXXXX";
static char mount_dir[64];
static char second_dir[64];

/* Runs a program without its output. Return: its exit status; -1 not there or killed */
RIG_HELPER int run(const char *const *argv)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

		dup2(null_fd, 0);
		dup2(null_fd, 1);
		dup2(null_fd, 2);
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status) == 127 ? -1 : WEXITSTATUS(status);
}

RIG_HELPER int free_loop_number(void)
{
	int fd cleanup(close_p) = open("/dev/loop-control", O_RDWR | O_CLOEXEC);

	return fd < 0 ? -1 : ioctl(fd, LOOP_CTL_GET_FREE);
}

/* Another program may take the free number between the two calls. */
RIG_HELPER int attach(struct rig *rig, int image_fd, uint32_t flags)
{
	for (int i = 0; i < 10; i++) {
		struct loop_config config = { .fd = (uint32_t)image_fd,
			.info = { .lo_flags = LO_FLAGS_AUTOCLEAR | flags } };
		int number = free_loop_number();

		if (number < 0)
			return -1;
		snprintf(rig->device, sizeof(rig->device), "/dev/loop%d", number);
		snprintf(rig->partition, sizeof(rig->partition), "%sp1", rig->device);
		rig->name = rig->device + strlen("/dev/");
		rig->fd = open(rig->device,
			((flags & LO_FLAGS_READ_ONLY) ? O_RDONLY : O_RDWR) | O_CLOEXEC);
		if (rig->fd >= 0 && ioctl(rig->fd, LOOP_CONFIGURE, &config) == 0)
			return 0;
		int why = errno;
		if (rig->fd >= 0)
			close(rig->fd);
		rig->fd = -1;
		if (why != EBUSY)
			return -1;
	}
	return -1;
}

/* An MBR with one Linux partition from 1 MiB to 33 MiB. */
RIG_HELPER void write_mbr(int fd)
{
	static const unsigned char entry[16] = { 0, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0, 1,
		0 };
	static const unsigned char mark[2] = { 0x55, 0xaa };

	assert_int_equal(pwrite(fd, entry, sizeof(entry), 446), sizeof(entry));
	assert_int_equal(pwrite(fd, mark, sizeof(mark), 510), sizeof(mark));
}

/* By hand: a kernel may be built without the parser of partition tables. */
RIG_HELPER void add_partition(const struct rig *rig)
{
	struct blkpg_partition partition = { .start = MIB, .length = 32 * MIB, .pno = 1 };
	struct blkpg_ioctl_arg arg = {
		.op = BLKPG_ADD_PARTITION, .datalen = sizeof(partition), .data = &partition
	};

	if (ioctl(rig->fd, BLKPG, &arg) < 0)
		assert_int_equal(errno, EBUSY); /* the kernel has found it already */
}

RIG_HELPER int rig_make_sized(struct rig *rig, off_t image_bytes, bool with_mbr, uint32_t flags)
{
	snprintf(rig->image, sizeof(rig->image), "%s/image-XXXXXX", work_dir);
	int fd cleanup(close_p) = mkostemp(rig->image, O_CLOEXEC);

	rig->fd = -1;
	if (fd < 0 || ftruncate(fd, image_bytes) < 0)
		return -1;
	if (with_mbr)
		write_mbr(fd);
	return attach(rig, fd, flags);
}

RIG_HELPER int rig_make(struct rig *rig)
{
	return rig_make_sized(rig, IMAGE_BYTES, false, 0);
}

RIG_HELPER int setup(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	*state = rig;
	return rig && rig_make(rig) == 0 ? 0 : -1;
}

RIG_HELPER void rig_release(struct rig *rig)
{
	if (rig->fd >= 0)
		close(rig->fd);
	rig->fd = -1;
	unlink(rig->image);
}

RIG_HELPER int teardown(void **state)
{
	struct rig *rig = *state;

	while (umount2(second_dir, MNT_DETACH) == 0)
		;
	while (umount2(mount_dir, MNT_DETACH) == 0)
		;
	rig_release(rig);
	free(rig);
	return 0;
}

RIG_HELPER void make_ext4(const struct rig *rig, const char *device)
{
	const char *const argv[] = { "mkfs.ext4", "-q", "-F", "-L", "la'b", device, NULL };

	assert_int_equal(run(argv), 0);
	fsync(rig->fd);
}

RIG_HELPER void make_and_mount_ext4(const struct rig *rig)
{
	make_ext4(rig, rig->device);
	assert_int_equal(mount(rig->device, mount_dir, "ext4", 0, ""), 0);
}

RIG_HELPER struct target_facts *target_of(const char *path)
{
	struct target_facts *t = calloc(1, sizeof(*t));
	struct err e = { 0 };

	assert_non_null(t);
	if (probe_target(NULL, path, t, &e) < 0)
		fail_msg("%s", e.msg);
	return t;
}

/* Return: whether root, loop devices and mounts of our own are to be had */
RIG_HELPER bool prepare(void)
{
	struct rig rig = { .fd = -1 };

	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
		mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return false;
	if (!mkdtemp(work_dir))
		return false;
	snprintf(mount_dir, sizeof(mount_dir), "%s/mnt", work_dir);
	snprintf(second_dir, sizeof(second_dir), "%s/mnt2", work_dir);
	if (mkdir(mount_dir, 0700) < 0 || mkdir(second_dir, 0700) < 0)
		return false;
	bool has_loop = rig_make(&rig) == 0;
	rig_release(&rig);
	return has_loop;
}

RIG_HELPER void remove_work(void)
{
	rmdir(mount_dir);
	rmdir(second_dir);
	rmdir(work_dir);
}

/* The tests of a program, or 77 where they cannot be. */
RIG_HELPER int rig_run(const struct CMUnitTest *tests, size_t n_tests)
{
	if (!prepare()) {
		fprintf(stderr, "skipped: needs root, loop devices and mounts\n");
		remove_work();
		return SKIPPED;
	}
	int n_failed = _cmocka_run_group_tests("probe", tests, n_tests, NULL, NULL);
	remove_work();
	return n_failed;
}

/* clang-format off */
#define RIG_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
/* clang-format on */

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * probe/ on real loop devices: what may be written and what not, the stack under real mounts, the
 * page cache and direct I/O. Needs root and loop devices, else it exits 77.
 *
 * Nothing outlives the process, however it ends: loop devices clear themselves when the last
 * user closes them, mounts are in a mount name space of our own, and images are unlinked while
 * in use.
 */
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
static int run(const char *const *argv)
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

static int free_loop_number(void)
{
	int fd cleanup(close_p) = open("/dev/loop-control", O_RDWR | O_CLOEXEC);

	return fd < 0 ? -1 : ioctl(fd, LOOP_CTL_GET_FREE);
}

/* Another program may take the free number between the two calls. */
static int attach(struct rig *rig, int image_fd, uint32_t flags)
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
static void write_mbr(int fd)
{
	static const unsigned char entry[16] = { 0, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0, 1,
		0 };
	static const unsigned char mark[2] = { 0x55, 0xaa };

	assert_int_equal(pwrite(fd, entry, sizeof(entry), 446), sizeof(entry));
	assert_int_equal(pwrite(fd, mark, sizeof(mark), 510), sizeof(mark));
}

/* By hand: a kernel may be built without the parser of partition tables. */
static void add_partition(const struct rig *rig)
{
	struct blkpg_partition partition = { .start = MIB, .length = 32 * MIB, .pno = 1 };
	struct blkpg_ioctl_arg arg = {
		.op = BLKPG_ADD_PARTITION, .datalen = sizeof(partition), .data = &partition
	};

	if (ioctl(rig->fd, BLKPG, &arg) < 0)
		assert_int_equal(errno, EBUSY); /* the kernel has found it already */
}

static int rig_make_sized(struct rig *rig, off_t image_bytes, bool with_mbr, uint32_t flags)
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

static int rig_make(struct rig *rig)
{
	return rig_make_sized(rig, IMAGE_BYTES, false, 0);
}

static int setup(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	*state = rig;
	return rig && rig_make(rig) == 0 ? 0 : -1;
}

static void rig_release(struct rig *rig)
{
	if (rig->fd >= 0)
		close(rig->fd);
	rig->fd = -1;
	unlink(rig->image);
}

static int teardown(void **state)
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

static void make_ext4(const struct rig *rig, const char *device)
{
	const char *const argv[] = { "mkfs.ext4", "-q", "-F", "-L", "la'b", device, NULL };

	assert_int_equal(run(argv), 0);
	fsync(rig->fd);
}

static void make_and_mount_ext4(const struct rig *rig)
{
	make_ext4(rig, rig->device);
	assert_int_equal(mount(rig->device, mount_dir, "ext4", 0, ""), 0);
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
	const struct rig *rig = *state;
	const char *const argv[] = { "mkfs.ext4", "-q", "-F", "-O", "metadata_csum", rig->device,
		NULL };

	assert_int_equal(run(argv), 0);
	/* A byte of the volume name: the checksum of the superblock is wrong now. */
	assert_int_equal(pwrite(rig->fd, "X", 1, 1024 + 120), 1);
	assert_int_equal(fsync(rig->fd), 0);
	refused(rig->device, rig->name, "ext4");
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

static struct target_facts *target_of(const char *path)
{
	struct target_facts *t = calloc(1, sizeof(*t));
	struct err e = { 0 };

	assert_non_null(t);
	if (probe_target(NULL, path, t, &e) < 0)
		fail_msg("%s", e.msg);
	return t;
}

static void expect_target(const char *path, const char *type, enum fs_class fs_class,
	const char *disk, const char *image)
{
	struct target_facts *t cleanup(free_p) = target_of(path);

	assert_string_equal(t->fs_type, type);
	assert_int_equal(t->fs_class, fs_class);
	assert_int_equal(t->n_disks, disk ? 1 : 0);
	if (!disk)
		return;
	assert_string_equal(t->disks[0].name, disk);
	assert_string_equal(t->disks[0].backing, image);
	assert_int_equal(t->disks[0].size_bytes, IMAGE_BYTES);
	assert_true(t->disks[0].iostats);
}

static void a_mounted_loop_device_is_found_through_binds_and_overlays(void **state)
{
	const struct rig *rig = *state;
	static const char *const names[] = { "low", "up", "work" };
	char path[96];
	char options[400];

	make_and_mount_ext4(rig);
	expect_target(mount_dir, "ext4", FS_LOCAL, rig->name, rig->image);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", mount_dir, names[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	assert_int_equal(mount(path, second_dir, NULL, MS_BIND, NULL), 0);
	expect_target(second_dir, "ext4", FS_LOCAL, rig->name, rig->image);
	/* What is mounted on top counts, not what lies below it. */
	assert_int_equal(mount("none", second_dir, "tmpfs", 0, "size=1m"), 0);
	expect_target(second_dir, "tmpfs", FS_MEMORY, NULL, NULL);
	assert_int_equal(umount(second_dir), 0);
	assert_int_equal(umount(second_dir), 0);
	snprintf(options, sizeof(options), "lowerdir=%s/low,upperdir=%s/up,workdir=%s/work",
		mount_dir, mount_dir, mount_dir);
	if (mount("overlay", second_dir, "overlay", 0, options) == 0)
		expect_target(second_dir, "overlay", FS_LOCAL, rig->name, rig->image);
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

static int open_test_file(const char *name, off_t file_bytes)
{
	static char block[4096];
	char path[96];

	snprintf(path, sizeof(path), "%s/%s", mount_dir, name);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	memset(block, 0x5a, sizeof(block));
	for (off_t done = 0; done < file_bytes;) {
		off_t left = file_bytes - done;
		size_t n = left < (off_t)sizeof(block) ? (size_t)left : sizeof(block);

		assert_int_equal(write(fd, block, n), n);
		done += (off_t)n;
	}
	return fd;
}

static void the_page_cache_is_counted_and_dropped(void **state)
{
	static const uint64_t sizes_bytes[] = { 0, 1, 4096, 5000, 4 * MIB + 123 };
	const struct rig *rig = *state;

	make_and_mount_ext4(rig);
	for (size_t i = 0; i < sizeof(sizes_bytes) / sizeof(sizes_bytes[0]); i++) {
		uint64_t file_bytes = sizes_bytes[i];
		int fd cleanup(close_p) = open_test_file("cached", (off_t)file_bytes);
		uint64_t cached_bytes = 4711;
		uint64_t left_bytes = 4711;
		char byte;

		assert_int_equal(probe_cached_bytes(fd, file_bytes, &cached_bytes), 0);
		assert_int_equal(cached_bytes, file_bytes); /* just written, not yet on the disk */
		assert_int_equal(probe_drop_cache(fd, file_bytes, &left_bytes), 0);
		assert_int_equal(left_bytes, 0);
		if (file_bytes == 0)
			continue;
		assert_int_equal(pread(fd, &byte, 1, 0), 1);
		assert_int_equal(probe_cached_bytes(fd, file_bytes, &cached_bytes), 0);
		assert_true(cached_bytes > 0 && cached_bytes <= file_bytes);
	}
}

/* As a kernel before 6.5, or a container's filter, answers cachestat. */
static int refuse_cachestat(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 451, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/*
 * Return: 0 if a child without cachestat sees the same of a 300 MiB file with two cached ranges,
 * one behind the first window of 256 MiB; 1 if it cannot tell; 2 failed
 */
static int look_without_cachestat(int fd, uint64_t expected_bytes, bool as_nobody)
{
	const uint64_t file_bytes = 300ull * MIB + 5;
	uint64_t bytes = 0;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (refuse_cachestat() < 0 || (as_nobody && setuid(65534) < 0))
			_exit(2);
		if (probe_cached_bytes(fd, file_bytes, &bytes) != 0)
			_exit(1);
		_exit(bytes == expected_bytes ? 0 : 2);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 2;
	return WEXITSTATUS(status);
}

static void without_cachestat_mincore_tells_or_nobody_does(void **state)
{
	const struct rig *rig = *state;
	uint64_t cached_bytes = 0;
	char path[96];

	make_and_mount_ext4(rig);
	int fd cleanup(close_p) = open_test_file("sparse", 0);
	assert_int_equal(ftruncate(fd, 300ll * MIB + 5), 0);
	assert_int_equal(pwrite(fd, "x", 1, 4096), 1);
	assert_int_equal(pwrite(fd, "x", 1, 280ll * MIB), 1);
	snprintf(path, sizeof(path), "%s/sparse", mount_dir);
	assert_int_equal(chmod(path, 0444), 0);
	int read_fd cleanup(close_p) = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(probe_cached_bytes(read_fd, 300ull * MIB + 5, &cached_bytes), 0);
	assert_true(cached_bytes >= 2 * 4096 && cached_bytes < 16 * MIB);
	assert_int_equal(look_without_cachestat(read_fd, cached_bytes, false), 0);
	/* mincore would say "all of it" to a stranger. */
	assert_int_equal(look_without_cachestat(read_fd, cached_bytes, true), 1);
}

static void the_cache_of_a_device_is_dropped(void **state)
{
	const struct rig *rig = *state;
	static char block[MIB];
	uint64_t bytes = 4711;

	assert_int_equal(pread(rig->fd, block, sizeof(block), 0), sizeof(block));
	assert_int_equal(probe_cached_bytes(rig->fd, IMAGE_BYTES, &bytes), 0);
	assert_true(bytes >= sizeof(block));
	assert_int_equal(probe_drop_cache(rig->fd, IMAGE_BYTES, &bytes), 0);
	assert_int_equal(bytes, 0);
}

static void memory_cannot_be_dropped_and_says_so(void **state)
{
	uint64_t left_bytes = 0;

	(void)state;
	assert_int_equal(mount("none", mount_dir, "tmpfs", 0, "size=4m"), 0);
	int fd cleanup(close_p) = open_test_file("kept", 8192);
	assert_int_equal(probe_drop_cache(fd, 8192, &left_bytes), 0);
	assert_int_equal(left_bytes, 8192);
}

/* What is said about alignment must be enough for a direct read. */
static void read_directly(int fd)
{
	uint32_t offset_bytes = 0;
	uint32_t memory_bytes = 0;
	void *block cleanup(free_p) = NULL;

	assert_int_equal(probe_direct(fd, &offset_bytes, &memory_bytes), 0);
	assert_true(offset_bytes >= 1 && offset_bytes <= 65536);
	assert_true(memory_bytes >= 1 && memory_bytes <= 65536);
	assert_int_equal(fcntl(fd, F_SETFL, O_DIRECT), 0);
	block = aligned_alloc(65536, 131072);
	assert_non_null(block);
	assert_int_equal(
		pread(fd, (char *)block + memory_bytes, offset_bytes, offset_bytes), offset_bytes);
}

static void the_direct_alignment_is_enough(void **state)
{
	const struct rig *rig = *state;

	read_directly(rig->fd);
	make_and_mount_ext4(rig);
	int fd cleanup(close_p) = open_test_file("direct", 256 * 1024);
	assert_int_equal(fsync(fd), 0);
	read_directly(fd);
}

static void counters_move_by_what_was_read(void **state)
{
	const struct rig *rig = *state;
	struct target_facts *t cleanup(free_p) = target_of(rig->device);
	void *block cleanup(free_p) = aligned_alloc(4096, MIB);
	struct disk_counters before;
	struct disk_counters after;

	assert_int_equal(t->kind, TARGET_BLOCK_DEVICE);
	assert_int_equal(t->size_bytes, IMAGE_BYTES);
	assert_int_equal(fcntl(rig->fd, F_SETFL, O_DIRECT), 0);
	probe_disk_counters(NULL, t, &before);
	assert_true(before.known);
	assert_int_equal(pread(rig->fd, block, MIB, 0), MIB);
	probe_disk_counters(NULL, t, &after);
	struct disk_counters d = disk_counters_since(&before, &after);
	assert_true(d.known);
	assert_true(d.read_bytes >= MIB);
	assert_true(d.n_reads >= 1);
	assert_int_equal(d.written_bytes, 0);
}

/* Return: whether root, loop devices and mounts of our own are to be had */
static bool prepare(void)
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

static void remove_work(void)
{
	rmdir(mount_dir);
	rmdir(second_dir);
	rmdir(work_dir);
}

/* clang-format off */
#define RIG_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
/* clang-format on */

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
		RIG_TEST(a_mounted_loop_device_is_found_through_binds_and_overlays),
		RIG_TEST(both_members_of_a_btrfs_are_found_and_refused),
		RIG_TEST(the_page_cache_is_counted_and_dropped),
		RIG_TEST(without_cachestat_mincore_tells_or_nobody_does),
		RIG_TEST(the_cache_of_a_device_is_dropped),
		RIG_TEST(memory_cannot_be_dropped_and_says_so),
		RIG_TEST(the_direct_alignment_is_enough),
		RIG_TEST(counters_move_by_what_was_read),
	};

	if (!prepare()) {
		fprintf(stderr, "skipped: needs root, loop devices and mounts\n");
		remove_work();
		return SKIPPED;
	}
	int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
	remove_work();
	return n_failed;
}

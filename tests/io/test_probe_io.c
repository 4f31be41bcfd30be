/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stack under real mounts, the page cache, direct I/O and counters, on loop devices. */
#include "loop_rig.h"

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

/* The list of mounts still has what is hidden by a mount above it. */
static void a_hidden_mount_is_not_taken_for_what_is_seen(void **state)
{
	const struct rig *rig = *state;
	char path[96];

	snprintf(path, sizeof(path), "%s/in", second_dir);
	make_ext4(rig, rig->device);
	assert_int_equal(mount("none", second_dir, "tmpfs", 0, "size=1m"), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(mount(rig->device, path, "ext4", 0, ""), 0);
	expect_target(path, "ext4", FS_LOCAL, rig->name, rig->image);
	assert_int_equal(mount("none", second_dir, "tmpfs", 0, "size=1m"), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	expect_target(path, "tmpfs", FS_MEMORY, NULL, NULL);
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
	/* Whole pages: with blocks of 1 KiB, mincore would not count one written in part. */
	static const char page[4096];
	uint64_t cached_bytes = 0;
	char path[96];

	make_and_mount_ext4(rig);
	int fd cleanup(close_p) = open_test_file("sparse", 0);
	assert_int_equal(ftruncate(fd, 300ll * MIB + 5), 0);
	assert_int_equal(pwrite(fd, page, 4096, 4096), 4096);
	assert_int_equal(pwrite(fd, page, 4096, 280ll * MIB), 4096);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(a_mounted_loop_device_is_found_through_binds_and_overlays),
		RIG_TEST(a_hidden_mount_is_not_taken_for_what_is_seen),
		RIG_TEST(the_page_cache_is_counted_and_dropped),
		RIG_TEST(without_cachestat_mincore_tells_or_nobody_does),
		RIG_TEST(the_cache_of_a_device_is_dropped),
		RIG_TEST(memory_cannot_be_dropped_and_says_so),
		RIG_TEST(the_direct_alignment_is_enough),
		RIG_TEST(counters_move_by_what_was_read),
	};

	return rig_run(tests, sizeof(tests) / sizeof(tests[0]));
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* File operations that go well: exact counts, right names, right bytes. */
#include "filework_rig.h"

#include <sys/resource.h>

static void every_operation_in_both_orders(void **state)
{
	(void)state;
	for (int random = 0; random < 2; random++) {
		struct rig r;

		rig_open(&r);
		rig_start(&r);
		rig_run(&r, FILEWORK_CREATE, random);
		expect_exact(&r, N_FILES);
		assert_int_equal(r.phase.written_bytes, total_bytes(&r.params));
		assert_int_equal(r.phase.read_bytes, 0);
		assert_int_equal(count_files(&r, 'f'), N_FILES);
		rig_run(&r, FILEWORK_STAT, random);
		expect_exact(&r, N_FILES);
		assert_int_equal(r.phase.written_bytes + r.phase.read_bytes, 0);
		rig_run(&r, FILEWORK_READ, random);
		expect_exact(&r, N_FILES);
		assert_int_equal(r.phase.read_bytes, total_bytes(&r.params));
		rig_run(&r, FILEWORK_READDIR, random);
		expect_exact(&r, N_DIRS);
		rig_run(&r, FILEWORK_RENAME, random);
		expect_exact(&r, N_FILES);
		assert_int_equal(count_files(&r, 'r'), N_FILES);
		assert_int_equal(count_files(&r, 'f'), 0);
		rig_run(&r, FILEWORK_LINK, random);
		expect_exact(&r, N_FILES);
		assert_int_equal(count_files(&r, 'l'), N_FILES);
		assert_int_equal(count_files(&r, 'r'), N_FILES);
		rig_run(&r, FILEWORK_DELETE, random);
		expect_exact(&r, 2 * N_FILES);
		assert_int_equal(count_files(&r, 'l') + count_files(&r, 'r'), 0);
		/* And all over again: names start afresh. */
		rig_run(&r, FILEWORK_CREATE, random);
		expect_exact(&r, N_FILES);
		assert_int_equal(count_files(&r, 'f'), N_FILES);
		rig_run(&r, FILEWORK_DELETE, random);
		expect_exact(&r, N_FILES);
		rig_close(&r);
	}
}

static void renamed_files_are_found_and_go_back(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r);
	rig_start(&r);
	rig_run(&r, FILEWORK_CREATE, false);
	rig_run(&r, FILEWORK_RENAME, true);
	rig_run(&r, FILEWORK_STAT, true);
	expect_exact(&r, N_FILES);
	rig_run(&r, FILEWORK_READ, false);
	expect_exact(&r, N_FILES);
	rig_run(&r, FILEWORK_RENAME, true);
	expect_exact(&r, N_FILES);
	assert_int_equal(count_files(&r, 'f'), N_FILES);
	assert_int_equal(count_files(&r, 'r'), 0);
	rig_run(&r, FILEWORK_DELETE, true);
	expect_exact(&r, N_FILES);
	rig_close(&r);
}

static void settings_say_what_was_done(void **state)
{
	struct rig r;
	const struct phase_settings *s = &r.phase.settings;

	(void)state;
	rig_open(&r);
	r.params.fsync_each = true;
	rig_start(&r);
	rig_run(&r, FILEWORK_CREATE, true);
	expect_exact(&r, N_FILES);
	assert_string_equal(s->access, "file_create");
	assert_int_equal(s->n_files, N_FILES);
	assert_int_equal(s->n_dirs, N_DIRS);
	assert_int_equal(s->block_bytes, 10000);
	assert_int_equal(s->n_threads, 1);
	assert_int_equal(s->depth, 1);
	assert_int_equal(s->seed, 42);
	assert_int_equal(s->read_pct, 0);
	assert_int_equal(s->flush, FLUSH_EACH);
	assert_contains(s->engine_detail, "random order");
	assert_int_equal(r.phase.evidence.asked_write_bytes, r.phase.written_bytes);
	assert_true(r.phase.evidence.worker_cpu_ratio >= 0);
	assert_true(r.phase.evidence.worker_cpu_ratio <= 1);
	rig_run(&r, FILEWORK_READ, false);
	assert_string_equal(s->access, "file_read");
	assert_int_equal(s->read_pct, 100);
	assert_int_equal(s->flush, FLUSH_NONE);
	assert_contains(s->engine_detail, "name order");
	rig_close(&r);
}

/* By path instead of kept descriptors. */
static void many_directories_and_empty_files(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r);
	r.params.n_dirs = 200;
	r.params.n_files = 300;
	r.params.min_bytes = r.params.max_bytes = 0;
	rig_start(&r);
	assert_null(r.work->dir_fds);
	for (enum filework_op op = 0; op < FILEWORK_N_OPS; op++) {
		rig_run(&r, op, op % 2);
		expect_exact(&r, op == FILEWORK_READDIR ? 200 : op == FILEWORK_DELETE ? 600 : 300);
		assert_int_equal(r.phase.read_bytes + r.phase.written_bytes, 0);
	}
	rig_close(&r);
}

static void few_descriptors_are_enough(void **state)
{
	struct rig r;
	struct rlimit before, low;

	(void)state;
	rig_open(&r);
	r.params.n_dirs = 100;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	low = before;
	low.rlim_cur = 40;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	rig_start(&r);
	assert_null(r.work->dir_fds);
	rig_run(&r, FILEWORK_CREATE, false);
	expect_exact(&r, N_FILES);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	rig_close(&r);
}

static void files_larger_than_the_buffer_are_whole(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r);
	r.params.n_files = 2;
	r.params.n_dirs = 1;
	r.params.min_bytes = r.params.max_bytes = (3 << 20) + 5;
	rig_start(&r);
	rig_run(&r, FILEWORK_CREATE, false);
	expect_exact(&r, 2);
	assert_int_equal(r.phase.written_bytes, 2 * ((3 << 20) + 5));
	assert_int_equal(count_files(&r, 'f'), 2);
	rig_run(&r, FILEWORK_READ, false);
	expect_exact(&r, 2);
	assert_int_equal(r.phase.read_bytes, 2 * ((3 << 20) + 5));
	rig_close(&r);
}

static uint64_t *load(const struct rig *r, uint64_t index, size_t n_bytes)
{
	char path[32];
	uint64_t *words = malloc(n_bytes);

	path_of(r, 'f', index, path);

	int fd = openat(r->fd, path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_non_null(words);
	assert_int_equal(read(fd, words, n_bytes), (ssize_t)n_bytes);
	close(fd);
	return words;
}

static void no_two_sectors_hold_the_same(void **state)
{
	enum { SECTOR = 512, FILE_BYTES = 8192, N_SECTORS = FILE_BYTES / SECTOR };
	struct rig r;
	uint64_t *a, *b;

	(void)state;
	rig_open(&r);
	r.params.min_bytes = r.params.max_bytes = FILE_BYTES;
	r.params.n_files = 2;
	rig_start(&r);
	rig_run(&r, FILEWORK_CREATE, false);
	a = load(&r, 0, FILE_BYTES);
	b = load(&r, 1, FILE_BYTES);
	for (int i = 0; i < N_SECTORS; i++)
		for (int k = 0; k < N_SECTORS; k++) {
			const char *sector = (const char *)a + (size_t)i * SECTOR;

			assert_memory_not_equal(
				sector, (const char *)b + (size_t)k * SECTOR, SECTOR);
			if (i != k)
				assert_memory_not_equal(
					sector, (const char *)a + (size_t)k * SECTOR, SECTOR);
		}
	free(a);
	free(b);
	rig_close(&r);
}

static void sizes_are_uniform_in_their_range(void **state)
{
	struct filework_params p = { .min_bytes = 10, .max_bytes = 19, .seed = 3 };
	unsigned n[10] = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 10000; i++) {
		uint64_t size_bytes = filework_size(&p, i);

		assert_in_range(size_bytes, 10, 19);
		n[size_bytes - 10]++;
	}
	for (int i = 0; i < 10; i++)
		assert_in_range(n[i], 880, 1120); /* 4 sigma of 1000 */
	p.max_bytes = 10;
	assert_int_equal(filework_size(&p, 7), 10);
	p = (struct filework_params){ .max_bytes = UINT64_C(1) << 62 };
	assert_true(filework_size(&p, 7) <= p.max_bytes);
}

static void names_have_their_form(void **state)
{
	static const char *const bad[] = { "", "f", "f00000000", "f0000000000", "x000000000",
		"f00000000a", "F000000000", "d000000", "f000000000/", "r00000000 " };
	char text[FILEWORK_PATH_MAX];

	(void)state;
	assert_ptr_equal(filework_name(text, 'f', 123, FILEWORK_FILE_DIGITS), text + 10);
	assert_string_equal(text, "f000000123");
	filework_name(text, 'd', FILEWORK_N_DIRS_MAX - 1, FILEWORK_DIR_DIGITS);
	assert_string_equal(text, "d999999");
	assert_true(filework_is_dir_name(text));
	assert_true(filework_is_file_name("l999999999"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(filework_is_file_name(bad[i]));
}

static void threads_share_the_files(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r);
	r.params.n_threads = 8;
	r.params.clock = &clock_monotonic;
	rig_start(&r);
	for (enum filework_op op = 0; op < FILEWORK_N_OPS; op++) {
		_Atomic uint64_t n_done = 0;
		uint64_t n = op == FILEWORK_READDIR  ? N_DIRS
			     : op == FILEWORK_DELETE ? 2 * N_FILES
						     : N_FILES;

		r.work->params.n_done = &n_done;
		rig_run(&r, op, true);
		assert_int_equal(r.phase.status, PHASE_DONE);
		assert_int_equal(r.phase.n_ops, n);
		assert_int_equal(r.phase.latency->n, n);
		assert_int_equal(n_done, n);
		assert_true(r.phase.elapsed_ns > 0);
		if (op == FILEWORK_CREATE)
			assert_int_equal(count_files(&r, 'f'), N_FILES);
	}
	rig_close(&r);
}

static void more_threads_than_files_is_fine(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r);
	r.params.n_threads = 5;
	r.params.n_files = 2;
	rig_start(&r);
	rig_run(&r, FILEWORK_CREATE, false);
	assert_int_equal(r.phase.status, PHASE_DONE);
	assert_int_equal(r.phase.n_ops, 2);
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_operation_in_both_orders),
		cmocka_unit_test(renamed_files_are_found_and_go_back),
		cmocka_unit_test(settings_say_what_was_done),
		cmocka_unit_test(many_directories_and_empty_files),
		cmocka_unit_test(few_descriptors_are_enough),
		cmocka_unit_test(files_larger_than_the_buffer_are_whole),
		cmocka_unit_test(no_two_sectors_hold_the_same),
		cmocka_unit_test(sizes_are_uniform_in_their_range),
		cmocka_unit_test(names_have_their_form),
		cmocka_unit_test(threads_share_the_files),
		cmocka_unit_test(more_threads_than_files_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

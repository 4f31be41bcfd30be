/* SPDX-License-Identifier: GPL-3.0-or-later */
/* File operations that end early: stops, errors, things changed underneath. */
#include "filework_rig.h"

static void a_stop_keeps_what_was_done(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r);
	rig_start(&r);
	r.ticking.stop_at = 21; /* the end of the 20th file */
	rig_run(&r, FILEWORK_CREATE, false);
	assert_int_equal(r.phase.status, PHASE_PARTIAL);
	assert_string_equal(r.phase.reason, "interrupted by SIGINT");
	assert_int_equal(r.phase.n_ops, 20);
	assert_int_equal(r.phase.elapsed_ns, 20 * US);
	assert_int_equal(count_files(&r, 'f'), 20);
	/* With the flag still up, nothing is done at all. */
	rig_run(&r, FILEWORK_STAT, false);
	assert_int_equal(r.phase.status, PHASE_FAILED);
	assert_int_equal(r.phase.n_ops, 0);
	/* Delete takes what there is. */
	r.ticking.stop_at = 0;
	atomic_store(&r.ticking.stop, 0);
	rig_run(&r, FILEWORK_DELETE, true);
	assert_int_equal(r.phase.status, PHASE_DONE);
	assert_int_equal(r.phase.n_ops, 20);
	rig_close(&r);
}

static void a_stop_at_the_last_operation_is_no_stop(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r);
	rig_start(&r);
	r.ticking.stop_at = N_FILES + 1;
	rig_run(&r, FILEWORK_CREATE, false);
	assert_int_equal(r.phase.status, PHASE_DONE);
	assert_int_equal(r.phase.n_ops, N_FILES);
	rig_close(&r);
}

static void files_are_found_after_a_rename_that_was_cut_short(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r);
	rig_start(&r);
	rig_run(&r, FILEWORK_CREATE, false);
	r.ticking.stop_at = 31;
	rig_run(&r, FILEWORK_RENAME, true);
	assert_int_equal(r.phase.status, PHASE_PARTIAL);
	assert_int_equal(r.phase.n_ops, 30);
	assert_int_equal(count_files(&r, 'r'), 30);
	r.ticking.stop_at = 0;
	atomic_store(&r.ticking.stop, 0);
	rig_run(&r, FILEWORK_STAT, true);
	expect_exact(&r, N_FILES);
	rig_run(&r, FILEWORK_READ, false);
	expect_exact(&r, N_FILES);
	rig_run(&r, FILEWORK_LINK, false);
	expect_exact(&r, N_FILES);
	rig_run(&r, FILEWORK_RENAME, false); /* the rest */
	assert_int_equal(r.phase.status, PHASE_DONE);
	assert_int_equal(r.phase.n_ops, N_FILES - 30);
	assert_int_equal(count_files(&r, 'r'), N_FILES);
	rig_run(&r, FILEWORK_DELETE, false);
	expect_exact(&r, 2 * N_FILES);
	rig_close(&r);
}

static void a_missing_file_ends_the_phase_and_is_named(void **state)
{
	struct rig r;
	char path[32];

	(void)state;
	rig_open(&r);
	rig_start(&r);
	rig_run(&r, FILEWORK_CREATE, false);
	path_of(&r, 'f', 10, path);
	assert_int_equal(unlinkat(r.fd, path, 0), 0);
	rig_run(&r, FILEWORK_READ, false);
	assert_int_equal(r.phase.status, PHASE_PARTIAL);
	assert_int_equal(r.phase.n_ops, 10);
	assert_int_equal(r.phase.error.sys, ENOENT);
	assert_string_equal(r.phase.error.op, "read");
	assert_string_equal(
		r.phase.reason, "read of 'd000003/f000000010': No such file or directory");
	rig_close(&r);
}

static void a_file_that_became_shorter_is_an_error(void **state)
{
	struct rig r;
	char path[32];

	(void)state;
	rig_open(&r);
	rig_start(&r);
	rig_run(&r, FILEWORK_CREATE, false);
	path_of(&r, 'f', 0, path);

	int fd = openat(r.fd, path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	close(fd);
	rig_run(&r, FILEWORK_READ, false);
	assert_int_equal(r.phase.status, PHASE_FAILED);
	assert_int_equal(r.phase.error.sys, ENODATA);
	assert_contains(r.phase.reason, "the file ended early");
	rig_close(&r);
}

static void a_link_in_place_of_a_file_is_not_followed(void **state)
{
	struct rig r;
	char path[32];

	(void)state;
	rig_open(&r);
	rig_start(&r);
	path_of(&r, 'f', 0, path);
	assert_int_equal(symlinkat("/tmp/test_filework_must_not_appear", r.fd, path), 0);
	rig_run(&r, FILEWORK_CREATE, false);
	assert_int_equal(r.phase.error.sys, EEXIST);
	rig_run(&r, FILEWORK_READ, false);
	assert_int_equal(r.phase.error.sys, ELOOP);
	assert_int_equal(access("/tmp/test_filework_must_not_appear", F_OK), -1);
	assert_int_equal(filework_remove(r.work, &r.err), -1);
	assert_contains(r.err.msg, "clyde did not make it");
	assert_int_equal(unlinkat(r.fd, path, 0), 0);
	rig_close(&r);
}

static void a_directory_removed_underneath_is_an_error(void **state)
{
	(void)state;
	for (int many = 0; many < 2; many++) {
		struct rig r;

		rig_open(&r);
		if (many)
			r.params.n_dirs = 129; /* by path */
		r.params.n_files = 129;
		rig_start(&r);
		assert_int_equal(unlinkat(r.fd, "files/d000004", AT_REMOVEDIR), 0);
		rig_run(&r, FILEWORK_CREATE, false);
		assert_int_equal(r.phase.status, PHASE_PARTIAL);
		assert_int_equal(r.phase.n_ops, 4);
		assert_int_equal(r.phase.error.sys, ENOENT);
		assert_string_equal(r.phase.error.op, "create");
		rig_run(&r, FILEWORK_READDIR, false);
		assert_int_equal(r.phase.status, PHASE_PARTIAL);
		assert_string_equal(
			r.phase.reason, "readdir of 'd000004': No such file or directory");
		rig_close(&r);
	}
}

static void the_whole_tree_removed_underneath_is_survived(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r);
	r.params.n_dirs = 1;
	r.params.n_threads = 4;
	rig_start(&r);
	assert_int_equal(unlinkat(r.fd, "files/d000000", AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(r.fd, "files", AT_REMOVEDIR), 0);
	for (enum filework_op op = 0; op < FILEWORK_N_OPS; op++) {
		rig_run(&r, op, false);
		/* After a create that was cut short, delete finds nothing and says so by 0. */
		assert_int_equal(r.phase.n_ops, 0);
		if (op != FILEWORK_DELETE)
			assert_int_equal(r.phase.status, PHASE_FAILED);
	}
	rig_close(&r);
}

static void create_twice_and_link_twice_are_errors(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r);
	rig_start(&r);
	rig_run(&r, FILEWORK_CREATE, false);
	rig_run(&r, FILEWORK_CREATE, false);
	assert_int_equal(r.phase.status, PHASE_FAILED);
	assert_int_equal(r.phase.error.sys, EEXIST);
	rig_run(&r, FILEWORK_LINK, false);
	rig_run(&r, FILEWORK_LINK, false);
	assert_int_equal(r.phase.error.sys, EEXIST);
	rig_close(&r);
}

static void remove_takes_whatever_there_is(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r);
	rig_start(&r);
	rig_run(&r, FILEWORK_CREATE, true);
	rig_run(&r, FILEWORK_LINK, true);
	r.ticking.stop_at = 10;
	rig_run(&r, FILEWORK_RENAME, true);
	assert_int_equal(filework_remove(r.work, &r.err), 0);
	assert_int_equal(filework_remove(r.work, &r.err), 0);
	rig_close(&r);
}

static void a_tree_that_is_there_already_is_not_touched(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r);
	assert_int_equal(mkdirat(r.fd, "files", 0700), 0);
	assert_int_equal(filework_new(&r.params, &r.work, &r.err), -1);
	assert_int_equal(r.err.kind, ERR_IO);
	assert_int_equal(r.err.sys, EEXIST);
	assert_int_equal(unlinkat(r.fd, "files", AT_REMOVEDIR), 0);
	rig_close(&r);
}

static void senseless_numbers_are_refused(void **state)
{
	static const struct filework_params rows[] = {
		{ .n_files = 0, .n_dirs = 1, .n_threads = 1 },
		{ .n_files = 1000000001, .n_dirs = 1, .n_threads = 1 },
		{ .n_files = 1, .n_dirs = 0, .n_threads = 1 },
		{ .n_files = 1, .n_dirs = 1000001, .n_threads = 1 },
		{ .n_files = 1, .n_dirs = 1, .n_threads = 0 },
		{ .n_files = 1, .n_dirs = 1, .n_threads = 1025 },
		{ .n_files = 1, .n_dirs = 1, .n_threads = 1, .min_bytes = 2, .max_bytes = 1 },
		{ .n_files = 1, .n_dirs = 1, .n_threads = 1, .max_bytes = UINT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct filework *w = NULL;
		struct err e = { 0 };

		assert_int_equal(filework_new(&rows[i], &w, &e), -1);
		assert_int_equal(e.kind, ERR_USAGE);
		assert_null(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stop_keeps_what_was_done),
		cmocka_unit_test(a_stop_at_the_last_operation_is_no_stop),
		cmocka_unit_test(files_are_found_after_a_rename_that_was_cut_short),
		cmocka_unit_test(a_missing_file_ends_the_phase_and_is_named),
		cmocka_unit_test(a_file_that_became_shorter_is_an_error),
		cmocka_unit_test(a_link_in_place_of_a_file_is_not_followed),
		cmocka_unit_test(a_directory_removed_underneath_is_an_error),
		cmocka_unit_test(the_whole_tree_removed_underneath_is_survived),
		cmocka_unit_test(create_twice_and_link_twice_are_errors),
		cmocka_unit_test(remove_takes_whatever_there_is),
		cmocka_unit_test(a_tree_that_is_there_already_is_not_touched),
		cmocka_unit_test(senseless_numbers_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

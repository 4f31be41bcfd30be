/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Test directories: made, removed, attacked while they live. */
#include "workdir_rig.h"

#include "plan/filework.h"
#include "plan/manifest.h"

/* ---- a life without trouble ---- */

static void makes_a_private_directory_with_a_manifest_and_removes_all_of_it(void **state)
{
	struct rig r;
	struct stat st;
	struct manifest m = { 0 };
	int fd = -1;

	(void)state;
	rig_init(&r);

	struct workdir *w = make(&r);

	assert_true(workdir_is_name(w->name));
	assert_int_equal(fstat(w->fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(manifest_read(w->fd, &m, &fd, &r.err), 0);
	close(fd);
	assert_string_equal(m.run_id, run_id);
	assert_int_equal(m.pid, getpid());
	assert_int_equal(m.pid_start_ticks, probe_process_start_ticks(NULL, getpid()));
	assert_string_equal(m.boot_id, r.host.boot_id);
	assert_string_equal(m.hostname, r.host.hostname);
	write_data(w, "data", 8192);
	write_data(w, "append", 100);
	assert_int_equal(workdir_remove(w, &r.err), 0);
	assert_int_equal(count_entries(r.target), 0);
	assert_int_equal(workdir_remove(w, &r.err), 0);
	workdir_free(w);
	rig_release(&r);
}

static void free_removes_too(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);

	struct workdir *w = make(&r);

	write_data(w, "data", 1);
	workdir_free(w);
	workdir_free(NULL);
	assert_int_equal(count_entries(r.target), 0);
	rig_release(&r);
}

static void removes_the_files_tree_of_an_unfinished_run(void **state)
{
	struct rig r;
	struct filework *files = NULL;

	(void)state;
	rig_init(&r);

	struct workdir *w = make(&r);
	struct filework_params p = { .dir_fd = w->fd, .n_files = 10, .n_dirs = 3, .n_threads = 1 };

	assert_int_equal(filework_new(&p, &files, &r.err), 0);
	filework_free(files);

	int fd = openat(w->fd, "files/d000002/l000000008", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(workdir_remove(w, &r.err), 0);
	assert_int_equal(count_entries(r.target), 0);
	workdir_free(w);
	rig_release(&r);
}

static void two_directories_in_one_target_differ(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);

	struct workdir *a = make(&r), *b = make(&r);

	assert_string_not_equal(a->name, b->name);
	workdir_free(a);
	assert_true(is_there(r.target, b->name));
	workdir_free(b);
	rig_release(&r);
}

static void knows_two_file_names_only(void **state)
{
	static const char *const names[] = { "manifest", "files", "../victim/data", "", "data2" };
	struct rig r;

	(void)state;
	rig_init(&r);

	struct workdir *w = make(&r);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(workdir_create_file(w, names[i], O_RDWR, &r.err), -1);
		assert_int_equal(r.err.kind, ERR_BUG);
		assert_int_equal(workdir_open_file(w, names[i], O_RDWR, &r.err), -1);
		assert_int_equal(workdir_remove_file(w, names[i], &r.err), -1);
	}
	workdir_free(w);
	rig_release(&r);
}

static void files_are_made_once_opened_again_and_removed(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);

	struct workdir *w = make(&r);

	assert_int_equal(workdir_open_file(w, "data", O_RDONLY, &r.err), -1);
	assert_int_equal(r.err.sys, ENOENT);
	write_data(w, "data", 10);
	assert_int_equal(workdir_create_file(w, "data", O_RDWR, &r.err), -1);
	assert_int_equal(r.err.sys, EEXIST);

	int fd = workdir_open_file(w, "data", O_RDONLY, &r.err);

	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	assert_int_equal(workdir_remove_file(w, "data", &r.err), 0);
	assert_int_equal(workdir_remove_file(w, "data", &r.err), 0);
	workdir_free(w);
	rig_release(&r);
}

static void refuses_what_is_no_directory_to_write_in(void **state)
{
	struct rig r;
	char path[256];
	struct workdir *w = NULL;

	(void)state;
	rig_init(&r);
	path_in(path, r.victim, "data");
	assert_int_equal(workdir_new(path, run_id, &r.host, &w, &r.err), -1);
	assert_int_equal(r.err.kind, ERR_USAGE);
	path_in(path, r.top, "nowhere");
	assert_int_equal(workdir_new(path, run_id, &r.host, &w, &r.err), -1);
	assert_int_equal(r.err.kind, ERR_USAGE);
	assert_contains(r.err.msg, "nowhere");
	assert_null(w);
	if (geteuid() != 0) {
		assert_int_equal(chmod(r.target, 0500), 0);
		assert_int_equal(workdir_new(r.target, run_id, &r.host, &w, &r.err), -1);
		assert_int_equal(r.err.kind, ERR_USAGE);
		assert_int_equal(chmod(r.target, 0700), 0);
	}
	rig_release(&r);
}

/* ---- attacks on a live directory ---- */

static void links_under_our_names_are_not_followed(void **state)
{
	struct rig r;
	char path[256];

	(void)state;
	rig_init(&r);
	path_in(path, r.victim, "data");

	struct workdir *w = make(&r);

	assert_int_equal(symlinkat(path, w->fd, "data"), 0);
	assert_int_equal(symlinkat(r.victim, w->fd, "files"), 0);
	assert_int_equal(workdir_open_file(w, "data", O_RDWR, &r.err), -1);
	assert_int_equal(r.err.sys, ELOOP);
	assert_int_equal(workdir_create_file(w, "data", O_RDWR, &r.err), -1);
	assert_int_equal(workdir_remove(w, &r.err), -1);
	assert_int_equal(r.err.kind, ERR_IO);
	assert_contains(r.err.msg, "data' (and 1 more): clyde did not make it");
	assert_true(is_there(r.target, w->name));
	workdir_free(w);
	rig_release(&r);
}

static void links_inside_the_files_tree_are_not_followed(void **state)
{
	struct rig r;
	char path[256];

	(void)state;
	rig_init(&r);
	path_in(path, r.victim, "data");

	struct workdir *w = make(&r);

	assert_int_equal(mkdirat(w->fd, "files", 0700), 0);
	assert_int_equal(mkdirat(w->fd, "files/d000000", 0700), 0);
	assert_int_equal(symlinkat(r.victim, w->fd, "files/d000001"), 0);
	assert_int_equal(symlinkat(path, w->fd, "files/d000000/f000000000"), 0);
	assert_int_equal(workdir_remove(w, &r.err), -1);
	assert_contains(r.err.msg, "(and 1 more): clyde did not make it");
	workdir_free(w);
	rig_release(&r);
}

static void a_directory_swapped_for_a_link_leads_nowhere_else(void **state)
{
	struct rig r;
	char path[256], moved[256];

	(void)state;
	rig_init(&r);

	struct workdir *w = make(&r);

	write_data(w, "data", 10);
	path_in(path, r.target, w->name);
	path_in(moved, r.top, "moved");
	assert_int_equal(rename(path, moved), 0);
	assert_int_equal(symlink(r.victim, path), 0);
	assert_int_equal(workdir_remove(w, &r.err), -1);
	assert_int_equal(r.err.sys, ESTALE);
	assert_false(is_there(moved, "data"));
	assert_true(is_there(moved, "manifest"));
	workdir_free(w);
	rig_release(&r);
}

static void another_directory_under_our_name_is_not_removed(void **state)
{
	struct rig r;
	char path[256], moved[256];

	(void)state;
	rig_init(&r);

	struct workdir *w = make(&r);

	path_in(path, r.target, w->name);
	path_in(moved, r.top, "moved");
	assert_int_equal(rename(path, moved), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(workdir_remove(w, &r.err), -1);
	assert_true(is_there(r.target, w->name));
	workdir_free(w);
	rig_release(&r);
}

static void a_directory_removed_by_someone_else_is_fine(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);

	struct workdir *w = make(&r);

	assert_int_equal(unlinkat(w->fd, "manifest", 0), 0);
	assert_int_equal(unlinkat(w->parent_fd, w->name, AT_REMOVEDIR), 0);
	assert_int_equal(workdir_remove(w, &r.err), 0);
	workdir_free(w);
	rig_release(&r);
}

static void what_we_did_not_make_is_kept_with_the_manifest(void **state)
{
	static const char *const names[] = { "notes.txt", "files/x", "files/d000000/f1",
		"files/d000000/f00000000a", "files/d00000", "data" };
	char command[300];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct rig r;

		rig_init(&r);

		struct workdir *w = make(&r);

		snprintf(command, sizeof(command), "%s/%s", r.target, w->name);
		assert_int_equal(mkdirat(w->fd, "files", 0700), 0);
		assert_int_equal(mkdirat(w->fd, "files/d000000", 0700), 0);
		assert_int_equal(mkdirat(w->fd, names[i], 0700), 0);
		assert_int_equal(workdir_remove(w, &r.err), -1);
		assert_contains(r.err.msg, names[i]);
		assert_true(is_there(command, names[i]));
		assert_true(is_there(command, "manifest"));
		/* Once it is gone, the rest can be removed. */
		assert_int_equal(unlinkat(w->fd, names[i], AT_REMOVEDIR), 0);
		assert_int_equal(workdir_remove(w, &r.err), 0);
		assert_int_equal(count_entries(r.target), 0);
		workdir_free(w);
		rig_release(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(makes_a_private_directory_with_a_manifest_and_removes_all_of_it),
		cmocka_unit_test(free_removes_too),
		cmocka_unit_test(removes_the_files_tree_of_an_unfinished_run),
		cmocka_unit_test(two_directories_in_one_target_differ),
		cmocka_unit_test(knows_two_file_names_only),
		cmocka_unit_test(files_are_made_once_opened_again_and_removed),
		cmocka_unit_test(refuses_what_is_no_directory_to_write_in),
		cmocka_unit_test(links_under_our_names_are_not_followed),
		cmocka_unit_test(links_inside_the_files_tree_are_not_followed),
		cmocka_unit_test(a_directory_swapped_for_a_link_leads_nowhere_else),
		cmocka_unit_test(another_directory_under_our_name_is_not_removed),
		cmocka_unit_test(a_directory_removed_by_someone_else_is_fine),
		cmocka_unit_test(what_we_did_not_make_is_kept_with_the_manifest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What killed runs leave behind, and what only looks like it. */
#include "workdir_rig.h"

#include <signal.h>
#include <sys/file.h>

#include "plan/filework.h"
#include "plan/manifest.h"

static const char fake_boot[] = "5e0f9a52-0000-4000-8000-000000000001";
static const char other_boot[] = "5e0f9a52-0000-4000-8000-000000000002";

/* A /proc with a boot id, process 4711 started at tick 1000, and one mount of @fs_type. */
static struct probe_root fake_root(struct rig *r, const char *fs_type, char paths[2][256])
{
	char text[512];
	char sub[256];

	path_in(paths[0], r->top, "proc");
	path_in(paths[1], r->top, "sys");
	put_dir(r->top, "sys");
	put_dir(r->top, "proc");
	put_dir(r->top, "proc/self");
	put_dir(r->top, "proc/4711");
	put_dir(r->top, "proc/sys");
	put_dir(r->top, "proc/sys/kernel");
	put_dir(r->top, "proc/sys/kernel/random");
	path_in(sub, r->top, "proc/sys/kernel/random");
	snprintf(text, sizeof(text), "%s\n", fake_boot);
	put_file(sub, "boot_id", text);
	path_in(sub, r->top, "proc/4711");
	put_file(sub, "stat",
		"4711 (cl) yde) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1000 0 0 0 0 0 0 0\n");
	path_in(sub, r->top, "proc/self");
	snprintf(text, sizeof(text), "36 1 0:99 / / rw - %s source rw\n", fs_type);
	put_file(sub, "mountinfo", text);
	return (struct probe_root){ .sys = paths[1], .proc = paths[0] };
}

/* A leftover as a killed run leaves it; returns its path. */
static void put_leftover(struct rig *r, const char *name, const struct manifest *m, char path[256])
{
	char text[MANIFEST_BYTES_MAX];

	put_dir(r->target, name);
	path_in(path, r->target, name);
	manifest_format(m, text);
	put_file(path, "manifest", text);
	put_file(path, "data", "0123456789");
}

struct rule {
	const char *boot_id;
	const char *hostname; /* NULL: ours */
	const char *fs_type;
	long pid;
	uint64_t start_ticks;
	bool removed;
	const char *reason;
};

/* clang-format off */
static const struct rule rules[] = {
	/* boot       host     fs      pid   ticks  removed reason */
	{ fake_boot,  NULL,    "ext4", 4711, 1000,  false,  "still in use by process 4711" },
	{ fake_boot,  NULL,    "ext4", 4711, 999,   true,   "" }, /* the id was used again */
	{ fake_boot,  NULL,    "ext4", 4711, 0,     false,  "still in use by process 4711" },
	{ fake_boot,  NULL,    "ext4", 4712, 1000,  true,   "" },
	{ fake_boot,  "other", "ext4", 4711, 1000,  false,  "still in use by process 4711" },
	{ fake_boot,  "other", "ext4", 4712, 1000,  true,   "" }, /* a container of this machine */
	{ other_boot, NULL,    "ext4", 4711, 1000,  true,   "" }, /* booted since */
	{ other_boot, "other", "ext4", 4711, 1000,  true,   "" }, /* a disk that moved here */
	{ other_boot, NULL,    "nfs4", 4711, 1000,  true,   "" },
	{ other_boot, "other", "nfs4", 4711, 1000,  false,  "belongs to host 'other': run clyde clean there" },
	{ fake_boot,  "other", "nfs4", 4712, 1000,  true,   "" },
	{ "",         NULL,    "ext4", 4711, 1000,  false,  "still in use by process 4711" },
	{ "",         NULL,    "ext4", 4712, 1000,  true,   "" },
	{ "",         "",      "nfs4", 4712, 1000,  false,  "belongs to host ''" },
};
/* clang-format on */

static void clean_removes_only_what_dead_runs_left(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const struct rule *rule = &rules[i];
		struct rig r;
		struct workdir_leftovers left = { 0 };
		char paths[2][256], path[256];

		rig_init(&r);

		struct probe_root root = fake_root(&r, rule->fs_type, paths);
		struct manifest m = { .pid = rule->pid, .pid_start_ticks = rule->start_ticks };

		snprintf(m.run_id, sizeof(m.run_id), "%s", run_id);
		snprintf(m.boot_id, sizeof(m.boot_id), "%s", rule->boot_id);
		snprintf(m.hostname, sizeof(m.hostname), "%s",
			rule->hostname ? rule->hostname : r.host.hostname);
		put_leftover(&r, ".clyde-abcdef", &m, path);
		assert_int_equal(workdir_clean(r.target, &root, 0, &left, &r.err), 0);
		assert_int_equal(left.n_rows, 1);
		assert_string_equal(left.rows[0].path, path);
		assert_string_equal(left.rows[0].run_id, run_id);
		if (left.rows[0].removed != rule->removed)
			fail_msg("rule %zu: removed %d, '%s'", i, left.rows[0].removed,
				left.rows[0].reason);
		assert_contains(left.rows[0].reason, rule->reason);
		assert_int_equal(is_there(r.target, ".clyde-abcdef"), !rule->removed);
		workdir_leftovers_release(&left);
		rig_release(&r);
	}
}

static void clean_leaves_a_run_of_this_very_process_alone(void **state)
{
	struct rig r;
	struct workdir_leftovers left = { 0 };

	(void)state;
	rig_init(&r);

	struct workdir *w = make(&r);

	assert_int_equal(workdir_clean(r.target, NULL, 0, &left, &r.err), 0);
	assert_int_equal(left.n_rows, 1);
	assert_int_equal(left.rows[0].removed, 0);
	assert_contains(left.rows[0].reason, "still in use by process");
	assert_true(is_there(r.target, w->name));
	workdir_leftovers_release(&left);
	workdir_free(w);
	rig_release(&r);
}

/* As in another pid namespace: the process cannot be seen, but it holds its lock. */
static void clean_leaves_a_locked_manifest_alone(void **state)
{
	struct rig r;
	struct workdir_leftovers left = { 0 };
	struct manifest m = { .run_id = "a", .pid = 4712, .pid_start_ticks = 5 };
	char paths[2][256], path[256], manifest[300];

	(void)state;
	rig_init(&r);

	struct probe_root root = fake_root(&r, "ext4", paths);

	snprintf(m.boot_id, sizeof(m.boot_id), "%s", fake_boot);
	put_leftover(&r, ".clyde-abcdef", &m, path);
	snprintf(manifest, sizeof(manifest), "%s/manifest", path);

	int fd = open(manifest, O_RDWR | O_CLOEXEC);

	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(workdir_clean(r.target, &root, 0, &left, &r.err), 0);
	assert_int_equal(left.rows[0].removed, 0);
	assert_contains(left.rows[0].reason, "its manifest is locked");
	workdir_leftovers_release(&left);
	close(fd);
	assert_int_equal(workdir_clean(r.target, &root, 0, &left, &r.err), 0);
	assert_int_equal(left.rows[0].removed, 1);
	workdir_leftovers_release(&left);
	rig_release(&r);
}

static void clean_removes_what_a_killed_child_left(void **state)
{
	struct rig r;
	struct workdir_leftovers left = { 0 };
	int ready[2];
	char byte;

	(void)state;
	rig_init(&r);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);

	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		struct workdir *w = make(&r);
		struct filework *files = NULL;
		struct filework_params p = {
			.dir_fd = w->fd, .n_files = 10, .n_dirs = 3, .n_threads = 1
		};

		write_data(w, "data", 65536);
		if (filework_new(&p, &files, NULL) != 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	/* Alive: kept. */
	assert_int_equal(workdir_clean(r.target, NULL, 0, &left, &r.err), 0);
	assert_int_equal(left.n_rows, 1);
	assert_int_equal(left.rows[0].removed, 0);
	workdir_leftovers_release(&left);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	/* Dead: a dry run tells, then it goes. */
	assert_int_equal(workdir_clean(r.target, NULL, 1, &left, &r.err), 0);
	assert_int_equal(left.rows[0].removed, 0);
	assert_string_equal(left.rows[0].reason, "would be removed");
	assert_in_range(left.rows[0].n_bytes, 65536, 65536 + 4096);
	workdir_leftovers_release(&left);
	assert_int_equal(count_entries(r.target), 1);
	assert_int_equal(workdir_clean(r.target, NULL, 0, &left, &r.err), 0);
	assert_int_equal(left.rows[0].removed, 1);
	assert_string_equal(left.rows[0].reason, "");
	workdir_leftovers_release(&left);
	assert_int_equal(count_entries(r.target), 0);
	close(ready[0]);
	close(ready[1]);
	rig_release(&r);
}

static void clean_sees_our_kind_of_name_only(void **state)
{
	static const char *const names[] = { ".clyde-abcde", ".clyde-abcdefg", ".clyde-ABCDEF",
		".clyde-ab/def", "clyde-abcdef", ".clyde-abc.ef", ".clyde-", ".clyde-ab1def" };
	struct rig r;
	struct workdir_leftovers left = { 0 };

	(void)state;
	rig_init(&r);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_false(workdir_is_name(names[i]));
		if (!strstr(names[i], "/"))
			put_dir(r.target, names[i]);
	}
	assert_true(workdir_is_name(".clyde-a2b3c7"));
	assert_int_equal(workdir_clean(r.target, NULL, 0, &left, &r.err), 0);
	assert_int_equal(left.n_rows, 0);
	assert_int_equal(count_entries(r.target), 7);
	workdir_leftovers_release(&left);
	rig_release(&r);
}

static void clean_without_a_manifest_needs_an_empty_directory(void **state)
{
	struct rig r;
	struct workdir_leftovers left = { 0 };
	char path[256];

	(void)state;
	rig_init(&r);
	put_dir(r.target, ".clyde-aaaaaa"); /* killed after mkdir */
	put_dir(r.target, ".clyde-bbbbbb"); /* killed before the manifest was whole */
	path_in(path, r.target, ".clyde-bbbbbb");
	put_file(path, "manifest.new", "clyde wor");
	put_dir(r.target, ".clyde-cccccc");
	path_in(path, r.target, ".clyde-cccccc");
	put_file(path, "data", "whose?");
	assert_int_equal(workdir_clean(r.target, NULL, 0, &left, &r.err), 0);
	assert_int_equal(left.n_rows, 3);
	assert_false(is_there(r.target, ".clyde-aaaaaa"));
	assert_false(is_there(r.target, ".clyde-bbbbbb"));
	assert_true(is_there(path, "data"));
	for (size_t i = 0; i < 3; i++)
		if (strstr(left.rows[i].path, ".clyde-cccccc"))
			assert_contains(left.rows[i].reason, "no manifest and is not empty");
	workdir_leftovers_release(&left);
	rig_release(&r);
}

static void clean_follows_no_link_under_our_name(void **state)
{
	struct rig r;
	struct workdir_leftovers left = { 0 };
	char path[256];

	(void)state;
	rig_init(&r);
	path_in(path, r.target, ".clyde-aaaaaa");
	assert_int_equal(symlink(r.victim, path), 0);
	put_file(r.target, ".clyde-bbbbbb", "a file");
	assert_int_equal(workdir_clean(r.target, NULL, 0, &left, &r.err), 0);
	assert_int_equal(left.n_rows, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(left.rows[i].removed, 0);
		assert_contains(left.rows[i].reason, "not a directory");
	}
	workdir_leftovers_release(&left);
	assert_int_equal(count_entries(r.target), 2);
	rig_release(&r);
}

static void clean_keeps_leftovers_with_strangers_inside_whole(void **state)
{
	struct rig r;
	struct workdir_leftovers left = { 0 };
	struct manifest m = { .run_id = "a", .pid = 4712, .pid_start_ticks = 5 };
	char paths[2][256], path[256];

	(void)state;
	rig_init(&r);

	struct probe_root root = fake_root(&r, "ext4", paths);

	snprintf(m.boot_id, sizeof(m.boot_id), "%s", fake_boot);
	put_leftover(&r, ".clyde-abcdef", &m, path);
	put_file(path, "thesis.tex", "years of work");
	assert_int_equal(workdir_clean(r.target, &root, 0, &left, &r.err), 0);
	assert_int_equal(left.rows[0].removed, 0);
	assert_contains(left.rows[0].reason, "kept 'thesis.tex'");
	assert_true(is_there(path, "thesis.tex"));
	assert_true(is_there(path, "manifest"));
	workdir_leftovers_release(&left);
	rig_release(&r);
}

static void clean_refuses_what_is_no_directory(void **state)
{
	struct rig r;
	struct workdir_leftovers left = { 0 };
	char path[256];

	(void)state;
	rig_init(&r);
	path_in(path, r.victim, "data");
	assert_int_equal(workdir_clean(path, NULL, 0, &left, &r.err), -1);
	assert_int_equal(r.err.kind, ERR_USAGE);
	workdir_leftovers_release(&left);
	rig_release(&r);
}

/* ---- hostile manifests ---- */

enum hostile {
	HOSTILE_LINK,
	HOSTILE_FIFO,
	HOSTILE_DIR,
	HOSTILE_HARD_LINK,
	HOSTILE_WRITABLE,
	HOSTILE_LONG,
	HOSTILE_OWNER,
	HOSTILE_N
};

static void lay_hostile(struct rig *r, enum hostile kind, const char *path, const char *text)
{
	char manifest[300], other[300];

	snprintf(manifest, sizeof(manifest), "%s/manifest", path);
	snprintf(other, sizeof(other), "%s/copy", r->top);
	switch (kind) {
	case HOSTILE_LINK:
		assert_int_equal(rename(manifest, other), 0);
		assert_int_equal(symlink(other, manifest), 0);
		break;
	case HOSTILE_FIFO:
		assert_int_equal(unlink(manifest), 0);
		assert_int_equal(mkfifo(manifest, 0600), 0);
		break;
	case HOSTILE_DIR:
		assert_int_equal(unlink(manifest), 0);
		assert_int_equal(mkdir(manifest, 0700), 0);
		break;
	case HOSTILE_HARD_LINK:
		assert_int_equal(link(manifest, other), 0);
		break;
	case HOSTILE_WRITABLE:
		assert_int_equal(chmod(manifest, 0622), 0);
		break;
	case HOSTILE_LONG:
		for (int i = 0; i < 100; i++) {
			FILE *f = fopen(manifest, "ae");

			assert_non_null(f);
			fputs(text, f);
			fclose(f);
		}
		break;
	case HOSTILE_OWNER:
		if (geteuid() == 0)
			assert_int_equal(chown(manifest, 12345, 12345), 0);
		else
			assert_int_equal(chmod(manifest, 0666), 0); /* as near as it gets */
		break;
	case HOSTILE_N:
		break;
	}
}

static void a_manifest_that_is_not_plainly_ours_protects_the_directory(void **state)
{
	(void)state;
	for (enum hostile kind = 0; kind < HOSTILE_N; kind++) {
		struct rig r;
		struct workdir_leftovers left = { 0 };
		struct manifest m = { .run_id = "a", .pid = 4712, .pid_start_ticks = 5 };
		char paths[2][256], path[256];

		rig_init(&r);

		struct probe_root root = fake_root(&r, "ext4", paths);

		put_leftover(&r, ".clyde-abcdef", &m, path);
		lay_hostile(&r, kind, path, "clyde workdir 1\n");
		assert_int_equal(workdir_clean(r.target, &root, 0, &left, &r.err), 0);
		assert_int_equal(left.n_rows, 1);
		if (left.rows[0].removed || !left.rows[0].reason[0])
			fail_msg("kind %d of a hostile manifest was taken", (int)kind);
		assert_true(is_there(path, "data"));
		workdir_leftovers_release(&left);
		rig_release(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean_removes_only_what_dead_runs_left),
		cmocka_unit_test(clean_leaves_a_run_of_this_very_process_alone),
		cmocka_unit_test(clean_leaves_a_locked_manifest_alone),
		cmocka_unit_test(clean_removes_what_a_killed_child_left),
		cmocka_unit_test(clean_sees_our_kind_of_name_only),
		cmocka_unit_test(clean_without_a_manifest_needs_an_empty_directory),
		cmocka_unit_test(clean_follows_no_link_under_our_name),
		cmocka_unit_test(clean_keeps_leftovers_with_strangers_inside_whole),
		cmocka_unit_test(clean_refuses_what_is_no_directory),
		cmocka_unit_test(a_manifest_that_is_not_plainly_ours_protects_the_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The history as a file: made, shared, read without a trace, damaged, of other programs. */
#include "test.h"

#include <signal.h>

#include "history/db.h"
#include "history/history_schema.h"
#include "history_dir.h"

static char *read_file(const char *path, size_t *ret_n_bytes)
{
	FILE *file cleanup(fclose_p) = fopen(path, "re");
	size_t room = 1 << 20;
	char *bytes = malloc(room);

	assert_non_null(file);
	assert_non_null(bytes);
	*ret_n_bytes = fread(bytes, 1, room, file);
	return bytes;
}

static void write_file(const char *path, const void *bytes, size_t n_bytes)
{
	FILE *file cleanup(fclose_p) = fopen(path, "we");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, n_bytes, file), n_bytes);
}

/* ---- made ---- */

static void the_default_path_follows_the_environment(void **state)
{
	(void)state;
	static const struct {
		const char *db, *data, *home, *path; /* NULL: not set; a usage error */
	} rows[] = {
		{ "/x/a.db", "/data", "/home/u", "/x/a.db" },
		{ "", "/data", "/home/u", "/data/clyde/history.db" },
		{ NULL, "relative", "/home/u", "/home/u/.local/share/clyde/history.db" },
		{ NULL, "", "/home/u", "/home/u/.local/share/clyde/history.db" },
		{ NULL, NULL, "relative", NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *const names[] = { "CLYDE_DB", "XDG_DATA_HOME", "HOME" };
		const char *const values[] = { rows[i].db, rows[i].data, rows[i].home };
		struct err e = { 0 };

		for (int k = 0; k < 3; k++) {
			if (values[k])
				setenv(names[k], values[k], 1);
			else
				unsetenv(names[k]);
		}

		char *path cleanup(free_p) = history_default_path(&e);

		if (rows[i].path)
			assert_string_equal(path, rows[i].path);
		else
			assert_true(!path && e.kind == ERR_USAGE);
	}
}

static void directories_and_file_are_for_their_user_only(void **state)
{
	struct history_dir *d = *state;
	char path[300], parent[200];
	struct stat st;

	umask(0);
	snprintf(parent, sizeof(parent), "%s/new/clyde", d->dir);
	snprintf(path, sizeof(path), "%s/history.db", parent);
	struct history *h cleanup(history_close_p) = open_history(path, HISTORY_WRITE);
	struct result *r cleanup(result_free_p) = sample_result();

	store_result(h, r);
	assert_int_equal(stat(parent, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	snprintf(path, sizeof(path), "%s/history.db-wal", parent);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void no_name_is_special(void **state)
{
	struct history_dir *d = *state;
	static const char *const names[] = { ":memory:", "file:x?mode=memory", "a b%20#?&=.db",
		"\xff\xfe", "'\"; DROP TABLE run" };
	struct result *r cleanup(result_free_p) = sample_result();

	assert_int_equal(chdir(d->dir), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct history *h = open_history(names[i], HISTORY_WRITE);
		struct stat st;

		store_result(h, r);
		history_close(h);
		assert_int_equal(stat(names[i], &st), 0);
		assert_true(st.st_size > 0);
		h = open_history(names[i], HISTORY_READ);
		result_free(load_result(d, h, r->id));
		history_close(h);
		assert_int_equal(count_names("."), i + 1);
	}
	assert_int_equal(chdir("/"), 0);
}

static void wrong_places_are_refused(void **state)
{
	struct history_dir *d = *state;

	assert_int_equal(open_error("", HISTORY_WRITE), ERR_USAGE);
	assert_int_equal(open_error(d->dir, HISTORY_WRITE), ERR_USAGE);
	assert_int_equal(open_error(d->dir, HISTORY_READ), ERR_USAGE);
	assert_int_equal(open_error("/dev/null", HISTORY_READ), ERR_USAGE);
	assert_int_equal(open_error("/dev/null/x/history.db", HISTORY_WRITE), ERR_IO);
	assert_int_equal(open_error("/dev/null/x/history.db", HISTORY_READ), ERR_IO);
	assert_int_equal(open_error("/no/such/directory/", HISTORY_WRITE), ERR_USAGE);
}

/* ---- read without a trace ---- */

static void reading_makes_nothing(void **state)
{
	struct history_dir *d = *state;
	char path[200];

	snprintf(path, sizeof(path), "%s/none/history.db", d->dir);
	struct history *h cleanup(history_close_p) = open_history(path, HISTORY_READ);
	struct history_list list = { 0 };
	struct result *r = NULL;
	struct err e = { 0 };

	assert_int_equal(history_list(h, &d->tree.root, NULL, &list, NULL), 0);
	assert_int_equal(list.n_rows, 0);
	history_list_release(&list);
	assert_int_equal(history_load(h, &d->tree.root, "last", &r, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_int_equal(count_names(d->dir), 0);
	e = (struct err){ 0 };
	struct result *run cleanup(result_free_p) = sample_result();

	assert_int_equal(history_begin(h, run, &e), -1);
	assert_int_equal(e.kind, ERR_BUG);
}

static void reading_leaves_file_and_directory_as_they_were(void **state)
{
	struct history_dir *d = *state;
	struct result *r cleanup(result_free_p) = sample_result();
	struct history *h = open_history(d->path, HISTORY_WRITE);
	size_t n_before, n_after;

	store_result(h, r);
	history_close(h);

	char *before cleanup(free_p) = read_file(d->path, &n_before);

	h = open_history(d->path, HISTORY_READ);
	result_free(load_result(d, h, "last"));
	assert_int_equal(count_names(d->dir), 1);
	history_close(h);
	assert_int_equal(count_names(d->dir), 1);

	char *after cleanup(free_p) = read_file(d->path, &n_after);

	assert_int_equal(n_after, n_before);
	assert_memory_equal(after, before, n_before);
}

static void a_reader_sees_what_is_written_meanwhile(void **state)
{
	struct history_dir *d = *state;
	struct history *reader cleanup(history_close_p) = open_history(d->path, HISTORY_READ);
	struct result *first cleanup(result_free_p) = sample_result();
	struct result *second cleanup(result_free_p) = sample_result();
	struct result *third cleanup(result_free_p) = sample_result();
	struct history *writer = open_history(d->path, HISTORY_WRITE);

	/* Not there yet; then with a log beside it; then without; then with one again. */
	store_result(writer, first);
	result_free(load_result(d, reader, first->id));
	history_close(writer);
	result_free(load_result(d, reader, first->id));
	writer = open_history(d->path, HISTORY_WRITE);
	store_result(writer, second);
	result_free(load_result(d, reader, second->id));
	store_result(writer, third);
	result_free(load_result(d, reader, third->id));
	history_close(writer);
	result_free(load_result(d, reader, third->id));
	assert_int_equal(count_names(d->dir), 1);
}

/* Runs @fn in a child without the right to write to the directory; its result must be 0. */
static void in_read_only_directory(struct history_dir *d, int (*fn)(struct history_dir *d))
{
	bool root = geteuid() == 0;
	pid_t child;

	/* Files belong to who reads, the directory is closed to writers. */
	if (root) {
		char name[400];
		DIR *dir = opendir(d->dir);

		assert_non_null(dir);
		for (struct dirent *entry; (entry = readdir(dir));) {
			snprintf(name, sizeof(name), "%s/%s", d->dir, entry->d_name);
			if (entry->d_name[0] != '.')
				assert_int_equal(chown(name, 65534, 65534), 0);
		}
		closedir(dir);
		assert_int_equal(chmod(d->tree.dir, 0755), 0);
	}
	assert_int_equal(chmod(d->dir, 0555), 0);
	child = fork();
	if (child == 0) {
		if (root && (setgid(65534) || setuid(65534)))
			_exit(50);
		_exit(fn(d));
	}
	assert_int_equal(wait_for(child), 0);
	assert_int_equal(chmod(d->dir, 0700), 0);
}

static int load_last(struct history_dir *d)
{
	struct history *h cleanup(history_close_p) = NULL;
	struct result *r cleanup(result_free_p) = NULL;
	struct err e = { 0 };

	if (history_open(d->path, HISTORY_READ, &h, &e) ||
		history_load(h, &d->tree.root, "last", &r, &e)) {
		fprintf(stderr, "%s\n", e.msg);
		return 1;
	}
	return r->n_phases == 4 ? 0 : 2;
}

static int fail_to_write(struct history_dir *d)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/other.db", d->dir);
	return open_error(path, HISTORY_WRITE) == ERR_IO ? 0 : 1;
}

static void a_read_only_directory_can_be_read(void **state)
{
	struct history_dir *d = *state;
	struct result *r cleanup(result_free_p) = sample_result();
	struct history *h = open_history(d->path, HISTORY_WRITE);

	store_result(h, r);
	/* While the log is there, which holds all of it, and after. */
	in_read_only_directory(d, load_last);
	assert_int_equal(count_names(d->dir), 3);
	history_close(h);
	assert_int_equal(count_names(d->dir), 1);
	in_read_only_directory(d, load_last);
	in_read_only_directory(d, fail_to_write);
	assert_int_equal(count_names(d->dir), 1);
}

/* ---- not ours ---- */

static void files_of_others_are_refused_and_left_alone(void **state)
{
	struct history_dir *d = *state;
	static const char text[] = "a text that is longer than the header of a database, so that "
				   "nobody can think that it were one, not even by accident\n";
	static const char *const foreign[] = {
		"CREATE TABLE run(id TEXT)", "PRAGMA user_version=1",
		"PRAGMA application_id=252006673; CREATE TABLE a(b)",
		"PRAGMA application_id=1131182436; CREATE TABLE a(b)", /* ours, without a version */
	};

	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]) + 2; i++) {
		size_t n_before, n_after;

		unlink(d->path);
		if (i < 2)
			write_file(d->path, text, i == 0 ? sizeof(text) - 1 : 5);
		else
			run_sql(d->path, foreign[i - 2]);

		char *before cleanup(free_p) = read_file(d->path, &n_before);

		assert_int_equal(open_error(d->path, HISTORY_WRITE), ERR_FORMAT);
		assert_int_equal(open_error(d->path, HISTORY_READ), ERR_FORMAT);

		char *after cleanup(free_p) = read_file(d->path, &n_after);

		assert_int_equal(n_after, n_before);
		assert_memory_equal(after, before, n_before);
		assert_int_equal(count_names(d->dir), 1);
	}
}

static void a_newer_schema_is_refused(void **state)
{
	struct history_dir *d = *state;
	char sql[64];

	history_close(open_history(d->path, HISTORY_WRITE));
	snprintf(sql, sizeof(sql), "PRAGMA user_version=%zu", history_n_migrations + 1);
	run_sql(d->path, sql);
	assert_int_equal(open_error(d->path, HISTORY_WRITE), ERR_UNSUPPORTED);
	assert_int_equal(open_error(d->path, HISTORY_READ), ERR_UNSUPPORTED);
}

static void an_empty_file_is_an_empty_history(void **state)
{
	struct history_dir *d = *state;
	struct history_list list = { 0 };

	write_file(d->path, "", 0);
	struct history *h cleanup(history_close_p) = open_history(d->path, HISTORY_READ);

	assert_int_equal(history_list(h, &d->tree.root, NULL, &list, NULL), 0);
	assert_int_equal(list.n_rows, 0);
	history_list_release(&list);
	assert_int_equal(open_error(d->path, HISTORY_WRITE), ERR_NONE);
}

static void damage_is_an_error_and_never_a_crash(void **state)
{
	struct history_dir *d = *state;
	struct result *r cleanup(result_free_p) = sample_result();
	struct history *h = open_history(d->path, HISTORY_WRITE);
	size_t n_bytes, n_refused = 0;

	store_result(h, r);
	history_close(h);

	char *good cleanup(free_p) = read_file(d->path, &n_bytes);
	uint64_t random = 12345;

	for (int i = 0; i < 300; i++) {
		char *bad cleanup(free_p) = malloc(n_bytes);
		struct history *damaged cleanup(history_close_p) = NULL;
		struct result *back cleanup(result_free_p) = NULL;
		struct err e = { 0 };

		memcpy(bad, good, n_bytes);
		for (int k = 0; k < 20; k++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			bad[(random >> 20) % n_bytes] = (char)(random >> 56);
		}
		write_file(d->path, bad, n_bytes);
		if (history_open(d->path, HISTORY_READ, &damaged, &e) ||
			history_load(damaged, &d->tree.root, r->id, &back, &e)) {
			assert_true(e.msg[0] && e.kind != ERR_NONE);
			n_refused++;
		}
	}
	assert_true(n_refused > 50);
}

static void values_that_cannot_be_are_refused(void **state)
{
	struct history_dir *d = *state;
	static const char *const rows[] = {
		"UPDATE run SET status = 'finished'",
		"UPDATE run SET pid = -1",
		"UPDATE run SET n_samples_asked = 4294967296",
		"UPDATE phase SET sample = -1",
		"UPDATE phase SET status = ''",
		"UPDATE phase SET latency = x'ffffffffffffffffffffffffff'",
		"UPDATE phase SET latency = x''",
		"UPDATE finding SET severity = 'fatal'",
		"UPDATE document SET json = '[' || number",
		"UPDATE document SET json = '[' || number || ']'",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct result *r cleanup(result_free_p) = sample_result();
		struct result *back = NULL;
		struct err e = { 0 };
		struct history *h = open_history(d->path, HISTORY_WRITE);

		store_result(h, r);
		run_sql(d->path, rows[i]);
		if (history_load(h, &d->tree.root, "last", &back, &e) == 0)
			fail_msg("taken: %s", rows[i]);
		if (e.kind != ERR_FORMAT)
			fail_msg("%s: %s", rows[i], e.msg);
		history_close(h);
		unlink(d->path);
	}
}

static void triggers_of_a_strange_file_do_not_run(void **state)
{
	struct history_dir *d = *state;
	struct result *r cleanup(result_free_p) = sample_result();

	history_close(open_history(d->path, HISTORY_WRITE));
	run_sql(d->path, "CREATE TRIGGER evil AFTER INSERT ON run BEGIN DELETE FROM run; END");
	struct history *h cleanup(history_close_p) = open_history(d->path, HISTORY_WRITE);

	store_result(h, r);
	assert_int_equal(sql_number(d->path, "SELECT count(*) FROM run"), 1);
}

/* ---- migrations ---- */

static void run_sql_file(const char *path, const char *sql_path)
{
	size_t n_bytes;
	char *text cleanup(free_p) = read_file(sql_path, &n_bytes);

	text[n_bytes] = '\0';
	run_sql(path, text);
}

static void a_file_of_version_1_opens(void **state)
{
	struct history_dir *d = *state;
	static const enum history_mode modes[] = { HISTORY_READ, HISTORY_WRITE };

	run_sql_file(d->path, TESTS_DATA "/history-v1.sql");
	for (int i = 0; i < 2; i++) {
		struct history *h cleanup(history_close_p) = open_history(d->path, modes[i]);
		struct result *r cleanup(result_free_p) = load_result(d, h, "last");
		double value = 0;

		assert_string_equal(r->plan, "overview");
		assert_string_equal(r->host.hostname, "box");
		assert_int_equal(r->target.n_disks, 2);
		assert_int_equal(r->n_phases, 4);
		assert_int_equal(r->phases[3].latency->n, 2000);
		assert_int_equal(r->phases[3].settings.seed, UINT64_MAX - 5);
		assert_true(phase_metric(&r->phases[0], METRIC_IOPS, &value));
		assert_close(value, 2000 / 5.000000001, 1e-12);
		assert_int_equal(r->n_findings, 2);
	}
}

static void migrate(const char *path, const char *const *migrations, size_t n, int expected)
{
	struct db db = { .path = (char *)(uintptr_t)path };
	struct err e = { 0 };

	assert_int_equal(sqlite3_open(path, &db.sqlite), SQLITE_OK);
	if (history_schema_migrate(&db, migrations, n, &e) != expected)
		fail_msg("%s", e.msg);
	sqlite3_close(db.sqlite);
}

static void migrations_run_once_and_in_order(void **state)
{
	struct history_dir *d = *state;
	static const char *const steps[] = { "CREATE TABLE a(x)",
		"ALTER TABLE a ADD COLUMN y; INSERT INTO a VALUES(1, 2)",
		"UPDATE a SET y = y + 1" };

	migrate(d->path, steps, 1, 0);
	assert_int_equal(sql_number(d->path, "PRAGMA user_version"), 1);
	assert_int_equal(sql_number(d->path, "PRAGMA application_id"), HISTORY_APPLICATION_ID);
	migrate(d->path, steps, 3, 0);
	migrate(d->path, steps, 3, 0);
	assert_int_equal(sql_number(d->path, "PRAGMA user_version"), 3);
	assert_int_equal(sql_number(d->path, "SELECT y FROM a"), 3);
	/* A program that knows less leaves it alone. */
	migrate(d->path, steps, 2, -1);
}

static void a_migration_that_fails_changes_nothing(void **state)
{
	struct history_dir *d = *state;
	static const char *const steps[] = { "CREATE TABLE a(x)", "CREATE TABLE b(x)",
		"CREATE TABLE a(x)" };

	migrate(d->path, steps, 1, 0);
	migrate(d->path, steps, 3, -1);
	assert_int_equal(sql_number(d->path, "PRAGMA user_version"), 1);
	assert_int_equal(sql_number(d->path, "SELECT count(*) FROM sqlite_schema"), 1);
	migrate(d->path, steps, 2, 0);
	assert_int_equal(sql_number(d->path, "PRAGMA user_version"), 2);
}

/* ---- many processes ---- */

enum { N_WRITERS = 4, N_PHASES = 20 };

/* In a child: a run of its own, reading in between. */
static int write_a_run(struct history_dir *d, int go_fd)
{
	struct history *h cleanup(history_close_p) = NULL;
	struct history *reader cleanup(history_close_p) = NULL;
	struct result *r cleanup(result_free_p) = sample_result();
	struct err e = { 0 };
	char byte;

	/* All start when the pipe is closed. */
	if (read(go_fd, &byte, 1) != 0)
		return 1;
	int rc = history_open(d->path, HISTORY_WRITE, &h, &e) || history_begin(h, r, &e) ||
		 history_open(d->path, HISTORY_READ, &reader, &e);

	for (int i = 0; !rc && i < N_PHASES; i++) {
		struct result *back cleanup(result_free_p) = NULL;

		rc = history_add_phase(h, r->id, &r->phases[0], &e) ||
		     history_load(reader, &d->tree.root, r->id, &back, &e) ||
		     back->n_phases != (size_t)i + 1;
	}
	rc = rc || history_end(h, r, &e);
	if (rc)
		fprintf(stderr, "writer: %s\n", e.msg);
	return rc ? 2 : 0;
}

static void processes_share_one_new_file(void **state)
{
	struct history_dir *d = *state;
	pid_t children[N_WRITERS];
	int go[2];

	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	for (int i = 0; i < N_WRITERS; i++) {
		children[i] = fork();
		if (children[i] == 0) {
			close(go[1]);
			_exit(write_a_run(d, go[0]));
		}
	}
	close(go[0]);
	close(go[1]);
	for (int i = 0; i < N_WRITERS; i++)
		assert_int_equal(wait_for(children[i]), 0);
	assert_int_equal(sql_number(d->path, "SELECT count(*) FROM run"), N_WRITERS);
	assert_int_equal(sql_number(d->path, "SELECT count(*) FROM phase"), N_WRITERS * N_PHASES);
	assert_int_equal(
		sql_number(d->path, "SELECT count(*) FROM run WHERE status = 'running'"), 0);
	assert_int_equal(sql_number(d->path, "SELECT count(*) FROM pragma_integrity_check"
					     " WHERE integrity_check <> 'ok'"),
		0);
}

/* In a child: two phases, then word to the parent, then waiting to be killed. */
static void write_two_phases(struct history_dir *d, int word_fd)
{
	struct history *h = open_history(d->path, HISTORY_WRITE);
	struct result *r = sample_result();

	probe_host(NULL, &r->host);
	r->pid = getpid();
	r->pid_start_ticks = probe_process_start_ticks(NULL, r->pid);
	if (history_begin(h, r, NULL) || history_add_phase(h, r->id, &r->phases[0], NULL) ||
		history_add_phase(h, r->id, &r->phases[1], NULL))
		_exit(1);
	if (write(word_fd, r->id, 36) != 36)
		_exit(2);
	for (;;)
		pause();
}

static void kill_9_loses_only_the_running_phase(void **state)
{
	struct history_dir *d = *state;
	char id[40] = "";
	int word[2];

	assert_int_equal(pipe2(word, O_CLOEXEC), 0);
	pid_t child = fork();

	if (child == 0)
		write_two_phases(d, word[1]);
	close(word[1]);
	assert_int_equal(read(word[0], id, 36), 36);
	close(word[0]);

	struct history *h cleanup(history_close_p) = open_history(d->path, HISTORY_READ);
	struct result *running cleanup(result_free_p) = NULL;
	struct result *killed cleanup(result_free_p) = NULL;

	assert_int_equal(history_load(h, NULL, id, &running, NULL), 0);
	assert_int_equal(running->status, RUN_RUNNING);
	kill(child, SIGKILL);
	assert_int_equal(wait_for(child), 128 + SIGKILL);
	assert_int_equal(history_load(h, NULL, id, &killed, NULL), 0);
	assert_int_equal(killed->status, RUN_PARTIAL);
	assert_string_equal(killed->reason, "killed while running");
	assert_int_equal(killed->n_phases, 2);
	assert_int_equal(killed->phases[1].latency->n, 2000);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, make_history_dir, remove_history_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(the_default_path_follows_the_environment),
		CASE(directories_and_file_are_for_their_user_only),
		CASE(no_name_is_special),
		CASE(wrong_places_are_refused),
		CASE(reading_makes_nothing),
		CASE(reading_leaves_file_and_directory_as_they_were),
		CASE(a_reader_sees_what_is_written_meanwhile),
		CASE(a_read_only_directory_can_be_read),
		CASE(files_of_others_are_refused_and_left_alone),
		CASE(a_newer_schema_is_refused),
		CASE(an_empty_file_is_an_empty_history),
		CASE(damage_is_an_error_and_never_a_crash),
		CASE(values_that_cannot_be_are_refused),
		CASE(triggers_of_a_strange_file_do_not_run),
		CASE(a_file_of_version_1_opens),
		CASE(migrations_run_once_and_in_order),
		CASE(a_migration_that_fails_changes_nothing),
		CASE(processes_share_one_new_file),
		CASE(kill_9_loses_only_the_running_phase),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

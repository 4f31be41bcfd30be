/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What goes into the history comes out again; which result is meant; who is listed. */
#include "test.h"

#include "history_dir.h"

/* ---- there and back ---- */

static void a_complete_result_comes_back_the_same(void **state)
{
	struct history_dir *d = *state;
	struct result *r cleanup(result_free_p) = sample_result();
	struct history *h cleanup(history_close_p) = open_history(d->path, HISTORY_WRITE);

	store_result(h, r);

	struct result *back cleanup(result_free_p) = load_result(d, h, r->id);
	char *expected cleanup(free_p) = result_text(r);
	char *text cleanup(free_p) = result_text(back);

	assert_string_equal(text, expected);
}

static void a_run_stored_step_by_step_is_the_same_as_at_once(void **state)
{
	struct history_dir *d = *state;
	struct result *r cleanup(result_free_p) = sample_result();
	struct history *h cleanup(history_close_p) = open_history(d->path, HISTORY_WRITE);

	assert_int_equal(history_begin(h, r, NULL), 0);
	for (size_t i = 0; i < r->n_phases; i++)
		assert_int_equal(history_add_phase(h, r->id, &r->phases[i], NULL), 0);
	assert_int_equal(history_end(h, r, NULL), 0);

	struct result *back cleanup(result_free_p) = load_result(d, h, "last");
	char *expected cleanup(free_p) = result_text(r);
	char *text cleanup(free_p) = result_text(back);

	assert_string_equal(text, expected);
}

static void what_is_not_known_stays_not_known(void **state)
{
	struct history_dir *d = *state;
	struct result *r cleanup(result_free_p) = result_new();
	struct history *h cleanup(history_close_p) = open_history(d->path, HISTORY_WRITE);
	struct phase_result p = { .sample = 1,
		.n_ops = UINT64_MAX,
		.cpu_user_s = (double)NAN,
		.evidence = { .worker_cpu_ratio = -1, .busiest_cpu_ratio = -1 } };

	r->status = RUN_DONE;
	assert_int_equal(result_take_phase(r, &p, NULL), 0);
	store_result(h, r);

	struct result *back cleanup(result_free_p) = load_result(d, h, r->id);
	const struct phase_result *q = &back->phases[0];

	assert_null(back->label);
	assert_null(back->command_line);
	assert_null(q->latency);
	assert_int_equal(q->n_ops, UINT64_MAX);
	assert_false(q->evidence.device.known);
	assert_false(q->evidence.cached_known);
	assert_true(q->evidence.worker_cpu_ratio < 0);
	assert_int_equal(q->error.sys, 0);
	assert_true(isfinite(q->cpu_user_s));
}

static void hostile_text_is_kept_as_it_was(void **state)
{
	struct history_dir *d = *state;
	struct result *r cleanup(result_free_p) = result_new();
	struct history *h cleanup(history_close_p) = open_history(d->path, HISTORY_WRITE);
	static const char name[] = "/srv/\xff'); DROP TABLE run; --\n\x1b[31m";

	r->status = RUN_DONE;
	SAMPLE_TEXT(r->target.path, name);
	SAMPLE_TEXT(r->target.real_path, name);
	SAMPLE_TEXT(r->reason, name);
	r->label = strdup(name);
	store_result(h, r);

	struct result *back cleanup(result_free_p) = load_result(d, h, r->id);

	assert_string_equal(back->target.real_path, name);
	assert_string_equal(back->reason, name);
	assert_string_equal(back->label, name);
	/* In the document, which is JSON, with its bytes escaped. */
	assert_contains(back->target.path, "/srv/\\xff'); DROP");
	assert_int_equal(sql_number(d->path, "SELECT count(*) FROM run"), 1);
}

static void findings_are_replaced_at_the_end(void **state)
{
	struct history_dir *d = *state;
	struct result *r cleanup(result_free_p) = sample_result();
	struct history *h cleanup(history_close_p) = open_history(d->path, HISTORY_WRITE);
	struct finding only = { .check = "buffered" };

	store_result(h, r);
	result_clear_findings(r);
	assert_int_equal(result_add_finding(r, &only, NULL), 0);
	r->status = RUN_DONE;
	r->reason[0] = '\0';
	assert_int_equal(history_end(h, r, NULL), 0);

	struct result *back cleanup(result_free_p) = load_result(d, h, r->id);

	assert_int_equal(back->n_findings, 1);
	assert_string_equal(back->findings[0].check, "buffered");
	assert_int_equal(back->status, RUN_DONE);
	assert_string_equal(back->reason, "");
}

static void what_repeats_is_stored_once(void **state)
{
	struct history_dir *d = *state;
	struct history *h cleanup(history_close_p) = open_history(d->path, HISTORY_WRITE);

	for (int i = 0; i < 3; i++) {
		struct result *r cleanup(result_free_p) = sample_result();

		r->target.fs_free_bytes = (uint64_t)i;
		for (size_t k = 0; k < r->n_phases; k++)
			r->phases[k].settings.seed = (uint64_t)i * 100 + k;
		store_result(h, r);

		struct result *back cleanup(result_free_p) = load_result(d, h, r->id);

		assert_int_equal(back->target.fs_free_bytes, i);
		assert_int_equal(back->phases[3].settings.seed, i * 100 + 3);
	}
	/* Host, target, and the settings that all phases share. */
	assert_int_equal(sql_number(d->path, "SELECT count(*) FROM document"), 3);
	assert_int_equal(sql_number(d->path, "SELECT count(*) FROM phase"), 12);
	assert_int_equal(
		sql_number(d->path, "SELECT count(*) FROM figure WHERE metric = 'mixed_qd32.iops'"),
		6);
}

static void a_run_that_is_not_there_cannot_get_phases(void **state)
{
	struct history_dir *d = *state;
	struct result *r cleanup(result_free_p) = sample_result();
	struct history *h cleanup(history_close_p) = open_history(d->path, HISTORY_WRITE);
	struct err e = { 0 };

	assert_int_equal(history_add_phase(h, r->id, &r->phases[0], &e), -1);
	assert_int_equal(e.kind, ERR_IO);
	assert_int_equal(history_end(h, r, &e), -1);
	assert_int_equal(sql_number(d->path, "SELECT count(*) FROM document"), 0);
	/* And one that is there cannot begin again. */
	assert_int_equal(history_begin(h, r, NULL), 0);
	assert_int_equal(history_begin(h, r, &e), -1);
	assert_int_equal(e.kind, ERR_IO);
	assert_int_equal(sql_number(d->path, "SELECT count(*) FROM run"), 1);
}

/* ---- which result ---- */

static void add_run(struct history *h, const char *id, uint64_t started_wall_ns, const char *target,
	const char *label)
{
	struct result *r cleanup(result_free_p) = result_new();

	SAMPLE_TEXT(r->id, id);
	r->started_wall_ns = started_wall_ns;
	r->status = RUN_DONE;
	r->n_samples_asked = 3;
	SAMPLE_TEXT(r->plan, "overview");
	SAMPLE_TEXT(r->target.real_path, target);
	SAMPLE_TEXT(r->host.hostname, "box");
	r->label = label ? strdup(label) : NULL;
	store_result(h, r);
}

#define ID_A "01930000-0000-7000-8000-00000000000a"
#define ID_B "01930000-0000-7000-8000-00000000000b"
#define ID_C "0194abcd-0000-7000-8000-00000000000c"

static void add_three_runs(struct history *h)
{
	add_run(h, ID_B, 2000, "/mnt/data2", "b'; --");
	add_run(h, ID_C, 3000, "/mnt/data/sub", NULL);
	add_run(h, ID_A, 1000, "/mnt/data", "a");
}

static void results_are_named_by_age_or_start_of_id(void **state)
{
	struct history_dir *d = *state;
	struct history *h cleanup(history_close_p) = open_history(d->path, HISTORY_WRITE);
	static const struct {
		const char *which, *id; /* NULL: a usage error */
	} rows[] = {
		{ "last", ID_C },
		{ "last~0", ID_C },
		{ "last~1", ID_B },
		{ "last~2", ID_A },
		{ "last~3", NULL },
		{ "last~", NULL },
		{ "last~-1", NULL },
		{ "last~1x", NULL },
		{ "last~18446744073709551615", NULL },
		{ "last~99999999999999999999", NULL },
		{ "lasting", NULL },
		{ ID_A, ID_A },
		{ ID_B, ID_B },
		{ "0194", ID_C },
		{ "0194A", ID_C },
		{ "0194ABCD-0000", ID_C },
		{ "019", NULL },
		{ "0193", NULL },     /* ambiguous */
		{ "0194abce", NULL }, /* no such */
		{ ID_A "0", NULL },
		{ "", NULL },
		{ "%", NULL },
		{ "____", NULL },
		{ "0194%", NULL },
		{ "' OR 1=1 --", NULL },
		{ "0194' OR '1'='1", NULL },
	};

	add_three_runs(h);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err e = { 0 };
		struct result *r cleanup(result_free_p) = NULL;
		int rc = history_load(h, &d->tree.root, rows[i].which, &r, &e);

		if ((rc == 0) != (rows[i].id != NULL))
			fail_msg("'%s' gives %d: %s", rows[i].which, rc, e.msg);
		if (rows[i].id) {
			assert_string_equal(r->id, rows[i].id);
		} else {
			assert_int_equal(e.kind, ERR_USAGE);
			assert_null(r);
		}
	}
}

static void an_empty_history_has_no_last_result(void **state)
{
	struct history_dir *d = *state;
	struct history *h cleanup(history_close_p) = open_history(d->path, HISTORY_WRITE);
	struct result *r = NULL;
	struct err e = { 0 };

	assert_int_equal(history_load(h, &d->tree.root, "last", &r, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
}

/* ---- listing ---- */

static void the_list_is_newest_first_and_filtered(void **state)
{
	struct history_dir *d = *state;
	struct history *h cleanup(history_close_p) = open_history(d->path, HISTORY_WRITE);
	static const struct {
		struct history_filter filter;
		const char *ids; /* last letters, in order */
	} rows[] = {
		{ { 0 }, "cba" },
		{ { .n_max = 2 }, "cb" },
		{ { .n_max = UINT32_MAX }, "cba" },
		{ { .target = "/mnt/data" }, "ca" },
		{ { .target = "/mnt/data/" }, "ca" },
		{ { .target = "/mnt/data/su" }, "" },
		{ { .target = "/mnt" }, "cba" },
		{ { .target = "/" }, "cba" },
		{ { .target = "/mnt/data", .n_max = 1 }, "c" },
		{ { .target = "%" }, "" },
		{ { .label = "a" }, "a" },
		{ { .label = "b'; --" }, "b" },
		{ { .label = "' OR 1=1 --" }, "" },
		{ { .label = "a", .target = "/mnt/data2" }, "" },
	};

	add_three_runs(h);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct history_list list = { 0 };
		char ids[8] = "";

		assert_int_equal(history_list(h, &d->tree.root, &rows[i].filter, &list, NULL), 0);
		for (size_t k = 0; k < list.n_rows; k++)
			ids[k] = list.rows[k].id[35];
		assert_string_equal(ids, rows[i].ids);
		history_list_release(&list);
		assert_int_equal(list.n_rows, 0);
	}
}

static void a_row_of_the_list_has_its_facts(void **state)
{
	struct history_dir *d = *state;
	struct history *h cleanup(history_close_p) = open_history(d->path, HISTORY_WRITE);
	struct result *r cleanup(result_free_p) = sample_result();
	struct history_list list = { 0 };

	store_result(h, r);
	assert_int_equal(history_list(h, &d->tree.root, NULL, &list, NULL), 0);
	assert_int_equal(list.n_rows, 1);
	assert_string_equal(list.rows[0].id, r->id);
	assert_int_equal(list.rows[0].started_wall_ns, r->started_wall_ns);
	assert_int_equal(list.rows[0].status, RUN_PARTIAL);
	assert_string_equal(list.rows[0].plan, "overview");
	assert_string_equal(list.rows[0].target_path, "/srv/data/file");
	assert_string_equal(list.rows[0].label, "before");
	assert_string_equal(list.rows[0].hostname, "box");
	assert_int_equal(list.rows[0].n_samples, 3);
	assert_int_equal(list.rows[0].n_phases, 4);
	history_list_release(&list);
}

/* ---- a run whose process is gone ---- */

static void a_run_without_its_process_was_killed(void **state)
{
	struct history_dir *d = *state;
	static const struct {
		const char *why;
		const char *hostname; /* NULL: of this machine */
		const char *boot_id;
		long pid;
		uint64_t ticks;
		int status;
	} rows[] = {
		{ "runs", NULL, "boot-now", 100, 777, RUN_RUNNING },
		{ "pid used again", NULL, "boot-now", 100, 778, RUN_PARTIAL },
		{ "no such pid", NULL, "boot-now", 101, 777, RUN_PARTIAL },
		{ "before the reboot", NULL, "boot-before", 100, 777, RUN_PARTIAL },
		{ "another host", "elsewhere", "boot-there", 101, 777, RUN_RUNNING },
		{ "start not known", NULL, "boot-now", 100, 0, RUN_RUNNING },
		{ "start not known and gone", NULL, "boot-now", 101, 0, RUN_PARTIAL },
		{ "nothing known", NULL, "", 0, 0, RUN_PARTIAL },
	};
	struct host_facts here = { 0 };
	struct history *h cleanup(history_close_p) = open_history(d->path, HISTORY_WRITE);

	tree_file(&d->tree, "proc/sys/kernel/random/boot_id", "boot-now\n");
	tree_file(&d->tree, "proc/100/stat",
		"100 (a b) c) S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 777 1 2 3\n");
	probe_host(&d->tree.root, &here);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct result *r cleanup(result_free_p) = result_new();
		struct history_list list = { 0 };

		r->started_wall_ns = i + 1;
		SAMPLE_TEXT(r->host.hostname, rows[i].hostname ? rows[i].hostname : here.hostname);
		SAMPLE_TEXT(r->host.boot_id, rows[i].boot_id);
		r->pid = rows[i].pid;
		r->pid_start_ticks = rows[i].ticks;
		r->status = RUN_DONE; /* beginning makes it running */
		assert_int_equal(history_begin(h, r, NULL), 0);

		struct result *back cleanup(result_free_p) = load_result(d, h, r->id);

		if ((int)back->status != rows[i].status)
			fail_msg("%s: %s", rows[i].why, run_status_name(back->status));
		assert_string_equal(
			back->reason, rows[i].status == RUN_PARTIAL ? "killed while running" : "");
		assert_int_equal(history_list(h, &d->tree.root, NULL, &list, NULL), 0);
		assert_int_equal(list.rows[0].status, rows[i].status);
		history_list_release(&list);
	}
	/* The rule is applied to what is shown, not to the file. */
	assert_int_equal(
		sql_number(d->path, "SELECT count(*) FROM run WHERE status <> 'running'"), 0);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, make_history_dir, remove_history_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_complete_result_comes_back_the_same),
		CASE(a_run_stored_step_by_step_is_the_same_as_at_once),
		CASE(what_is_not_known_stays_not_known),
		CASE(hostile_text_is_kept_as_it_was),
		CASE(findings_are_replaced_at_the_end),
		CASE(what_repeats_is_stored_once),
		CASE(a_run_that_is_not_there_cannot_get_phases),
		CASE(results_are_named_by_age_or_start_of_id),
		CASE(an_empty_history_has_no_last_result),
		CASE(the_list_is_newest_first_and_filtered),
		CASE(a_row_of_the_list_has_its_facts),
		CASE(a_run_without_its_process_was_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

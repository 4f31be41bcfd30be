/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "result/fields_json.h"
#include "result/result_json.h"
#include "sample_result.h"

static char *dump(const struct result *r)
{
	json_t *j cleanup(json_decref_p) = result_to_json(r);

	assert_non_null(j);
	char *text = json_dumps(j, JSON_INDENT(1));

	assert_non_null(text);
	return text;
}

static struct result *load_text(const char *text)
{
	struct err e = { 0 };
	struct result *r = NULL;
	json_t *j cleanup(json_decref_p) = json_loads(text, 0, NULL);

	assert_non_null(j);
	if (result_from_json(j, &r, &e))
		fail_msg("%s", e.msg);
	return r;
}

static void what_is_written_is_read_back_the_same(void **state)
{
	(void)state;
	struct result *r cleanup(result_free_p) = sample_result();
	char *first cleanup(free_p) = dump(r);
	struct result *back cleanup(result_free_p) = load_text(first);
	char *second cleanup(free_p) = dump(back);

	assert_string_equal(first, second);
	/* The text could lack a field: look at both ends of the record, and at what is special. */
	assert_string_equal(back->id, r->id);
	assert_int_equal(back->phases[3].settings.seed, UINT64_MAX - 5);
	assert_memory_equal(&back->host, &r->host, sizeof(r->host));
	assert_memory_equal(&back->target, &r->target, sizeof(r->target));
	assert_memory_equal(
		&back->phases[3].settings, &r->phases[3].settings, sizeof(r->phases[3].settings));
	assert_memory_equal(back->phases[0].latency->buckets, r->phases[0].latency->buckets,
		sizeof(r->phases[0].latency->buckets));
	assert_int_equal(back->phases[0].latency->n, 2000);
	assert_int_equal(back->phases[0].latency->min_ns, 1000);
	assert_int_equal(back->phases[0].latency->max_ns, 2000000);
	assert_close(back->phases[0].latency->sum_ns, r->phases[0].latency->sum_ns, 1e-12);
	assert_int_equal(back->phases[2].error.sys, 5);
	assert_true(back->phases[2].evidence.device.known);
	assert_int_equal(back->n_findings, 2);
	assert_string_equal(back->findings[1].mark, "BAD DATA");
}

static void an_empty_result_goes_there_and_back(void **state)
{
	(void)state;
	struct result *r cleanup(result_free_p) = result_new();
	char *first cleanup(free_p) = dump(r);
	struct result *back cleanup(result_free_p) = load_text(first);
	char *second cleanup(free_p) = dump(back);

	assert_string_equal(first, second);
	assert_null(back->label);
}

static void metrics_carry_id_unit_and_direction(void **state)
{
	(void)state;
	struct result *r cleanup(result_free_p) = sample_result();
	json_t *j cleanup(json_decref_p) = result_to_json(r);
	const json_t *phase = json_array_get(json_object_get(j, "phases"), 0);
	const json_t *metrics = json_object_get(phase, "metrics");
	const json_t *m = json_array_get(metrics, 1);

	assert_int_equal(json_array_size(metrics), r->phases[0].n_metrics);
	assert_string_equal(json_string_value(json_object_get(m, "id")), "rand_read_qd32.iops");
	assert_string_equal(json_string_value(json_object_get(m, "unit")), "1/s");
	assert_string_equal(json_string_value(json_object_get(m, "better")), "higher");
	assert_true(json_is_real(json_object_get(m, "value")));
	assert_string_equal(
		json_string_value(json_object_get(j, "started")), "2025-11-24T16:00:00Z");
}

static void hostile_text_gives_valid_json(void **state)
{
	(void)state;
	static const struct {
		const char *bytes, *text;
	} rows[] = {
		{ "plain", "plain" },
		{ "caf\xc3\xa9", "caf\xc3\xa9" },
		{ "a\xff\xfe", "a\\xff\\xfe" },
		{ "\xc0\xaf", "\\xc0\\xaf" },	       /* overlong */
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" }, /* surrogate */
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" },
		{ "\xe2\x82", "\\xe2\\x82" }, /* cut short */
		{ "\xf0\x9f\x92\xbe", "\xf0\x9f\x92\xbe" },
		{ "\n\t\"\\\x1b[31m", "\n\t\"\\\x1b[31m" },
		{ "", "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct result *r cleanup(result_free_p) = result_new();

		SAMPLE_TEXT(r->target.path, rows[i].bytes);
		SAMPLE_TEXT(r->host.cpu_model, rows[i].bytes);
		r->label = strdup(rows[i].bytes);

		char *text cleanup(free_p) = dump(r);
		struct result *back cleanup(result_free_p) = load_text(text);

		assert_string_equal(back->target.path, rows[i].text);
		assert_string_equal(back->host.cpu_model, rows[i].text);
		assert_string_equal(back->label, rows[i].text);
	}
}

static void what_is_no_number_or_not_known_is_null(void **state)
{
	(void)state;
	struct result *r cleanup(result_free_p) = sample_result();
	struct phase_result *p = &r->phases[0];

	p->cpu_user_s = (double)INFINITY;
	p->metrics[0].value = (double)NAN;
	p->evidence.worker_cpu_ratio = -1;
	p->evidence.device.known = false;
	p->evidence.cached_known = false;
	p->error.sys = 0;
	hist_free(p->latency);
	p->latency = NULL;

	json_t *j cleanup(json_decref_p) = result_to_json(r);
	const json_t *phase = json_array_get(json_object_get(j, "phases"), 0);
	const json_t *evidence = json_object_get(phase, "evidence");

	assert_true(json_is_null(json_object_get(phase, "cpu_user_s")));
	assert_true(json_is_null(json_object_get(phase, "latency")));
	assert_true(json_is_null(json_object_get(phase, "error")));
	assert_true(json_is_null(json_object_get(evidence, "device")));
	assert_true(json_is_null(json_object_get(evidence, "cached")));
	assert_true(json_is_null(json_object_get(evidence, "worker_cpu_ratio")));
	assert_true(json_is_null(
		json_object_get(json_array_get(json_object_get(phase, "metrics"), 0), "value")));

	struct result *back = NULL;

	assert_int_equal(result_from_json(j, &back, NULL), 0);
	assert_false(back->phases[0].evidence.device.known);
	assert_true(back->phases[0].evidence.worker_cpu_ratio < 0);
	assert_int_equal(back->phases[0].n_metrics, p->n_metrics - 1);
	result_free(back);
}

static void the_widest_latencies_survive(void **state)
{
	(void)state;
	struct result *r cleanup(result_free_p) = sample_result();
	struct hist *h = r->phases[0].latency;

	hist_add(h, 0);
	hist_add(h, UINT64_MAX);

	char *text cleanup(free_p) = dump(r);
	struct result *back cleanup(result_free_p) = load_text(text);

	assert_int_equal(back->phases[0].latency->max_ns, UINT64_MAX);
	assert_int_equal(back->phases[0].latency->min_ns, 0);
	assert_memory_equal(back->phases[0].latency->buckets, h->buckets, sizeof(h->buckets));
}

static void missing_keys_are_zero_and_unknown_keys_ignored(void **state)
{
	(void)state;
	struct result *r cleanup(result_free_p) = load_text(
		"{\"schema\": 1, \"later\": [1], \"phases\": [{\"name\": \"x\", \"evidence\": {},"
		" \"metrics\": [{\"id\": \"x.newer_than_us\", \"value\": 1}]}]}");

	assert_int_equal(r->n_phases, 1);
	assert_string_equal(r->phases[0].name, "x");
	assert_int_equal(r->phases[0].n_ops, 0);
	assert_int_equal(r->phases[0].n_metrics, 0);
	assert_true(r->phases[0].evidence.worker_cpu_ratio < 0);
	assert_int_equal(strlen(r->id), 36);
}

#define PHASE(text) "{\"schema\":1,\"phases\":[{" text "}]}"
#define HIST(text)  PHASE("\"latency\":{" text "}")

static void damaged_results_are_refused(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		enum err_kind kind;
	} rows[] = {
		{ "[]", ERR_FORMAT },
		{ "{}", ERR_FORMAT },
		{ "{\"schema\":0}", ERR_FORMAT },
		{ "{\"schema\":\"1\"}", ERR_FORMAT },
		{ "{\"schema\":2}", ERR_UNSUPPORTED },
		{ "{\"schema\":1,\"id\":\"../../etc/passwd\"}", ERR_FORMAT },
		{ "{\"schema\":1,\"id\":\"'; DROP TABLE run; -- 012345678901\"}", ERR_FORMAT },
		{ "{\"schema\":1,\"plan\":7}", ERR_FORMAT },
		{ "{\"schema\":1,\"label\":[]}", ERR_FORMAT },
		{ "{\"schema\":1,\"pid\":-1}", ERR_FORMAT },
		{ "{\"schema\":1,\"pid\":1.5}", ERR_FORMAT },
		{ "{\"schema\":1,\"n_samples_asked\":4294967296}", ERR_FORMAT },
		{ "{\"schema\":1,\"started_wall_ns\":\"18446744073709551616\"}", ERR_FORMAT },
		{ "{\"schema\":1,\"started_wall_ns\":\"-1\"}", ERR_FORMAT },
		{ "{\"schema\":1,\"started_wall_ns\":\" 1\"}", ERR_FORMAT },
		{ "{\"schema\":1,\"started_wall_ns\":\"\"}", ERR_FORMAT },
		{ "{\"schema\":1,\"status\":\"finished\"}", ERR_FORMAT },
		{ "{\"schema\":1,\"host\":7}", ERR_FORMAT },
		{ "{\"schema\":1,\"target\":{\"read_only\":1}}", ERR_FORMAT },
		{ "{\"schema\":1,\"target\":{\"disks\":{}}}", ERR_FORMAT },
		{ "{\"schema\":1,\"target\":{\"disks\":[7]}}", ERR_FORMAT },
		{ "{\"schema\":1,\"phases\":{}}", ERR_FORMAT },
		{ "{\"schema\":1,\"phases\":[7]}", ERR_FORMAT },
		{ "{\"schema\":1,\"findings\":[null]}", ERR_FORMAT },
		{ "{\"schema\":1,\"findings\":[{\"severity\":\"fatal\"}]}", ERR_FORMAT },
		{ PHASE("\"cpu_user_s\":\"1\""), ERR_FORMAT },
		{ PHASE("\"settings\":[]"), ERR_FORMAT },
		{ PHASE("\"evidence\":7"), ERR_FORMAT },
		{ PHASE("\"evidence\":{\"worker_cpu_ratio\":1.5}"), ERR_FORMAT },
		{ PHASE("\"evidence\":{\"device\":7}"), ERR_FORMAT },
		{ PHASE("\"metrics\":[{}]"), ERR_FORMAT },
		{ PHASE("\"metrics\":[{\"id\":\"x.iops\",\"value\":\"1\"}]"), ERR_FORMAT },
		{ HIST(""), ERR_FORMAT },
		{ HIST("\"n\":1,\"min_ns\":5,\"max_ns\":5,\"mean_ns\":5,\"buckets\":[]"),
			ERR_FORMAT },
		{ HIST("\"n\":1,\"min_ns\":5,\"max_ns\":5,\"mean_ns\":5,\"buckets\":[[5,6,1]]"),
			ERR_FORMAT },
		{ HIST("\"n\":2,\"min_ns\":5,\"max_ns\":5,\"mean_ns\":5,"
		       "\"buckets\":[[5,5,1],[5,5,1]]"),
			ERR_FORMAT },
		{ HIST("\"n\":1,\"min_ns\":4,\"max_ns\":5,\"mean_ns\":5,\"buckets\":[[5,5,1]]"),
			ERR_FORMAT },
		{ HIST("\"n\":1,\"min_ns\":5,\"max_ns\":9,\"mean_ns\":5,\"buckets\":[[5,5,1]]"),
			ERR_FORMAT },
		{ HIST("\"n\":1,\"min_ns\":5,\"max_ns\":5,\"mean_ns\":-5,\"buckets\":[[5,5,1]]"),
			ERR_FORMAT },
		{ HIST("\"n\":1,\"min_ns\":5,\"max_ns\":5,\"mean_ns\":50,\"buckets\":[[5,5,1]]"),
			ERR_FORMAT },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err e = { 0 };
		struct result *r = NULL;
		json_t *j = json_loads(rows[i].text, 0, NULL);

		assert_non_null(j);
		if (result_from_json(j, &r, &e) == 0)
			fail_msg("taken: %s", rows[i].text);
		if (e.kind != rows[i].kind || !e.msg[0])
			fail_msg("%s: %s: %s", rows[i].text, err_kind_name(e.kind), e.msg);
		assert_null(r);
		json_decref(j);
	}
}

static void a_good_small_histogram_is_taken(void **state)
{
	(void)state;
	struct result *r cleanup(result_free_p) = load_text(
		HIST("\"n\":1,\"min_ns\":5,\"max_ns\":5,\"mean_ns\":5,\"buckets\":[[5,5,1]]"));

	assert_int_equal(r->phases[0].latency->n, 1);
	assert_int_equal(r->phases[0].latency->buckets[5], 1);
}

static void more_disks_than_room_are_refused(void **state)
{
	(void)state;
	struct err e = { 0 };
	struct target_facts *t cleanup(free_p) = calloc(1, sizeof(*t));
	json_t *j cleanup(json_decref_p) = json_object();
	json_t *disks = json_array();

	json_object_set_new(j, "disks", disks);
	for (int i = 0; i < PROBE_N_LEAVES_MAX; i++)
		json_array_append_new(disks, json_object());
	assert_int_equal(target_from_json(j, t, &e), 0);
	assert_int_equal(t->n_disks, PROBE_N_LEAVES_MAX);
	json_array_append_new(disks, json_object());
	assert_int_equal(target_from_json(j, t, &e), -1);
	assert_int_equal(e.kind, ERR_FORMAT);
}

static void errors_are_json_too(void **state)
{
	(void)state;
	struct err e = { 0 };

	err_set(&e, ERR_USAGE, 0, "no '%s'", "x\xff");

	json_t *j cleanup(json_decref_p) = err_to_json(&e);
	const json_t *error = json_object_get(j, "error");

	assert_string_equal(json_string_value(json_object_get(error, "kind")), "usage");
	assert_contains(json_string_value(json_object_get(error, "message")), "no 'x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_back_the_same),
		cmocka_unit_test(an_empty_result_goes_there_and_back),
		cmocka_unit_test(metrics_carry_id_unit_and_direction),
		cmocka_unit_test(hostile_text_gives_valid_json),
		cmocka_unit_test(what_is_no_number_or_not_known_is_null),
		cmocka_unit_test(the_widest_latencies_survive),
		cmocka_unit_test(missing_keys_are_zero_and_unknown_keys_ignored),
		cmocka_unit_test(damaged_results_are_refused),
		cmocka_unit_test(a_good_small_histogram_is_taken),
		cmocka_unit_test(more_disks_than_room_are_refused),
		cmocka_unit_test(errors_are_json_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

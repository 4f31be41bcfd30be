/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "result/fields.h"
#include "result/result.h"

/* ---- figures ---- */

static struct phase_result block_phase(void)
{
	return (struct phase_result){
		.elapsed_ns = 2000000000,
		.n_ops = 1000,
		.read_bytes = 3000000,
		.written_bytes = 1000000,
		.cpu_user_s = 0.25,
		.cpu_system_s = 0.75,
	};
}

static void assert_metric(const struct phase_result *p, enum metric_kind kind, double expected)
{
	double value = -1;

	if (!phase_metric(p, kind, &value))
		fail_msg("no %s", metric_defs[kind].key);
	assert_close(value, expected, 1e-12);
}

static bool has_metric(const struct phase_result *p, enum metric_kind kind)
{
	double value;

	return phase_metric(p, kind, &value);
}

static void block_phase_gives_throughput_iops_and_cpu(void **state)
{
	(void)state;
	struct phase_result p = block_phase();

	assert_int_equal(phase_make_metrics(&p, NULL), 0);
	assert_metric(&p, METRIC_THROUGHPUT, 2000000);
	assert_metric(&p, METRIC_IOPS, 500);
	assert_metric(&p, METRIC_CPU_PER_OP, 0.001);
	assert_int_equal(p.n_metrics, 3);
	assert_false(has_metric(&p, METRIC_RATE));
	phase_release(&p);
}

static void file_phase_gives_a_rate_and_throughput_only_if_bytes_moved(void **state)
{
	(void)state;
	struct phase_result p = block_phase();

	p.settings.n_files = 2000;
	assert_int_equal(phase_make_metrics(&p, NULL), 0);
	assert_metric(&p, METRIC_RATE, 500);
	assert_metric(&p, METRIC_THROUGHPUT, 2000000);
	assert_false(has_metric(&p, METRIC_IOPS));

	p.read_bytes = p.written_bytes = 0;
	assert_int_equal(phase_make_metrics(&p, NULL), 0);
	assert_metric(&p, METRIC_RATE, 500);
	assert_false(has_metric(&p, METRIC_THROUGHPUT));
	phase_release(&p);
}

static void percentiles_need_their_samples(void **state)
{
	(void)state;
	static const struct {
		uint64_t n;
		bool p50, p99, p999;
	} rows[] = {
		{ 0, false, false, false },
		{ 1, false, false, false },
		{ 19, false, false, false },
		{ 20, true, false, false },
		{ 999, true, false, false },
		{ 1000, true, true, false },
		{ 9999, true, true, false },
		{ 10000, true, true, true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct phase_result p = block_phase();

		p.latency = hist_new();
		for (uint64_t k = 0; k < rows[i].n; k++)
			hist_add(p.latency, 1000);
		assert_int_equal(phase_make_metrics(&p, NULL), 0);
		assert_int_equal(has_metric(&p, METRIC_LATENCY_P50), rows[i].p50);
		assert_int_equal(has_metric(&p, METRIC_LATENCY_P99), rows[i].p99);
		assert_int_equal(has_metric(&p, METRIC_LATENCY_P999), rows[i].p999);
		assert_int_equal(has_metric(&p, METRIC_LATENCY_MAX), rows[i].n > 0);
		assert_int_equal(has_metric(&p, METRIC_LATENCY_MEAN), rows[i].n > 0);
		if (rows[i].n > 0)
			assert_metric(&p, METRIC_LATENCY_MAX, 1e-6);
		phase_release(&p);
	}
}

static void no_figure_is_made_of_nothing(void **state)
{
	(void)state;
	struct phase_result no_ops = block_phase(), no_time = block_phase();

	no_ops.n_ops = 0;
	assert_int_equal(phase_make_metrics(&no_ops, NULL), 0);
	assert_int_equal(no_ops.status, PHASE_FAILED);
	assert_int_equal(no_ops.n_metrics, 0);
	assert_string_equal(no_ops.reason, "no operation ended");

	no_time.elapsed_ns = 0;
	no_time.status = PHASE_PARTIAL;
	snprintf(no_time.reason, sizeof(no_time.reason), "cut short");
	assert_int_equal(phase_make_metrics(&no_time, NULL), 0);
	assert_int_equal(no_time.status, PHASE_FAILED);
	assert_string_equal(no_time.reason, "cut short (no time passed)");
}

static void failed_phase_loses_its_figures(void **state)
{
	(void)state;
	struct phase_result p = block_phase();

	assert_int_equal(phase_make_metrics(&p, NULL), 0);
	p.status = PHASE_FAILED;
	snprintf(p.reason, sizeof(p.reason), "EIO");
	assert_int_equal(phase_make_metrics(&p, NULL), 0);
	assert_int_equal(p.n_metrics, 0);
	assert_string_equal(p.reason, "EIO");
	phase_release(&p);
}

static void a_figure_that_is_no_number_is_left_out(void **state)
{
	(void)state;
	struct phase_result p = block_phase();

	p.cpu_user_s = (double)NAN;
	assert_int_equal(phase_make_metrics(&p, NULL), 0);
	assert_false(has_metric(&p, METRIC_CPU_PER_OP));
	assert_true(has_metric(&p, METRIC_IOPS));
	phase_release(&p);
}

static void every_metric_is_found_by_its_key(void **state)
{
	(void)state;
	for (int i = 0; i < METRIC_N_KINDS; i++) {
		assert_non_null(metric_defs[i].key);
		assert_non_null(metric_defs[i].unit);
		assert_non_null(metric_defs[i].summary);
		assert_int_equal(metric_find(metric_defs[i].key), i);
	}
	assert_int_equal(metric_find("latency"), -1);
	assert_int_equal(metric_find(""), -1);
}

/* ---- identifiers ---- */

static void ids_are_version_7_and_sort_by_time(void **state)
{
	(void)state;
	char before[40] = "", id[40];

	for (int i = 0; i < 1000; i++) {
		result_new_id(id);
		assert_int_equal(strlen(id), 36);
		assert_int_equal(strspn(id, "0123456789abcdef-"), 36);
		assert_true(id[8] == '-' && id[13] == '-' && id[18] == '-' && id[23] == '-');
		assert_int_equal(id[14], '7');
		assert_non_null(strchr("89ab", id[19]));
		assert_string_not_equal(id, before);
		/* Time and its fraction: the first 18 characters never go back. */
		assert_true(strncmp(id, before, 18) >= 0);
		memcpy(before, id, sizeof(before));
	}
}

/* ---- words ---- */

static void words_go_there_and_back(void **state)
{
	(void)state;
	for (int i = 0; i < PHASE_N_STATUS; i++)
		assert_int_equal(phase_status_find(phase_status_name((enum phase_status)i)), i);
	for (int i = 0; i < FLUSH_N_KINDS; i++)
		assert_int_equal(flush_kind_find(flush_kind_name((enum flush_kind)i)), i);
	for (int i = 0; i < DIRECT_N_MODES; i++)
		assert_int_equal(direct_mode_find(direct_mode_name((enum direct_mode)i)), i);
	for (int i = 0; i < DATA_N_WORDS; i++)
		assert_int_equal(data_word_find(data_word_name((enum pattern_word)i)), i);
	for (int i = 0; i < RUN_N_STATUS; i++)
		assert_int_equal(run_status_find(run_status_name((enum run_status)i)), i);
	for (int i = 0; i < SEVERITY_N; i++)
		assert_int_equal(severity_find(severity_name((enum severity)i)), i);
	assert_int_equal(severity_find("fatal"), -1);
	assert_string_equal(phase_status_name((enum phase_status)99), "");
}

static void text_is_cut_at_a_character(void **state)
{
	(void)state;
	char text[6];

	field_set_text(text, sizeof(text), "abcdefgh", 8);
	assert_string_equal(text, "abcde");
	field_set_text(text, sizeof(text), "abcd\xc3\xa9", 6);
	assert_string_equal(text, "abcd");
	field_set_text(text, sizeof(text), "abcdefgh", 2);
	assert_string_equal(text, "ab");
	field_set_text(text, sizeof(text), "\x80\x80\x80\x80\x80\x80\x80", 7);
	assert_string_equal(text, "");
}

static void keys_of_one_record_differ(void **state)
{
	(void)state;
	const struct field_set *const sets[] = { &host_fields, &target_fields, &disk_fields,
		&settings_fields, &evidence_fields, &cached_fields, &counters_fields, &error_fields,
		&phase_fields, &run_fields, &finding_fields };

	for (size_t s = 0; s < sizeof(sets) / sizeof(sets[0]); s++) {
		assert_true(sets[s]->n > 0);
		for (size_t i = 0; i < sets[s]->n; i++)
			for (size_t k = 0; k < i; k++) {
				assert_string_not_equal(sets[s]->rows[i].key, sets[s]->rows[k].key);
				assert_int_not_equal(
					sets[s]->rows[i].offset, sets[s]->rows[k].offset);
			}
	}
}

/* ---- ownership ---- */

static void taking_a_phase_leaves_it_empty(void **state)
{
	(void)state;
	struct result *r = result_new();
	struct phase_result p = block_phase();

	p.latency = hist_new();
	assert_int_equal(result_take_phase(r, &p, NULL), 0);
	assert_null(p.latency);
	assert_int_equal(p.n_ops, 0);
	assert_int_equal(r->n_phases, 1);
	assert_int_equal(r->phases[0].n_ops, 1000);
	phase_release(&p);
	result_free(r);
	result_free(NULL);
}

static void findings_can_be_dropped(void **state)
{
	(void)state;
	struct result *r = result_new();
	struct finding f = { .check = "x" };

	assert_int_equal(result_add_finding(r, &f, NULL), 0);
	assert_int_equal(result_add_finding(r, &f, NULL), 0);
	assert_int_equal(r->n_findings, 2);
	result_clear_findings(r);
	assert_int_equal(r->n_findings, 0);
	assert_int_equal(result_add_finding(r, &f, NULL), 0);
	result_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(block_phase_gives_throughput_iops_and_cpu),
		cmocka_unit_test(file_phase_gives_a_rate_and_throughput_only_if_bytes_moved),
		cmocka_unit_test(percentiles_need_their_samples),
		cmocka_unit_test(no_figure_is_made_of_nothing),
		cmocka_unit_test(failed_phase_loses_its_figures),
		cmocka_unit_test(a_figure_that_is_no_number_is_left_out),
		cmocka_unit_test(every_metric_is_found_by_its_key),
		cmocka_unit_test(ids_are_version_7_and_sort_by_time),
		cmocka_unit_test(words_go_there_and_back),
		cmocka_unit_test(text_is_cut_at_a_character),
		cmocka_unit_test(keys_of_one_record_differ),
		cmocka_unit_test(taking_a_phase_leaves_it_empty),
		cmocka_unit_test(findings_can_be_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

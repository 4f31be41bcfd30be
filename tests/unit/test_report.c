/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of made-up results, compared whole: a changed column shows as a changed line. */
#include "test.h"

#include <jansson.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "report/report.h"
#include "result/result.h"

/* ---- a made-up result ---- */

struct fake_phase {
	const char *name;
	uint32_t sample;
	enum phase_status status;
	uint32_t block_bytes, depth, n_threads;
	double throughput_bps;
	double iops;
	double rate;
	double cpu_per_op_s;
	uint64_t latency_ns; /* of all n_latencies */
	uint32_t n_latencies;
	uint64_t slowest_ns;
};

static void add_metric(struct phase_result *p, enum metric_kind kind, double value)
{
	if (value > 0)
		p->metrics[p->n_metrics++] = (struct metric){ kind, value };
}

static void add_phase(struct result *r, const struct fake_phase *f)
{
	struct phase_result p = { .sample = f->sample, .status = f->status };
	struct err e = { 0 };

	snprintf(p.name, sizeof(p.name), "%s", f->name);
	p.settings.block_bytes = f->block_bytes;
	p.settings.depth = f->depth;
	p.settings.n_threads = f->n_threads;
	p.settings.size_bytes = UINT64_C(1) << 30;
	snprintf(p.settings.engine, sizeof(p.settings.engine), "sync");
	p.settings.direct = DIRECT_ON;
	p.metrics = calloc(METRIC_N_KINDS, sizeof(p.metrics[0]));
	assert_non_null(p.metrics);
	add_metric(&p, METRIC_THROUGHPUT, f->throughput_bps);
	add_metric(&p, METRIC_IOPS, f->iops);
	add_metric(&p, METRIC_RATE, f->rate);
	add_metric(&p, METRIC_CPU_PER_OP, f->cpu_per_op_s);
	if (f->n_latencies > 0) {
		p.latency = hist_new();
		assert_non_null(p.latency);
		for (uint32_t i = 1; i < f->n_latencies; i++)
			hist_add(p.latency, f->latency_ns);
		hist_add(p.latency, f->slowest_ns);
	}
	assert_int_equal(result_take_phase(r, &p, &e), 0);
}

static void add_finding(struct result *r, const char *check, enum severity severity,
	const char *phase, uint32_t sample, const char *mark, const char *text)
{
	struct finding f = { .severity = severity, .sample = sample };
	struct err e = { 0 };

	snprintf(f.check, sizeof(f.check), "%s", check);
	snprintf(f.phase, sizeof(f.phase), "%s", phase);
	snprintf(f.mark, sizeof(f.mark), "%s", mark);
	snprintf(f.text, sizeof(f.text), "%s", text);
	assert_int_equal(result_add_finding(r, &f, &e), 0);
}

static struct result *overview(void)
{
	/* clang-format off */
	static const struct fake_phase phases[] = {
		{ "seq_read", 1, PHASE_DONE, 1 << 20, 8, 1, 1.00e9, 953, 0, 30e-6, 1000000, 50, 9000000 },
		{ "rand_read_qd32", 1, PHASE_DONE, 4096, 32, 4, 4.0e8, 97656, 0, 1.23e-6, 80000, 6000, 900000 },
		{ "files_create", 1, PHASE_DONE, 4096, 1, 1, 0, 0, 20000, 44e-6, 40000, 2000, 70000 },
		{ "seq_read", 2, PHASE_DONE, 1 << 20, 8, 1, 1.10e9, 1049, 0, 32e-6, 1000000, 50, 8000000 },
		{ "rand_read_qd32", 2, PHASE_DONE, 4096, 32, 4, 4.4e8, 107421, 0, 1.25e-6, 80000, 6000, 800000 },
		{ "seq_read", 3, PHASE_DONE, 1 << 20, 8, 1, 1.04e9, 991, 0, 31e-6, 1000000, 50, 8000000 },
		{ "rand_read_qd32", 3, PHASE_PARTIAL, 4096, 32, 4, 1.0e8, 24414, 0, 9e-6, 80000, 100, 5000000 },
		{ "sync_write", 1, PHASE_FAILED, 4096, 1, 1, 0, 0, 0, 0, 0, 0, 0 },
	};
	/* clang-format on */
	struct result *r = result_new();

	assert_non_null(r);
	for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++)
		add_phase(r, &phases[i]);
	add_finding(r, "cached-reads", SEVERITY_WARNING, "seq_read", 1, "cache 98 %",
		"98 % came from the page cache");
	add_finding(r, "cached-reads", SEVERITY_WARNING, "seq_read", 2, "cache 97 %",
		"97 % came from the page cache");
	add_finding(r, "cpu-bound", SEVERITY_NOTE, "rand_read_qd32", 0, "CPU 99 %",
		"one CPU was 99 % busy: 12 \xc2\xb5s per operation");
	add_finding(r, "failed", SEVERITY_ERROR, "sync_write", 1, "EIO", "fdatasync failed");
	return r;
}

/* ---- printing into memory ---- */

static const char *fake_proof(
	const struct result *r, const struct phase_result *p, double *ret_device_ratio)
{
	(void)r;
	*ret_device_ratio = strcmp(p->name, "seq_read") == 0 ? 0.02 : -1;
	if (strcmp(p->name, "seq_read") == 0 && p->sample != 2)
		*ret_device_ratio = 0.4;
	if (strcmp(p->name, "rand_read_qd32") == 0)
		*ret_device_ratio = 0.4;
	return *ret_device_ratio < 0 ? "unknown" : *ret_device_ratio < 0.05 ? "cache" : "mixed";
}

struct printed {
	char *text;
	size_t n_bytes;
};

static void printed_release(struct printed *p)
{
	free(p->text);
}

static struct printed print_table(const struct result *r, const struct report_style *style)
{
	struct printed p = { 0 };
	struct err e = { 0 };
	FILE *out = open_memstream(&p.text, &p.n_bytes);

	assert_non_null(out);
	assert_int_equal(report_table(r, style, out, &e), 0);
	assert_int_equal(fclose(out), 0);
	return p;
}

static struct printed print_head(const struct result *r, const struct report_style *style)
{
	struct printed p = { 0 };
	struct err e = { 0 };
	FILE *out = open_memstream(&p.text, &p.n_bytes);

	assert_non_null(out);
	assert_int_equal(report_head(r, style, out, &e), 0);
	assert_int_equal(fclose(out), 0);
	return p;
}

static void use_locale(bool ascii)
{
	assert_non_null(setlocale(LC_CTYPE, ascii ? "C" : "C.UTF-8"));
}

/* [columns] of the longest line; bytes that continue a UTF-8 character do not count */
static size_t longest_line(const char *text)
{
	size_t longest = 0, n = 0;

	for (; *text; text++) {
		n = *text == '\n' ? 0 : n + (((unsigned char)*text & 0xc0) != 0x80);
		longest = n > longest ? n : longest;
	}
	return longest;
}

/* ---- tests ---- */

static void table_shows_medians_spread_proof_and_marks(void **state)
{
	(void)state;
	use_locale(false);

	cleanup(result_free_p) struct result *r = overview();
	struct report_style style = { .proof = fake_proof };
	cleanup(printed_release) struct printed p = print_table(r, &style);

	/* clang-format off */
	assert_string_equal(p.text,
		"phase          block depth MB/s  ops/s p50 µs p99 µs p99.9 µs max µs CPU/op µs spread proof      mark\n"
		"seq_read          1M     8 1040    991   1008      -        -   9000      31.0 ±4.8 % cache      cache 98 %\n"
		"rand_read_qd32    4k  4x32  420 102538   80.9   80.9     80.9    900      1.24 ±4.8 % mixed 40 % partial, CPU 99 %\n"
		"files_create      4k     1    -  20000   40.4   40.4        -   70.0      44.0      - ?\n"
		"sync_write        4k     1    -      -      -      -        -      -         -      - -          failed, EIO\n"
		"\n"
		"sync_write (sample 1): fdatasync failed\n"
		"seq_read (2 samples): 98 % came from the page cache\n"
		"rand_read_qd32: one CPU was 99 % busy: 12 µs per operation\n");
	/* clang-format on */
}

static void table_is_plain_ascii_when_the_locale_is(void **state)
{
	(void)state;
	use_locale(true);

	cleanup(result_free_p) struct result *r = overview();
	struct report_style style = { .proof = fake_proof, .ascii = true };
	cleanup(printed_release) struct printed p = print_table(r, &style);

	for (const char *c = p.text; *c; c++)
		assert_true((unsigned char)*c < 0x80);
	assert_contains(p.text, "p50 us");
	assert_contains(p.text, "+/-4.8 %");
	assert_contains(p.text, "12 us per operation");
}

static void percentiles_come_from_merged_histograms(void **state)
{
	(void)state;
	use_locale(false);

	/* 60 fast and 40 slow: the median of all is fast, the mean of medians is neither. */
	static const struct fake_phase phases[] = {
		{ "p", 1, PHASE_DONE, 4096, 1, 1, 1e6, 244, 0, 0, 10000, 60, 10000 },
		{ "p", 2, PHASE_DONE, 4096, 1, 1, 1e6, 244, 0, 0, 50000, 40, 50000 },
	};
	cleanup(result_free_p) struct result *r = result_new();
	struct report_style style = { 0 };

	add_phase(r, &phases[0]);
	add_phase(r, &phases[1]);

	cleanup(printed_release) struct printed p = print_table(r, &style);

	assert_string_equal(p.text,
		"phase block depth MB/s ops/s p50 µs p99 p99.9 max µs CPU/op spread mark\n"
		"p        4k     1 1.00   244   10.1   -     -   50.0      - ±0.0 %\n");
}

static void verbose_adds_a_row_for_every_sample_and_every_finding(void **state)
{
	(void)state;
	use_locale(false);

	cleanup(result_free_p) struct result *r = overview();
	struct report_style style = { .verbose = true };
	cleanup(printed_release) struct printed p = print_table(r, &style);
	size_t n = 0;

	for (const char *at = p.text; (at = strstr(at, "\n  sample ")); at++)
		n++;
	assert_int_equal(n, 6);
	assert_contains(p.text, "seq_read (sample 1): 98 % came from the page cache\n");
	assert_contains(p.text, "seq_read (sample 2): 97 % came from the page cache\n");
}

static void only_the_worst_five_findings_are_shown(void **state)
{
	(void)state;
	use_locale(false);

	cleanup(result_free_p) struct result *r = result_new();
	struct report_style style = { 0 };
	char check[32];

	for (int i = 0; i < 7; i++) {
		snprintf(check, sizeof(check), "note-%d", i);
		add_finding(r, check, SEVERITY_NOTE, "", 0, "", "a note");
	}
	add_finding(r, "bad", SEVERITY_ERROR, "", 0, "", "an error");

	cleanup(printed_release) struct printed p = print_table(r, &style);

	assert_string_equal(p.text,
		"no phase has ended\n\nrun: an error\nrun: a note\nrun: a note\n"
		"run: a note\nrun: a note\n3 more: see --verbose\n");
}

static void narrow_tables_leave_columns_out_and_break_no_row(void **state)
{
	static const unsigned widths[] = { 120, 100, 80, 60, 50 };

	(void)state;
	use_locale(false);

	cleanup(result_free_p) struct result *r = overview();

	result_clear_findings(r);
	add_finding(r, "long", SEVERITY_NOTE, "seq_read", 0, "a rather long mark", "x");
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		struct report_style style = { .proof = fake_proof, .width_columns = widths[i] };
		cleanup(printed_release) struct printed p = print_table(r, &style);
		char *end = strstr(p.text, "left out");

		if (!end)
			end = strstr(p.text, "\n\n");
		assert_non_null(end);
		*end = '\0';
		assert_true(longest_line(p.text) <= widths[i]);
		assert_contains(p.text, "\nfiles_create ");
	}
}

static void the_unit_of_a_column_follows_its_largest_value(void **state)
{
	static const struct {
		double bps;
		const char *heading, *cell;
	} rows[] = {
		{ 5e5, " kB/s ", " 500 " },
		{ 5e8, " MB/s ", " 500 " },
		{ 2.5e10, " GB/s ", " 25.0 " },
	};

	(void)state;
	use_locale(false);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup(result_free_p) struct result *r = result_new();
		struct report_style style = { 0 };

		add_phase(
			r, &(struct fake_phase){ "p", 1, PHASE_DONE, 4096, 1, 1, rows[i].bps, 7 });

		cleanup(printed_release) struct printed p = print_table(r, &style);

		assert_contains(p.text, rows[i].heading);
		assert_contains(p.text, rows[i].cell);
	}
}

static void slow_latencies_are_shown_in_milliseconds(void **state)
{
	(void)state;
	use_locale(false);

	cleanup(result_free_p) struct result *r = result_new();
	struct report_style style = { 0 };

	add_phase(r, &(struct fake_phase){ "p", 1, PHASE_DONE, 4096, 1, 1, 1e6, 200, 0, 0, 5000000,
			     30, 12000000 });

	cleanup(printed_release) struct printed p = print_table(r, &style);

	assert_contains(p.text, "p50 ms");
	assert_contains(p.text, "max ms");
	assert_contains(p.text, " 12.0 ");
}

static void hostile_text_cannot_drive_the_terminal(void **state)
{
	(void)state;
	use_locale(false);

	cleanup(result_free_p) struct result *r = result_new();
	struct report_style style = { 0 };
	const char *evil = "a\033]0;x\007\nb\xff";
	struct report_list_row row = { .id = r->id,
		.status = "done",
		.plan = evil,
		.target = evil,
		.label = evil,
		.hostname = evil };
	struct printed list = { 0 };
	struct err e = { 0 };
	FILE *out;

	r->label = strdup(evil);
	snprintf(r->reason, sizeof(r->reason), "%s", evil);
	snprintf(r->target.path, sizeof(r->target.path), "%s", evil);
	snprintf(r->target.disks[0].model, sizeof(r->target.disks[0].model), "%s", evil);
	r->target.n_disks = 1;
	add_phase(r, &(struct fake_phase){ evil, 1, PHASE_DONE, 4096, 1, 1, 1e6, 7 });
	add_finding(r, "c", SEVERITY_NOTE, evil, 0, evil, evil);

	cleanup(printed_release) struct printed head = print_head(r, &style);
	cleanup(printed_release) struct printed table = print_table(r, &style);

	out = open_memstream(&list.text, &list.n_bytes);
	assert_non_null(out);
	assert_int_equal(report_list(&row, 1, &style, out, &e), 0);
	assert_int_equal(fclose(out), 0);
	for (size_t i = 0; i < 3; i++) {
		const char *text = i == 0 ? head.text : i == 1 ? table.text : list.text;

		assert_null(strchr(text, '\033'));
		assert_null(strchr(text, '\007'));
		assert_null(strchr(text, '\xff'));
		assert_null(strstr(text, "\nb"));
		assert_contains(text, "\\x1b]0;x");
	}
	printed_release(&list);
}

static void head_names_target_host_disk_and_mode(void **state)
{
	(void)state;
	use_locale(false);

	cleanup(result_free_p) struct result *r = overview();
	struct report_style style = { 0 };

	setenv("TZ", "UTC-2", 1);
	tzset();
	snprintf(r->id, sizeof(r->id), "0198f3c2-7b1e-7000-8000-000000000001");
	r->started_wall_ns = UINT64_C(1784016123000000000);
	r->status = RUN_PARTIAL;
	snprintf(r->reason, sizeof(r->reason), "no space left");
	snprintf(r->plan, sizeof(r->plan), "overview");
	r->n_samples_asked = 3;
	r->host = (struct host_facts){ .hostname = "h",
		.kernel = "6.1.0",
		.machine = "x86_64",
		.cpu_model = "A CPU",
		.n_cpus = 2,
		.memory_bytes = UINT64_C(8) << 30,
		.memory_limit_bytes = UINT64_C(2) << 30 };
	r->target = (struct target_facts){ .path = "/mnt",
		.real_path = "/mnt",
		.fs_type = "ext4",
		.fs_source = "/dev/vda1",
		.fs_options = "rw,relatime,data=ordered",
		.fs_size_bytes = UINT64_C(64) << 30,
		.fs_free_bytes = UINT64_C(16) << 30,
		.n_disks = 1 };
	r->target.disks[0] = (struct disk_facts){ .name = "vda",
		.size_bytes = UINT64_C(64) << 30,
		.scheduler = "none",
		.write_cache = "write back",
		.rotational = 0,
		.iostats = true };

	cleanup(printed_release) struct printed p = print_head(r, &style);

	assert_string_equal(p.text,
		"run     0198f3c2-7b1e-7000-8000-000000000001  2026-07-14 10:02:03 +0200  partial: no space left\n"
		"host    h, Linux 6.1.0, x86_64, 2 CPUs A CPU, 8 GiB memory (limit 2 GiB)\n"
		"target  /mnt: ext4 on /dev/vda1, data=ordered, 64 GiB, 16 GiB free\n"
		"disk    vda, 64 GiB, not rotating, scheduler none, cache write back\n"
		"plan    overview, 3 samples, size 1 GiB; sync, direct\n");
}

static void refused_direct_io_is_said_in_the_head(void **state)
{
	(void)state;
	use_locale(false);

	cleanup(result_free_p) struct result *r = overview();
	struct report_style style = { 0 };

	r->phases[0].settings.direct = DIRECT_REFUSED;
	snprintf(r->target.fs_type, sizeof(r->target.fs_type), "overlay");

	cleanup(printed_release) struct printed p = print_head(r, &style);

	assert_contains(p.text, "sync, buffered: direct refused by overlay; sync, direct\n");
}

static void colours_are_only_there_when_asked_for(void **state)
{
	(void)state;
	use_locale(false);

	cleanup(result_free_p) struct result *r = overview();
	struct report_style plain = { 0 }, colored = { .color = true };
	cleanup(printed_release) struct printed without = print_table(r, &plain);
	cleanup(printed_release) struct printed with = print_table(r, &colored);

	assert_null(strchr(without.text, '\033'));
	assert_contains(with.text, "\033[33mcache 98 %\033[0m\n");
	assert_contains(with.text, "\033[31mfailed, EIO\033[0m\n");
	assert_contains(with.text, "\033[31msync_write (sample 1): fdatasync failed\033[0m\n");
}

static void list_cuts_ids_only_as_far_as_they_differ(void **state)
{
	(void)state;
	use_locale(false);

	static const struct report_list_row rows[] = {
		{ .id = "0198f3c2-7b1e-7aaa-8000-000000000001", .status = "done" },
		{ .id = "0198f3c2-7b1e-7abb-8000-000000000001", .status = "done" },
		{ .id = "0198f3c2-0000-7abb-8000-000000000001", .status = "done" },
	};
	static const struct {
		size_t n_rows;
		const char *first;
	} cases[] = { { 1, "\n0198f3c2-7b1e " }, { 2, "\n0198f3c2-7b1e-7aa " },
		{ 3, "\n0198f3c2-7b1e-7aa " } };
	struct report_style style = { 0 };

	for (size_t i = 0; i < 3; i++) {
		struct printed p = { 0 };
		struct err e = { 0 };
		FILE *out = open_memstream(&p.text, &p.n_bytes);

		assert_non_null(out);
		assert_int_equal(report_list(rows, cases[i].n_rows, &style, out, &e), 0);
		assert_int_equal(fclose(out), 0);
		assert_contains(p.text, cases[i].first);
		printed_release(&p);
	}
}

static void prose_is_folded_between_words(void **state)
{
	static const struct report_pair pairs[] = {
		{ "one", "a few words that go on and on" },
		{ "two", "short" },
		{ "three", "aVeryLongWordThatDoesNotFitAnywhere" },
	};
	struct report_style style = { .width_columns = 22 };
	struct printed p = { 0 };
	struct err e = { 0 };
	FILE *out = open_memstream(&p.text, &p.n_bytes);

	(void)state;
	use_locale(false);
	assert_non_null(out);
	assert_int_equal(report_pairs(pairs, 3, &style, out, &e), 0);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(p.text, "one   a few words that\n"
				    "      go on and on\n"
				    "two   short\n"
				    "three aVeryLongWordTha\n"
				    "      tDoesNotFitAnywh\n"
				    "      ere\n");
	printed_release(&p);
}

static void json_is_valid_for_any_text(void **state)
{
	(void)state;

	cleanup(result_free_p) struct result *r = overview();
	const char *evil = "\xff\xfe\"\\\033";
	struct report_list_row row = { .id = evil, .target = evil, .label = evil, .n_samples = 3 };
	struct err what = { .kind = ERR_USAGE, .msg = "bad \xff" };
	struct err e = { 0 };

	r->label = strdup(evil);
	for (int i = 0; i < 4; i++) {
		cleanup(printed_release) struct printed p = { 0 };
		FILE *out = open_memstream(&p.text, &p.n_bytes);

		assert_non_null(out);
		if (i == 0)
			assert_int_equal(report_json(r, out, &e), 0);
		if (i == 1)
			assert_int_equal(report_list_json(&row, 1, out, &e), 0);
		if (i == 2)
			report_err_json(&what, out);
		if (i == 3)
			assert_int_equal(report_text_json("help", evil, out, &e), 0);
		assert_int_equal(fclose(out), 0);

		json_t *document = json_loads(p.text, 0, NULL);

		assert_non_null(document);
		if (i == 1) {
			json_t *first = json_array_get(json_object_get(document, "results"), 0);

			assert_int_equal(json_integer_value(json_object_get(first, "samples")), 3);
		}
		if (i == 2)
			assert_non_null(json_object_get(document, "error"));
		json_decref(document);
	}
}

static void an_empty_list_is_an_empty_array(void **state)
{
	struct printed p = { 0 };
	struct err e = { 0 };
	FILE *out = open_memstream(&p.text, &p.n_bytes);

	(void)state;
	assert_non_null(out);
	assert_int_equal(report_list_json(NULL, 0, out, &e), 0);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(p.text, "{\n  \"results\": []\n}\n");
	printed_release(&p);
}

static void every_column_has_an_explanation(void **state)
{
	struct report_pair pair;
	size_t n = 0;

	(void)state;
	for (; report_column(n, &pair); n++) {
		assert_true(strlen(pair.name) > 0);
		assert_true(strlen(pair.text) > 10);
	}
	assert_true(n >= 13);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_shows_medians_spread_proof_and_marks),
		cmocka_unit_test(table_is_plain_ascii_when_the_locale_is),
		cmocka_unit_test(percentiles_come_from_merged_histograms),
		cmocka_unit_test(verbose_adds_a_row_for_every_sample_and_every_finding),
		cmocka_unit_test(only_the_worst_five_findings_are_shown),
		cmocka_unit_test(narrow_tables_leave_columns_out_and_break_no_row),
		cmocka_unit_test(the_unit_of_a_column_follows_its_largest_value),
		cmocka_unit_test(slow_latencies_are_shown_in_milliseconds),
		cmocka_unit_test(hostile_text_cannot_drive_the_terminal),
		cmocka_unit_test(head_names_target_host_disk_and_mode),
		cmocka_unit_test(refused_direct_io_is_said_in_the_head),
		cmocka_unit_test(colours_are_only_there_when_asked_for),
		cmocka_unit_test(list_cuts_ids_only_as_far_as_they_differ),
		cmocka_unit_test(prose_is_folded_between_words),
		cmocka_unit_test(json_is_valid_for_any_text),
		cmocka_unit_test(an_empty_list_is_an_empty_array),
		cmocka_unit_test(every_column_has_an_explanation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each check fires where it should and is silent beside it. */
#include "test.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "result/result.h"
#include "verdict/verdict.h"

/* A run on a disk with nothing to complain about: 1 MB read and 1 MB written with a flush. */
static struct result *clean_result(uint32_t n_samples)
{
	struct result *r = result_new();

	assert_non_null(r);
	r->target.n_disks = 1;
	r->host.memory_limit_bytes = 1 << 30;
	snprintf(r->target.fs_type, sizeof(r->target.fs_type), "ext4");
	for (uint32_t sample = 1; sample <= n_samples; sample++) {
		struct phase_result p = {
			.name = "mixed_qd32",
			.sample = sample,
			.n_ops = 500,
			.settings = { .direct = DIRECT_ON,
				.flush = FLUSH_DATASYNC,
				.depth = 32,
				.depth_asked = 32,
				.engine = "uring",
				.size_bytes = 1 << 20 },
			.evidence = { .asked_read_bytes = 1000000,
				.asked_write_bytes = 1000000,
				.device = { .known = true,
					.read_bytes = 1000000,
					.written_bytes = 1000000 },
				.worker_cpu_ratio = 0.5,
				.busiest_cpu_ratio = 0.9 },
		};

		assert_int_equal(result_take_phase(r, &p, NULL), 0);
	}
	return r;
}

static void judge(struct result *r)
{
	assert_int_equal(verdict_judge(r, NULL), 0);
	for (size_t i = 0; i < r->n_findings; i++) {
		assert_true(r->findings[i].text[0] != '\0');
		assert_true(strlen(r->findings[i].text) < sizeof(r->findings[i].text) - 1);
		assert_null(strchr(r->findings[i].text, '\n'));
	}
}

static const struct finding *find(const struct result *r, const char *check)
{
	for (size_t i = 0; i < r->n_findings; i++)
		if (strcmp(r->findings[i].check, check) == 0)
			return &r->findings[i];
	return NULL;
}

/* ---- one check each: a change of the clean run, and what is to be found ---- */

struct scene {
	const char *why;
	void (*change)(struct result *r, struct phase_result *p);
	const char *check; /* NULL: nothing at all */
	enum severity severity;
	const char *mark;
	const char *text;
};

static void nothing(struct result *r, struct phase_result *p)
{
	(void)r;
	(void)p;
}

static void read_ratio_949(struct result *r, struct phase_result *p)
{
	(void)r;
	p->evidence.device.read_bytes = 949999;
}

static void read_ratio_950(struct result *r, struct phase_result *p)
{
	(void)r;
	p->evidence.device.read_bytes = 950000;
}

static void cached(struct result *r, struct phase_result *p)
{
	(void)r;
	p->settings.direct = DIRECT_OFF;
	p->evidence.device.read_bytes = 20000;
}

static void cached_but_for_a_byte(struct result *r, struct phase_result *p)
{
	(void)r;
	p->evidence.device.read_bytes = 1;
}

static void cached_files(struct result *r, struct phase_result *p)
{
	(void)r;
	p->settings.n_files = 2000;
	p->evidence.device.read_bytes = 0;
}

static void read_more_than_asked(struct result *r, struct phase_result *p)
{
	(void)r;
	p->evidence.device.read_bytes = UINT64_MAX;
}

static void compressed(struct result *r, struct phase_result *p)
{
	(void)r;
	p->evidence.device.written_bytes = 500000;
}

static void not_flushed(struct result *r, struct phase_result *p)
{
	(void)r;
	p->settings.flush = FLUSH_NONE;
	p->evidence.device.written_bytes = 100000;
}

static void not_flushed_but_written(struct result *r, struct phase_result *p)
{
	(void)r;
	p->settings.flush = FLUSH_NONE;
}

static void busy_worker(struct result *r, struct phase_result *p)
{
	(void)r;
	p->evidence.worker_cpu_ratio = 0.97;
}

static void busy_cpu(struct result *r, struct phase_result *p)
{
	(void)r;
	p->evidence.busiest_cpu_ratio = 0.95;
}

static void nearly_busy_cpu(struct result *r, struct phase_result *p)
{
	(void)r;
	p->evidence.busiest_cpu_ratio = 0.949;
	p->evidence.worker_cpu_ratio = 0.949;
}

static void cpu_not_known(struct result *r, struct phase_result *p)
{
	(void)r;
	p->evidence.busiest_cpu_ratio = -1;
	p->evidence.worker_cpu_ratio = -1;
}

static void direct_refused(struct result *r, struct phase_result *p)
{
	snprintf(r->target.fs_type, sizeof(r->target.fs_type), "overlayfs");
	p->settings.direct = DIRECT_REFUSED;
}

static void direct_off(struct result *r, struct phase_result *p)
{
	(void)r;
	p->settings.direct = DIRECT_OFF;
}

static void on_tmpfs(struct result *r, struct phase_result *p)
{
	snprintf(r->target.fs_type, sizeof(r->target.fs_type), "tmpfs");
	r->target.fs_class = FS_MEMORY;
	r->target.n_disks = 0;
	p->settings.direct = DIRECT_OFF;
	p->evidence.device.known = false;
}

static void shallow(struct result *r, struct phase_result *p)
{
	(void)r;
	p->settings.depth = 1;
}

static void rate_kept(struct result *r, struct phase_result *p)
{
	(void)r;
	p->settings.rate_iops = 510; /* 500 in a second are 98 % */
	p->elapsed_ns = 1000000000;
}

static void rate_missed(struct result *r, struct phase_result *p)
{
	rate_kept(r, p);
	p->settings.rate_iops = 1000;
}

static void wrong_data(struct result *r, struct phase_result *p)
{
	(void)r;
	p->n_verified_units = 100;
	p->n_bad_units = 3;
	p->status = PHASE_FAILED;
	snprintf(p->reason, sizeof(p->reason), "block at 4096 held zeros");
}

static void failed(struct result *r, struct phase_result *p)
{
	(void)r;
	p->status = PHASE_FAILED;
	p->evidence.device.read_bytes = 0;
	p->evidence.worker_cpu_ratio = 1;
}

static void on_nfs(struct result *r, struct phase_result *p)
{
	snprintf(r->target.fs_type, sizeof(r->target.fs_type), "nfs4");
	snprintf(r->target.path, sizeof(r->target.path), "/net");
	r->target.fs_class = FS_NETWORK;
	r->target.n_disks = 0;
	p->evidence.device.known = false;
}

static void no_counters(struct result *r, struct phase_result *p)
{
	snprintf(r->target.disks[0].name, sizeof(r->target.disks[0].name), "vda");
	p->evidence.device.known = false;
}

static void on_a_loop_device(struct result *r, struct phase_result *p)
{
	(void)p;
	snprintf(r->target.disks[0].name, sizeof(r->target.disks[0].name), "loop0");
	snprintf(r->target.disks[0].backing, sizeof(r->target.disks[0].backing), "/srv/image");
}

static void small_buffered_file_on_nfs(struct result *r, struct phase_result *p)
{
	on_nfs(r, p);
	p->settings.direct = DIRECT_OFF;
}

static void huge_buffered_file_on_nfs(struct result *r, struct phase_result *p)
{
	small_buffered_file_on_nfs(r, p);
	p->settings.size_bytes = r->host.memory_limit_bytes;
}

/* clang-format off */
static const struct scene scenes[] = {
	{ "clean", nothing, NULL, 0, NULL, NULL },
	{ "just cached", read_ratio_949, "cached-reads", SEVERITY_WARNING, "cache 5 %", "direct I/O was on" },
	{ "just not", read_ratio_950, NULL, 0, NULL, NULL },
	{ "cached", cached, "cached-reads", SEVERITY_WARNING, "cache 98 %", "20 kB of 1 MB" },
	{ "not all", cached_but_for_a_byte, "cached-reads", SEVERITY_WARNING, "cache 99 %", "1 B of 1 MB" },
	{ "files", cached_files, "cached-reads", SEVERITY_WARNING, "cache 100 %", "files written just before" },
	{ "read-ahead", read_more_than_asked, NULL, 0, NULL, NULL },
	{ "compressed", compressed, "write-not-on-device", SEVERITY_WARNING, "not on disk 50 %", "compresses" },
	{ "no flush", not_flushed, "unflushed-writes", SEVERITY_NOTE, "unwritten 90 %", "100 kB of 1 MB" },
	{ "no flush, direct", not_flushed_but_written, NULL, 0, NULL, NULL },
	{ "worker", busy_worker, "cpu-bound", SEVERITY_WARNING, "cpu 97 %", "a worker" },
	{ "cpu", busy_cpu, "cpu-bound", SEVERITY_WARNING, "cpu 95 %", "not with a worker" },
	{ "nearly", nearly_busy_cpu, NULL, 0, NULL, NULL },
	{ "cpu unknown", cpu_not_known, NULL, 0, NULL, NULL },
	{ "refused", direct_refused, "buffered", SEVERITY_WARNING, "buffered", "buffered: direct refused by overlayfs" },
	{ "off by wish", direct_off, NULL, 0, NULL, NULL },
	{ "tmpfs", on_tmpfs, "memory-fs", SEVERITY_WARNING, "memory", "tmpfs is memory" },
	{ "shallow", shallow, "depth-not-reached", SEVERITY_WARNING, "depth 1/32", "1 of the 32" },
	{ "rate", rate_kept, NULL, 0, NULL, NULL },
	{ "rate missed", rate_missed, "rate-not-reached", SEVERITY_WARNING, "rate 50 %", "500 of the 1000" },
	{ "bad data", wrong_data, "verify-mismatch", SEVERITY_ERROR, "BAD DATA", "3 of 100 verified blocks did not hold what was written: block at 4096 held zeros" },
	{ "failed", failed, NULL, 0, NULL, NULL },
	{ "network", on_nfs, "no-device", SEVERITY_NOTE, "", "below '/net' (nfs4)" },
	{ "loop", on_a_loop_device, "loop-device", SEVERITY_NOTE, "", "'loop0' is the file '/srv/image'" },
	{ "no counters", no_counters, "no-device", SEVERITY_NOTE, "", "'vda' are off" },
	{ "small file", small_buffered_file_on_nfs, "small-file", SEVERITY_NOTE, "fits memory", "1 MiB" },
	{ "huge file", huge_buffered_file_on_nfs, "no-device", SEVERITY_NOTE, "", "nfs4" },
};
/* clang-format on */

static bool of_the_run(const char *check)
{
	return strcmp(check, "no-device") == 0 || strcmp(check, "loop-device") == 0;
}

static void each_check_fires_and_is_silent_beside_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
		const struct scene *s = &scenes[i];
		struct result *r cleanup(result_free_p) = clean_result(1);

		s->change(r, &r->phases[0]);
		judge(r);
		if (!s->check) {
			if (r->n_findings != 0)
				fail_msg("%s: %s", s->why, r->findings[0].check);
			continue;
		}

		const struct finding *f = find(r, s->check);

		if (!f)
			fail_msg("%s: no %s", s->why, s->check);
		/* The small file on NFS is also without a device; all others fire alone. */
		if (r->n_findings != 1 + (strcmp(s->check, "small-file") == 0))
			fail_msg("%s: %zu findings", s->why, r->n_findings);
		assert_int_equal(f->severity, s->severity);
		assert_string_equal(f->mark, s->mark);
		assert_contains(f->text, s->text);
		assert_int_equal(f->sample, 0);
		assert_string_equal(f->phase, of_the_run(s->check) ? "" : "mixed_qd32");
	}
}

static void every_check_has_a_scene(void **state)
{
	(void)state;
	for (size_t k = 0; k < verdict_n_checks; k++) {
		bool seen = false;

		assert_true(verdict_checks[k].id[0] && verdict_checks[k].summary[0]);
		assert_true(verdict_checks[k].phase || verdict_checks[k].run);
		for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
			seen = seen || (scenes[i].check &&
					       strcmp(scenes[i].check, verdict_checks[k].id) == 0);
		if (!seen)
			fail_msg("no scene for %s", verdict_checks[k].id);
		for (size_t i = 0; i < k; i++)
			assert_string_not_equal(verdict_checks[i].id, verdict_checks[k].id);
	}
}

/* ---- samples ---- */

static void samples_give_one_finding_with_the_worst_number(void **state)
{
	(void)state;
	struct result *r cleanup(result_free_p) = clean_result(3);

	r->phases[0].evidence.device.read_bytes = 500000;
	r->phases[1].evidence.device.read_bytes = 100000;
	r->phases[2].evidence.device.read_bytes = 300000;
	judge(r);
	judge(r); /* replaces, does not add */
	assert_int_equal(r->n_findings, 1);
	assert_string_equal(r->findings[0].mark, "cache 90 %");
	assert_int_equal(r->findings[0].sample, 0);
	assert_null(strstr(r->findings[0].text, "samples"));
}

static void samples_that_differ_are_counted(void **state)
{
	(void)state;
	struct result *r cleanup(result_free_p) = clean_result(3);

	r->phases[1].evidence.device.read_bytes = 100000;
	judge(r);
	assert_int_equal(r->n_findings, 1);
	assert_int_equal(r->findings[0].sample, 2);
	assert_contains(r->findings[0].text, "(1 of 3 samples)");

	r->phases[2].evidence.device.read_bytes = 200000;
	judge(r);
	assert_int_equal(r->n_findings, 1);
	assert_int_equal(r->findings[0].sample, 0);
	assert_contains(r->findings[0].text, "(2 of 3 samples)");
}

static void phases_are_judged_apart(void **state)
{
	(void)state;
	struct result *r cleanup(result_free_p) = clean_result(2);

	snprintf(r->phases[1].name, sizeof(r->phases[1].name), "other");
	r->phases[0].evidence.device.read_bytes = 0;
	r->phases[1].evidence.device.read_bytes = 0;
	judge(r);
	assert_int_equal(r->n_findings, 2);
	assert_string_equal(r->findings[0].phase, "mixed_qd32");
	assert_string_equal(r->findings[1].phase, "other");
}

static void a_run_without_phases_has_no_findings(void **state)
{
	(void)state;
	struct result *r cleanup(result_free_p) = result_new();

	judge(r);
	assert_int_equal(r->n_findings, 0);
}

static void the_longest_names_fit(void **state)
{
	(void)state;
	struct result *r cleanup(result_free_p) = clean_result(3);

	on_nfs(r, &r->phases[0]);
	memset(r->target.path, 'x', sizeof(r->target.path) - 1);
	memset(r->target.fs_type, 'y', sizeof(r->target.fs_type) - 1);
	memset(r->phases[0].reason, 'z', sizeof(r->phases[0].reason) - 1);
	memset(r->phases[0].settings.engine, 'e', sizeof(r->phases[0].settings.engine) - 1);
	r->phases[0].n_bad_units = UINT64_MAX;
	r->phases[0].n_verified_units = UINT64_MAX;
	r->phases[0].settings.depth_asked = UINT32_MAX;
	r->phases[0].settings.depth = UINT32_MAX - 1;
	judge(r);
	assert_non_null(find(r, "verify-mismatch"));
	assert_non_null(find(r, "depth-not-reached"));
	assert_contains(find(r, "depth-not-reached")->mark, "depth 4294967294/");
}

/* ---- one word ---- */

static void proof_is_one_word_for_a_figure(void **state)
{
	(void)state;
	static const struct {
		uint64_t asked_read, asked_write, read, written;
		bool known;
		enum fs_class class;
		enum proof proof;
		double ratio;
	} rows[] = {
		{ 1000, 0, 1000, 0, true, FS_LOCAL, PROOF_DEVICE, 1 },
		{ 1000, 0, 5000, 0, true, FS_LOCAL, PROOF_DEVICE, 1 },
		{ 1000, 0, 950, 0, true, FS_LOCAL, PROOF_DEVICE, 0.95 },
		{ 1000, 0, 949, 0, true, FS_LOCAL, PROOF_MIXED, 0.949 },
		{ 1000, 0, 50, 0, true, FS_LOCAL, PROOF_MIXED, 0.05 },
		{ 1000, 0, 49, 0, true, FS_LOCAL, PROOF_CACHE, 0.049 },
		{ 1000, 0, 0, 9999, true, FS_LOCAL, PROOF_CACHE, 0 },
		{ 0, 1000, 0, 1000, true, FS_LOCAL, PROOF_DEVICE, 1 },
		{ 0, 1000, 9999, 0, true, FS_LOCAL, PROOF_CACHE, 0 },
		{ 700, 300, 0, 600, true, FS_LOCAL, PROOF_MIXED, 0.3 },
		{ 1000, 0, 1000, 0, false, FS_LOCAL, PROOF_UNKNOWN, -1 },
		{ 0, 0, 1000, 0, true, FS_LOCAL, PROOF_NONE, -1 },
		{ 0, 0, 1000, 0, false, FS_NETWORK, PROOF_NONE, -1 },
		{ 1000, 0, 1000, 0, true, FS_MEMORY, PROOF_MEMORY, -1 },
		{ 1000, 0, 0, 0, false, FS_NETWORK, PROOF_UNKNOWN, -1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct result *r cleanup(result_free_p) = clean_result(1);
		struct phase_evidence *ev = &r->phases[0].evidence;
		double ratio = 7;

		ev->asked_read_bytes = rows[i].asked_read;
		ev->asked_write_bytes = rows[i].asked_write;
		ev->device.read_bytes = rows[i].read;
		ev->device.written_bytes = rows[i].written;
		ev->device.known = rows[i].known;
		r->target.fs_class = rows[i].class;
		assert_int_equal(verdict_proof(r, &r->phases[0], &ratio), rows[i].proof);
		assert_close(ratio, rows[i].ratio, 1e-12);
	}
	assert_string_equal(proof_name(PROOF_CACHE), "cache");
	assert_string_equal(proof_name(PROOF_UNKNOWN), "unknown");
	assert_string_equal(proof_name(PROOF_NONE), "none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_check_fires_and_is_silent_beside_it),
		cmocka_unit_test(every_check_has_a_scene),
		cmocka_unit_test(samples_give_one_finding_with_the_worst_number),
		cmocka_unit_test(samples_that_differ_are_counted),
		cmocka_unit_test(phases_are_judged_apart),
		cmocka_unit_test(a_run_without_phases_has_no_findings),
		cmocka_unit_test(the_longest_names_fit),
		cmocka_unit_test(proof_is_one_word_for_a_figure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

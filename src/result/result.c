/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The record: memory, figures from counts, identifiers, words (result.h).
 */
#include "result/result.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/rng.h"
#include "result/fields.h"

/* clang-format off */
const struct metric_def metric_defs[METRIC_N_KINDS] = {
	[METRIC_THROUGHPUT]   = { "throughput",   "B/s", true,  "bytes moved per second" },
	[METRIC_IOPS]         = { "iops",         "1/s", true,  "transfers per second" },
	[METRIC_RATE]         = { "rate",         "1/s", true,  "file operations per second" },
	[METRIC_LATENCY_MEAN] = { "latency_mean", "s",   false, "mean latency" },
	[METRIC_LATENCY_P50]  = { "latency_p50",  "s",   false, "median latency" },
	[METRIC_LATENCY_P99]  = { "latency_p99",  "s",   false, "latency that 99 % stay within" },
	[METRIC_LATENCY_P999] = { "latency_p999", "s",   false, "latency that 99.9 % stay within" },
	[METRIC_LATENCY_MAX]  = { "latency_max",  "s",   false, "longest latency" },
	[METRIC_CPU_PER_OP]   = { "cpu_per_op",   "s",   false, "CPU time of every thread per operation" },
};
/* clang-format on */

int metric_find(const char *key)
{
	for (int i = 0; i < METRIC_N_KINDS; i++)
		if (strcmp(metric_defs[i].key, key) == 0)
			return i;
	return -1;
}

struct result *result_new(void)
{
	struct result *r = calloc(1, sizeof(*r));

	if (r)
		result_new_id(r->id);
	return r;
}

void phase_release(struct phase_result *phase)
{
	hist_free(phase->latency);
	free(phase->metrics);
	phase->latency = NULL;
	phase->metrics = NULL;
	phase->n_metrics = 0;
}

void result_free(struct result *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_phases; i++)
		phase_release(&r->phases[i]);
	free(r->phases);
	free(r->findings);
	free(r->command_line);
	free(r->label);
	free(r);
}

int result_take_phase(struct result *r, struct phase_result *phase, struct err *e)
{
	struct phase_result *grown = reallocarray(r->phases, r->n_phases + 1, sizeof(*grown));

	if (!grown)
		return err_set(e, ERR_NOMEM, 0, "out of memory for phase '%s'", phase->name);
	r->phases = grown;
	r->phases[r->n_phases++] = *phase;
	*phase = (struct phase_result){ 0 };
	return 0;
}

int result_add_finding(struct result *r, const struct finding *finding, struct err *e)
{
	struct finding *grown = reallocarray(r->findings, r->n_findings + 1, sizeof(*grown));

	if (!grown)
		return err_set(e, ERR_NOMEM, 0, "out of memory for a finding");
	r->findings = grown;
	r->findings[r->n_findings++] = *finding;
	return 0;
}

void result_clear_findings(struct result *r)
{
	free(r->findings);
	r->findings = NULL;
	r->n_findings = 0;
}

/* Marks as FAILED; what stopped it comes first if that is known already. */
static void fail_phase(struct phase_result *phase, const char *why)
{
	char before[RESULT_REASON_MAX];

	memcpy(before, phase->reason, sizeof(before));
	before[sizeof(before) - 1] = '\0';
	phase->status = PHASE_FAILED;
	if (before[0])
		snprintf(phase->reason, sizeof(phase->reason), "%.300s (%s)", before, why);
	else
		snprintf(phase->reason, sizeof(phase->reason), "%s", why);
}

/* Room is for METRIC_N_KINDS. A figure that is no number is left out. */
static void put(struct phase_result *phase, enum metric_kind kind, double value)
{
	assert(phase->n_metrics < METRIC_N_KINDS);
	if (isfinite(value))
		phase->metrics[phase->n_metrics++] = (struct metric){ kind, value };
}

static void put_latencies(struct phase_result *phase)
{
	static const struct {
		enum metric_kind kind;
		double q;
	} quantiles[] = {
		{ METRIC_LATENCY_P50, 0.5 },
		{ METRIC_LATENCY_P99, 0.99 },
		{ METRIC_LATENCY_P999, 0.999 },
	};
	const struct hist *h = phase->latency;

	if (!h || h->n == 0)
		return;
	put(phase, METRIC_LATENCY_MEAN, hist_mean_ns(h) * 1e-9);
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++) {
		uint64_t value_ns = 0;

		if (h->n < hist_quantile_needs(quantiles[i].q))
			continue;
		if (hist_quantile(h, quantiles[i].q, &value_ns) == 0)
			put(phase, quantiles[i].kind, (double)value_ns * 1e-9);
	}
	put(phase, METRIC_LATENCY_MAX, (double)h->max_ns * 1e-9);
}

int phase_make_metrics(struct phase_result *phase, struct err *e)
{
	free(phase->metrics);
	phase->metrics = NULL;
	phase->n_metrics = 0;
	if (phase->status == PHASE_FAILED)
		return 0;
	if (phase->elapsed_ns == 0 || phase->n_ops == 0) {
		fail_phase(phase, phase->n_ops == 0 ? "no operation ended" : "no time passed");
		return 0;
	}

	phase->metrics = calloc(METRIC_N_KINDS, sizeof(*phase->metrics));
	if (!phase->metrics)
		return err_set(
			e, ERR_NOMEM, 0, "out of memory for the figures of '%s'", phase->name);

	double elapsed_s = (double)phase->elapsed_ns * 1e-9;
	double n_ops = (double)phase->n_ops;
	double n_bytes = (double)phase->read_bytes + (double)phase->written_bytes;
	bool of_files = phase->settings.n_files > 0;

	if (!of_files || n_bytes > 0)
		put(phase, METRIC_THROUGHPUT, n_bytes / elapsed_s);
	put(phase, of_files ? METRIC_RATE : METRIC_IOPS, n_ops / elapsed_s);
	put_latencies(phase);
	put(phase, METRIC_CPU_PER_OP, (phase->cpu_user_s + phase->cpu_system_s) / n_ops);
	return 0;
}

bool phase_metric(const struct phase_result *phase, enum metric_kind kind, double *ret)
{
	for (size_t i = 0; i < phase->n_metrics; i++) {
		if (phase->metrics[i].kind == kind) {
			*ret = phase->metrics[i].value;
			return true;
		}
	}
	return false;
}

/* RFC 9562 section 5.7: 48 bits of milliseconds, version 7, then 12 bits that are the fraction of
 * the millisecond (section 6.2, method 3, so that ids made within one sort too), 62 random bits. */
void result_new_id(char id[40])
{
	uint64_t now_ns = clock_wall_ns();
	uint64_t ms = now_ns / 1000000;
	uint64_t fraction = (now_ns % 1000000) * 4096 / 1000000;
	uint64_t random = rng_seed_from_system();

	snprintf(id, 40, "%08x-%04x-7%03x-%04x-%012llx", (unsigned)(ms >> 16 & 0xffffffff),
		(unsigned)(ms & 0xffff), (unsigned)fraction,
		(unsigned)(0x8000 | (random >> 48 & 0x3fff)),
		(unsigned long long)(random & 0xffffffffffff));
}

/* clang-format off */
#define WORDS(fn, type, words, n)                                                                  \
	const char *fn##_name(type value)                                                          \
	{                                                                                          \
		return (unsigned)value < (n) ? (words)[value] : "";                                \
	}                                                                                          \
	int fn##_find(const char *name)                                                            \
	{                                                                                          \
		return word_find(words, n, name);                                                  \
	}

WORDS(phase_status, enum phase_status, phase_status_words, PHASE_N_STATUS)
WORDS(flush_kind, enum flush_kind, flush_kind_words, FLUSH_N_KINDS)
WORDS(direct_mode, enum direct_mode, direct_mode_words, DIRECT_N_MODES)
WORDS(data_word, enum pattern_word, data_words, DATA_N_WORDS)
WORDS(run_status, enum run_status, run_status_words, RUN_N_STATUS)
WORDS(severity, enum severity, severity_words, SEVERITY_N)
/* clang-format on */

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Asks every check about every phase and merges the samples (verdict.h).
 */
#include "verdict/verdict.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "result/result.h"
#include "verdict/checks.h"

double verdict_share(uint64_t device_bytes, uint64_t asked_bytes)
{
	return device_bytes >= asked_bytes ? 1 : (double)device_bytes / (double)asked_bytes;
}

/* ---- one word for a figure ---- */

const char *proof_name(enum proof p)
{
	static const char *const words[] = { "device", "mixed", "cache", "memory", "unknown",
		"none" };

	return (unsigned)p < PROOF_N ? words[p] : "";
}

/* Reads and writes are judged apart: what one of them moved too much proves nothing for the
 * other. */
static double device_ratio(const struct phase_evidence *ev)
{
	const struct disk_counters *d = &ev->device;
	double asked = (double)ev->asked_read_bytes + (double)ev->asked_write_bytes;
	double moved = 0;

	if (!d->known || !(asked > 0))
		return -1;
	if (ev->asked_read_bytes > 0)
		moved += verdict_share(d->read_bytes, ev->asked_read_bytes) *
			 (double)ev->asked_read_bytes;
	if (ev->asked_write_bytes > 0)
		moved += verdict_share(d->written_bytes, ev->asked_write_bytes) *
			 (double)ev->asked_write_bytes;
	return moved / asked;
}

enum proof verdict_proof(
	const struct result *r, const struct phase_result *phase, double *ret_device_ratio)
{
	double ratio = device_ratio(&phase->evidence);

	if (r->target.fs_class == FS_MEMORY) {
		*ret_device_ratio = -1;
		return PROOF_MEMORY;
	}
	*ret_device_ratio = ratio;
	if (phase->evidence.asked_read_bytes + phase->evidence.asked_write_bytes == 0)
		return PROOF_NONE;
	if (ratio < 0)
		return PROOF_UNKNOWN;
	if (ratio >= VERDICT_DEVICE_RATIO)
		return PROOF_DEVICE;
	return ratio < VERDICT_CACHE_RATIO ? PROOF_CACHE : PROOF_MIXED;
}

/* ---- merging samples ---- */

/* What a check said about the samples of one phase. */
struct opinion {
	struct finding worst;
	double badness;
	uint32_t worst_sample;
	size_t n_samples;
	size_t n_fired;
};

static void ask(const struct check *check, const struct result *r, const struct phase_result *phase,
	struct opinion *opinion)
{
	struct finding finding = { 0 };
	double badness = 0;

	opinion->n_samples++;
	if (!check->phase(r, phase, &finding, &badness))
		return;
	if (opinion->n_fired++ == 0 || badness > opinion->badness) {
		opinion->worst = finding;
		opinion->badness = badness;
		opinion->worst_sample = phase->sample;
	}
}

static void add_text(struct finding *finding, const char *text)
{
	size_t n = strlen(finding->text);

	snprintf(finding->text + n, sizeof(finding->text) - n, "%s", text);
}

static int add_opinion(struct result *r, const struct check *check, const char *phase,
	struct opinion *opinion, struct err *e)
{
	struct finding *finding = &opinion->worst;

	if (opinion->n_fired == 0)
		return 0;
	snprintf(finding->check, sizeof(finding->check), "%s", check->id);
	snprintf(finding->phase, sizeof(finding->phase), "%s", phase);
	if (opinion->n_samples > 1 && opinion->n_fired == 1)
		finding->sample = opinion->worst_sample;
	if (opinion->n_samples > 1 && opinion->n_fired < opinion->n_samples) {
		char text[64];

		snprintf(text, sizeof(text), " (%zu of %zu samples)", opinion->n_fired,
			opinion->n_samples);
		add_text(finding, text);
	}
	return result_add_finding(r, finding, e);
}

static bool named_before(const struct result *r, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (strcmp(r->phases[i].name, r->phases[at].name) == 0)
			return true;
	return false;
}

/* The samples of the phase that is at @at for the first time. */
static int judge_phase(struct result *r, const struct check *check, size_t at, struct err *e)
{
	struct opinion opinion = { 0 };

	for (size_t i = at; i < r->n_phases; i++)
		if (strcmp(r->phases[i].name, r->phases[at].name) == 0)
			ask(check, r, &r->phases[i], &opinion);
	return add_opinion(r, check, r->phases[at].name, &opinion, e);
}

static int judge_run(struct result *r, const struct check *check, struct err *e)
{
	struct finding finding = { 0 };

	if (!check->run || !check->run(r, &finding))
		return 0;
	snprintf(finding.check, sizeof(finding.check), "%s", check->id);
	return result_add_finding(r, &finding, e);
}

int verdict_judge(struct result *r, struct err *e)
{
	result_clear_findings(r);
	for (size_t i = 0; i < r->n_phases; i++) {
		if (named_before(r, i))
			continue;
		for (size_t k = 0; k < verdict_n_checks; k++)
			if (verdict_checks[k].phase && judge_phase(r, &verdict_checks[k], i, e))
				return -1;
	}
	for (size_t k = 0; k < verdict_n_checks; k++)
		if (judge_run(r, &verdict_checks[k], e))
			return -1;
	return 0;
}

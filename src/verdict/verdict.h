/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a figure is worth, floor 3: checks are rows of one const table; each looks at the evidence
 * of a result and says what it found. Pure: no files, no clock.
 */
#pragma once

#include <stddef.h>

struct err;
struct finding;
struct phase_result;
struct result;

struct check {
	const char *id;	     /* "cached-reads" */
	const char *summary; /* what it looks at, one line */
	/**
	 * One sample of a phase; may be NULL.
	 * @ret:         mark, text and severity; the rest is filled by verdict_judge()
	 * @ret_badness: larger is worse: the worst sample speaks for its phase
	 *
	 * Return: 1 if it fires, else 0
	 */
	int (*phase)(const struct result *r, const struct phase_result *phase, struct finding *ret,
		double *ret_badness);
	/* The whole run; may be NULL. Return: as above. */
	int (*run)(const struct result *r, struct finding *ret);
};

extern const struct check verdict_checks[];
extern const size_t verdict_n_checks;

/**
 * verdict_judge() - replaces the findings of @r with those of every check
 *
 * A check says at most one thing about all samples of a phase: the words of the worst sample, with
 * the number of samples where it is not all of them. finding.sample is the sample if it is one out
 * of several, else 0. So a row has one mark for each check.
 *
 * Return: 0, or -1 with ERR_NOMEM
 */
int verdict_judge(struct result *r, struct err *e);

/* Where the bytes of a read phase came from, or went to for a write. */
enum proof {
	PROOF_DEVICE,
	PROOF_MIXED,
	PROOF_CACHE,
	PROOF_MEMORY,
	PROOF_UNKNOWN,
	PROOF_NONE,
	PROOF_N
};

/**
 * verdict_proof() - one word for a figure
 * @ret_device_ratio: [1] share of the bytes asked that the device moved, at most 1; -1 unknown
 *
 * >= 0.95: device; < 0.05: cache; between: mixed; no bytes asked (stat, delete): none; no device in
 * sight: unknown (memory on tmpfs). Source: design.md section 1, pitfalls F.3 ("cached read", "not
 * durable").
 */
enum proof verdict_proof(
	const struct result *r, const struct phase_result *phase, double *ret_device_ratio);
const char *proof_name(enum proof p);

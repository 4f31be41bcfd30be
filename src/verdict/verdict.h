/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a figure is worth, floor 3: checks are rows of one const table; each looks at the evidence
 * of a result and adds findings. Pure: no files, no clock.
 */
#pragma once

#include <stddef.h>

struct err;
struct phase_result;
struct result;

struct check {
	const char *id;      /* "cached-reads" */
	const char *summary; /* what it looks at, one line */
	/* Adds at most one finding for the phase. 0, or -1 with ERR_NOMEM. */
	int (*phase)(struct result *r, const struct phase_result *phase, struct err *e);
	/* Adds findings for the whole run; either may be NULL. */
	int (*run)(struct result *r, struct err *e);
};

extern const struct check verdict_checks[];
extern const size_t verdict_n_checks;

/* Replaces the findings of @r with those of every check over every phase. 0, or -1 ERR_NOMEM. */
int verdict_judge(struct result *r, struct err *e);

/* Where the bytes of a read phase came from, or went to for a write. */
enum proof { PROOF_DEVICE, PROOF_MIXED, PROOF_CACHE, PROOF_MEMORY, PROOF_UNKNOWN, PROOF_N };

/**
 * verdict_proof() - one word for a figure
 * @ret_device_ratio: [1] share of the bytes asked that the device moved, at most 1; -1 unknown
 *
 * >= 0.95: device; < 0.05: cache; between: mixed; no device in sight: unknown (memory on tmpfs).
 * Source: design.md section 1, pitfalls F.3 ("cached read", "not durable").
 */
enum proof verdict_proof(const struct result *r, const struct phase_result *phase,
	double *ret_device_ratio);
const char *proof_name(enum proof p);

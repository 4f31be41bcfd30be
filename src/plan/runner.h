/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs one block job with its worker threads, floor 3: starts them together, watches the stop flag
 * and the live counters, merges what they found into one phase result.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "plan/worker.h"

/* What a person is told while it runs; called from the thread that called runner_run(). */
struct progress {
	const char *phase;
	const char *stage; /* "laying out", "measuring", "verifying" */
	uint64_t n_ops;
	uint64_t n_bytes;
	uint64_t elapsed_ns;
	uint64_t planned_ns;	/* 0: not known */
	uint64_t planned_bytes; /* 0: not known */
};

struct progress_hook {
	void (*fn)(void *ctx, const struct progress *p); /* NULL: nobody watches */
	void *ctx;
};

struct runner_params {
	const char *phase;
	const char *stage;
	const _Atomic int *stop; /* of the person: nonzero ends the phase early; may be NULL */
	const struct progress_hook *hook; /* may be NULL */
	uint64_t *ret_blocks_passed; /* [n_threads] how far sequential workers came; may be NULL */
};

/**
 * runner_run() - one phase from the first submit to the last completion and flush
 * @out: elapsed, counts, bytes, CPU, latency, worker_cpu_ratio, engine detail, error, status and
 *       reason are filled; name, sample, settings and the rest of the evidence are the caller's
 *
 * A failed transfer is no failure of the call: out->status is PHASE_FAILED when nothing was
 * measured, PHASE_PARTIAL when something was.
 *
 * Return: 0; -1 when it could not start (no memory, engine refused): *out is not a measurement
 * Threads: one call at a time per job
 */
int runner_run(const struct block_job *job, const struct runner_params *params,
	struct phase_result *out, struct err *e);

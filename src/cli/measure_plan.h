/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Before the first byte: what the targets are, whether they may be measured as asked, how large
 * the file is, which engine; and the two lines that say so. Shared with measure.c only.
 */
#pragma once

#include "cli/live.h"
#include "cli/measure.h"
#include "base/err.h"
#include "history/history.h"

struct target_run {
	struct result *result;	 /* owned */
	struct session *session; /* owned until closed */
	uint64_t size_bytes;	 /* working set */
	size_t n_stored;	 /* phases that are in the history */
	bool ended;		 /* a phase failed: the rest is left out */
};

struct measurement {
	struct context *ctx;
	const struct measure_request *request;
	struct history *history;
	struct host_facts host;
	struct live *live; /* NULL: no terminal */
	struct live_view view;
	struct progress_hook hook;
	double left_s; /* planned for what has not started yet */
	const struct engine_ops *engine;
	bool depth_by_threads;
	char engine_note[120]; /* why not uring; "" : as asked */
	uint64_t seed;
	struct pattern pattern;
	struct target_run targets[MEASURE_N_TARGETS_MAX];
	size_t n_targets;
	size_t n_failed, n_mismatched;
	bool history_failed;
	struct err history_err;
};

/**
 * measurement_prepare() - everything that can be refused is refused here
 *
 * Return: 0, targets ready to run; -1 with ERR_USAGE, ERR_UNSUPPORTED, ERR_IO: nothing was written
 *         that is still there
 */
int measurement_prepare(struct measurement *m, struct err *e);

/* [s] planned for one phase, as in the estimate. */
double measurement_phase_s(const struct measurement *m, const struct phase_spec *spec);

/* Two lines a target on stderr: what, where, how; how long, how much it writes. */
void measurement_announce(struct measurement *m);

/* Closes sessions (removing test files) and frees. */
void measurement_release(struct measurement *m);

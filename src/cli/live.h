/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One live line on a terminal while a run goes on, floor 4: on standard error, only if that is a
 * terminal and the run is in its foreground. The caller decides how often.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct buf;
struct context;
struct live;

struct live_view {
	const char *phase; /* "rand_read_qd32" */
	const char *step;  /* "preparing"; NULL: measuring */
	uint32_t sample;   /* from 1; 0: not shown */
	uint32_t n_samples;
	double throughput_bps; /* bytes/s; below 0: not shown */
	double ops_per_s;      /* below 0: not shown */
	double left_s;	       /* of the whole run; below 0: not shown */
};

/* NULL when there is no terminal to write on: all other calls take NULL and do nothing. */
struct live *live_new(const struct context *ctx);

/* Shows @view in place of what was shown before. */
void live_show(struct live *live, const struct live_view *view);

/* Takes the line away, before other text goes to the terminal. */
void live_erase(struct live *live);

/* Erases and frees. */
void live_free(struct live *live);
DEFINE_CLEANUP(struct live *, live_free)

/**
 * live_text() - the line, without control characters of the terminal
 * @width_columns: cut to this; 0: not cut. Parts are left out whole, the phase last.
 */
void live_text(const struct live_view *view, unsigned width_columns, struct buf *out);

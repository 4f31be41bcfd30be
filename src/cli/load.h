/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Phases of a person's own, floor 4: the options that describe one, as rows that a command puts
 * into its table and that --custom reads as KEY=VALUE, and the list of phases they become.
 */
#pragma once

#include <stdint.h>

#include "cli/measure.h"
#include "cli/opt.h"
#include "plan/plan.h"

struct err;

/* "none" first: the plan decides. The rest in the order of enum access_kind. */
#define ACCESS_CHOICES "none|read|write|rw|randread|randwrite|randrw|append"
/* "plan" first: the plan decides. The rest: enum load_flush. */
#define FLUSH_CHOICES "plan|none|fdatasync|each"

/* What one phase of a person's own is made of; 0: not given. */
struct load_args {
	int rw;
	uint64_t block_bytes;
	uint64_t depth;
	uint64_t n_threads;
	uint64_t read_pct;
	uint64_t rate_iops;
	uint64_t time_ns;
	int flush;
};

/* The rows, for a struct @t that holds a struct load_args as its member @m ("load."; "" : it is
 * one). */
/* clang-format off */
#define LOAD_ROWS(t, m)                                                                                                            \
	OPT_CHOICE  (t, m rw,          0,   "rw",       ACCESS_CHOICES, "access of a phase of your own instead of a plan (default none)"), \
	OPT_BYTES   (t, m block_bytes, 'b', "block",    512, 1u << 30, "bytes per transfer, a multiple of 512 (default 4k, or the plan's)"), \
	OPT_COUNT   (t, m depth,       'd', "depth",    1, 4096, "transfers in flight per worker (default 1, or the plan's)"),         \
	OPT_COUNT   (t, m n_threads,   'j', "threads",  1, 1024, "workers (default 1)"),                                              \
	OPT_COUNT   (t, m read_pct,    0,   "read-pct", 1, 99, "share of reads in rw and randrw in percent (default 70)"),           \
	OPT_COUNT   (t, m rate_iops,   0,   "rate",     1, 1000000000, "transfers due per second over all workers, each timed from when it was due (default: as fast as it goes)"), \
	OPT_DURATION(t, m time_ns,     't', "time",     1000000, UINT64_C(86400000000000), "length of a timed phase (default 5s)"),    \
	OPT_CHOICE  (t, m flush,       0,   "flush",    FLUSH_CHOICES, "what ends a write phase inside the clock (default plan, or fdatasync with --rw)")
/* clang-format on */

/* Puts what was given over a phase of a plan; its name follows its depth. */
void load_apply(const struct load_args *load, struct phase_spec *spec);

/* A phase made of nothing but @load; load->rw is set. */
void load_make_phase(const struct load_args *load, struct phase_spec *ret);

/* The phases of a run, each name once. */
struct phase_set {
	struct phase_spec specs[MEASURE_N_PHASES_MAX];
	size_t n;
};

bool phase_set_has(const struct phase_set *set, const char *name);

/* 0; -1 with ERR_USAGE: too many, or there already. */
int phase_set_add(struct phase_set *set, const struct phase_spec *spec, struct err *e);

/* "rw=randread,block=16k,...": what is not in @text is as in @base. 0; -1 with ERR_USAGE. */
int phase_set_add_custom(
	struct phase_set *set, const char *text, const struct load_args *base, struct err *e);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One target under measurement, floor 3: its test directory, its data file and what is already
 * written in it, and the phases run on it one by one. What a phase needs first (a laid-out file, a
 * cold cache, small files to stat) is done outside the clock and counted in prepare_ns.
 *
 * A file that was named as the target is opened read-only and never changed. A block device is
 * opened read-only unless the caller has checked probe_device_writable() and says so.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "engine/pattern.h"
#include "plan/plan.h"
#include "plan/runner.h"
#include "result/result.h"

struct err;
struct session;

enum direct_wish {
	DIRECT_WISH_AUTO, /* where the file system has it, else buffered and shown */
	DIRECT_WISH_ON,	  /* or fail */
	DIRECT_WISH_OFF,
};

struct session_params {
	const struct target_facts *target; /* borrowed, as the others here */
	const struct host_facts *host;
	const char *run_id;
	const struct engine_ops *engine;
	unsigned engine_flags;
	/* Engine of depth 1 where more was asked: as many threads instead (the fallback of auto).
	 */
	bool depth_by_threads;
	const char *engine_note; /* why it is this engine; kept beside its detail; NULL: as asked */
	enum direct_wish direct;
	struct pattern pattern; /* kind, compress_pct, seed, stamps, unit_bytes */
	bool write_device;
	bool pin;
	bool warm;	  /* reads find the file in the page cache; else it is dropped first */
	uint64_t time_ns; /* of a phase that names none; > 0 */
	uint64_t n_files;
	uint64_t n_dirs;
	uint64_t file_bytes;
	uint64_t seed;
	const struct clock *clock;
	const _Atomic int *stop;
	const struct progress_hook *hook;
};

/**
 * session_open() - makes the test directory or opens the file or device, settles direct I/O
 *
 * Return: 0; -1 with ERR_USAGE, ERR_UNSUPPORTED (--direct=on refused) or ERR_IO; nothing is left
 *         behind
 * Owns:   *params is copied, what it points to is borrowed until session_close()
 */
int session_open(const struct session_params *params, struct session **ret, struct err *e);

/**
 * session_set_size() - settles the working set; once, before the first phase
 * @size_bytes: > 0; a multiple of 512 and, where it can be, of every block
 *
 * Return: 0; -1 with ERR_NOMEM (generations of --verify) or ERR_IO
 */
int session_set_size(struct session *s, uint64_t size_bytes, struct err *e);

/* What direct I/O became. */
enum direct_mode session_direct(const struct session *s);

/* Whether the target can take this phase at all (writes on a target that is only read: no). */
bool session_can_run(const struct session *s, const struct phase_spec *spec);

/**
 * session_check() - whether block, depth, threads and size of a phase fit together and this target
 *
 * Return: 0; -1 with ERR_USAGE naming the option, the value and the cure
 */
int session_check(const struct session *s, const struct phase_spec *spec, struct err *e);

/**
 * session_run() - prepares and measures one phase
 * @sample: from 1
 * @out:    zeroed by the caller; everything is filled, metrics too
 *
 * Return: 0, also for a phase that failed or was cut short (out->status, reason); -1 for ERR_NOMEM
 *         and ERR_BUG
 */
int session_run(struct session *s, const struct phase_spec *spec, uint32_t sample,
	struct phase_result *out, struct err *e);

/**
 * session_verify() - reads back everything this session wrote and checks it (--verify)
 * @out: a phase named "verify"
 *
 * Return: as session_run(); 1 if there is nothing to verify (*out untouched)
 */
int session_verify(struct session *s, uint32_t sample, struct phase_result *out, struct err *e);

/* Removes what it made. 0, or -1 with ERR_IO naming what stayed. NULL is allowed. */
int session_close(struct session *s, struct err *e);

static inline void session_close_p(struct session **s)
{
	session_close(*s, NULL);
}

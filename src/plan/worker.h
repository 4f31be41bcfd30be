/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The measuring loop of one worker, floor 3. Everything it touches in the loop is its own: no
 * allocation, no lock, no formatting, one clock read per batch of completions (two where data has
 * to be made for writes). The only thing it shares is a flag that asks it to stop.
 *
 * Latency is from the moment a transfer is handed to the engine (with a rate: from the moment it
 * was due) until its completion is seen. Short transfers are continued, EINTR and EAGAIN repeated.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "engine/pattern.h"
#include "plan/plan.h"
#include "result/result.h"
#include "stats/hist.h"

struct clock;
struct err;

/* What all workers of a phase do; read-only while they run. */
struct block_job {
	const struct engine_ops *ops;
	const void *engine_script; /* test engines */
	unsigned engine_flags;
	int fd;
	uint64_t file_bytes; /* for mmap */
	enum access_kind access;
	uint32_t block_bytes;
	uint32_t align_bytes; /* what direct I/O needs of offsets and sizes; >= 1 */
	uint32_t depth;
	uint32_t n_threads;
	uint64_t first_byte; /* the working set */
	uint64_t n_blocks;   /* >= n_threads */
	uint64_t time_ns;    /* 0: one pass over the working set */
	uint32_t read_pct;
	uint64_t rate_iops;	       /* over all workers; 0: closed loop */
	bool sync_each;		       /* fdatasync after each write, inside its latency */
	bool sync_end;		       /* one flush after the last worker's last write */
	bool append;		       /* offsets grow without end; one worker */
	bool pin;		       /* worker i on the i-th CPU of the affinity mask */
	uint64_t seed;		       /* of the random order */
	const struct pattern *pattern; /* data of writes, checks of reads */
	uint32_t *generations; /* [file units] how often each unit was written; NULL: not kept */
	bool check;	       /* reads are checked against pattern and generations */
	const struct clock *clock;
};

/* What a worker counts up while it runs, for the live line. Written by it alone. */
struct worker_live {
	_Atomic uint64_t n_ops;
	_Atomic uint64_t n_bytes;
};

struct worker {
	_Alignas(64) struct worker_live live;
	const struct block_job *job;
	_Atomic int *stop;	  /* nonzero: finish what is in flight and end */
	uint32_t index;		  /* 0..n_threads-1 */
	struct worker_loop *loop; /* owned; private to worker.c */
	/* outcome */
	uint64_t start_ns, end_ns; /* first submit, last completion */
	uint64_t n_ops, read_bytes, written_bytes;
	uint64_t n_blocks_passed; /* sequential: how far it came, at most its share */
	uint64_t n_short, n_retries;
	uint64_t n_verified_units, n_bad_units;
	double cpu_s;		  /* of this thread in the loop */
	struct pattern_bad bad;	  /* the first one, when n_bad_units > 0 */
	struct phase_error error; /* the first one, when error.sys != 0 */
	struct err *err;	  /* of worker_open() */
	char engine_detail[160];
	struct hist latency;
};

/**
 * worker_open() - buffers, slots, engine; in the thread that will run it
 *
 * Return: 0; -1 with ERR_NOMEM or the engine's error
 */
int worker_open(struct worker *w, struct err *e);

/* The loop. Never fails as a call: see error, n_bad_units. */
void worker_run(struct worker *w);

/* The flush the phase names; 0 or -errno (also noted in error). */
int worker_sync(struct worker *w);

void worker_close(struct worker *w);

/* Blocks of worker @index: of n_blocks, the share that it alone touches. */
uint64_t worker_n_blocks(const struct block_job *job, uint32_t index);

/* First block of a sequential worker's share. */
uint64_t worker_first_block(const struct block_job *job, uint32_t index);

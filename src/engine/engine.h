/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The I/O engines, floor 1, behind one const table of seven calls. An engine moves bytes between
 * one open file and buffers that the runner owns; it knows nothing of plans, statistics or clocks
 * of the measurement. One engine object belongs to one worker thread: opened, used and closed
 * there, never shared.
 *
 * The loop that uses it (plan/worker.c):
 *
 *	submit(e, ios, n);                        queue, may or may not start them
 *	n = reap(e, done, max, 1, forever);       start what is queued, wait for at least one
 *
 * Hot calls return a count or -errno; they never allocate, lock, format or log.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct buf;
struct clock;
struct engine;
struct err;
struct iobuf;

enum io_op {
	IO_READ,
	IO_WRITE,
	IO_DATASYNC, /* fdatasync of the file; offset, size and buffer are ignored */
	IO_FSYNC,
	IO_N_OPS
};

/* One transfer asked for. The buffer is iobuf_slot(buffers, slot) + buffer_offset_bytes. */
struct io {
	uint64_t offset_bytes;
	uint32_t n_bytes;
	uint32_t buffer_offset_bytes; /* of a continued short transfer; else 0 */
	uint16_t slot;		      /* 0..depth-1; at most one transfer in flight per slot */
	uint8_t op;		      /* enum io_op */
};

/* One transfer ended: bytes moved (maybe fewer than asked; 0 at the end of a file), or -errno. */
struct io_done {
	int32_t result;
	uint16_t slot;
};

enum engine_flag {
	ENGINE_IOPOLL = 1u << 0,    /* uring: poll for completions (needs direct and poll queues) */
	ENGINE_SQPOLL = 1u << 1,    /* uring: a kernel thread submits */
	ENGINE_NO_FIXED = 1u << 2,  /* uring: do not register buffers and the file */
	ENGINE_READ_ONLY = 1u << 3, /* mmap: the file was opened for reading */
};

#define ENGINE_WAIT_FOREVER UINT64_MAX

struct engine_params {
	int fd;			     /* open file; borrowed */
	uint64_t file_bytes;	     /* size of the file or device, for mmap; 0: not known */
	uint32_t depth;		     /* 1..ops->max_depth, transfers in flight at most */
	const struct iobuf *buffers; /* at least depth slots; borrowed */
	unsigned flags;		     /* enum engine_flag */
	const struct clock *clock;   /* null and fault pace themselves by it; NULL: the real one */
	const void *script;	     /* null: struct null_script; fault: struct fault_script */
};

struct engine_ops {
	const char *name;    /* what a person types */
	const char *summary; /* one line for clyde engines */
	uint32_t max_depth;  /* 1 for engines that wait for each transfer */
	bool for_tests;	     /* not offered to a person */
	bool maps_file;	     /* the file must have its full size before open() */

	/* 0: works here; 1: does not, the reason is in *e (kind ERR_UNSUPPORTED). No side effects.
	 */
	int (*probe)(struct err *e);
	/* 0 and an engine; -1 and *e. ERR_USAGE if the depth is above max_depth. */
	int (*open)(const struct engine_params *params, struct engine **ret, struct err *e);
	/* Queues all of ios[0..n-1] (n <= depth - in flight). 0 or -errno. */
	int (*submit)(struct engine *engine, const struct io *ios, uint32_t n);
	/*
	 * Starts what is queued and collects at most n_max (> 0) ended transfers. Waits until
	 * n_min (0: never waits) have ended or timeout_ns has passed. Returns how many (0..n_max),
	 * or -errno of the ring itself; -EINTR and time-outs are not errors: fewer come back.
	 */
	int (*reap)(struct engine *engine, struct io_done *done, uint32_t n_max, uint32_t n_min,
		uint64_t timeout_ns);
	/* Waits until what was written is on the medium: fdatasync/msync. 0 or -errno. Nothing in
	 * flight. */
	int (*sync)(struct engine *engine);
	/* Adds one line: what is really in use ("uring, registered buffers, defer_taskrun"). */
	void (*describe)(const struct engine *engine, struct buf *out);
	/* Waits for nothing: the caller has reaped everything. NULL is allowed. */
	void (*close)(struct engine *engine);
};

/* Every engine object starts with this, so that a caller needs only the pointer. */
struct engine {
	const struct engine_ops *ops;
};

extern const struct engine_ops engine_sync;
extern const struct engine_ops engine_uring;
extern const struct engine_ops engine_mmap;
extern const struct engine_ops engine_null;
extern const struct engine_ops engine_fault;

/* NULL-terminated, in the order that clyde engines shows. */
extern const struct engine_ops *const engine_list[];

/* The engine of that name, test engines too, or NULL. */
const struct engine_ops *engine_find(const char *name);

/**
 * engine_io() - one transfer, start to end, through any engine: for tests, preparing and
 * verifying, not for measuring. Continues short transfers and retries EINTR/EAGAIN.
 *
 * Return: bytes moved (fewer than asked only at the end of the file), or -errno
 */
int64_t engine_io(struct engine *engine, const struct io *io);

static inline void engine_close(struct engine *engine)
{
	if (engine)
		engine->ops->close(engine);
}
DEFINE_CLEANUP(struct engine *, engine_close)

/* ---- null: moves nothing; transfers end after scripted latencies on the given clock ---- */

struct null_script {
	const uint64_t *latencies_ns; /* [n_latencies] used in turn, again and again */
	uint32_t n_latencies;	      /* 0: everything ends at once */
};

/* ---- fault: another engine, failing on cue ---- */

enum fault_kind {
	FAULT_ERRNO,	  /* the transfer ends with -value (EIO, ENOSPC, EINTR, EAGAIN, ...) */
	FAULT_SHORT,	  /* only value bytes are asked of the inner engine */
	FAULT_WRONG_DATA, /* one byte of the buffer is flipped: after a read, before a write */
	FAULT_SLOW,	  /* value [ns] pass on the clock before it ends */
	FAULT_LOST,	  /* a write is reported done, nothing is written */
};

struct fault_cue {
	uint64_t nth;	  /* counts transfers of this engine from 0 */
	uint64_t n_times; /* how many in a row; 0 means 1 */
	enum fault_kind kind;
	uint64_t value;
};

struct fault_script {
	const struct engine_ops *inner; /* NULL: engine_null */
	const void *inner_script;
	const struct fault_cue *cues; /* [n_cues] */
	uint32_t n_cues;
};

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The measuring loop. Sequential workers own a contiguous share of the working set; random workers
 * own every n-th position of one common permutation, so that together they touch every block once
 * per pass, without holes or repeats.
 */
#include "plan/worker.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/perm.h"
#include "base/rng.h"
#include "engine/iobuf.h"

enum {
	TRIES_MAX = 1000,	    /* of one transfer, for EINTR, EAGAIN or no progress */
	NAP_NS = 100 * 1000 * 1000, /* longest sleep before the stop flag is looked at */
};

struct slot {
	uint64_t start_ns;
	uint64_t offset_bytes;
	uint32_t n_done_bytes;
	uint16_t n_tries;
	uint8_t op;   /* enum io_op of the transfer */
	bool syncing; /* the fdatasync after a write is in flight */
	bool in_flight;
};

struct worker_loop {
	struct engine *engine;
	struct iobuf *buffers;
	struct slot *slots;   /* [depth] */
	struct io *ios;	      /* [depth] to submit */
	struct io_done *done; /* [depth] reaped */
	uint16_t *free_slots; /* [depth] stack */
	uint32_t n_free;
	uint32_t n_ios;
	uint32_t n_in_flight;
	struct perm perm;
	struct rng rng;
	uint64_t position; /* in this worker's share, within the pass */
	uint64_t n_share_blocks;
	uint64_t first_block;	 /* of a sequential share */
	uint64_t n_left;	 /* operations still to start */
	uint64_t read_threshold; /* rng below it: a read */
	uint64_t deadline_ns;
	bool random, reads, writes, mixed;
	bool careful; /* no block twice in flight */
	bool ending;  /* start nothing new */
};

uint64_t worker_n_blocks(const struct block_job *job, uint32_t index)
{
	return job->n_blocks / job->n_threads + (index < job->n_blocks % job->n_threads ? 1 : 0);
}

uint64_t worker_first_block(const struct block_job *job, uint32_t index)
{
	uint64_t rest = job->n_blocks % job->n_threads;

	return job->n_blocks / job->n_threads * index + (index < rest ? index : rest);
}

/* ---- setting up ---- */

static void pin_to_cpu(uint32_t index)
{
	cpu_set_t allowed, one;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0 || CPU_COUNT(&allowed) == 0)
		return;

	uint32_t wanted = index % (uint32_t)CPU_COUNT(&allowed);

	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed) || wanted-- > 0)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		return;
	}
}

static void set_order(struct worker *w)
{
	const struct block_job *job = w->job;
	const struct access_def *access = &access_defs[job->access];
	struct worker_loop *l = w->loop;

	l->random = access->random;
	l->reads = access->reads;
	l->writes = access->writes;
	l->mixed = access->reads && access->writes;
	l->careful = job->generations && access->writes;
	l->read_threshold = (uint64_t)ldexp((double)job->read_pct / 100.0, 63) * 2;
	if (job->read_pct >= 100)
		l->read_threshold = UINT64_MAX;
	perm_init(&l->perm, job->n_blocks, job->seed);
	rng_init(&l->rng, rng_mix(job->seed) + w->index);
	l->n_share_blocks = job->append ? UINT64_MAX : worker_n_blocks(job, w->index);
	l->first_block = worker_first_block(job, w->index);
	l->n_left = job->time_ns ? UINT64_MAX : l->n_share_blocks;
}

static int open_engine(struct worker *w, struct err *e)
{
	const struct block_job *job = w->job;
	struct engine_params params = {
		.fd = job->fd,
		.file_bytes = job->file_bytes,
		.depth = job->depth,
		.buffers = w->loop->buffers,
		.flags = job->engine_flags,
		.clock = job->clock,
		.script = job->engine_script,
	};
	struct buf detail cleanup(buf_release_p) = { 0 };

	if (job->ops->open(&params, &w->loop->engine, e) != 0)
		return -1;
	job->ops->describe(w->loop->engine, &detail);
	snprintf(w->engine_detail, sizeof(w->engine_detail), "%s", buf_text(&detail));
	return 0;
}

int worker_open(struct worker *w, struct err *e)
{
	const struct block_job *job = w->job;
	size_t depth = job->depth;
	struct worker_loop *l = calloc(1, sizeof(*l));

	w->loop = l;
	if (!l)
		return err_set(e, ERR_NOMEM, 0, "no memory for a worker");
	l->slots = calloc(depth, sizeof(*l->slots));
	l->ios = calloc(depth, sizeof(*l->ios));
	l->done = calloc(depth, sizeof(*l->done));
	l->free_slots = calloc(depth, sizeof(*l->free_slots));
	if (!l->slots || !l->ios || !l->done || !l->free_slots)
		return err_set(e, ERR_NOMEM, 0, "no memory for a worker of depth %u", job->depth);
	for (uint32_t i = 0; i < job->depth; i++)
		l->free_slots[i] = (uint16_t)(job->depth - 1 - i);
	l->n_free = job->depth;
	if (iobuf_new(job->depth, job->block_bytes, &l->buffers, e) != 0)
		return -1;
	set_order(w);
	if (job->pin)
		pin_to_cpu(w->index);
	return open_engine(w, e);
}

void worker_close(struct worker *w)
{
	struct worker_loop *l = w->loop;

	if (!l)
		return;
	engine_close(l->engine);
	iobuf_free(l->buffers);
	free(l->slots);
	free(l->ios);
	free(l->done);
	free(l->free_slots);
	free(l);
	w->loop = NULL;
}

/* ---- the loop ---- */

static void note_error(struct worker *w, int sys, const struct slot *s)
{
	static const char *const words[] = {
		[IO_READ] = "read",
		[IO_WRITE] = "write",
		[IO_DATASYNC] = "fdatasync",
		[IO_FSYNC] = "fsync",
	};

	w->loop->ending = true;
	atomic_store_explicit(w->stop, -1, memory_order_relaxed);
	if (w->error.sys)
		return;
	w->error.sys = sys;
	snprintf(w->error.op, sizeof(w->error.op), "%s",
		words[s->syncing ? (uint8_t)IO_DATASYNC : s->op]);
	w->error.offset_bytes = s->offset_bytes + s->n_done_bytes;
	w->error.n_bytes = w->job->block_bytes - s->n_done_bytes;
}

/* Where the next transfer goes. */
static inline uint64_t next_offset(
	const struct worker_loop *l, const struct block_job *job, uint32_t index)
{
	uint64_t block = l->random ? perm_at(&l->perm, l->position * job->n_threads + index)
				   : l->first_block + l->position;

	return job->first_byte + block * job->block_bytes;
}

static void fill_block(struct worker *w, uint32_t slot, uint64_t offset_bytes)
{
	const struct block_job *job = w->job;
	uint8_t *block = iobuf_slot(w->loop->buffers, slot);
	uint32_t generation = 1;

	if (!job->generations) {
		/* Distinct rewrites without a table: the count of operations is as good. */
		generation = (uint32_t)(w->n_ops / w->loop->n_share_blocks) + 1;
		pattern_fill(job->pattern, block, job->block_bytes, offset_bytes, generation);
		return;
	}

	/* Units of a block may have different pasts (phases have different block sizes). */
	uint32_t unit_bytes = job->pattern->unit_bytes;

	for (uint32_t at = 0; at < job->block_bytes; at += unit_bytes) {
		generation = ++job->generations[(offset_bytes + at) / unit_bytes];
		pattern_fill(job->pattern, block + at, unit_bytes, offset_bytes + at, generation);
	}
}

/* Queues a new transfer. Its start is @start_ns, or the time after its data is made. */
static inline void start_transfer(struct worker *w, uint32_t slot_index, uint64_t start_ns)
{
	struct worker_loop *l = w->loop;
	struct slot *s = &l->slots[slot_index];
	bool read = l->mixed ? rng_next(&l->rng) < l->read_threshold : l->reads;

	s->start_ns = start_ns;
	s->offset_bytes = next_offset(l, w->job, w->index);
	if (++l->position >= l->n_share_blocks)
		l->position = 0;
	s->in_flight = true;
	s->n_done_bytes = 0;
	s->n_tries = 0;
	s->syncing = false;
	s->op = read ? IO_READ : IO_WRITE;
	if (!read)
		fill_block(w, slot_index, s->offset_bytes);
	l->n_left--;
	l->ios[l->n_ios++] = (struct io){
		.offset_bytes = s->offset_bytes,
		.n_bytes = w->job->block_bytes,
		.slot = (uint16_t)slot_index,
		.op = s->op,
	};
}

/* The rest of a transfer, the same again, or the flush after a write. */
static void queue_again(struct worker *w, uint32_t slot_index, enum io_op op)
{
	struct worker_loop *l = w->loop;
	const struct slot *s = &l->slots[slot_index];

	l->ios[l->n_ios++] = (struct io){
		.offset_bytes = s->offset_bytes + s->n_done_bytes,
		.n_bytes = w->job->block_bytes - s->n_done_bytes,
		.buffer_offset_bytes = s->n_done_bytes,
		.slot = (uint16_t)slot_index,
		.op = (uint8_t)op,
	};
}

/* An error or a short transfer. True: queued again; false: the transfer is over, with an error. */
static bool handle_odd(struct worker *w, uint32_t slot_index, int32_t result)
{
	struct slot *s = &w->loop->slots[slot_index];
	enum io_op op = s->syncing ? IO_DATASYNC : s->op;
	bool again = result == -EINTR || result == -EAGAIN;

	if (s->n_tries++ >= TRIES_MAX)
		result = result < 0 ? result : -EIO;
	else if (again || result > 0) {
		w->n_retries += again;
		w->n_short += !again;
		/* Direct I/O goes on at an aligned place: the odd bytes are moved again. */
		if (!again && (uint32_t)result >= w->job->align_bytes) {
			s->n_done_bytes +=
				(uint32_t)result / w->job->align_bytes * w->job->align_bytes;
			s->n_tries = 0;
		}
		queue_again(w, slot_index, op);
		return true;
	} else if (result == 0)
		result = op == IO_READ ? -ENODATA : -ENOSPC;
	note_error(w, -result, s);
	return false;
}

static void check_block(struct worker *w, uint32_t slot_index, uint64_t offset_bytes)
{
	const struct block_job *job = w->job;
	uint32_t unit_bytes = job->pattern->unit_bytes;
	struct pattern_bad bad = { 0 };
	size_t n_bad = pattern_check(job->pattern, iobuf_slot(w->loop->buffers, slot_index),
		job->block_bytes, offset_bytes, &job->generations[offset_bytes / unit_bytes], &bad);

	w->n_verified_units += job->block_bytes / unit_bytes;
	if (n_bad && !w->n_bad_units)
		w->bad = bad;
	w->n_bad_units += n_bad;
}

/* One completion. True: the slot is free again. */
static inline bool finish_transfer(struct worker *w, const struct io_done *done, uint64_t now_ns)
{
	const struct block_job *job = w->job;
	struct slot *s = &w->loop->slots[done->slot];
	uint32_t want_bytes = s->syncing ? 0 : job->block_bytes - s->n_done_bytes;

	if (__builtin_expect((uint32_t)done->result != want_bytes, 0)) {
		bool again = handle_odd(w, done->slot, done->result);

		return !again;
	}
	if (job->sync_each && s->op == IO_WRITE && !s->syncing) {
		s->syncing = true;
		s->n_tries = 0;
		queue_again(w, done->slot, IO_DATASYNC);
		return false;
	}
	s->in_flight = false;
	hist_add(&w->latency, now_ns > s->start_ns ? now_ns - s->start_ns : 0);
	w->n_ops++;
	if (s->op == IO_READ) {
		w->read_bytes += job->block_bytes;
		if (job->check)
			check_block(w, done->slot, s->offset_bytes);
	} else {
		w->written_bytes += job->block_bytes;
	}
	return true;
}

/* Data was made for writes after @now_ns: what is new starts when it is handed over. */
static void restamp_writes(struct worker *w)
{
	struct worker_loop *l = w->loop;
	uint64_t now_ns = clock_now_ns(w->job->clock);

	for (uint32_t i = 0; i < l->n_ios; i++) {
		struct slot *s = &l->slots[l->ios[i].slot];

		if (!s->syncing && s->n_tries == 0 && s->n_done_bytes == 0)
			s->start_ns = now_ns;
	}
}

static bool submit_queued(struct worker *w)
{
	struct worker_loop *l = w->loop;

	if (!l->n_ios)
		return true;

	int rc = w->job->ops->submit(l->engine, l->ios, l->n_ios);

	if (rc < 0) {
		note_error(w, -rc, &l->slots[l->ios[0].slot]);
		return false;
	}
	l->n_in_flight += l->n_ios;
	l->n_ios = 0;
	return true;
}

/* Collects at least @n_min completions or waits @timeout_ns. Returns how many, -1 on an error. */
static int collect(struct worker *w, uint32_t n_min, uint64_t timeout_ns)
{
	struct worker_loop *l = w->loop;
	int n = w->job->ops->reap(l->engine, l->done, w->job->depth, n_min, timeout_ns);

	if (n < 0) {
		struct slot nowhere = { .op = l->reads ? IO_READ : IO_WRITE };

		note_error(w, -n, &nowhere);
		return -1;
	}
	l->n_in_flight -= (uint32_t)n;
	return n;
}

static void publish(struct worker *w)
{
	atomic_store_explicit(&w->live.n_ops, w->n_ops, memory_order_relaxed);
	atomic_store_explicit(
		&w->live.n_bytes, w->read_bytes + w->written_bytes, memory_order_relaxed);
}

static inline void look_at_the_end(struct worker *w, uint64_t now_ns)
{
	struct worker_loop *l = w->loop;

	if (now_ns >= l->deadline_ns || l->n_left == 0 ||
		atomic_load_explicit(w->stop, memory_order_relaxed))
		l->ending = true;
}

static bool may_start(const struct worker_loop *l)
{
	return !l->ending && l->n_free && l->n_left;
}

/*
 * Verified blocks must not be in flight twice: which of two writes the medium keeps, and what a
 * read beside a write finds, is undefined. One slow transfer can hold up the next pass.
 */
static bool must_wait(const struct worker *w)
{
	const struct worker_loop *l = w->loop;
	uint64_t offset_bytes;

	if (!l->careful)
		return false;
	offset_bytes = next_offset(l, w->job, w->index);
	for (uint32_t i = 0; i < w->job->depth; i++)
		if (l->slots[i].in_flight && l->slots[i].offset_bytes == offset_bytes)
			return true;
	return false;
}

/* As fast as it goes: depth transfers in flight, each replaced when it ends. */
static void run_closed(struct worker *w)
{
	struct worker_loop *l = w->loop;
	uint64_t now_ns = w->start_ns;

	for (;;) {
		while (may_start(l) && !must_wait(w))
			start_transfer(w, l->free_slots[--l->n_free], now_ns);
		if (l->writes && l->n_ios)
			restamp_writes(w);
		if (!submit_queued(w) || !l->n_in_flight)
			break;

		int n = collect(w, 1, ENGINE_WAIT_FOREVER);

		if (n < 0)
			break;
		now_ns = clock_now_ns(w->job->clock);
		look_at_the_end(w, now_ns);
		for (int i = 0; i < n; i++)
			if (finish_transfer(w, &l->done[i], now_ns))
				l->free_slots[l->n_free++] = l->done[i].slot;
		publish(w);
	}
	w->end_ns = now_ns;
}

/* Sleeps until a transfer is due or the stop flag should be looked at. */
static void nap_until(struct worker *w, uint64_t now_ns, uint64_t due_ns)
{
	uint64_t wake_ns = due_ns - now_ns > NAP_NS ? now_ns + NAP_NS : due_ns;

	clock_sleep_until_ns(w->job->clock, wake_ns);
}

/*
 * At a rate: transfer k is due at start + k / rate, whether or not the one before has ended, and
 * its latency counts from then, so a stall is seen by everything it delays.
 */
struct schedule {
	double first_ns; /* of this worker, after the start; the workers take turns */
	double step_ns;
	uint64_t n_due;
	uint64_t due_ns; /* the next one */
};

static void next_due(struct schedule *d, uint64_t start_ns)
{
	d->due_ns = start_ns + (uint64_t)(d->first_ns + d->step_ns * (double)d->n_due);
	d->n_due++;
}

static void start_due(struct worker *w, struct schedule *d, uint64_t now_ns)
{
	struct worker_loop *l = w->loop;

	while (may_start(l) && d->due_ns <= now_ns && !must_wait(w)) {
		start_transfer(w, l->free_slots[--l->n_free], d->due_ns);
		next_due(d, w->start_ns);
	}
}

/* Waits for completions, but not past the next due time when one could start then. */
static bool collect_due(struct worker *w, const struct schedule *d, uint64_t *now_ns)
{
	struct worker_loop *l = w->loop;
	int n = collect(w, 1,
		may_start(l) && d->due_ns > *now_ns ? d->due_ns - *now_ns : ENGINE_WAIT_FOREVER);

	if (n < 0)
		return false;
	*now_ns = clock_now_ns(w->job->clock);
	if (n)
		w->end_ns = *now_ns;
	for (int i = 0; i < n; i++)
		if (finish_transfer(w, &l->done[i], *now_ns))
			l->free_slots[l->n_free++] = l->done[i].slot;
	publish(w);
	return true;
}

static void run_open(struct worker *w)
{
	struct worker_loop *l = w->loop;
	double step_ns = 1e9 * w->job->n_threads / (double)w->job->rate_iops;
	struct schedule d = { .first_ns = step_ns * w->index / w->job->n_threads,
		.step_ns = step_ns };
	uint64_t now_ns = w->start_ns;

	w->end_ns = now_ns;
	next_due(&d, w->start_ns);
	for (;;) {
		look_at_the_end(w, now_ns);
		start_due(w, &d, now_ns);
		if (!submit_queued(w))
			return;
		if (l->n_in_flight) {
			if (!collect_due(w, &d, &now_ns))
				return;
			continue;
		}
		if (l->ending)
			break;
		nap_until(w, now_ns, d.due_ns < l->deadline_ns ? d.due_ns : l->deadline_ns);
		now_ns = clock_now_ns(w->job->clock);
	}
	if (now_ns >= l->deadline_ns && w->end_ns < l->deadline_ns)
		w->end_ns = l->deadline_ns; /* idle until then is time too */
}

static double thread_cpu_s(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_THREAD, &u) != 0)
		return 0;
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

void worker_run(struct worker *w)
{
	struct worker_loop *l = w->loop;
	const struct block_job *job = w->job;
	double cpu_before_s = thread_cpu_s();

	if (job->rate_iops)
		prctl(PR_SET_TIMERSLACK, 1UL); /* 50 µs by default: too late for a due time */
	w->start_ns = clock_now_ns(job->clock);
	l->deadline_ns = job->time_ns ? w->start_ns + job->time_ns : UINT64_MAX;
	if (atomic_load_explicit(w->stop, memory_order_relaxed))
		l->ending = true;
	if (job->rate_iops)
		run_open(w);
	else
		run_closed(w);
	w->n_blocks_passed = w->n_ops < l->n_share_blocks ? w->n_ops : l->n_share_blocks;
	w->cpu_s = thread_cpu_s() - cpu_before_s;
	publish(w);
}

int worker_sync(struct worker *w)
{
	int rc = w->job->ops->sync(w->loop->engine);

	if (rc < 0) {
		struct slot whole = { .syncing = true };

		note_error(w, -rc, &whole);
		w->error.n_bytes = 0; /* of the file, not of a transfer */
	}
	return rc;
}

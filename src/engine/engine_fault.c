/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Another engine, failing on cue. Transfers are counted as they are submitted; a cue says which of
 * them fail and how. Those that never reach the inner engine end at the next reap.
 */
#include "engine/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "engine/iobuf.h"

struct slot_fault {
	const struct fault_cue *cue; /* NULL: none */
	struct io io;
};

struct fault_engine {
	struct engine head;
	struct fault_script script;
	const struct iobuf *buffers;
	const struct clock *clock;
	struct engine *inner;
	uint64_t n_submitted;
	uint32_t depth;
	uint32_t n_in_flight; /* submitted, not reaped yet */
	uint32_t n_held;
	struct io_done *held;	   /* [depth] ended without the inner engine */
	struct slot_fault slots[]; /* [depth] */
};

static int fault_probe(struct err *e)
{
	(void)e;
	return 0;
}

static void fault_close(struct engine *engine)
{
	struct fault_engine *f = (struct fault_engine *)engine;

	if (!f)
		return;
	engine_close(f->inner);
	free(f->held);
	free(f);
}

static int fault_open(const struct engine_params *params, struct engine **ret, struct err *e)
{
	struct engine_params inner = *params;
	struct fault_engine *f;
	struct io_done *held;

	if (params->depth > engine_fault.max_depth)
		return err_set(e, ERR_USAGE, 0, "engine fault has depth %u, %u was asked",
			engine_fault.max_depth, params->depth);
	f = calloc(1, sizeof(*f) + params->depth * sizeof(f->slots[0]));
	held = calloc(params->depth, sizeof(*held));
	if (!f || !held) {
		free(f);
		free(held);
		return err_set(e, ERR_NOMEM, 0, "no memory for engine fault");
	}
	f->head.ops = &engine_fault;
	f->held = held;
	if (params->script)
		f->script = *(const struct fault_script *)params->script;
	if (!f->script.inner)
		f->script.inner = &engine_null;
	f->buffers = params->buffers;
	f->clock = params->clock ? params->clock : &clock_monotonic;
	f->depth = params->depth;
	inner.script = f->script.inner_script;
	if (f->script.inner->open(&inner, &f->inner, e) != 0) {
		fault_close(&f->head);
		return -1;
	}
	*ret = &f->head;
	return 0;
}

static const struct fault_cue *find_cue(const struct fault_engine *f, uint64_t nth)
{
	for (uint32_t i = 0; i < f->script.n_cues; i++) {
		const struct fault_cue *c = &f->script.cues[i];
		uint64_t n_times = c->n_times ? c->n_times : 1;

		if (nth >= c->nth && nth - c->nth < n_times)
			return c;
	}
	return NULL;
}

/* In the middle of the @n_bytes that move. */
static void flip_byte(const struct fault_engine *f, const struct io *io, uint32_t n_bytes)
{
	uint8_t *data = iobuf_slot(f->buffers, io->slot) + io->buffer_offset_bytes;

	data[n_bytes / 2] ^= 0x01;
}

/* What becomes of a transfer before the inner engine sees it. True: it never does. */
static bool held_back(struct fault_engine *f, struct io *io, const struct fault_cue *cue)
{
	struct io_done done = { .slot = io->slot, .result = (int32_t)io->n_bytes };

	switch (cue->kind) {
	case FAULT_ERRNO:
		done.result = -(int32_t)cue->value;
		break;
	case FAULT_LOST:
		if (io->op != IO_WRITE)
			return false;
		break;
	case FAULT_SHORT:
		if (cue->value && io->n_bytes > cue->value)
			io->n_bytes = (uint32_t)cue->value;
		if (cue->value)
			return false;
		done.result = 0;
		break;
	case FAULT_WRONG_DATA:
		if (io->op == IO_WRITE)
			flip_byte(f, io, io->n_bytes);
		return false;
	case FAULT_SLOW:
		return false;
	}
	f->held[f->n_held++] = done;
	return true;
}

static int fault_submit(struct engine *engine, const struct io *ios, uint32_t n)
{
	struct fault_engine *f = (struct fault_engine *)engine;

	if (n > f->depth - f->n_in_flight)
		return -EBUSY;
	for (uint32_t i = 0; i < n; i++) {
		const struct fault_cue *cue = find_cue(f, f->n_submitted++);
		struct io io = ios[i];

		if (io.slot >= f->depth)
			return -EINVAL;
		f->n_in_flight++;
		f->slots[io.slot] = (struct slot_fault){ .cue = cue, .io = io };
		if (cue && held_back(f, &io, cue))
			continue;

		int rc = f->script.inner->submit(f->inner, &io, 1);

		if (rc < 0) {
			f->n_in_flight--;
			return rc;
		}
	}
	return 0;
}

static void finish(struct fault_engine *f, const struct io_done *done)
{
	struct slot_fault *s = &f->slots[done->slot];

	if (!s->cue)
		return;
	if (s->cue->kind == FAULT_WRONG_DATA && s->io.op == IO_READ && done->result > 0)
		flip_byte(f, &s->io, (uint32_t)done->result);
	if (s->cue->kind == FAULT_SLOW)
		clock_sleep_until_ns(f->clock, clock_now_ns(f->clock) + s->cue->value);
}

static int fault_reap(struct engine *engine, struct io_done *done, uint32_t n_max, uint32_t n_min,
	uint64_t timeout_ns)
{
	struct fault_engine *f = (struct fault_engine *)engine;
	uint32_t n = 0;

	while (n < n_max && n < f->n_held) {
		done[n] = f->held[n];
		n++;
	}
	f->n_held -= n;
	f->n_in_flight -= n;
	memmove(f->held, f->held + n, f->n_held * sizeof(*f->held));
	if (n == n_max)
		return (int)n;

	int rc = f->script.inner->reap(
		f->inner, done + n, n_max - n, n_min > n ? n_min - n : 0, timeout_ns);

	if (rc < 0)
		return n ? (int)n : rc;
	f->n_in_flight -= (uint32_t)rc;
	for (int i = 0; i < rc; i++)
		finish(f, &done[n + (uint32_t)i]);
	return (int)n + rc;
}

static int fault_sync(struct engine *engine)
{
	struct fault_engine *f = (struct fault_engine *)engine;

	return f->script.inner->sync(f->inner);
}

static void fault_describe(const struct engine *engine, struct buf *out)
{
	const struct fault_engine *f = (const struct fault_engine *)engine;

	buf_addf(out, "fault, %u cues, over ", f->script.n_cues);
	f->script.inner->describe(f->inner, out);
}

const struct engine_ops engine_fault = {
	.name = "fault",
	.summary = "another engine that fails on cue: for tests",
	.max_depth = 4096,
	.for_tests = true,
	.probe = fault_probe,
	.open = fault_open,
	.submit = fault_submit,
	.reap = fault_reap,
	.sync = fault_sync,
	.describe = fault_describe,
	.close = fault_close,
};

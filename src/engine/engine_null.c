/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Moves nothing; transfers end after scripted latencies on the given clock. With a fake clock the
 * measuring loop is tested to the exact count, without a disk and without waiting.
 */
#include "engine/engine.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"

struct pending {
	uint64_t end_ns;
	uint64_t order; /* of submission: equal ends come in this order */
	int32_t result;
	uint16_t slot;
};

struct null_engine {
	struct engine head;
	struct null_script script;
	const struct clock *clock;
	uint32_t next_latency;
	uint64_t n_submitted;
	uint32_t depth;
	uint32_t n_pending;
	struct pending pending[]; /* [depth] unordered */
};

static int null_probe(struct err *e)
{
	(void)e;
	return 0;
}

static int null_open(const struct engine_params *params, struct engine **ret, struct err *e)
{
	struct null_engine *u;

	if (params->depth > engine_null.max_depth)
		return err_set(e, ERR_USAGE, 0, "engine null has depth %u, %u was asked",
			engine_null.max_depth, params->depth);
	u = calloc(1, sizeof(*u) + params->depth * sizeof(u->pending[0]));
	if (!u)
		return err_set(e, ERR_NOMEM, 0, "no memory for engine null");
	u->head.ops = &engine_null;
	if (params->script)
		u->script = *(const struct null_script *)params->script;
	u->clock = params->clock ? params->clock : &clock_monotonic;
	u->depth = params->depth;
	*ret = &u->head;
	return 0;
}

static int null_submit(struct engine *engine, const struct io *ios, uint32_t n)
{
	struct null_engine *u = (struct null_engine *)engine;
	bool paced = u->script.n_latencies != 0;
	uint64_t now_ns = paced ? clock_now_ns(u->clock) : 0;

	if (n > u->depth - u->n_pending)
		return -EBUSY;
	for (uint32_t i = 0; i < n; i++) {
		struct pending *p = &u->pending[u->n_pending++];
		uint64_t latency_ns = 0;

		if (paced) {
			latency_ns = u->script.latencies_ns[u->next_latency];
			u->next_latency = (u->next_latency + 1) % u->script.n_latencies;
		}
		p->end_ns = now_ns + latency_ns;
		p->order = u->n_submitted++;
		p->slot = ios[i].slot;
		p->result = ios[i].op >= IO_DATASYNC ? 0 : (int32_t)ios[i].n_bytes;
	}
	return 0;
}

static uint32_t earliest(const struct null_engine *u)
{
	uint32_t first = 0;

	for (uint32_t i = 1; i < u->n_pending; i++) {
		const struct pending *p = &u->pending[i];
		const struct pending *best = &u->pending[first];

		if (p->end_ns < best->end_ns ||
			(p->end_ns == best->end_ns && p->order < best->order))
			first = i;
	}
	return first;
}

static uint32_t take_ended(
	struct null_engine *u, struct io_done *done, uint32_t n_max, uint64_t now_ns)
{
	uint32_t n = 0;

	while (n < n_max && u->n_pending) {
		uint32_t i = earliest(u);

		if (u->pending[i].end_ns > now_ns)
			break;
		done[n++] = (struct io_done){
			.result = u->pending[i].result,
			.slot = u->pending[i].slot,
		};
		u->pending[i] = u->pending[--u->n_pending];
	}
	return n;
}

/* Lets time pass until @when_ns: a fake clock moves, the real one is slept on. */
static uint64_t pass_time(struct null_engine *u, uint64_t when_ns)
{
	clock_sleep_until_ns(u->clock, when_ns);
	return clock_now_ns(u->clock);
}

static int null_reap(struct engine *engine, struct io_done *done, uint32_t n_max, uint32_t n_min,
	uint64_t timeout_ns)
{
	struct null_engine *u = (struct null_engine *)engine;
	uint64_t now_ns = u->script.n_latencies ? clock_now_ns(u->clock) : 0;
	uint64_t give_up_ns = now_ns + timeout_ns < now_ns ? UINT64_MAX : now_ns + timeout_ns;
	uint32_t n = take_ended(u, done, n_max, now_ns);

	if (n_min > n_max)
		n_min = n_max;
	while (n < n_min && u->n_pending && now_ns < give_up_ns) {
		uint64_t end_ns = u->pending[earliest(u)].end_ns;

		now_ns = pass_time(u, end_ns < give_up_ns ? end_ns : give_up_ns);
		n += take_ended(u, done + n, n_max - n, now_ns);
	}
	return (int)n;
}

static int null_sync(struct engine *engine)
{
	(void)engine;
	return 0;
}

static void null_describe(const struct engine *engine, struct buf *out)
{
	const struct null_engine *u = (const struct null_engine *)engine;

	buf_addf(out, "null, %u scripted latencies", u->script.n_latencies);
}

static void null_close(struct engine *engine)
{
	free(engine);
}

const struct engine_ops engine_null = {
	.name = "null",
	.summary = "moves nothing, after scripted latencies: for tests",
	.max_depth = 4096,
	.for_tests = true,
	.probe = null_probe,
	.open = null_open,
	.submit = null_submit,
	.reap = null_reap,
	.sync = null_sync,
	.describe = null_describe,
	.close = null_close,
};

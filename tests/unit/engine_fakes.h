/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engines null and fault on a fake clock, for the tests of engine/. */
#pragma once

#include "test.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "engine/engine.h"
#include "engine/iobuf.h"

#define RIG_HELPER __attribute__((unused)) static

enum { START_NS = 5000, BLOCK = 4096, DEPTH = 8 };

struct rig {
	struct fake_clock fake;
	struct clock clock;
	struct null_script null;
	struct fault_script fault;
	struct engine_params params;
	struct iobuf *buffers;
	struct engine *engine;
	struct io_done done[DEPTH];
	struct err err;
};

RIG_HELPER void rig_init(struct rig *r)
{
	memset(r, 0, sizeof(*r));
	r->fake.now_ns = START_NS;
	r->clock = clock_fake(&r->fake);
	assert_int_equal(iobuf_new(DEPTH, BLOCK, &r->buffers, &r->err), 0);
	r->params = (struct engine_params){
		.fd = -1,
		.depth = DEPTH,
		.buffers = r->buffers,
		.clock = &r->clock,
	};
}

RIG_HELPER void rig_open(struct rig *r, const struct engine_ops *ops, const void *script)
{
	r->params.script = script;
	assert_int_equal(ops->open(&r->params, &r->engine, &r->err), 0);
	assert_ptr_equal(r->engine->ops, ops);
}

RIG_HELPER void rig_null(struct rig *r, const uint64_t *latencies_ns, uint32_t n)
{
	rig_init(r);
	r->null = (struct null_script){ latencies_ns, n };
	rig_open(r, &engine_null, n ? &r->null : NULL);
}

RIG_HELPER void rig_fault(struct rig *r, const struct fault_cue *cues, uint32_t n_cues)
{
	r->fault.cues = cues;
	r->fault.n_cues = n_cues;
	rig_open(r, &engine_fault, &r->fault);
}

RIG_HELPER void rig_close(struct rig *r)
{
	engine_close(r->engine);
	iobuf_free(r->buffers);
	if (r->params.fd >= 0)
		close(r->params.fd);
}

RIG_HELPER struct io read_of(uint16_t slot)
{
	return (struct io){
		.offset_bytes = (uint64_t)slot * BLOCK,
		.n_bytes = BLOCK,
		.slot = slot,
		.op = IO_READ,
	};
}

/* Reads in slots first .. first + n - 1. */
RIG_HELPER int submit_reads(struct rig *r, uint16_t first, uint32_t n)
{
	struct io ios[DEPTH + 1];

	for (uint16_t i = 0; i < n; i++)
		ios[i] = read_of((uint16_t)(first + i));
	return r->engine->ops->submit(r->engine, ios, n);
}

RIG_HELPER int reap(struct rig *r, uint32_t n_max, uint32_t n_min, uint64_t timeout_ns)
{
	memset(r->done, 0x7f, sizeof(r->done));
	return r->engine->ops->reap(r->engine, r->done, n_max, n_min, timeout_ns);
}

/* The next reap brings exactly these slots in this order, and then it is @now_ns. */
RIG_HELPER void assert_reaps(struct rig *r, const uint16_t *slots, uint32_t n, uint64_t now_ns)
{
	assert_int_equal(reap(r, DEPTH, 1, ENGINE_WAIT_FOREVER), n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(r->done[i].slot, slots[i]);
	assert_int_equal(r->fake.now_ns, now_ns);
}

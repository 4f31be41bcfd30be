/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine that fails on cue: which transfers, how, in which order, and nothing but those. */
#include "engine_fakes.h"

static void fault_without_cues_is_the_inner_engine(void **state)
{
	static const uint64_t latencies_ns[] = { 20, 10 };
	struct rig r;

	(void)state;
	rig_init(&r);
	r.null = (struct null_script){ latencies_ns, 2 };
	r.fault = (struct fault_script){ .inner = &engine_null, .inner_script = &r.null };
	rig_fault(&r, NULL, 0);
	assert_int_equal(submit_reads(&r, 0, 2), 0);
	assert_reaps(&r, (uint16_t[]){ 1 }, 1, START_NS + 10);
	assert_reaps(&r, (uint16_t[]){ 0 }, 1, START_NS + 20);
	assert_int_equal(r.done[0].result, BLOCK);
	assert_int_equal(r.engine->ops->sync(r.engine), 0);
	rig_close(&r);
}

static void fault_fails_the_nth_and_as_many_as_told(void **state)
{
	static const struct fault_cue cues[] = {
		{ .nth = 1, .kind = FAULT_ERRNO, .value = EIO },
		{ .nth = 3, .n_times = 2, .kind = FAULT_ERRNO, .value = ENOSPC },
	};
	static const int32_t results[] = { BLOCK, -EIO, BLOCK, -ENOSPC, -ENOSPC, BLOCK, BLOCK };
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_fault(&r, cues, 2);
	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
		assert_int_equal(submit_reads(&r, 2, 1), 0);
		assert_reaps(&r, (uint16_t[]){ 2 }, 1, START_NS);
		assert_int_equal(r.done[0].result, results[i]);
	}
	rig_close(&r);
}

static void fault_brings_failed_ones_first_and_at_once(void **state)
{
	static const uint64_t latencies_ns[] = { 20, 10 };
	static const struct fault_cue cues[] = {
		{ .nth = 1, .kind = FAULT_ERRNO, .value = EIO },
		{ .nth = 3, .kind = FAULT_ERRNO, .value = EINTR },
	};
	struct rig r;

	(void)state;
	rig_init(&r);
	r.null = (struct null_script){ latencies_ns, 2 };
	r.fault.inner_script = &r.null;
	rig_fault(&r, cues, 2);
	assert_int_equal(submit_reads(&r, 0, 4), 0); /* 0: 20 ns, 2: 10 ns */
	assert_int_equal(reap(&r, 1, 1, ENGINE_WAIT_FOREVER), 1);
	assert_int_equal(r.done[0].slot, 1);
	assert_int_equal(r.done[0].result, -EIO);
	assert_reaps(&r, (uint16_t[]){ 3 }, 1, START_NS);
	assert_int_equal(r.done[0].result, -EINTR);
	assert_reaps(&r, (uint16_t[]){ 2 }, 1, START_NS + 10);
	assert_reaps(&r, (uint16_t[]){ 0 }, 1, START_NS + 20);
	rig_close(&r);
}

static void fault_waits_for_the_rest_of_n_min(void **state)
{
	static const uint64_t latencies_ns[] = { 20, 40 };
	static const struct fault_cue cues[] = { { .nth = 0, .kind = FAULT_ERRNO, .value = EIO } };
	struct rig r;

	(void)state;
	rig_init(&r);
	r.null = (struct null_script){ latencies_ns, 2 };
	r.fault.inner_script = &r.null;
	rig_fault(&r, cues, 1);
	assert_int_equal(submit_reads(&r, 0, 3), 0);
	assert_int_equal(reap(&r, DEPTH, 2, ENGINE_WAIT_FOREVER), 2);
	assert_int_equal(r.done[0].slot, 0);
	assert_int_equal(r.done[1].slot, 1);
	assert_int_equal(r.fake.now_ns, START_NS + 20);
	assert_reaps(&r, (uint16_t[]){ 2 }, 1, START_NS + 40);
	rig_close(&r);
}

static void fault_is_short_or_moves_nothing(void **state)
{
	static const struct fault_cue cues[] = {
		{ .nth = 0, .kind = FAULT_SHORT, .value = 100 },
		{ .nth = 1, .kind = FAULT_SHORT, .value = 0 },
		{ .nth = 2, .kind = FAULT_SHORT, .value = BLOCK + 1 },
	};
	static const int32_t results[] = { 100, 0, BLOCK };
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_fault(&r, cues, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(submit_reads(&r, 0, 1), 0);
		assert_reaps(&r, (uint16_t[]){ 0 }, 1, START_NS);
		assert_int_equal(r.done[0].result, results[i]);
	}
	rig_close(&r);
}

static void fault_is_slow_on_the_clock(void **state)
{
	static const struct fault_cue cues[] = { { .nth = 1, .kind = FAULT_SLOW, .value = 700 } };
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_fault(&r, cues, 1);
	assert_int_equal(submit_reads(&r, 0, 1), 0);
	assert_reaps(&r, (uint16_t[]){ 0 }, 1, START_NS);
	assert_int_equal(submit_reads(&r, 1, 1), 0);
	assert_reaps(&r, (uint16_t[]){ 1 }, 1, START_NS + 700);
	rig_close(&r);
}

static size_t n_changed(const uint8_t *data, uint8_t was)
{
	size_t n = 0;

	for (size_t i = 0; i < BLOCK; i++)
		n += data[i] != was;
	return n;
}

static void fault_flips_one_byte_before_a_write_and_after_a_read(void **state)
{
	static const struct fault_cue cues[] = { { .n_times = 2, .kind = FAULT_WRONG_DATA } };
	struct io write = { .n_bytes = BLOCK, .slot = 1, .op = IO_WRITE };
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_fault(&r, cues, 1);
	memset(iobuf_slot(r.buffers, 0), 0x11, BLOCK);
	memset(iobuf_slot(r.buffers, 1), 0x22, BLOCK);
	memset(iobuf_slot(r.buffers, 2), 0x33, BLOCK);
	assert_int_equal(submit_reads(&r, 0, 1), 0);
	assert_int_equal(n_changed(iobuf_slot(r.buffers, 0), 0x11), 0);
	assert_int_equal(r.engine->ops->submit(r.engine, &write, 1), 0);
	assert_int_equal(n_changed(iobuf_slot(r.buffers, 1), 0x22), 1);
	assert_int_equal(submit_reads(&r, 2, 1), 0); /* no cue */
	assert_reaps(&r, (uint16_t[]){ 0, 1, 2 }, 3, START_NS);
	assert_int_equal(n_changed(iobuf_slot(r.buffers, 0), 0x11), 1);
	assert_int_equal(n_changed(iobuf_slot(r.buffers, 1), 0x22), 1);
	assert_int_equal(n_changed(iobuf_slot(r.buffers, 2), 0x33), 0);
	rig_close(&r);
}

static void fault_flips_a_byte_that_did_move(void **state)
{
	static const struct fault_cue shorter[] = { { .kind = FAULT_SHORT, .value = 10 } };
	static const struct fault_cue wrong[] = { { .kind = FAULT_WRONG_DATA } };
	struct fault_script inner = { .cues = shorter, .n_cues = 1 };
	struct rig r;

	(void)state;
	rig_init(&r);
	r.fault.inner = &engine_fault;
	r.fault.inner_script = &inner;
	rig_fault(&r, wrong, 1);
	memset(iobuf_slot(r.buffers, 0), 0x11, BLOCK);
	assert_int_equal(submit_reads(&r, 0, 1), 0);
	assert_reaps(&r, (uint16_t[]){ 0 }, 1, START_NS);
	assert_int_equal(r.done[0].result, 10);
	assert_int_equal(r.buffers->base[5], 0x10);
	assert_int_equal(n_changed(iobuf_slot(r.buffers, 0), 0x11), 1);
	rig_close(&r);
}

static void fault_refuses_a_slot_beyond_its_depth(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_fault(&r, NULL, 0);
	assert_int_equal(submit_reads(&r, DEPTH, 1), -EINVAL);
	rig_close(&r);
}

static void fault_refuses_more_than_its_depth_though_all_fail(void **state)
{
	static const struct fault_cue cues[] = {
		{ .n_times = UINT64_MAX, .kind = FAULT_ERRNO, .value = EIO },
	};
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_fault(&r, cues, 1);
	for (unsigned round = 0; round < 3; round++) {
		assert_int_equal(submit_reads(&r, 0, DEPTH), 0);
		assert_int_equal(submit_reads(&r, 0, 1), -EBUSY);
		assert_int_equal(reap(&r, 1, 1, ENGINE_WAIT_FOREVER), 1);
		assert_int_equal(submit_reads(&r, 0, 1), 0);
		assert_int_equal(submit_reads(&r, 1, 1), -EBUSY);
		assert_int_equal(reap(&r, DEPTH, 1, ENGINE_WAIT_FOREVER), DEPTH);
	}
	rig_close(&r);
}

static void fault_passes_on_what_its_inner_engine_refuses(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.fault.inner = &engine_sync;
	r.params.script = &r.fault;
	assert_int_equal(engine_fault.open(&r.params, &r.engine, &r.err), -1);
	assert_int_equal(r.err.kind, ERR_USAGE); /* depth 8 */
	assert_contains(r.err.msg, "engine sync");
	rig_close(&r);
}

static void the_fakes_describe_themselves(void **state)
{
	static const struct fault_cue cues[] = { { .nth = 9 }, { .nth = 10 } };
	static const uint64_t latencies_ns[] = { 1, 2, 3 };
	struct buf text cleanup(buf_release_p) = { 0 };
	struct rig r;

	(void)state;
	rig_init(&r);
	r.null = (struct null_script){ latencies_ns, 3 };
	r.fault.inner_script = &r.null;
	rig_fault(&r, cues, 2);
	r.engine->ops->describe(r.engine, &text);
	assert_string_equal(buf_text(&text), "fault, 2 cues, over null, 3 scripted latencies");
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fault_without_cues_is_the_inner_engine),
		cmocka_unit_test(fault_fails_the_nth_and_as_many_as_told),
		cmocka_unit_test(fault_brings_failed_ones_first_and_at_once),
		cmocka_unit_test(fault_waits_for_the_rest_of_n_min),
		cmocka_unit_test(fault_is_short_or_moves_nothing),
		cmocka_unit_test(fault_is_slow_on_the_clock),
		cmocka_unit_test(fault_flips_one_byte_before_a_write_and_after_a_read),
		cmocka_unit_test(fault_flips_a_byte_that_did_move),
		cmocka_unit_test(fault_refuses_a_slot_beyond_its_depth),
		cmocka_unit_test(fault_refuses_more_than_its_depth_though_all_fail),
		cmocka_unit_test(fault_passes_on_what_its_inner_engine_refuses),
		cmocka_unit_test(the_fakes_describe_themselves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

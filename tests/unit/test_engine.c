/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The list of engines, one transfer through any of them, and the engine null to the exact order and
 * nanosecond: the tests of the measuring loop stand on it.
 */
#include "engine_fakes.h"

#include <sys/mman.h>

/* ---- the list ---- */

static void engines_are_listed_in_the_order_people_see(void **state)
{
	static const char *const names[] = { "uring", "sync", "mmap", "null", "fault" };
	size_t n = 0;

	(void)state;
	for (; engine_list[n]; n++) {
		assert_true(n < sizeof(names) / sizeof(names[0]));
		assert_string_equal(engine_list[n]->name, names[n]);
		assert_ptr_equal(engine_find(names[n]), engine_list[n]);
		assert_true(strlen(engine_list[n]->summary) > 10);
		assert_true(engine_list[n]->max_depth >= 1);
		assert_int_equal(engine_list[n]->for_tests, n >= 3);
		assert_int_equal(engine_list[n]->maps_file, engine_list[n] == &engine_mmap);
	}
	assert_int_equal(n, sizeof(names) / sizeof(names[0]));
}

static void every_engine_has_all_seven_calls(void **state)
{
	(void)state;
	for (size_t i = 0; engine_list[i]; i++) {
		const struct engine_ops *ops = engine_list[i];

		assert_true(ops->probe && ops->open && ops->submit && ops->reap && ops->sync &&
			    ops->describe && ops->close);
	}
}

static void unknown_names_find_nothing(void **state)
{
	static const char *const names[] = { "", "urin", "urings", "URING", " sync", "auto" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_null(engine_find(names[i]));
}

static void depth_above_the_most_is_a_usage_error(void **state)
{
	(void)state;
	for (size_t i = 0; engine_list[i]; i++) {
		const struct engine_ops *ops = engine_list[i];
		const uint32_t depths[] = { ops->max_depth + 1, UINT32_MAX };

		if (ops->probe(NULL) != 0)
			continue;
		for (size_t j = 0; j < 2; j++) {
			struct engine_params params = { .fd = -1, .depth = depths[j] };
			struct engine *engine = NULL;
			struct err e = { 0 };

			assert_int_equal(ops->open(&params, &engine, &e), -1);
			assert_int_equal(e.kind, ERR_USAGE);
			assert_contains(e.msg, ops->name);
			assert_null(engine);
		}
	}
}

static void closing_nothing_is_fine(void **state)
{
	(void)state;
	engine_close(NULL);
	for (size_t i = 0; engine_list[i]; i++)
		engine_list[i]->close(NULL);
}

/* ---- null ---- */

static void null_ends_in_order_of_time_then_of_submission(void **state)
{
	static const uint64_t latencies_ns[] = { 300, 100, 200, 100 };
	struct rig r;

	(void)state;
	rig_null(&r, latencies_ns, 4);
	assert_int_equal(submit_reads(&r, 0, 4), 0);
	assert_int_equal(r.fake.now_ns, START_NS);
	assert_reaps(&r, (uint16_t[]){ 1, 3 }, 2, START_NS + 100);
	assert_reaps(&r, (uint16_t[]){ 2 }, 1, START_NS + 200);
	assert_reaps(&r, (uint16_t[]){ 0 }, 1, START_NS + 300);
	assert_reaps(&r, NULL, 0, START_NS + 300);
	rig_close(&r);
}

static void null_counts_latency_from_the_submission(void **state)
{
	static const uint64_t latencies_ns[] = { 100 };
	struct rig r;

	(void)state;
	rig_null(&r, latencies_ns, 1);
	assert_int_equal(submit_reads(&r, 0, 1), 0);
	r.fake.now_ns += 60;
	assert_int_equal(submit_reads(&r, 1, 1), 0);
	assert_reaps(&r, (uint16_t[]){ 0 }, 1, START_NS + 100);
	assert_reaps(&r, (uint16_t[]){ 1 }, 1, START_NS + 160);
	rig_close(&r);
}

static void null_uses_its_latencies_in_turn_across_submissions(void **state)
{
	static const uint64_t latencies_ns[] = { 10, 20, 30 };
	uint64_t now_ns = START_NS;
	struct rig r;

	(void)state;
	rig_null(&r, latencies_ns, 3);
	for (unsigned i = 0; i < 7; i++) {
		assert_int_equal(submit_reads(&r, 0, 1), 0);
		now_ns += latencies_ns[i % 3];
		assert_reaps(&r, (uint16_t[]){ 0 }, 1, now_ns);
	}
	rig_close(&r);
}

static void null_waits_for_as_many_as_asked(void **state)
{
	static const uint64_t latencies_ns[] = { 10, 20, 30, 40 };
	struct rig r;

	(void)state;
	rig_null(&r, latencies_ns, 4);
	assert_int_equal(submit_reads(&r, 0, 4), 0);
	assert_int_equal(reap(&r, DEPTH, 3, ENGINE_WAIT_FOREVER), 3);
	assert_int_equal(r.fake.now_ns, START_NS + 30);
	/* More than are in flight: those that are. */
	assert_int_equal(reap(&r, DEPTH, 3, ENGINE_WAIT_FOREVER), 1);
	assert_int_equal(r.fake.now_ns, START_NS + 40);
	rig_close(&r);
}

static void null_never_waits_with_n_min_0(void **state)
{
	static const uint64_t latencies_ns[] = { 10 };
	struct rig r;

	(void)state;
	rig_null(&r, latencies_ns, 1);
	assert_int_equal(submit_reads(&r, 0, 1), 0);
	assert_int_equal(reap(&r, DEPTH, 0, ENGINE_WAIT_FOREVER), 0);
	assert_int_equal(r.fake.now_ns, START_NS);
	r.fake.now_ns += 9;
	assert_int_equal(reap(&r, DEPTH, 0, ENGINE_WAIT_FOREVER), 0);
	r.fake.now_ns += 1;
	assert_int_equal(reap(&r, DEPTH, 0, ENGINE_WAIT_FOREVER), 1);
	rig_close(&r);
}

static void null_gives_up_at_the_time_out_to_the_nanosecond(void **state)
{
	static const uint64_t latencies_ns[] = { 50, 90 };
	struct rig r;

	(void)state;
	rig_null(&r, latencies_ns, 2);
	assert_int_equal(submit_reads(&r, 0, 2), 0);
	assert_int_equal(reap(&r, DEPTH, 1, 0), 0);
	assert_int_equal(r.fake.now_ns, START_NS);
	assert_int_equal(reap(&r, DEPTH, 2, 70), 1); /* one of two */
	assert_int_equal(r.fake.now_ns, START_NS + 70);
	assert_int_equal(reap(&r, DEPTH, 1, 20), 1); /* ends with the time-out */
	assert_int_equal(r.fake.now_ns, START_NS + 90);
	rig_close(&r);
}

static void null_brings_no_more_than_n_max(void **state)
{
	struct rig r;

	(void)state;
	rig_null(&r, NULL, 0);
	assert_int_equal(submit_reads(&r, 0, 5), 0);
	assert_int_equal(reap(&r, 2, 2, ENGINE_WAIT_FOREVER), 2);
	assert_int_equal(r.done[0].slot, 0);
	assert_int_equal(r.done[1].slot, 1);
	assert_int_equal(r.done[2].slot, 0x7f7f); /* untouched */
	assert_int_equal(reap(&r, 2, 8, ENGINE_WAIT_FOREVER), 2);
	assert_reaps(&r, (uint16_t[]){ 4 }, 1, START_NS);
	rig_close(&r);
}

static void null_refuses_more_than_its_depth_and_keeps_what_it_has(void **state)
{
	struct rig r;

	(void)state;
	rig_null(&r, NULL, 0);
	assert_int_equal(submit_reads(&r, 0, DEPTH + 1), -EBUSY);
	assert_reaps(&r, NULL, 0, START_NS);
	assert_int_equal(submit_reads(&r, 0, DEPTH - 1), 0);
	assert_int_equal(submit_reads(&r, 0, 2), -EBUSY);
	assert_int_equal(submit_reads(&r, DEPTH - 1, 1), 0);
	assert_int_equal(reap(&r, DEPTH, 1, ENGINE_WAIT_FOREVER), DEPTH);
	rig_close(&r);
}

static void null_moves_all_bytes_and_none_for_a_flush(void **state)
{
	static const struct {
		enum io_op op;
		int32_t result;
	} cases[] = {
		{ IO_READ, BLOCK },
		{ IO_WRITE, BLOCK },
		{ IO_DATASYNC, 0 },
		{ IO_FSYNC, 0 },
	};
	struct rig r;

	(void)state;
	rig_null(&r, NULL, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct io io = read_of(3);

		io.op = (uint8_t)cases[i].op;
		assert_int_equal(r.engine->ops->submit(r.engine, &io, 1), 0);
		assert_reaps(&r, (uint16_t[]){ 3 }, 1, START_NS);
		assert_int_equal(r.done[0].result, cases[i].result);
	}
	assert_int_equal(r.engine->ops->sync(r.engine), 0);
	rig_close(&r);
}

/* ---- engine_io(), over the sync engine on a file in memory ---- */

enum { FILE_BYTES = BLOCK + 1000 };

static void rig_file(struct rig *r, const struct fault_cue *cues, uint32_t n_cues)
{
	rig_init(r);
	r->params.depth = 1;
	r->params.fd = memfd_create("test_engine", MFD_CLOEXEC);
	assert_true(r->params.fd >= 0);
	for (unsigned i = 0; i < FILE_BYTES; i++) {
		uint8_t byte = (uint8_t)(i * 31 >> 3);

		assert_int_equal(pwrite(r->params.fd, &byte, 1, i), 1);
	}
	memset(r->buffers->base, 0xee, BLOCK);
	r->fault.inner = &engine_sync;
	rig_fault(r, cues, n_cues);
}

static void assert_file_bytes(const struct rig *r, uint64_t offset_bytes, size_t n_bytes)
{
	for (size_t i = 0; i < n_bytes; i++)
		assert_int_equal(
			r->buffers->base[i], (uint8_t)((unsigned)(offset_bytes + i) * 31 >> 3));
}

static void io_continues_short_reads_at_the_right_place(void **state)
{
	static const struct fault_cue cues[] = {
		{ .nth = 0, .kind = FAULT_SHORT, .value = 1 },
		{ .nth = 1, .kind = FAULT_SHORT, .value = 1000 },
		{ .nth = 2, .kind = FAULT_SHORT, .value = 7 },
	};
	struct io io = { .offset_bytes = 500, .n_bytes = BLOCK, .op = IO_READ };
	struct rig r;

	(void)state;
	rig_file(&r, cues, 3);
	assert_int_equal(engine_io(r.engine, &io), BLOCK);
	assert_file_bytes(&r, 500, BLOCK);
	rig_close(&r);
}

static void io_continues_short_writes_at_the_right_place(void **state)
{
	static const struct fault_cue cues[] = {
		{ .n_times = 3, .kind = FAULT_SHORT, .value = 100 },
	};
	struct io io = { .offset_bytes = 8, .n_bytes = BLOCK, .op = IO_WRITE };
	uint8_t held[BLOCK];
	struct rig r;

	(void)state;
	rig_file(&r, cues, 1);
	for (unsigned i = 0; i < BLOCK; i++)
		r.buffers->base[i] = (uint8_t)(i * 7 >> 2);
	assert_int_equal(engine_io(r.engine, &io), BLOCK);
	assert_int_equal(pread(r.params.fd, held, BLOCK, 8), BLOCK);
	assert_memory_equal(held, r.buffers->base, BLOCK);
	rig_close(&r);
}

static void io_ends_short_at_the_end_of_the_file(void **state)
{
	static const struct {
		uint64_t offset_bytes;
		int64_t result;
	} cases[] = {
		{ BLOCK, 1000 },
		{ FILE_BYTES - 1, 1 },
		{ FILE_BYTES, 0 },
		{ FILE_BYTES + 12345, 0 },
	};
	struct rig r;

	(void)state;
	rig_file(&r, NULL, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct io io = { .offset_bytes = cases[i].offset_bytes, .n_bytes = BLOCK };

		assert_int_equal(engine_io(r.engine, &io), cases[i].result);
		assert_file_bytes(&r, io.offset_bytes, (size_t)cases[i].result);
	}
	rig_close(&r);
}

static void io_tries_again_after_eintr_and_eagain(void **state)
{
	static const struct fault_cue cues[] = {
		{ .nth = 0, .n_times = 3, .kind = FAULT_ERRNO, .value = EINTR },
		{ .nth = 3, .kind = FAULT_SHORT, .value = 64 },
		{ .nth = 4, .n_times = 5, .kind = FAULT_ERRNO, .value = EAGAIN },
	};
	struct io io = { .n_bytes = BLOCK, .op = IO_READ };
	struct rig r;

	(void)state;
	rig_file(&r, cues, 3);
	assert_int_equal(engine_io(r.engine, &io), BLOCK);
	assert_file_bytes(&r, 0, BLOCK);
	rig_close(&r);
}

static void io_passes_errors_on(void **state)
{
	static const struct fault_cue cues[] = {
		{ .nth = 0, .kind = FAULT_SHORT, .value = 512 },
		{ .nth = 1, .kind = FAULT_ERRNO, .value = EIO },
		{ .nth = 2, .n_times = UINT64_MAX, .kind = FAULT_ERRNO, .value = EAGAIN },
	};
	struct io io = { .n_bytes = BLOCK, .op = IO_READ };
	struct rig r;

	(void)state;
	rig_file(&r, cues, 3);
	assert_int_equal(engine_io(r.engine, &io), -EIO);
	assert_int_equal(engine_io(r.engine, &io), -EAGAIN); /* for ever: told in the end */
	rig_close(&r);
}

static void io_flushes_once(void **state)
{
	static const struct fault_cue cues[] = {
		{ .nth = 1, .kind = FAULT_ERRNO, .value = EIO },
	};
	struct io io = { .n_bytes = BLOCK, .op = IO_DATASYNC };
	struct rig r;

	(void)state;
	rig_file(&r, cues, 1);
	assert_int_equal(engine_io(r.engine, &io), 0);
	io.op = IO_FSYNC;
	assert_int_equal(engine_io(r.engine, &io), -EIO);
	rig_close(&r);
}

static void lost_writes_are_reported_done(void **state)
{
	static const struct fault_cue cues[] = { { .n_times = 2, .kind = FAULT_LOST } };
	struct io io = { .n_bytes = BLOCK, .op = IO_WRITE };
	struct rig r;

	(void)state;
	rig_file(&r, cues, 1);
	assert_int_equal(engine_io(r.engine, &io), BLOCK);
	io.op = IO_READ; /* a read is never lost */
	assert_int_equal(engine_io(r.engine, &io), BLOCK);
	assert_file_bytes(&r, 0, BLOCK);
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_are_listed_in_the_order_people_see),
		cmocka_unit_test(every_engine_has_all_seven_calls),
		cmocka_unit_test(unknown_names_find_nothing),
		cmocka_unit_test(depth_above_the_most_is_a_usage_error),
		cmocka_unit_test(closing_nothing_is_fine),
		cmocka_unit_test(null_ends_in_order_of_time_then_of_submission),
		cmocka_unit_test(null_counts_latency_from_the_submission),
		cmocka_unit_test(null_uses_its_latencies_in_turn_across_submissions),
		cmocka_unit_test(null_waits_for_as_many_as_asked),
		cmocka_unit_test(null_never_waits_with_n_min_0),
		cmocka_unit_test(null_gives_up_at_the_time_out_to_the_nanosecond),
		cmocka_unit_test(null_brings_no_more_than_n_max),
		cmocka_unit_test(null_refuses_more_than_its_depth_and_keeps_what_it_has),
		cmocka_unit_test(null_moves_all_bytes_and_none_for_a_flush),
		cmocka_unit_test(io_continues_short_reads_at_the_right_place),
		cmocka_unit_test(io_continues_short_writes_at_the_right_place),
		cmocka_unit_test(io_ends_short_at_the_end_of_the_file),
		cmocka_unit_test(io_tries_again_after_eintr_and_eagain),
		cmocka_unit_test(io_passes_errors_on),
		cmocka_unit_test(io_flushes_once),
		cmocka_unit_test(lost_writes_are_reported_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

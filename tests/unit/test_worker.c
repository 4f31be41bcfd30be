/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The measuring loop on the null and fault engines with a fake clock: exact counts, no sleeps. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "plan/runner.h"
#include "plan/worker.h"

enum { MS = 1000000, BLOCK = 4096, N_BLOCKS = 1000 };

struct rig {
	struct fake_clock fake;
	struct clock clock;
	struct null_script null;
	struct fault_script fault;
	struct pattern pattern;
	struct block_job job;
	struct worker *worker;
	_Atomic int stop;
	struct err err;
};

static const uint64_t one_ms[] = { MS };

static void rig_init(struct rig *r, enum access_kind access, uint32_t depth)
{
	memset(r, 0, sizeof(*r));
	r->fake.now_ns = 5000;
	r->clock = clock_fake(&r->fake);
	r->null = (struct null_script){ one_ms, 1 };
	r->pattern = (struct pattern){ .kind = PATTERN_RANDOM, .seed = 1, .unit_bytes = 4096 };
	r->job = (struct block_job){
		.ops = &engine_null,
		.engine_script = &r->null,
		.fd = -1,
		.access = access,
		.block_bytes = BLOCK,
		.align_bytes = 512,
		.depth = depth,
		.n_threads = 1,
		.n_blocks = N_BLOCKS,
		.time_ns = 100 * MS,
		.read_pct = 70,
		.seed = 7,
		.pattern = &r->pattern,
		.clock = &r->clock,
	};
}

static void rig_cue(struct rig *r, const struct fault_cue *cues, uint32_t n)
{
	r->fault = (struct fault_script){ &engine_null, &r->null, cues, n };
	r->job.ops = &engine_fault;
	r->job.engine_script = &r->fault;
}

static void rig_run(struct rig *r)
{
	r->worker = aligned_alloc(64, sizeof(*r->worker));
	assert_non_null(r->worker);
	memset(r->worker, 0, sizeof(*r->worker));
	r->worker->job = &r->job;
	r->worker->stop = &r->stop;
	assert_int_equal(worker_open(r->worker, &r->err), 0);
	worker_run(r->worker);
}

static void rig_release(struct rig *r)
{
	worker_close(r->worker);
	free(r->worker);
}

static void depth_one_does_one_transfer_per_latency(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, ACCESS_RANDREAD, 1);
	rig_run(&r);
	assert_int_equal(r.worker->n_ops, 100);
	assert_int_equal(r.worker->read_bytes, 100 * BLOCK);
	assert_int_equal(r.worker->written_bytes, 0);
	assert_int_equal(r.worker->end_ns - r.worker->start_ns, 100 * MS);
	assert_int_equal(r.worker->latency.n, 100);
	assert_int_equal(r.worker->latency.min_ns, MS);
	assert_int_equal(r.worker->latency.max_ns, MS);
	rig_release(&r);
}

static void depth_32_does_32_times_as_many_at_the_same_latency(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, ACCESS_RANDREAD, 32);
	rig_run(&r);
	assert_int_equal(r.worker->n_ops, 3200);
	assert_int_equal(r.worker->latency.max_ns, MS);
	rig_release(&r);
}

static void without_a_time_it_makes_one_pass(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, ACCESS_WRITE, 8);
	r.job.time_ns = 0;
	rig_run(&r);
	assert_int_equal(r.worker->n_ops, N_BLOCKS);
	assert_int_equal(r.worker->n_blocks_passed, N_BLOCKS);
	assert_int_equal(r.worker->written_bytes, N_BLOCKS * BLOCK);
	assert_int_equal(r.worker->end_ns - r.worker->start_ns, N_BLOCKS / 8 * MS);
	rig_release(&r);
}

static void a_pass_of_random_writes_touches_every_block_once(void **state)
{
	struct rig r;
	uint32_t *generations = calloc(N_BLOCKS, sizeof(*generations));

	(void)state;
	rig_init(&r, ACCESS_RANDWRITE, 32);
	r.job.time_ns = 0;
	r.job.generations = generations;
	rig_run(&r);
	for (int i = 0; i < N_BLOCKS; i++)
		assert_int_equal(generations[i], 1);
	rig_release(&r);
	free(generations);
}

static void workers_share_the_blocks_without_overlap(void **state)
{
	static const enum access_kind kinds[] = { ACCESS_WRITE, ACCESS_RANDWRITE };
	uint32_t *generations = calloc(N_BLOCKS, sizeof(*generations));

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		memset(generations, 0, N_BLOCKS * sizeof(*generations));
		for (uint32_t index = 0; index < 7; index++) {
			struct rig r;

			rig_init(&r, kinds[k], 4);
			r.job.time_ns = 0;
			r.job.n_threads = 7;
			r.job.generations = generations;
			r.worker = aligned_alloc(64, sizeof(*r.worker));
			memset(r.worker, 0, sizeof(*r.worker));
			r.worker->job = &r.job;
			r.worker->stop = &r.stop;
			r.worker->index = index;
			assert_int_equal(worker_open(r.worker, &r.err), 0);
			worker_run(r.worker);
			assert_int_equal(r.worker->n_ops, worker_n_blocks(&r.job, index));
			rig_release(&r);
		}
		for (int i = 0; i < N_BLOCKS; i++)
			assert_int_equal(generations[i], 1);
	}
	free(generations);
}

/* The null engine, watched: whether a block is ever in flight twice. */
static uint64_t watched_offset_bytes[8];
static bool watched_in_flight[8];
static unsigned n_clashes;

static int watched_submit(struct engine *engine, const struct io *ios, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t slot = 0; slot < 8; slot++)
			n_clashes += watched_in_flight[slot] &&
				     watched_offset_bytes[slot] == ios[i].offset_bytes;
		watched_offset_bytes[ios[i].slot] = ios[i].offset_bytes;
		watched_in_flight[ios[i].slot] = true;
	}
	return engine_null.submit(engine, ios, n);
}

static int watched_reap(struct engine *engine, struct io_done *done, uint32_t n_max, uint32_t n_min,
	uint64_t timeout_ns)
{
	int n = engine_null.reap(engine, done, n_max, n_min, timeout_ns);

	for (int i = 0; i < n; i++)
		watched_in_flight[done[i].slot] = false;
	return n;
}

static void a_slow_transfer_keeps_its_verified_block_to_itself(void **state)
{
	static const uint64_t one_is_slow_ns[] = { MS, MS, MS, MS, UINT64_C(50) * MS, MS, MS };
	static const enum access_kind kinds[] = { ACCESS_WRITE, ACCESS_RANDWRITE, ACCESS_RANDRW };
	uint32_t generations[16];

	(void)state;
	for (size_t k = 0; k < 2 * sizeof(kinds) / sizeof(kinds[0]); k++) {
		struct engine_ops watched = engine_null;
		struct rig r;

		watched.submit = watched_submit;
		watched.reap = watched_reap;
		memset(generations, 0, sizeof(generations));
		memset(watched_in_flight, 0, sizeof(watched_in_flight));
		n_clashes = 0;
		rig_init(&r, kinds[k / 2], 8);
		r.null = (struct null_script){ one_is_slow_ns, 7 };
		r.job.ops = &watched;
		r.job.n_blocks = 16;
		r.job.rate_iops = k % 2 ? 5000 : 0;
		r.job.generations = generations;
		rig_run(&r);
		assert_int_equal(n_clashes, 0);
		assert_true(r.worker->n_ops > 20);
		rig_release(&r);
	}
}

static void a_mix_reads_the_share_asked(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, ACCESS_RANDRW, 32);
	r.job.time_ns = 1000 * MS;
	rig_run(&r);
	assert_int_equal(r.worker->n_ops, 32000);
	assert_close((double)r.worker->read_bytes / (32000.0 * BLOCK), 0.70, 0.02);
	assert_int_equal(r.worker->read_bytes + r.worker->written_bytes, 32000 * BLOCK);
	rig_release(&r);
}

static void a_commit_is_a_write_and_its_flush(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, ACCESS_APPEND, 1);
	r.job.append = true;
	r.job.sync_each = true;
	rig_run(&r);
	assert_int_equal(r.worker->n_ops, 50); /* 1 ms to write, 1 ms to flush */
	assert_int_equal(r.worker->latency.min_ns, 2 * MS);
	rig_release(&r);
}

static void short_transfers_are_continued_and_counted(void **state)
{
	static const struct fault_cue cues[] = { { .nth = 10, .kind = FAULT_SHORT, .value = 1024 },
		{ .nth = 20, .kind = FAULT_SHORT, .value = 100 } };
	struct rig r;

	(void)state;
	rig_init(&r, ACCESS_READ, 1);
	rig_cue(&r, cues, 2);
	rig_run(&r);
	assert_int_equal(r.worker->n_short, 2);
	assert_int_equal(r.worker->error.sys, 0);
	assert_int_equal(r.worker->n_ops, 98);
	assert_int_equal(r.worker->read_bytes, 98 * BLOCK);
	assert_int_equal(r.worker->latency.max_ns, 2 * MS);
	rig_release(&r);
}

static void eintr_and_eagain_are_repeated_and_counted(void **state)
{
	static const struct fault_cue cues[] = {
		{ .nth = 3, .n_times = 5, .kind = FAULT_ERRNO, .value = EINTR },
		{ .nth = 30, .kind = FAULT_ERRNO, .value = EAGAIN }
	};
	struct rig r;

	(void)state;
	rig_init(&r, ACCESS_WRITE, 1);
	rig_cue(&r, cues, 2);
	rig_run(&r);
	assert_int_equal(r.worker->n_retries, 6);
	assert_int_equal(r.worker->error.sys, 0);
	rig_release(&r);
}

static void eagain_without_end_becomes_an_error(void **state)
{
	static const struct fault_cue cues[] = {
		{ .nth = 3, .n_times = UINT64_MAX / 2, .kind = FAULT_ERRNO, .value = EAGAIN }
	};
	struct rig r;

	(void)state;
	rig_init(&r, ACCESS_WRITE, 1);
	r.job.time_ns = UINT64_C(1000000) * MS;
	rig_cue(&r, cues, 1);
	rig_run(&r);
	assert_int_equal(r.worker->error.sys, EAGAIN);
	rig_release(&r);
}

static void the_first_error_is_kept_with_its_place_and_ends_the_run(void **state)
{
	static const struct fault_cue cues[] = {
		{ .nth = 50, .n_times = 3, .kind = FAULT_ERRNO, .value = EIO }
	};
	struct rig r;

	(void)state;
	rig_init(&r, ACCESS_WRITE, 4);
	rig_cue(&r, cues, 1);
	rig_run(&r);
	assert_int_equal(r.worker->error.sys, EIO);
	assert_string_equal(r.worker->error.op, "write");
	assert_int_equal(r.worker->error.offset_bytes, 50 * BLOCK);
	assert_int_equal(r.worker->error.n_bytes, BLOCK);
	assert_int_not_equal(r.stop, 0);
	assert_in_range(r.worker->n_ops, 48, 54);
	rig_release(&r);
}

static void the_end_of_the_file_is_an_error_not_a_loop(void **state)
{
	static const struct fault_cue cues[] = {
		{ .nth = 5, .n_times = UINT64_MAX / 2, .kind = FAULT_SHORT, .value = 0 }
	};
	struct rig r;

	(void)state;
	rig_init(&r, ACCESS_READ, 1);
	rig_cue(&r, cues, 1);
	rig_run(&r);
	assert_int_equal(r.worker->error.sys, ENODATA);
	assert_int_equal(r.worker->n_ops, 5);
	rig_release(&r);
}

static void a_stop_ends_it_after_what_is_in_flight(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, ACCESS_READ, 8);
	r.stop = 2;
	rig_run(&r);
	assert_int_equal(r.worker->n_ops, 0);
	rig_release(&r);
}

static void at_a_rate_transfers_start_when_they_are_due(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, ACCESS_RANDREAD, 4);
	r.job.rate_iops = 100; /* every 10 ms, each takes 1 ms */
	r.job.time_ns = 1000 * MS;
	rig_run(&r);
	assert_int_equal(r.worker->n_ops, 100);
	assert_int_equal(r.worker->latency.max_ns, MS);
	assert_int_equal(r.worker->end_ns - r.worker->start_ns, 1000 * MS);
	rig_release(&r);
}

static void at_a_rate_a_stall_counts_for_everything_it_delays(void **state)
{
	static const struct fault_cue cues[] = {
		{ .nth = 10, .kind = FAULT_SLOW, .value = UINT64_C(200) * MS }
	};
	struct rig r;
	uint64_t p90_ns;

	(void)state;
	rig_init(&r, ACCESS_RANDREAD, 1);
	rig_cue(&r, cues, 1);
	r.fault.inner_script = &r.null;
	r.job.rate_iops = 100;
	r.job.time_ns = 1000 * MS;
	rig_run(&r);
	/* The 20 transfers due during the stall waited for up to 200 ms: not one, but a tenth. */
	assert_int_equal(hist_quantile(&r.worker->latency, 0.90, &p90_ns), 0);
	assert_true(p90_ns > UINT64_C(50) * MS);
	assert_in_range(r.worker->n_ops, 99, 100);
	rig_release(&r);
}

static void runner_merges_workers_and_flushes_once(void **state)
{
	struct pattern pattern = { .kind = PATTERN_ZEROS, .unit_bytes = 4096 };
	struct null_script null = { 0 };
	struct block_job job = {
		.ops = &engine_null,
		.engine_script = &null,
		.fd = -1,
		.access = ACCESS_WRITE,
		.block_bytes = BLOCK,
		.align_bytes = 1,
		.depth = 8,
		.n_threads = 4,
		.n_blocks = N_BLOCKS,
		.sync_end = true,
		.pattern = &pattern,
		.clock = &clock_monotonic,
	};
	uint64_t passed[4];
	struct runner_params params = { .phase = "p", .stage = "s", .ret_blocks_passed = passed };
	struct phase_result out = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(runner_run(&job, &params, &out, &e), 0);
	assert_int_equal(out.status, PHASE_DONE);
	assert_int_equal(out.n_ops, N_BLOCKS);
	assert_int_equal(out.latency->n, N_BLOCKS);
	for (int i = 0; i < 4; i++)
		assert_int_equal(passed[i], N_BLOCKS / 4);
	phase_release(&out);
}

static void runner_says_what_failed_and_where(void **state)
{
	static const struct fault_cue cues[] = {
		{ .nth = 2, .n_times = 1000, .kind = FAULT_ERRNO, .value = ENOSPC }
	};
	struct pattern pattern = { .kind = PATTERN_ZEROS, .unit_bytes = 4096 };
	struct fault_script fault = { &engine_null, NULL, cues, 1 };
	struct block_job job = {
		.ops = &engine_fault,
		.engine_script = &fault,
		.fd = -1,
		.access = ACCESS_WRITE,
		.block_bytes = BLOCK,
		.align_bytes = 1,
		.depth = 1,
		.n_threads = 1,
		.n_blocks = N_BLOCKS,
		.pattern = &pattern,
		.clock = &clock_monotonic,
	};
	struct runner_params params = { .phase = "p", .stage = "s" };
	struct phase_result out = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(runner_run(&job, &params, &out, &e), 0);
	assert_int_equal(out.status, PHASE_PARTIAL);
	assert_int_equal(out.error.sys, ENOSPC);
	assert_string_equal(out.reason, "write of 4 KiB at offset 8192: No space left on device");
	phase_release(&out);
}

static void runner_passes_on_an_engine_that_cannot_open(void **state)
{
	struct pattern pattern = { .kind = PATTERN_ZEROS, .unit_bytes = 4096 };
	struct block_job job = {
		.ops = &engine_sync,
		.fd = -1,
		.access = ACCESS_READ,
		.block_bytes = BLOCK,
		.align_bytes = 1,
		.depth = 2, /* sync can do 1 */
		.n_threads = 3,
		.n_blocks = N_BLOCKS,
		.pattern = &pattern,
		.clock = &clock_monotonic,
	};
	struct runner_params params = { .phase = "p", .stage = "s" };
	struct phase_result out = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(runner_run(&job, &params, &out, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	phase_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(depth_one_does_one_transfer_per_latency),
		cmocka_unit_test(depth_32_does_32_times_as_many_at_the_same_latency),
		cmocka_unit_test(without_a_time_it_makes_one_pass),
		cmocka_unit_test(a_pass_of_random_writes_touches_every_block_once),
		cmocka_unit_test(workers_share_the_blocks_without_overlap),
		cmocka_unit_test(a_slow_transfer_keeps_its_verified_block_to_itself),
		cmocka_unit_test(a_mix_reads_the_share_asked),
		cmocka_unit_test(a_commit_is_a_write_and_its_flush),
		cmocka_unit_test(short_transfers_are_continued_and_counted),
		cmocka_unit_test(eintr_and_eagain_are_repeated_and_counted),
		cmocka_unit_test(eagain_without_end_becomes_an_error),
		cmocka_unit_test(the_first_error_is_kept_with_its_place_and_ends_the_run),
		cmocka_unit_test(the_end_of_the_file_is_an_error_not_a_loop),
		cmocka_unit_test(a_stop_ends_it_after_what_is_in_flight),
		cmocka_unit_test(at_a_rate_transfers_start_when_they_are_due),
		cmocka_unit_test(at_a_rate_a_stall_counts_for_everything_it_delays),
		cmocka_unit_test(runner_merges_workers_and_flushes_once),
		cmocka_unit_test(runner_says_what_failed_and_where),
		cmocka_unit_test(runner_passes_on_an_engine_that_cannot_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

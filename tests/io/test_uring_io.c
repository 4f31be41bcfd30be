/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What only the uring engine has: depth, with and without registered buffers and file, the two
 * kinds of polling, and small limits on locked memory. Exit 77 where its own probe says that it
 * does not work here.
 */
#include "engine_rig.h"

#include <grp.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/rng.h"

static const struct engine_ops *const ops = &engine_uring;

enum { NOBODY = 65534, MS = 1000000 };

/* ---- deep queues ---- */

struct deep_case {
	const char *name;
	uint32_t depth;
	unsigned flags;
	uint32_t n_min;
};

static const struct deep_case deep_cases[] = {
	{ "registered", 64, 0, 1 },
	{ "registered, depth 1", 1, 0, 1 },
	{ "registered, odd depth", 33, 0, 7 },
	{ "registered, all at once", 128, 0, 128 },
	{ "registered, without waiting", 128, 0, 0 },
	{ "plain", 64, ENGINE_NO_FIXED, 1 },
	{ "plain, without waiting", 64, ENGINE_NO_FIXED, 0 },
	{ "sqpoll", 64, ENGINE_SQPOLL, 1 },
	{ "sqpoll, depth 1", 1, ENGINE_SQPOLL, 1 },
	{ "sqpoll, odd depth", 33, ENGINE_SQPOLL, 7 },
	{ "sqpoll, plain", 64, ENGINE_SQPOLL | ENGINE_NO_FIXED, 1 },
	{ "sqpoll, without waiting", 64, ENGINE_SQPOLL, 0 },
	{ "registered, deepest", 4096, 0, 1 },
	{ "plain, deepest", 4096, ENGINE_NO_FIXED, 100 },
};

/* Who is where: each slot is free or has one transfer in flight, which ends once. */
struct deep {
	struct rig r;
	const struct deep_case *c;
	struct io *ios;	     /* [depth] the next to submit */
	struct io *in_slots; /* [depth] n_bytes 0: free */
	struct io_done *done;
	uint32_t n_ios;
	uint32_t n_in_flight;
	uint64_t n_started;
	struct rng rng;
};

static void deep_start(struct deep *d, enum io_op op, uint16_t slot)
{
	/* Writes take every unit in turn, reads any. */
	uint64_t n_units = FILE_BYTES / UNIT;
	uint64_t unit = op == IO_READ ? rng_below(&d->rng, n_units) : d->n_started * 5 % n_units;
	struct io io = rig_io(op, slot, unit * UNIT, UNIT);

	assert_int_equal(d->in_slots[slot].n_bytes, 0);
	if (op == IO_WRITE)
		pattern_fill(
			&d->r.pattern, iobuf_slot(d->r.buffers, slot), UNIT, io.offset_bytes, 1);
	else
		memset(iobuf_slot(d->r.buffers, slot), 0, UNIT);
	d->in_slots[slot] = io;
	d->ios[d->n_ios++] = io;
	d->n_started++;
}

static void deep_finish(struct deep *d, const struct io_done *done)
{
	struct io *io;

	assert_true(done->slot < d->c->depth);
	io = &d->in_slots[done->slot];
	assert_int_equal(io->n_bytes, UNIT);
	assert_int_equal(done->result, UNIT);
	if (io->op == IO_READ)
		assert_int_equal(rig_n_bad(&d->r, iobuf_slot(d->r.buffers, done->slot), UNIT,
					 io->offset_bytes),
			0);
	io->n_bytes = 0;
	d->n_in_flight--;
}

static void deep_run(struct deep *d, enum io_op op, uint64_t n_all)
{
	d->n_started = 0;
	for (uint16_t slot = 0; slot < d->c->depth && d->n_started < n_all; slot++)
		deep_start(d, op, slot);
	while (d->n_ios || d->n_in_flight) {
		assert_int_equal(ops->submit(d->r.engine, d->ios, d->n_ios), 0);
		d->n_in_flight += d->n_ios;
		d->n_ios = 0;

		uint32_t n_min = d->c->n_min;
		uint32_t n_before = d->n_in_flight;
		int n = ops->reap(d->r.engine, d->done, d->c->depth, n_min, ENGINE_WAIT_FOREVER);

		assert_true(n >= 0 && (uint32_t)n <= n_before);
		for (int i = 0; i < n; i++) {
			deep_finish(d, &d->done[i]);
			if (d->n_started < n_all)
				deep_start(d, op, d->done[i].slot);
		}
	}
	assert_int_equal(d->n_started, n_all);
}

static bool deep_open(struct deep *d, const struct deep_case *c, int file_flags)
{
	memset(d, 0, sizeof(*d));
	d->c = c;
	rig_init(&d->r, c->depth, UNIT);
	d->r.params.flags = c->flags;
	d->ios = calloc(c->depth, sizeof(*d->ios));
	d->in_slots = calloc(c->depth, sizeof(*d->in_slots));
	d->done = calloc(c->depth, sizeof(*d->done));
	assert_true(d->ios && d->in_slots && d->done);
	rng_init(&d->rng, c->depth);
	if (!rig_open_file(&d->r, file_flags))
		return false;
	rig_open(&d->r, ops);
	return true;
}

static void deep_close(struct deep *d)
{
	rig_close(&d->r);
	free(d->ios);
	free(d->in_slots);
	free(d->done);
}

static void deep_all(int file_flags)
{
	for (size_t i = 0; i < sizeof(deep_cases) / sizeof(deep_cases[0]); i++) {
		struct deep d;
		bool opened = deep_open(&d, &deep_cases[i], file_flags);

		if (opened) {
			deep_run(&d, IO_WRITE, FILE_BYTES / UNIT);
			assert_int_equal(d.r.engine->ops->sync(d.r.engine), 0);
			assert_int_equal(rig_n_bad_in_file(&d.r), 0);
			deep_run(&d, IO_READ, 4500);
		}
		deep_close(&d);
		if (!opened)
			skip();
	}
}

static void deep_queues_lose_and_mix_nothing(void **state)
{
	(void)state;
	deep_all(O_RDWR);
}

static void deep_queues_lose_and_mix_nothing_directly(void **state)
{
	(void)state;
	deep_all(O_RDWR | O_DIRECT);
}

static void a_failed_transfer_does_not_stop_those_behind_it(void **state)
{
	static const unsigned flags[] = { 0, ENGINE_NO_FIXED, ENGINE_SQPOLL };
	enum { DEPTH = 8 };

	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct io ios[DEPTH];
		struct io_done done[DEPTH];
		unsigned seen = 0;
		struct rig r;

		rig_init(&r, DEPTH, BLOCK);
		r.params.flags = flags[i];
		rig_open_file(&r, O_RDONLY);
		rig_open(&r, ops);
		for (uint16_t slot = 0; slot < DEPTH; slot++)
			ios[slot] =
				rig_io(slot == 2 ? IO_WRITE : IO_READ, slot, slot * BLOCK, BLOCK);
		assert_int_equal(ops->submit(r.engine, ios, DEPTH), 0);
		for (unsigned n_all = 0; n_all < DEPTH;) {
			int n = ops->reap(r.engine, done, DEPTH, 1, ENGINE_WAIT_FOREVER);

			assert_true(n >= 0);
			n_all += (unsigned)n;
			for (int j = 0; j < n; j++) {
				seen |= 1u << done[j].slot;
				assert_int_equal(
					done[j].result, done[j].slot == 2 ? -EBADF : BLOCK);
			}
		}
		assert_int_equal(seen, 0xff);
		rig_close(&r);
	}
}

static void it_says_which_features_are_in_use(void **state)
{
	static const struct {
		unsigned flags;
		const char *part;
		const char *other_part;
	} cases[] = {
		{ 0, "uring, ", "registered file" },
		{ ENGINE_NO_FIXED, "plain buffers", "plain file" },
		{ ENGINE_SQPOLL, ", sqpoll", "registered file" },
		{ ENGINE_IOPOLL, ", iopoll", "registered file" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf text cleanup(buf_release_p) = { 0 };
		struct rig r;

		rig_init(&r, 2, UNIT);
		r.params.flags = cases[i].flags;
		rig_open_file(&r, O_RDWR);
		rig_open(&r, ops);
		ops->describe(r.engine, &text);
		assert_contains(buf_text(&text), cases[i].part);
		assert_contains(buf_text(&text), cases[i].other_part);
		rig_close(&r);
	}
}

/* ---- IOPOLL ---- */

/* Reads, or -EOPNOTSUPP where the device has no poll queues: an answer for each, never a hang. */
static void polled_reads_end_or_are_refused(void **state)
{
	static const uint64_t timeouts_ns[] = { ENGINE_WAIT_FOREVER, 20 * MS, 0 };
	enum { DEPTH = 4 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct io_done done[DEPTH];
		struct io ios[DEPTH];
		unsigned n_all = 0;
		struct rig r;

		rig_init(&r, DEPTH, BLOCK);
		rig_fill_file(&r);
		r.params.flags = ENGINE_IOPOLL;
		if (!rig_open_file(&r, O_RDWR | O_DIRECT)) {
			rig_close(&r);
			skip();
		}
		rig_open(&r, ops);
		for (uint16_t slot = 0; slot < DEPTH; slot++)
			ios[slot] = rig_io(IO_READ, slot, slot * BLOCK, BLOCK);
		assert_int_equal(ops->submit(r.engine, ios, DEPTH), 0);
		while (n_all < DEPTH) {
			int n = ops->reap(r.engine, done, DEPTH, DEPTH, timeouts_ns[i]);

			assert_true(n >= 0);
			n_all += (unsigned)n;
			for (int j = 0; j < n; j++) {
				if (done[j].result == -EOPNOTSUPP)
					continue;
				assert_int_equal(done[j].result, BLOCK);
				assert_int_equal(rig_n_bad(&r, iobuf_slot(r.buffers, done[j].slot),
							 BLOCK, done[j].slot * BLOCK),
					0);
			}
		}
		rig_close(&r);
	}
}

static void polling_through_the_page_cache_is_refused(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, 1, BLOCK);
	r.params.flags = ENGINE_IOPOLL;
	rig_open_file(&r, O_RDWR);
	rig_open(&r, ops);
	assert_int_equal(rig_transfer(&r, IO_READ, 0, BLOCK), -EOPNOTSUPP);
	rig_close(&r);
}

static void flushes_work_in_a_polled_ring(void **state)
{
	static const unsigned flags[] = { ENGINE_IOPOLL, ENGINE_IOPOLL | ENGINE_SQPOLL };
	enum { DEPTH = 4 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct io ios[DEPTH] = {
			rig_io(IO_DATASYNC, 0, 0, 0),
			rig_io(IO_READ, 1, 0, BLOCK), /* buffered: refused, and that is told too */
			rig_io(IO_FSYNC, 2, 0, 0),
			rig_io(IO_DATASYNC, 3, 0, 0),
		};
		struct io_done done[DEPTH];
		unsigned n_all = 0, seen = 0;
		struct rig r;

		rig_init(&r, DEPTH, BLOCK);
		r.params.flags = flags[i];
		rig_open_file(&r, O_RDWR);
		rig_open(&r, ops);
		assert_int_equal(ops->submit(r.engine, ios, DEPTH), 0);
		assert_int_equal(ops->submit(r.engine, ios, 1), -EBUSY);
		while (n_all < DEPTH) {
			/* One a call: what does not fit is kept for the next. */
			int n = ops->reap(r.engine, done, 1, 1, ENGINE_WAIT_FOREVER);

			assert_true(n == 0 || n == 1);
			if (n) {
				assert_int_equal(
					done[0].result, done[0].slot == 1 ? -EOPNOTSUPP : 0);
				seen |= 1u << done[0].slot;
				n_all++;
			}
		}
		assert_int_equal(seen, 0xf);
		assert_int_equal(ops->reap(r.engine, done, 1, 1, ENGINE_WAIT_FOREVER), 0);
		assert_int_equal(ops->sync(r.engine), 0);
		rig_close(&r);
	}
}

/* ---- RLIMIT_MEMLOCK ---- */

/* In a child that nobody asks twice: no assertion, a word to the parent. NULL: all is well. */
static const char *read_as_nobody(struct rig *r)
{
	struct rlimit limit = { 64 * 1024, 64 * 1024 };
	struct buf text cleanup(buf_release_p) = { 0 };

	if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0)
		return "setrlimit";
	if (geteuid() == 0 &&
		(setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
		return "setuid";
	if (ops->probe(&r->err) != 0 || ops->open(&r->params, &r->engine, &r->err) != 0)
		return r->err.msg;
	ops->describe(r->engine, &text);
	if (!strstr(buf_text(&text), "plain buffers"))
		return "buffers of 1 MiB are registered beyond the limit of 64 KiB";
	for (uint16_t slot = 0; slot < r->params.depth; slot++) {
		struct io io = rig_io(IO_READ, slot, slot * BLOCK, BLOCK);

		if (engine_io(r->engine, &io) != BLOCK)
			return "a read fails";
		if (rig_n_bad(r, iobuf_slot(r->buffers, slot), BLOCK, io.offset_bytes) != 0)
			return "a read brings other data";
	}
	engine_close(r->engine);
	return NULL;
}

static void small_locked_memory_gives_plain_buffers(void **state)
{
	char text[200] = "";
	int fds[2], status;
	struct rig r;
	pid_t pid;

	(void)state;
	rig_init(&r, N_BLOCKS, BLOCK);
	rig_fill_file(&r);
	rig_open_file(&r, O_RDWR);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const char *trouble = read_as_nobody(&r);

		if (trouble && write(fds[1], trouble, strnlen(trouble, sizeof(text) - 1)) < 0)
			_exit(2);
		_exit(trouble ? 1 : 0);
	}
	close(fds[1]);
	assert_true(read(fds[0], text, sizeof(text) - 1) >= 0);
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	rig_close(&r);
	assert_string_equal(text, "");
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deep_queues_lose_and_mix_nothing),
		cmocka_unit_test(deep_queues_lose_and_mix_nothing_directly),
		cmocka_unit_test(a_failed_transfer_does_not_stop_those_behind_it),
		cmocka_unit_test(it_says_which_features_are_in_use),
		cmocka_unit_test(polled_reads_end_or_are_refused),
		cmocka_unit_test(polling_through_the_page_cache_is_refused),
		cmocka_unit_test(flushes_work_in_a_polled_ring),
		cmocka_unit_test(small_locked_memory_gives_plain_buffers),
	};
	struct err why = { 0 };

	if (ops->probe(&why) != 0) {
		fprintf(stderr, "skipped: %s\n", why.msg);
		return SKIP_STATUS;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Waiting in the uring engine: for so many, for so long, or not at all. Reads of an empty pipe end
 * when the test says so. Exit 77 where the engine's own probe says that it does not work here.
 */
#include "engine_rig.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <sys/time.h>

static const struct engine_ops *const ops = &engine_uring;

enum { MS = 1000000, PIPE_DEPTH = 4, WORD_BYTES = 8 };

struct pipe_rig {
	struct rig r;
	int fds[2];
	struct io_done done[PIPE_DEPTH];
};

static void pipe_open(struct pipe_rig *p, unsigned flags)
{
	rig_init(&p->r, PIPE_DEPTH, UNIT);
	assert_int_equal(pipe2(p->fds, O_CLOEXEC), 0);
	p->r.params.fd = p->fds[0];
	p->r.params.flags = flags;
	rig_open(&p->r, ops);
}

static void pipe_close(struct pipe_rig *p)
{
	close(p->fds[1]);
	rig_close(&p->r);
}

static void pipe_read(struct pipe_rig *p, uint16_t slot)
{
	struct io io = rig_io(IO_READ, slot, 0, WORD_BYTES);

	assert_int_equal(ops->submit(p->r.engine, &io, 1), 0);
}

static void pipe_feed(struct pipe_rig *p, unsigned n_words)
{
	for (unsigned i = 0; i < n_words; i++)
		assert_int_equal(write(p->fds[1], "abcdefgh", WORD_BYTES), WORD_BYTES);
}

static int pipe_reap(struct pipe_rig *p, uint32_t n_min, uint64_t timeout_ns)
{
	int n = ops->reap(p->r.engine, p->done, PIPE_DEPTH, n_min, timeout_ns);

	for (int i = 0; i < n; i++)
		assert_int_equal(p->done[i].result, WORD_BYTES);
	return n;
}

static const unsigned wait_flags[] = { 0, ENGINE_NO_FIXED, ENGINE_SQPOLL };

enum { N_WAIT_FLAGS = sizeof(wait_flags) / sizeof(wait_flags[0]) };

static void a_time_out_brings_what_has_ended(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_WAIT_FLAGS; i++) {
		struct pipe_rig p;
		int n;

		pipe_open(&p, wait_flags[i]);
		pipe_read(&p, 0);
		assert_int_equal(pipe_reap(&p, 1, 0), 0);
		assert_int_equal(pipe_reap(&p, 1, MS), 0);
		pipe_read(&p, 1);
		assert_int_equal(pipe_reap(&p, 2, MS), 0);
		pipe_feed(&p, 1);
		/* One of two: with n_min 2 it takes a time-out to bring it alone. */
		do
			n = pipe_reap(&p, 2, MS);
		while (n == 0);
		assert_int_equal(n, 1);
		assert_int_equal(pipe_reap(&p, 1, MS), 0);
		pipe_feed(&p, 1);
		assert_int_equal(pipe_reap(&p, 1, ENGINE_WAIT_FOREVER), 1);
		assert_int_equal(pipe_reap(&p, 1, ENGINE_WAIT_FOREVER), 0);
		pipe_close(&p);
	}
}

static void it_waits_for_no_more_than_are_in_flight(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_WAIT_FLAGS; i++) {
		unsigned n = 0;
		struct pipe_rig p;

		pipe_open(&p, wait_flags[i]);
		pipe_feed(&p, 3);
		for (uint16_t slot = 0; slot < 3; slot++)
			pipe_read(&p, slot);
		while (n < 3)
			n += (unsigned)pipe_reap(&p, PIPE_DEPTH, ENGINE_WAIT_FOREVER);
		assert_int_equal(n, 3);
		assert_int_equal(pipe_reap(&p, PIPE_DEPTH, ENGINE_WAIT_FOREVER), 0);
		pipe_close(&p);
	}
}

/* Four reads of which three have ended; one is taken, so two are there without a system call. */
static void pipe_leave_two(struct pipe_rig *p)
{
	pipe_open(p, 0);
	for (uint16_t slot = 0; slot < PIPE_DEPTH; slot++)
		pipe_read(p, slot);
	pipe_feed(p, 3);
	assert_int_equal(ops->reap(p->r.engine, p->done, 1, 1, ENGINE_WAIT_FOREVER), 1);
}

static void what_is_there_already_counts(void **state)
{
	struct pipe_rig p;

	(void)state;
	pipe_leave_two(&p);
	pipe_feed(&p, 1);
	assert_int_equal(pipe_reap(&p, 3, ENGINE_WAIT_FOREVER), 3);
	pipe_close(&p);
}

static void what_is_queued_starts_though_others_are_there(void **state)
{
	int n_bytes = -1;
	struct pipe_rig p;

	(void)state;
	pipe_leave_two(&p);
	pipe_feed(&p, 1); /* for the fourth read or the new one */
	pipe_read(&p, p.done[0].slot);
	assert_int_equal(ops->reap(p.r.engine, p.done, 1, 1, ENGINE_WAIT_FOREVER), 1);
	assert_int_equal(ioctl(p.fds[0], FIONREAD, &n_bytes), 0);
	assert_int_equal(n_bytes, 0);
	pipe_feed(&p, 1);
	assert_int_equal(pipe_reap(&p, 3, ENGINE_WAIT_FOREVER), 3);
	pipe_close(&p);
}

/* With DEFER_TASKRUN the kernel delivers nothing until it is asked, which n_min 0 must do. */
static void looking_without_waiting_finds_what_ended(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_WAIT_FLAGS; i++) {
		unsigned n_looks = 0;
		struct pipe_rig p;

		pipe_open(&p, wait_flags[i]);
		pipe_read(&p, 0);
		assert_int_equal(pipe_reap(&p, 0, ENGINE_WAIT_FOREVER), 0);
		pipe_feed(&p, 1);
		while (pipe_reap(&p, 0, ENGINE_WAIT_FOREVER) == 0)
			if (++n_looks > 10 * 1000 * 1000)
				fail_msg("nothing is found");
		pipe_close(&p);
	}
}

/* A read of nothing ends within the call that starts it. */
static void read_nothing(struct pipe_rig *p, uint16_t slot)
{
	struct io io = { .slot = slot, .op = IO_READ };

	assert_int_equal(ops->submit(p->r.engine, &io, 1), 0);
}

static void what_ends_at_once_does_not_starve_the_others(void **state)
{
	enum { N_TRIES_MAX = 1000 };

	(void)state;
	for (size_t i = 0; i < sizeof(wait_flags) / sizeof(wait_flags[0]); i++) {
		struct pipe_rig p;
		int n_tries = 0;

		pipe_open(&p, wait_flags[i]);
		pipe_read(&p, 0);
		assert_int_equal(pipe_reap(&p, 0, 0), 0);
		pipe_feed(&p, 1);
		do {
			read_nothing(&p, 1);
			assert_int_equal(
				ops->reap(p.r.engine, p.done, 1, 1, ENGINE_WAIT_FOREVER), 1);
		} while (p.done[0].slot == 1 && n_tries++ < N_TRIES_MAX);
		assert_int_equal(p.done[0].slot, 0);
		assert_int_equal(ops->reap(p.r.engine, p.done, 1, 1, ENGINE_WAIT_FOREVER), 1);
		pipe_close(&p);
	}
}

static void on_alarm(int signo)
{
	(void)signo;
}

static void a_signal_ends_the_wait_without_an_error(void **state)
{
	struct sigaction action = { .sa_handler = on_alarm }, old;
	struct itimerval soon = { { 0, 10000 }, { 0, 10000 } }, never = { 0 };

	(void)state;
	assert_int_equal(sigaction(SIGALRM, &action, &old), 0);
	for (size_t i = 0; i < N_WAIT_FLAGS; i++) {
		struct pipe_rig p;

		pipe_open(&p, wait_flags[i]);
		pipe_read(&p, 0);
		setitimer(ITIMER_REAL, &soon, NULL);
		assert_int_equal(pipe_reap(&p, 1, ENGINE_WAIT_FOREVER), 0); /* started, waiting */
		assert_int_equal(pipe_reap(&p, 1, ENGINE_WAIT_FOREVER), 0); /* waiting */
		setitimer(ITIMER_REAL, &never, NULL);
		pipe_feed(&p, 1);
		while (pipe_reap(&p, 1, ENGINE_WAIT_FOREVER) == 0)
			;
		pipe_close(&p);
	}
	sigaction(SIGALRM, &old, NULL);
}

static void what_cannot_be_flushed_is_told(void **state)
{
	struct io io = rig_io(IO_DATASYNC, 0, 0, 0);
	struct pipe_rig p;

	(void)state;
	pipe_open(&p, 0);
	assert_int_equal(engine_io(p.r.engine, &io), -EINVAL);
	assert_int_equal(ops->sync(p.r.engine), -EINVAL);
	pipe_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_time_out_brings_what_has_ended),
		cmocka_unit_test(it_waits_for_no_more_than_are_in_flight),
		cmocka_unit_test(what_is_there_already_counts),
		cmocka_unit_test(what_is_queued_starts_though_others_are_there),
		cmocka_unit_test(looking_without_waiting_finds_what_ended),
		cmocka_unit_test(what_ends_at_once_does_not_starve_the_others),
		cmocka_unit_test(a_signal_ends_the_wait_without_an_error),
		cmocka_unit_test(what_cannot_be_flushed_is_told),
	};
	struct err why = { 0 };

	if (ops->probe(&why) != 0) {
		fprintf(stderr, "skipped: %s\n", why.msg);
		return SKIP_STATUS;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

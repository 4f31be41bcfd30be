/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * clock_gettime() of these two clocks cannot fail on Linux with a valid address (clock_getres(2)),
 * so there is no error to hand on.
 */
#include "base/clock.h"

#include <errno.h>
#include <time.h>

static const uint64_t ns_per_s = 1000000000;

static uint64_t read_ns(clockid_t id)
{
	struct timespec t = { 0 };

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * ns_per_s + (uint64_t)t.tv_nsec;
}

static uint64_t monotonic_now_ns(void *ctx)
{
	(void)ctx;
	return read_ns(CLOCK_MONOTONIC);
}

/* An absolute time, so that a signal handler in between does not make the sleep longer. */
static void monotonic_sleep_until_ns(void *ctx, uint64_t when_ns)
{
	struct timespec t = {
		.tv_sec = (time_t)(when_ns / ns_per_s),
		.tv_nsec = (long)(when_ns % ns_per_s),
	};

	(void)ctx;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

const struct clock clock_monotonic = {
	.now_ns = monotonic_now_ns,
	.sleep_until_ns = monotonic_sleep_until_ns,
};

static uint64_t fake_now_ns(void *ctx)
{
	const struct fake_clock *f = ctx;

	return f->now_ns;
}

static void fake_sleep_until_ns(void *ctx, uint64_t when_ns)
{
	struct fake_clock *f = ctx;

	if (when_ns > f->now_ns)
		f->now_ns = when_ns;
}

struct clock clock_fake(struct fake_clock *f)
{
	return (struct clock){
		.now_ns = fake_now_ns,
		.sleep_until_ns = fake_sleep_until_ns,
		.ctx = f,
	};
}

uint64_t clock_wall_ns(void)
{
	return read_ns(CLOCK_REALTIME);
}

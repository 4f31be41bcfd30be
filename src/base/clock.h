/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The clock, floor 0: CLOCK_MONOTONIC for everything that is measured, replaceable by tests.
 * Wall-clock time is only for "when did this run", never for a difference.
 */
#pragma once

#include <stdint.h>

struct clock {
	uint64_t (*now_ns)(void *ctx);			     /* [ns] monotonic */
	void (*sleep_until_ns)(void *ctx, uint64_t when_ns); /* returns at once if past */
	void *ctx;
};

/* The real one: clock_gettime(CLOCK_MONOTONIC), clock_nanosleep(TIMER_ABSTIME). */
extern const struct clock clock_monotonic;

static inline uint64_t clock_now_ns(const struct clock *c)
{
	return c->now_ns(c->ctx);
}

static inline void clock_sleep_until_ns(const struct clock *c, uint64_t when_ns)
{
	c->sleep_until_ns(c->ctx, when_ns);
}

/* A clock that moves only when told to; one thread. */
struct fake_clock {
	uint64_t now_ns;
};

/* sleep_until moves it forward; now_ns never moves it. @f must outlive the result. */
struct clock clock_fake(struct fake_clock *f);

/* [ns] since 1970-01-01 UTC, for record keeping only (CLOCK_REALTIME). */
uint64_t clock_wall_ns(void);

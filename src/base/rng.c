/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Seeding, as the authors of xoshiro256** advise: from the splitmix64 sequence.
 */
#include "base/rng.h"

#include <sys/random.h>

#include "base/clock.h"

void rng_init(struct rng *r, uint64_t seed)
{
	/* rng_mix() is a bijection of four different inputs: never all four are zero. */
	for (unsigned k = 0; k < 4; k++)
		r->s[k] = rng_mix(seed + k * 0x9e3779b97f4a7c15u);
}

uint64_t rng_seed_from_system(void)
{
	uint64_t seed = 0;

	/* Not blocking: early at boot a seed from the clock will do, this is not cryptography. */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == (ssize_t)sizeof(seed))
		return seed;
	return rng_mix(clock_wall_ns() ^ rng_mix(clock_now_ns(&clock_monotonic)));
}

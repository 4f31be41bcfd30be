/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random numbers with a seed that is kept in the result, floor 0.
 * Source: splitmix64 (Steele, Lea, Flood 2014), xoshiro256** (Blackman, Vigna 2018).
 */
#pragma once

#include <stdint.h>

struct rng {
	uint64_t s[4];
};

/* One step of splitmix64: a bijective mix of 64 bits, for deriving seeds. */
static inline uint64_t rng_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* Any seed, 0 too, gives a good state. */
void rng_init(struct rng *r, uint64_t seed);

static inline uint64_t rng_next(struct rng *r)
{
	uint64_t *s = r->s;
	uint64_t x = s[1] * 5;
	uint64_t result = ((x << 7) | (x >> 57)) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = (s[3] << 45) | (s[3] >> 19);
	return result;
}

/* Uniform in [0, n), n > 0; bias below n/2^64 (Lemire 2019, without the rejection step). */
static inline uint64_t rng_below(struct rng *r, uint64_t n)
{
	return (uint64_t)(((unsigned __int128)rng_next(r) * n) >> 64);
}

/* [seed] from getrandom(2); never fails (falls back to the clock). */
uint64_t rng_seed_from_system(void);

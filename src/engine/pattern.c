/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Data made by eight xorshift64 generators side by side (Marsaglia 2003, triple 13, 7, 17), as a
 * vector of the compiler's: 64 bytes a step, several times faster than a fast device. Each unit
 * has generators of its own, seeded from (seed, offset, generation), so no unit repeats another.
 */
#include "engine/pattern.h"

#include <endian.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/rng.h"

typedef uint64_t lanes __attribute__((vector_size(64), aligned(8), may_alias));

enum { N_LANES = 8 };

#define STAMP_MAGIC UINT64_C(0x6b636f6c62796c63) /* "clyblock" */

/* Little endian on the medium. */
struct pattern_stamp {
	uint64_t magic;
	uint64_t offset_bytes;
	uint64_t seed;
	uint32_t generation;
	uint32_t unit_bytes;
	uint64_t checksum; /* XXH3-64 of what follows, seeded with the fields above */
};

/* @n_bytes: a multiple of 8 */
static void fill_random(uint8_t *out, size_t n_bytes, uint64_t seed)
{
	lanes x;
	size_t at = 0;

	for (unsigned i = 0; i < N_LANES; i++)
		x[i] = rng_mix(seed + i) | 1; /* an xorshift must not start at zero */
	for (; at + sizeof(x) <= n_bytes; at += sizeof(x)) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		*(lanes *)(void *)(out + at) = x;
	}
	x ^= x << 13;
	x ^= x >> 7;
	memcpy(out + at, &x, n_bytes - at);
}

/* How much of a unit is random; the rest is zero. */
static size_t random_bytes(const struct pattern *p)
{
	if (p->kind == PATTERN_RANDOM)
		return p->unit_bytes;
	if (p->kind == PATTERN_ZEROS)
		return 0;
	return (size_t)((uint64_t)p->unit_bytes * (100 - p->compress_pct) / 100) & ~(size_t)7;
}

static uint64_t checksum(const struct pattern_stamp *s, const uint8_t *unit, size_t unit_bytes)
{
	uint64_t place = le64toh(s->offset_bytes) ^ rng_mix(le64toh(s->seed));
	uint64_t fields = rng_mix(le64toh(s->magic) ^ rng_mix(place)) ^
			  ((uint64_t)le32toh(s->generation) << 32) ^ le32toh(s->unit_bytes);

	return XXH3_64bits_withSeed(unit + sizeof(*s), unit_bytes - sizeof(*s), fields);
}

static void stamp_unit(
	const struct pattern *p, uint8_t *unit, uint64_t offset_bytes, uint32_t generation)
{
	struct pattern_stamp s = {
		.magic = htole64(STAMP_MAGIC),
		.offset_bytes = htole64(offset_bytes),
		.seed = htole64(p->seed),
		.generation = htole32(generation),
		.unit_bytes = htole32(p->unit_bytes),
	};

	s.checksum = htole64(checksum(&s, unit, p->unit_bytes));
	memcpy(unit, &s, sizeof(s));
}

void pattern_fill(const struct pattern *p, void *buffer, size_t n_bytes, uint64_t offset_bytes,
	uint32_t generation)
{
	size_t n_random = random_bytes(p);
	uint8_t *unit = buffer;

	for (size_t at = 0; at < n_bytes; at += p->unit_bytes, unit += p->unit_bytes) {
		uint64_t place = offset_bytes + at;

		if (n_random)
			fill_random(unit, n_random,
				rng_mix(p->seed ^ rng_mix(place ^ rng_mix(generation))));
		if (n_random < p->unit_bytes)
			memset(unit + n_random, 0, p->unit_bytes - n_random);
		if (p->stamps)
			stamp_unit(p, unit, place, generation);
	}
}

const char *pattern_held_text(enum pattern_held held)
{
	static const char *const texts[PATTERN_N_HELD] = {
		[PATTERN_HELD_RIGHT] = "what was written",
		[PATTERN_HELD_ZEROS] = "zeros",
		[PATTERN_HELD_OTHER_OFFSET] = "data of another offset,",
		[PATTERN_HELD_OLDER] = "an older generation,",
		[PATTERN_HELD_NEWER] = "a newer generation,",
		[PATTERN_HELD_OTHER_RUN] = "data of another run",
		[PATTERN_HELD_GARBAGE] = "garbage",
	};

	return texts[held];
}

static bool all_zero(const uint8_t *unit, size_t n_bytes)
{
	return unit[0] == 0 && memcmp(unit, unit + 1, n_bytes - 1) == 0;
}

static enum pattern_held look(const struct pattern *p, const uint8_t *unit, uint64_t offset_bytes,
	uint32_t generation, struct pattern_bad *bad)
{
	struct pattern_stamp s;

	memcpy(&s, unit, sizeof(s));
	if (le64toh(s.magic) != STAMP_MAGIC || le32toh(s.unit_bytes) != p->unit_bytes ||
		le64toh(s.checksum) != checksum(&s, unit, p->unit_bytes))
		return all_zero(unit, p->unit_bytes) ? PATTERN_HELD_ZEROS : PATTERN_HELD_GARBAGE;
	if (le64toh(s.seed) != p->seed)
		return PATTERN_HELD_OTHER_RUN;
	bad->stamp_offset_bytes = le64toh(s.offset_bytes);
	bad->stamp_generation = le32toh(s.generation);
	if (bad->stamp_offset_bytes != offset_bytes)
		return PATTERN_HELD_OTHER_OFFSET;
	if (bad->stamp_generation == generation)
		return PATTERN_HELD_RIGHT;
	return bad->stamp_generation < generation ? PATTERN_HELD_OLDER : PATTERN_HELD_NEWER;
}

size_t pattern_check(const struct pattern *p, const void *buffer, size_t n_bytes,
	uint64_t offset_bytes, const uint32_t *generations, struct pattern_bad *ret_bad)
{
	const uint8_t *unit = buffer;
	size_t n_bad = 0;

	for (size_t at = 0; at < n_bytes; at += p->unit_bytes, unit += p->unit_bytes) {
		uint32_t generation = generations[at / p->unit_bytes];
		struct pattern_bad bad = {
			.offset_bytes = offset_bytes + at,
			.expected_generation = generation,
		};

		if (generation == 0)
			continue;
		bad.held = look(p, unit, offset_bytes + at, generation, &bad);
		if (bad.held != PATTERN_HELD_RIGHT && n_bad++ == 0)
			*ret_bad = bad;
	}
	return n_bad;
}

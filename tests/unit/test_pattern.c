/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is written does not compress or repeat, and what is read back is told apart to the bit. */
#include "test.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "engine/pattern.h"

enum { STAMP_BYTES = 40, BLOCK = 64 * 1024, UNIT = 4096, N_UNITS = BLOCK / UNIT };

/* Every size that is a multiple of 8 is a unit; these are the round, the odd and the last ones. */
static const uint32_t unit_sizes[] = { 512, 520, 528, 1000, 1024, 1536, 2048, 3072, 4088, 4096 };

enum { N_UNIT_SIZES = sizeof(unit_sizes) / sizeof(unit_sizes[0]) };

static void *get_bytes(size_t n_bytes)
{
	void *bytes = aligned_alloc(64, n_bytes);

	assert_non_null(bytes);
	memset(bytes, 0xa5, n_bytes);
	return bytes;
}

static struct pattern stamped(uint32_t unit_bytes)
{
	return (struct pattern){
		.kind = PATTERN_RANDOM,
		.seed = 42,
		.stamps = true,
		.unit_bytes = unit_bytes,
	};
}

static size_t n_zeros(const uint8_t *bytes, size_t n_bytes)
{
	size_t n = 0;

	for (size_t i = 0; i < n_bytes; i++)
		n += bytes[i] == 0;
	return n;
}

/* ---- the data ---- */

static double entropy_bits(const uint8_t *bytes, size_t n_bytes)
{
	size_t counts[256] = { 0 };
	double bits = 0;

	for (size_t i = 0; i < n_bytes; i++)
		counts[bytes[i]]++;
	for (size_t i = 0; i < 256; i++) {
		double share = (double)counts[i] / (double)n_bytes;

		if (counts[i])
			bits -= share * log2(share);
	}
	return bits;
}

static void random_data_has_nearly_eight_bits_a_byte(void **state)
{
	uint8_t *bytes cleanup(free_p) = get_bytes(16 * BLOCK);

	(void)state;
	for (size_t i = 0; i < N_UNIT_SIZES; i++) {
		struct pattern p = { .seed = i, .unit_bytes = unit_sizes[i] };
		size_t n_bytes = 16 * BLOCK / p.unit_bytes * p.unit_bytes;

		pattern_fill(&p, bytes, n_bytes, 0, 1);
		assert_true(entropy_bits(bytes, n_bytes) > 7.999);
		/* One unit of 4 KiB: random bytes have 7.95 bits there, by chance alone. */
		p.unit_bytes = 4096;
		pattern_fill(&p, bytes, 4096, i * 4096, 1);
		assert_true(entropy_bits(bytes, 4096) > 7.9);
	}
}

static int compare_words(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static size_t n_repeated(uint64_t *words, size_t n_words)
{
	size_t n = 0;

	qsort(words, n_words, sizeof(*words), compare_words);
	for (size_t i = 1; i < n_words; i++)
		n += words[i] == words[i - 1];
	return n;
}

/* A chance repeat among 2^20 random words of 64 bits has odds of 2^-25. */
static void no_word_repeats_over_places_generations_and_seeds(void **state)
{
	enum { N = 128, N_BYTES = 4 * 4 * N * 4096 };
	uint8_t *bytes cleanup(free_p) = get_bytes(N_BYTES);

	(void)state;
	for (size_t i = 0; i < N_UNIT_SIZES; i++) {
		uint32_t unit_bytes = unit_sizes[i];
		size_t part_bytes = (size_t)N * unit_bytes, at = 0;

		for (uint64_t seed = 0; seed < 4; seed++)
			for (uint32_t generation = 1; generation <= 4; generation++) {
				struct pattern p = { .seed = seed, .unit_bytes = unit_bytes };
				/* Places that differ in one bit, low or high, from those below. */
				uint64_t far = seed & 1 ? UINT64_C(1) << 44 : 0;

				pattern_fill(&p, bytes + at, part_bytes, far, generation);
				at += part_bytes;
			}
		assert_int_equal(n_repeated((uint64_t *)(void *)bytes, at / 8), 0);
	}
}

static void a_unit_depends_on_its_place_not_on_the_call(void **state)
{
	uint8_t *whole cleanup(free_p) = get_bytes(BLOCK);
	uint8_t *pieces cleanup(free_p) = get_bytes(BLOCK);

	(void)state;
	for (unsigned stamps = 0; stamps < 2; stamps++)
		for (size_t i = 0; i < N_UNIT_SIZES; i++) {
			struct pattern p = stamped(unit_sizes[i]);
			size_t n_bytes = BLOCK / p.unit_bytes * p.unit_bytes;

			p.stamps = stamps;
			pattern_fill(&p, whole, n_bytes, 1 << 20, 3);
			for (size_t at = 0; at < n_bytes; at += p.unit_bytes)
				pattern_fill(&p, pieces + at, p.unit_bytes, (1 << 20) + at, 3);
			assert_memory_equal(whole, pieces, n_bytes);
		}
}

static void nothing_is_written_beyond_the_block(void **state)
{
	uint8_t *bytes cleanup(free_p) = get_bytes(2 * UNIT);

	(void)state;
	for (unsigned kind = 0; kind < PATTERN_N_KINDS; kind++)
		for (size_t i = 0; i < N_UNIT_SIZES; i++) {
			struct pattern p = stamped(unit_sizes[i]);

			p.kind = kind;
			p.compress_pct = 33;
			memset(bytes, 0xa5, 2 * UNIT);
			pattern_fill(&p, bytes + 8, p.unit_bytes, 0, 1);
			for (size_t at = 0; at < 8; at++)
				assert_int_equal(bytes[at], 0xa5);
			for (size_t at = 8 + p.unit_bytes; at < 2 * UNIT; at++)
				assert_int_equal(bytes[at], 0xa5);
		}
}

static void compress_leaves_exactly_its_share_zero(void **state)
{
	static const uint32_t shares_pct[] = { 0, 1, 25, 33, 50, 75, 99, 100 };
	uint8_t *bytes cleanup(free_p) = get_bytes(BLOCK);

	(void)state;
	for (size_t i = 0; i < sizeof(shares_pct) / sizeof(shares_pct[0]); i++)
		for (size_t j = 0; j < N_UNIT_SIZES; j++) {
			struct pattern p = {
				.kind = PATTERN_COMPRESS,
				.compress_pct = shares_pct[i],
				.unit_bytes = unit_sizes[j],
			};
			/* Random data is whole words; the rest of the unit is zero to its end. */
			size_t n_random = p.unit_bytes * (100 - p.compress_pct) / 100 / 8 * 8;

			pattern_fill(&p, bytes, 4 * p.unit_bytes, 0, 1);
			for (size_t unit = 0; unit < 4; unit++) {
				const uint8_t *u = bytes + unit * p.unit_bytes;

				assert_int_equal(n_zeros(u + n_random, p.unit_bytes - n_random),
					p.unit_bytes - n_random);
				for (size_t at = 0; at < n_random; at += 8)
					assert_true(n_zeros(u + at, 8) < 8);
			}
		}
}

static void compressible_data_has_its_share_over_many_blocks(void **state)
{
	struct pattern p = { .kind = PATTERN_COMPRESS, .compress_pct = 40, .unit_bytes = UNIT };
	uint8_t *bytes cleanup(free_p) = get_bytes(16 * BLOCK);

	(void)state;
	pattern_fill(&p, bytes, 16 * BLOCK, 0, 1);
	/* One random byte in 256 is zero too. */
	assert_close((double)n_zeros(bytes, 16 * BLOCK), (0.4 + 0.6 / 256) * 16 * BLOCK, 2e-3);
}

static void zeros_are_zero_but_for_the_stamp(void **state)
{
	uint8_t *bytes cleanup(free_p) = get_bytes(BLOCK);

	(void)state;
	for (size_t i = 0; i < N_UNIT_SIZES; i++) {
		struct pattern p = { .kind = PATTERN_ZEROS, .unit_bytes = unit_sizes[i] };
		size_t n_bytes = BLOCK / p.unit_bytes * p.unit_bytes;
		uint32_t generations[BLOCK / 512];
		struct pattern_bad bad;

		pattern_fill(&p, bytes, n_bytes, 0, 1);
		assert_int_equal(n_zeros(bytes, n_bytes), n_bytes);
		p.stamps = true;
		pattern_fill(&p, bytes, n_bytes, 0, 1);
		for (size_t at = 0; at < n_bytes; at += p.unit_bytes) {
			size_t rest_bytes = p.unit_bytes - STAMP_BYTES;

			assert_true(n_zeros(bytes + at, STAMP_BYTES) < STAMP_BYTES - 8);
			assert_int_equal(n_zeros(bytes + at + STAMP_BYTES, rest_bytes), rest_bytes);
			generations[at / p.unit_bytes] = 1;
		}
		assert_int_equal(pattern_check(&p, bytes, n_bytes, 0, generations, &bad), 0);
	}
}

/* ---- the check ---- */

static void set_all(uint32_t *generations, size_t n, uint32_t value)
{
	for (size_t i = 0; i < n; i++)
		generations[i] = value;
}

static void what_was_written_is_right(void **state)
{
	static const uint64_t offsets[] = { 0, BLOCK, UINT64_C(1) << 40, UINT64_MAX - BLOCK + 1 };
	static const uint32_t all_generations[] = { 1, 2, 1000, UINT32_MAX };
	uint8_t *bytes cleanup(free_p) = get_bytes(BLOCK);
	uint32_t generations[BLOCK / 512];
	struct pattern_bad bad;

	(void)state;
	memset(&bad, 0x5a, sizeof(bad));
	for (size_t i = 0; i < N_UNIT_SIZES; i++)
		for (unsigned kind = 0; kind < PATTERN_N_KINDS; kind++)
			for (size_t j = 0; j < 4; j++) {
				struct pattern p = stamped(unit_sizes[i]);
				size_t n_bytes = BLOCK / p.unit_bytes * p.unit_bytes;

				p.kind = kind;
				p.compress_pct = 70;
				set_all(generations, BLOCK / 512, all_generations[j]);
				pattern_fill(&p, bytes, n_bytes, offsets[j], all_generations[j]);
				assert_int_equal(pattern_check(&p, bytes, n_bytes, offsets[j],
							 generations, &bad),
					0);
			}
	assert_int_equal(bad.expected_generation, 0x5a5a5a5a); /* untouched */
}

struct check_case {
	const char *name;
	enum pattern_held held;
	uint64_t from_offset_bytes; /* what unit 5 is overwritten with: fill of this place, ... */
	uint32_t from_generation;
	uint64_t from_seed;
	uint32_t from_unit_bytes;
};

enum { AT_UNIT = 5, EXPECTED = 7, BASE = 1 << 20 };

static void a_bad_unit_is_told_for_what_it_holds(void **state)
{
	static const uint64_t here = BASE + AT_UNIT * UNIT;
	static const struct check_case cases[] = {
		{ "right", PATTERN_HELD_RIGHT, here, EXPECTED, 42, UNIT },
		{ "next unit", PATTERN_HELD_OTHER_OFFSET, here + UNIT, EXPECTED, 42, UNIT },
		{ "start", PATTERN_HELD_OTHER_OFFSET, 0, EXPECTED, 42, UNIT },
		{ "far", PATTERN_HELD_OTHER_OFFSET, UINT64_C(1) << 50, 1, 42, UNIT },
		{ "one older", PATTERN_HELD_OLDER, here, EXPECTED - 1, 42, UNIT },
		{ "first", PATTERN_HELD_OLDER, here, 1, 42, UNIT },
		{ "one newer", PATTERN_HELD_NEWER, here, EXPECTED + 1, 42, UNIT },
		{ "last", PATTERN_HELD_NEWER, here, UINT32_MAX, 42, UNIT },
		{ "other seed", PATTERN_HELD_OTHER_RUN, here, EXPECTED, 43, UNIT },
		{ "other seed, place", PATTERN_HELD_OTHER_RUN, 0, 1, 43, UNIT },
		{ "smaller units", PATTERN_HELD_GARBAGE, here, EXPECTED, 42, UNIT / 2 },
	};
	struct pattern p = stamped(UNIT);
	uint8_t *bytes cleanup(free_p) = get_bytes(BLOCK);
	uint32_t generations[N_UNITS];

	(void)state;
	set_all(generations, N_UNITS, EXPECTED);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct check_case *c = &cases[i];
		bool right = c->held == PATTERN_HELD_RIGHT;
		struct pattern from = stamped(c->from_unit_bytes);
		struct pattern_bad bad = { 0 };

		from.seed = c->from_seed;
		pattern_fill(&p, bytes, BLOCK, BASE, EXPECTED);
		pattern_fill(&from, bytes + AT_UNIT * UNIT, UNIT, c->from_offset_bytes,
			c->from_generation);
		assert_int_equal(
			pattern_check(&p, bytes, BLOCK, BASE, generations, &bad), right ? 0 : 1);
		if (bad.held != c->held)
			fail_msg("%s: held %u, not %u", c->name, (unsigned)bad.held,
				(unsigned)c->held);
		if (right)
			continue;
		assert_int_equal(bad.offset_bytes, here);
		assert_int_equal(bad.expected_generation, EXPECTED);
		if (c->held == PATTERN_HELD_OTHER_OFFSET)
			assert_int_equal(bad.stamp_offset_bytes, c->from_offset_bytes);
		if (c->held == PATTERN_HELD_OLDER || c->held == PATTERN_HELD_NEWER)
			assert_int_equal(bad.stamp_generation, c->from_generation);
	}
}

static void zeros_and_noise_have_no_stamp(void **state)
{
	struct pattern p = stamped(UNIT), noise = { .seed = 42, .unit_bytes = UNIT };
	uint8_t *bytes cleanup(free_p) = get_bytes(UNIT);
	uint32_t generation = 1;
	struct pattern_bad bad;

	(void)state;
	memset(bytes, 0, UNIT);
	assert_int_equal(pattern_check(&p, bytes, UNIT, 0, &generation, &bad), 1);
	assert_int_equal(bad.held, PATTERN_HELD_ZEROS);
	for (size_t at = 0; at < UNIT; at++) {
		bytes[at] = 0x80;
		assert_int_equal(pattern_check(&p, bytes, UNIT, 0, &generation, &bad), 1);
		assert_int_equal(bad.held, PATTERN_HELD_GARBAGE);
		bytes[at] = 0;
	}
	memset(bytes, 0xff, UNIT);
	assert_int_equal(pattern_check(&p, bytes, UNIT, 0, &generation, &bad), 1);
	assert_int_equal(bad.held, PATTERN_HELD_GARBAGE);
	pattern_fill(&noise, bytes, UNIT, 0, 1);
	assert_int_equal(pattern_check(&p, bytes, UNIT, 0, &generation, &bad), 1);
	assert_int_equal(bad.held, PATTERN_HELD_GARBAGE);
}

/* Every bit of the unit, those of the stamp too: never right, never anything but garbage. */
static void one_flipped_bit_anywhere_is_garbage(void **state)
{
	static const uint32_t sizes[] = { 512, 1000, UNIT };
	uint8_t *bytes cleanup(free_p) = get_bytes(UNIT);
	uint32_t generation = EXPECTED;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		for (unsigned kind = 0; kind < PATTERN_N_KINDS; kind++) {
			struct pattern p = stamped(sizes[i]);

			p.kind = kind;
			p.compress_pct = 50;
			pattern_fill(&p, bytes, p.unit_bytes, BASE, generation);
			for (size_t bit = 0; bit < 8u * p.unit_bytes; bit++) {
				struct pattern_bad bad = { 0 };

				bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
				assert_int_equal(pattern_check(&p, bytes, p.unit_bytes, BASE,
							 &generation, &bad),
					1);
				assert_int_equal(bad.held, PATTERN_HELD_GARBAGE);
				bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
			}
		}
}

static void a_torn_unit_is_garbage(void **state)
{
	struct pattern p = stamped(UNIT);
	uint8_t *bytes cleanup(free_p) = get_bytes(UNIT);
	uint8_t *old cleanup(free_p) = get_bytes(UNIT);
	uint32_t generation = 2;

	(void)state;
	pattern_fill(&p, old, UNIT, 0, 1);
	for (size_t at = 512; at < UNIT; at += 512) {
		struct pattern_bad bad;

		pattern_fill(&p, bytes, UNIT, 0, 2);
		memcpy(bytes + at, old + at, UNIT - at);
		assert_int_equal(pattern_check(&p, bytes, UNIT, 0, &generation, &bad), 1);
		assert_int_equal(bad.held, PATTERN_HELD_GARBAGE);
	}
}

static void bad_units_are_counted_and_the_first_is_told(void **state)
{
	struct pattern p = stamped(512);
	uint8_t *bytes cleanup(free_p) = get_bytes(BLOCK);
	uint32_t generations[BLOCK / 512];
	struct pattern_bad bad;

	(void)state;
	set_all(generations, BLOCK / 512, 3);
	pattern_fill(&p, bytes, BLOCK, 0, 3);
	pattern_fill(&p, bytes + 20 * 512, 512, 20 * 512, 2);
	bytes[30 * 512 + 100] ^= 1;
	memset(bytes + 127 * 512, 0, 512);
	assert_int_equal(pattern_check(&p, bytes, BLOCK, 0, generations, &bad), 3);
	assert_int_equal(bad.offset_bytes, 20 * 512);
	assert_int_equal(bad.held, PATTERN_HELD_OLDER);
	assert_int_equal(bad.stamp_generation, 2);
}

static void units_expected_at_their_own_generations(void **state)
{
	struct pattern p = stamped(512);
	uint8_t *bytes cleanup(free_p) = get_bytes(BLOCK);
	uint32_t generations[BLOCK / 512];
	struct pattern_bad bad;

	(void)state;
	for (uint32_t i = 0; i < BLOCK / 512; i++) {
		generations[i] = i % 5 + 1;
		pattern_fill(&p, bytes + i * 512, 512, BASE + i * 512, generations[i]);
	}
	assert_int_equal(pattern_check(&p, bytes, BLOCK, BASE, generations, &bad), 0);
	generations[77]++;
	assert_int_equal(pattern_check(&p, bytes, BLOCK, BASE, generations, &bad), 1);
	assert_int_equal(bad.offset_bytes, BASE + 77 * 512);
	assert_int_equal(bad.held, PATTERN_HELD_OLDER);
}

static void older_and_newer_are_told_for_every_pair(void **state)
{
	static const uint32_t values[] = { 1, 2, 3, 7, 255, 256, 1u << 31, UINT32_MAX };
	enum { N = sizeof(values) / sizeof(values[0]) };
	struct pattern p = stamped(512);
	uint8_t *bytes cleanup(free_p) = get_bytes(512);

	(void)state;
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < N; j++) {
			struct pattern_bad bad = { 0 };

			pattern_fill(&p, bytes, 512, BASE, values[i]);
			assert_int_equal(
				pattern_check(&p, bytes, 512, BASE, &values[j], &bad), i != j);
			if (i == j)
				continue;
			assert_int_equal(bad.held, i < j ? PATTERN_HELD_OLDER : PATTERN_HELD_NEWER);
			assert_int_equal(bad.stamp_generation, values[i]);
			assert_int_equal(bad.expected_generation, values[j]);
		}
}

static void units_never_written_are_not_checked(void **state)
{
	struct pattern p = stamped(UNIT);
	uint8_t *bytes cleanup(free_p) = get_bytes(BLOCK); /* holds noise */
	uint32_t generations[N_UNITS] = { 0 };
	struct pattern_bad bad;

	(void)state;
	assert_int_equal(pattern_check(&p, bytes, BLOCK, 0, generations, &bad), 0);
	generations[N_UNITS - 1] = 1;
	assert_int_equal(pattern_check(&p, bytes, BLOCK, 0, generations, &bad), 1);
	assert_int_equal(bad.offset_bytes, BLOCK - UNIT);
}

static void every_finding_has_its_own_words(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PATTERN_N_HELD; i++) {
		assert_non_null(pattern_held_text(i));
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(pattern_held_text(i), pattern_held_text(j));
	}
	assert_string_equal(pattern_held_text(PATTERN_HELD_ZEROS), "zeros");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_data_has_nearly_eight_bits_a_byte),
		cmocka_unit_test(no_word_repeats_over_places_generations_and_seeds),
		cmocka_unit_test(a_unit_depends_on_its_place_not_on_the_call),
		cmocka_unit_test(nothing_is_written_beyond_the_block),
		cmocka_unit_test(compress_leaves_exactly_its_share_zero),
		cmocka_unit_test(compressible_data_has_its_share_over_many_blocks),
		cmocka_unit_test(zeros_are_zero_but_for_the_stamp),
		cmocka_unit_test(what_was_written_is_right),
		cmocka_unit_test(a_bad_unit_is_told_for_what_it_holds),
		cmocka_unit_test(zeros_and_noise_have_no_stamp),
		cmocka_unit_test(one_flipped_bit_anywhere_is_garbage),
		cmocka_unit_test(a_torn_unit_is_garbage),
		cmocka_unit_test(bad_units_are_counted_and_the_first_is_told),
		cmocka_unit_test(units_expected_at_their_own_generations),
		cmocka_unit_test(older_and_newer_are_told_for_every_pair),
		cmocka_unit_test(units_never_written_are_not_checked),
		cmocka_unit_test(every_finding_has_its_own_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

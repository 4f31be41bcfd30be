/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/perm.h"
#include "base/rng.h"

static void check_bijection(uint64_t n, uint64_t seed)
{
	bool *seen = calloc(n, sizeof(*seen));
	struct perm p;

	assert_non_null(seen);
	perm_init(&p, n, seed);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t at = perm_at(&p, i);

		if (at >= n || seen[at])
			fail_msg("n %llu, seed %llu: position %llu gives %llu again or outside",
				(unsigned long long)n, (unsigned long long)seed,
				(unsigned long long)i, (unsigned long long)at);
		seen[at] = true;
	}
	free(seen);
}

static void every_index_comes_exactly_once(void **state)
{
	(void)state;
	for (uint64_t n = 1; n <= 130; n++)
		for (uint64_t seed = 0; seed < 8; seed++)
			check_bijection(n, seed);
	for (unsigned k = 8; k <= 17; k++)
		for (uint64_t n = (UINT64_C(1) << k) - 1; n <= (UINT64_C(1) << k) + 1; n++)
			check_bijection(n, rng_mix(n));
	check_bijection(100000, 1);
}

static void the_largest_set_stays_inside(void **state)
{
	const uint64_t n = UINT64_C(1) << 62;
	struct perm p;

	(void)state;
	perm_init(&p, n, 3);
	for (uint64_t i = 0; i < 1000; i++) {
		assert_true(perm_at(&p, i) < n);
		assert_true(perm_at(&p, n - 1 - i) < n);
		assert_true(perm_at(&p, i) != perm_at(&p, n - 1 - i));
	}
}

/*
 * Of a random order the mean distance between neighbours is n/3, and a step of exactly d comes
 * about once. The worst of many sizes and seeds must not look like a sequence to a disk.
 */
static void the_order_has_no_visible_pattern(void **state)
{
	static const uint64_t sizes[] = { 1000, 4096, 5000, 32768, 65535, 65537 };

	(void)state;
	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]) * 16; k++) {
		uint64_t n = sizes[k / 16], n_ascending = 0, n_next = 0, n_longest = 0, n_run = 0;
		double distance = 0;
		struct perm p;

		perm_init(&p, n, k);
		for (uint64_t i = 1; i < n; i++) {
			uint64_t before = perm_at(&p, i - 1), now = perm_at(&p, i);

			distance += fabs((double)now - (double)before);
			n_ascending += now > before;
			n_next += now == before + 1 || before == now + 1;
			n_run = now > before ? n_run + 1 : 0;
			n_longest = n_run > n_longest ? n_run : n_longest;
		}
		assert_close(distance / (double)(n - 1), (double)n / 3, 0.08);
		assert_close((double)n_ascending, (double)n / 2, 0.08);
		assert_true(n_next <= 2 + n / 200);
		assert_true(n_longest <= 16);
	}
}

static void another_seed_is_another_order(void **state)
{
	struct perm a, b;
	int n_same = 0;

	(void)state;
	perm_init(&a, 100000, 1);
	perm_init(&b, 100000, 2);
	for (uint64_t i = 0; i < 1000; i++)
		n_same += perm_at(&a, i) == perm_at(&b, i);
	assert_true(n_same < 10);
	perm_init(&b, 100000, 1);
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(perm_at(&a, i), perm_at(&b, i));
}

static void rng_repeats_with_its_seed_and_stays_below(void **state)
{
	/* From the reference implementation's definition: splitmix64 of seed 0, first output. */
	const uint64_t splitmix_first = UINT64_C(0xe220a8397b1dcdaf);
	uint64_t n_below_third = 0;
	struct rng a, b;

	(void)state;
	assert_true(rng_mix(0) == splitmix_first);
	rng_init(&a, 0);
	rng_init(&b, 0);
	for (int i = 0; i < 30000; i++) {
		uint64_t value = rng_below(&a, 300);

		assert_true(value < 300);
		assert_true(value == rng_below(&b, 300));
		n_below_third += value < 100;
	}
	assert_close((double)n_below_third, 10000.0, 0.03);
	assert_true(rng_below(&a, 1) == 0);
	assert_true(rng_seed_from_system() != rng_seed_from_system());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_index_comes_exactly_once),
		cmocka_unit_test(the_largest_set_stays_inside),
		cmocka_unit_test(the_order_has_no_visible_pattern),
		cmocka_unit_test(another_seed_is_another_order),
		cmocka_unit_test(rng_repeats_with_its_seed_and_stays_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/rng.h"
#include "stats/hist.h"

enum { N_VALUES = 20000 };

/* Latencies of all magnitudes: the exponent is uniform. */
static uint64_t random_value(struct rng *r)
{
	return rng_next(r) >> rng_below(r, 64);
}

static void buckets_cover_everything_without_gaps(void **state)
{
	(void)state;
	assert_true(hist_bucket_low_ns(0) == 0);
	assert_true(hist_bucket_high_ns(HIST_N_BUCKETS - 1) == UINT64_MAX);
	for (unsigned i = 0; i < HIST_N_BUCKETS; i++) {
		uint64_t low = hist_bucket_low_ns(i), high = hist_bucket_high_ns(i);

		assert_true(low <= high);
		assert_int_equal(hist_index(low), i);
		assert_int_equal(hist_index(high), i);
		if (i + 1 < HIST_N_BUCKETS)
			assert_true(hist_bucket_low_ns(i + 1) == high + 1);
	}
}

static void no_bucket_is_wider_than_a_64th(void **state)
{
	(void)state;
	for (unsigned i = 1; i < HIST_N_BUCKETS; i++) {
		uint64_t low = hist_bucket_low_ns(i), high = hist_bucket_high_ns(i);

		assert_true(high - low <= low / 64);
	}
	for (unsigned i = 0; i < 2 * HIST_N_SUB; i++)
		assert_true(hist_bucket_low_ns(i) == i && hist_bucket_high_ns(i) == i);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Smallest v with at least q of all samples <= v, by definition: k/n >= q for the k-th. */
static uint64_t exact_quantile(const uint64_t *sorted, size_t n, unsigned q_per_10000)
{
	for (size_t k = 1; k <= n; k++)
		if (k * 10000 >= (size_t)q_per_10000 * n)
			return sorted[k - 1];
	return sorted[n - 1];
}

static void quantiles_agree_with_a_sorted_array(void **state)
{
	static const unsigned qs[] = { 1, 10, 700, 2500, 5000, 9000, 9500, 9900, 9990, 9999,
		10000 };
	static const size_t sizes[] = { 1, 2, 3, 7, 100, 1000, N_VALUES };
	static uint64_t values[N_VALUES];
	struct rng r;

	(void)state;
	rng_init(&r, 5);
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		struct hist *h cleanup(hist_free_p) = hist_new();
		size_t n = sizes[s];

		for (size_t i = 0; i < n; i++) {
			values[i] = random_value(&r);
			hist_add(h, values[i]);
		}
		qsort(values, n, sizeof(values[0]), by_value);
		assert_true(h->min_ns == values[0] && h->max_ns == values[n - 1]);
		for (size_t k = 0; k < sizeof(qs) / sizeof(qs[0]); k++) {
			uint64_t exact = exact_quantile(values, n, qs[k]), got = 0;

			assert_int_equal(hist_quantile(h, qs[k] / 1e4, &got), 0);
			assert_true(got >= exact);
			assert_true(got - exact <= exact / 64);
			assert_true(got <= h->max_ns);
			assert_int_equal(hist_index(got), hist_index(exact));
		}
	}
}

static void an_empty_one_has_no_quantile(void **state)
{
	struct hist *h cleanup(hist_free_p) = hist_new();
	uint64_t got = 77;

	(void)state;
	assert_int_equal(hist_quantile(h, 0.5, &got), 1);
	assert_int_equal(got, 77);
	assert_close(hist_mean_ns(h), 0.0, 0.0);
}

static void quantiles_need_ten_over_the_rest(void **state)
{
	(void)state;
	assert_int_equal(hist_quantile_needs(0.5), 20);
	assert_int_equal(hist_quantile_needs(0.9), 100);
	assert_int_equal(hist_quantile_needs(0.95), 200);
	assert_int_equal(hist_quantile_needs(0.99), 1000);
	assert_int_equal(hist_quantile_needs(0.999), 10000);
	assert_int_equal(hist_quantile_needs(0.9999), 100000);
	assert_int_equal(hist_quantile_needs(0.7), 34);
	assert_true(hist_quantile_needs(1) == UINT64_MAX);
}

static void merging_is_the_same_as_adding_all_to_one(void **state)
{
	struct hist *all cleanup(hist_free_p) = hist_new();
	struct hist *sum cleanup(hist_free_p) = hist_new();
	struct hist *parts[4];
	struct rng r;

	(void)state;
	rng_init(&r, 9);
	for (int k = 0; k < 4; k++)
		parts[k] = hist_new();
	for (int i = 0; i < N_VALUES; i++) {
		uint64_t value = (random_value(&r) >> 10) + 100;

		hist_add(all, value);
		hist_add(parts[rng_below(&r, 3)], value); /* the last one stays empty */
	}
	for (int k = 3; k >= 0; k--) {
		hist_merge(sum, parts[k]);
		hist_free(parts[k]);
	}
	assert_true(sum->n == all->n);
	assert_true(sum->min_ns == all->min_ns);
	assert_true(sum->max_ns == all->max_ns);
	assert_close(sum->sum_ns, all->sum_ns, 1e-12);
	assert_memory_equal(sum->buckets, all->buckets, sizeof(all->buckets));
}

static void the_mean_is_exact(void **state)
{
	struct hist *h cleanup(hist_free_p) = hist_new();

	(void)state;
	hist_add(h, 1000001);
	hist_add(h, 3000003);
	assert_close(hist_mean_ns(h), 2000002.0, 0.0);
}

static void check_round_trip(const struct hist *h)
{
	struct hist *back cleanup(hist_free_p) = hist_new();
	uint8_t *bytes cleanup(free_p) = NULL;
	struct err e = { 0 };
	size_t n_bytes = 0;

	assert_int_equal(hist_pack(h, &bytes, &n_bytes, &e), 0);
	hist_add(back, 123); /* is replaced */
	if (hist_unpack(bytes, n_bytes, back, &e) != 0)
		fail_msg("%s", e.msg);
	assert_memory_equal(back, h, sizeof(*h));
}

static void packing_and_back_changes_nothing(void **state)
{
	struct hist *h cleanup(hist_free_p) = hist_new();
	struct rng r;

	(void)state;
	check_round_trip(h);
	hist_add(h, 0);
	check_round_trip(h);
	hist_add(h, UINT64_MAX);
	check_round_trip(h);
	rng_init(&r, 11);
	for (int i = 0; i < N_VALUES; i++)
		hist_add(h, random_value(&r));
	check_round_trip(h);
	for (unsigned i = 0; i < HIST_N_BUCKETS; i++)
		hist_add(h, hist_bucket_low_ns(i));
	check_round_trip(h);
}

static void a_typical_one_packs_small(void **state)
{
	struct hist *h cleanup(hist_free_p) = hist_new();
	uint8_t *bytes cleanup(free_p) = NULL;
	size_t n_bytes = 0;

	(void)state;
	for (uint64_t i = 0; i < 100000; i++)
		hist_add(h, 80000 + i);
	assert_int_equal(hist_pack(h, &bytes, &n_bytes, NULL), 0);
	assert_true(n_bytes < 400);
}

/* One value of 5 ns: version, minimum, maximum, sum 5.0, bucket step 5, count 1. */
#define HEAD5 1, 5, 5, 0, 0, 0, 0, 0, 0, 0x14, 0x40

static void damaged_bytes_are_refused_and_change_nothing(void **state)
{
	static const struct {
		uint8_t bytes[32];
		size_t n_bytes;
		const char *why;
	} cases[] = {
		{ { 0 }, 0, "version" },
		{ { 2 }, 1, "version" },
		{ { 1, 5 }, 2, "head" },
		{ { 1, 5, 5, 0, 0, 0, 0, 0, 0, 0x14 }, 10, "head" },
		{ { 1, 0x85, 0, 5, 0, 0, 0, 0, 0, 0, 0x14, 0x40, 5, 1 }, 14, "head" },
		{ { 1, 5, 5, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f, 5, 1 }, 13, "head" },
		{ { HEAD5 }, 11, "no buckets" },
		{ { HEAD5, 5 }, 12, "cut off" },
		{ { HEAD5, 5, 0x81 }, 13, "cut off" },
		{ { HEAD5, 5, 0x81, 0 }, 14, "shortest" },
		{ { HEAD5, 5, 0 }, 13, "zero" },
		{ { HEAD5, 4, 1 }, 13, "not in its bucket" },
		{ { HEAD5, 5, 1, 0, 1 }, 15, "not in its bucket" },
		{ { HEAD5, 5, 2 }, 13, "sum" },
		{ { HEAD5, 0xc0, 0x1d, 1 }, 14, "outside" },
		{ { HEAD5, 5, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1 }, 24,
			"outside" },
		{ { HEAD5, 5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 }, 22,
			"too large" },
		{ { HEAD5, 5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2 }, 22,
			"shortest" },
		{ { 1, 6, 5, 0, 0, 0, 0, 0, 0, 0x14, 0x40, 5, 1 }, 13, "not in its bucket" },
	};
	static const uint8_t good[] = { HEAD5, 5, 1 };
	struct hist *h cleanup(hist_free_p) = hist_new(), *before cleanup(hist_free_p) = hist_new();

	(void)state;
	assert_int_equal(hist_unpack(good, sizeof(good), h, NULL), 0);
	assert_true(h->n == 1 && h->buckets[5] == 1);
	*before = *h;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err e = { 0 };

		if (hist_unpack(cases[i].bytes, cases[i].n_bytes, h, &e) != -1)
			fail_msg("case %zu was taken", i);
		assert_int_equal(e.kind, ERR_FORMAT);
		assert_contains(e.msg, cases[i].why);
		assert_memory_equal(h, before, sizeof(*h));
	}
}

/* Whatever is flipped or cut: refused, or a histogram that is consistent in itself. */
static void flipped_and_cut_bytes_never_give_nonsense(void **state)
{
	struct hist *h cleanup(hist_free_p) = hist_new();
	uint8_t *bytes cleanup(free_p) = NULL;
	size_t n_bytes = 0;
	struct rng r;

	(void)state;
	rng_init(&r, 21);
	for (int i = 0; i < 30; i++)
		hist_add(h, random_value(&r));
	assert_int_equal(hist_pack(h, &bytes, &n_bytes, NULL), 0);
	for (int i = 0; i < 2000; i++) {
		size_t at = rng_below(&r, n_bytes),
		       n = n_bytes - (i % 3 ? 0 : rng_below(&r, n_bytes));
		uint8_t old = bytes[at];
		uint64_t got, n_all = 0;

		bytes[at] = (uint8_t)rng_next(&r);
		if (hist_unpack(bytes, n, h, NULL) == 0 && h->n > 0) {
			for (unsigned k = 0; k < HIST_N_BUCKETS; k++)
				n_all += h->buckets[k];
			assert_true(n_all == h->n);
			assert_int_equal(hist_quantile(h, 0.5, &got), 0);
			assert_true(got >= h->min_ns && got <= h->max_ns);
		}
		bytes[at] = old;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_cover_everything_without_gaps),
		cmocka_unit_test(no_bucket_is_wider_than_a_64th),
		cmocka_unit_test(quantiles_agree_with_a_sorted_array),
		cmocka_unit_test(an_empty_one_has_no_quantile),
		cmocka_unit_test(quantiles_need_ten_over_the_rest),
		cmocka_unit_test(merging_is_the_same_as_adding_all_to_one),
		cmocka_unit_test(the_mean_is_exact),
		cmocka_unit_test(packing_and_back_changes_nothing),
		cmocka_unit_test(a_typical_one_packs_small),
		cmocka_unit_test(damaged_bytes_are_refused_and_change_nothing),
		cmocka_unit_test(flipped_and_cut_bytes_never_give_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include "stats/summary.h"

/* Checked by hand; the standard deviation is that of a sample (n - 1). */
static const struct {
	double values[8];
	struct summary want;
} cases[] = {
	{ { 5 }, { .n = 1, .min = 5, .max = 5, .mean = 5, .sd = 0, .median = 5 } },
	{ { 3, 1 }, { .n = 2,
			    .min = 1,
			    .max = 3,
			    .mean = 2,
			    .sd = 1.4142135623730951,
			    .median = 2,
			    .spread_ratio = 1 } },
	{ { 9, 1, 2 }, { .n = 3,
			       .min = 1,
			       .max = 9,
			       .mean = 4,
			       .sd = 4.358898943540674,
			       .median = 2,
			       .spread_ratio = 4 } },
	{ { 2, 4, 4, 4, 5, 5, 7, 9 }, { .n = 8,
					      .min = 2,
					      .max = 9,
					      .mean = 5,
					      .sd = 2.1380899352993952,
					      .median = 4.5,
					      .spread_ratio = 7 / 4.5 } },
	{ { -3, -1 }, { .n = 2,
			      .min = -3,
			      .max = -1,
			      .mean = -2,
			      .sd = 1.4142135623730951,
			      .median = -2,
			      .spread_ratio = 1 } },
	{ { -1, 0, 1 }, { .n = 3, .min = -1, .max = 1, .mean = 0, .sd = 1, .median = 0 } },
};

static void summaries_agree_with_hand_computed_ones(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct summary *want = &cases[i].want;
		struct summary s = { 0 };

		assert_int_equal(summary_of(cases[i].values, want->n, &s), 0);
		assert_int_equal(s.n, want->n);
		assert_close(s.min, want->min, 0.0);
		assert_close(s.max, want->max, 0.0);
		assert_close(s.mean, want->mean, 1e-15);
		assert_close(s.sd, want->sd, 1e-15);
		assert_close(s.median, want->median, 1e-15);
		assert_close(s.spread_ratio, want->spread_ratio, 1e-15);
	}
}

static void a_small_spread_on_a_large_mean_keeps_its_digits(void **state)
{
	const double values[] = { 1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16 };
	struct summary s;

	(void)state;
	assert_int_equal(summary_of(values, 4, &s), 0);
	assert_close(s.mean, 1e9 + 10, 1e-16);
	assert_close(s.sd * s.sd, 30.0, 1e-9);
}

static void the_values_keep_their_order(void **state)
{
	const double before[] = { 3, 1, 2 };
	double values[] = { 3, 1, 2 };
	struct summary s;

	(void)state;
	assert_int_equal(summary_of(values, 3, &s), 0);
	assert_memory_equal(values, before, sizeof(before));
}

static void nothing_has_no_summary(void **state)
{
	struct summary s = { .mean = 7 };

	(void)state;
	assert_int_equal(summary_of(NULL, 0, &s), 1);
	assert_close(s.mean, 7.0, 0.0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(summaries_agree_with_hand_computed_ones),
		cmocka_unit_test(a_small_spread_on_a_large_mean_keeps_its_digits),
		cmocka_unit_test(the_values_keep_their_order),
		cmocka_unit_test(nothing_has_no_summary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

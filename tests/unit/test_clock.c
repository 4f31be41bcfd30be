/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include "base/clock.h"

static void the_fake_moves_only_when_told_to(void **state)
{
	struct fake_clock f = { .now_ns = 100 };
	struct clock c = clock_fake(&f);

	(void)state;
	assert_int_equal(clock_now_ns(&c), 100);
	assert_int_equal(clock_now_ns(&c), 100);
	clock_sleep_until_ns(&c, 250);
	assert_int_equal(clock_now_ns(&c), 250);
	clock_sleep_until_ns(&c, 50);
	assert_int_equal(clock_now_ns(&c), 250);
	f.now_ns = 300;
	assert_int_equal(clock_now_ns(&c), 300);
}

static void the_real_one_never_goes_back(void **state)
{
	uint64_t before_ns = clock_now_ns(&clock_monotonic);

	(void)state;
	for (int i = 0; i < 1000; i++) {
		uint64_t now_ns = clock_now_ns(&clock_monotonic);

		assert_true(now_ns >= before_ns);
		before_ns = now_ns;
	}
	clock_sleep_until_ns(&clock_monotonic, 1); /* past: returns */
	clock_sleep_until_ns(&clock_monotonic, before_ns + 1);
	assert_true(clock_now_ns(&clock_monotonic) > before_ns);
}

static void the_wall_clock_counts_from_1970(void **state)
{
	const uint64_t in_2020_ns = UINT64_C(1577836800) * 1000000000;

	(void)state;
	assert_true(clock_wall_ns() > in_2020_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_fake_moves_only_when_told_to),
		cmocka_unit_test(the_real_one_never_goes_back),
		cmocka_unit_test(the_wall_clock_counts_from_1970),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

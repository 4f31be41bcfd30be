/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include "base/err.h"
#include "base/units.h"

struct good {
	const char *text;
	uint64_t value;
};

struct bad {
	const char *text;
	const char *why; /* part of the message */
};

typedef int parse_fn(const char *text, uint64_t *ret, struct err *e);

static void check_good(parse_fn *parse, const struct good *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct err e = { 0 };
		uint64_t value = 1;

		if (parse(cases[i].text, &value, &e) != 0)
			fail_msg("'%s': %s", cases[i].text, e.msg);
		if (value != cases[i].value)
			fail_msg("'%s' gives %llu", cases[i].text, (unsigned long long)value);
	}
}

static void check_bad(parse_fn *parse, const struct bad *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct err e = { 0 };
		uint64_t value = 77;

		if (parse(cases[i].text, &value, &e) != -1)
			fail_msg("'%s' was taken", cases[i].text);
		assert_int_equal(e.kind, ERR_USAGE);
		assert_int_equal(value, 77);
		assert_contains(e.msg, cases[i].text);
		assert_contains(e.msg, cases[i].why);
	}
}

#define CHECK(fn, parse, cases) fn(parse, cases, sizeof(cases) / sizeof((cases)[0]))

static void reads_sizes(void **state)
{
	static const struct good cases[] = {
		{ "0", 0 },
		{ "1", 1 },
		{ "007", 7 },
		{ "512B", 512 },
		{ "4k", 4096 },
		{ "4K", 4096 },
		{ "4KiB", 4096 },
		{ "4kB", 4000 },
		{ "4KB", 4000 },
		{ "1.5g", UINT64_C(3) << 29 },
		{ "1.5G", UINT64_C(3) << 29 },
		{ "1.5GB", 1500000000 },
		{ "64MiB", 64 << 20 },
		{ "2m", 2 << 20 },
		{ "2t", UINT64_C(2) << 40 },
		{ "2TB", 2000000000000 },
		{ "3P", UINT64_C(3) << 50 },
		{ "3PB", 3000000000000000 },
		{ "0.5k", 512 },
		{ "1.0000", 1 },
		{ "0.0009765625k", 1 },
		{ "1.50000000000000000000000000000k", 1536 },
		{ "0.000000000000001PB", 1 },
		{ "18446744073709551615", UINT64_MAX },
		{ "16383P", UINT64_C(16383) << 50 },
	};

	(void)state;
	CHECK(check_good, units_parse_bytes, cases);
}

static void refuses_what_is_no_size(void **state)
{
	static const struct bad cases[] = {
		{ "", "empty" },
		{ " 4k", "space" },
		{ "4k ", "space" },
		{ "4 k", "space" },
		{ "-1", "must be positive" },
		{ "-0", "must be positive" },
		{ "-.5", "must be positive" },
		{ "-", "digit" },
		{ "+1", "sign" },
		{ "0x10", "hexadecimal" },
		{ "1e30", "exponents" },
		{ "1E+3", "exponents" },
		{ "nan", "digit" },
		{ "inf", "digit" },
		{ "k", "digit" },
		{ ".5k", "before the point" },
		{ "5.", "behind the point" },
		{ "5.k", "behind the point" },
		{ "1.2.3", "unit" },
		{ "1,5g", "point" },
		{ "12abc", "'abc' is not a unit" },
		{ "4kk", "unit" },
		{ "4kib", "unit" },
		{ "4gb", "unit" },
		{ "1e", "unit" },
		{ "1.0000000001k", "whole number of bytes" },
		{ "0.5", "whole number of bytes" },
		{ "0.0000000000000000001P", "18 digits" },
		{ "18446744073709551616", "too large" },
		{ "99999999999999999999999999999999", "too large" },
		{ "99999999999P", "too large" },
		{ "16384P", "too large" },
	};

	(void)state;
	CHECK(check_bad, units_parse_bytes, cases);
}

static void reads_durations(void **state)
{
	static const struct good cases[] = {
		{ "5", 5000000000 },
		{ "1.5s", 1500000000 },
		{ "500ms", 500000000 },
		{ "10us", 10000 },
		{ "0.001us", 1 },
		{ "2m", 120000000000 },
		{ "10min", 600000000000 },
		{ "1h", 3600000000000 },
		{ "0", 0 },
		{ "18446744073.709551615", UINT64_MAX },
	};

	(void)state;
	CHECK(check_good, units_parse_duration, cases);
}

static void refuses_what_is_no_duration(void **state)
{
	static const struct bad cases[] = {
		{ "", "empty" },
		{ "-1", "must be positive" },
		{ "1e30", "exponents" },
		{ "5 s", "space" },
		{ "5sec", "unit" },
		{ "5k", "unit" },
		{ "5M", "unit" },
		{ "0.0001us", "whole number of nanoseconds" },
		{ "18446744073.709551616", "too large" },
		{ "9999999999h", "too large" },
	};

	(void)state;
	CHECK(check_bad, units_parse_duration, cases);
}

static void reads_counts_and_refuses_the_rest(void **state)
{
	static const struct good good[] = {
		{ "0", 0 },
		{ "32", 32 },
		{ "18446744073709551615", UINT64_MAX },
	};
	static const struct bad bad[] = {
		{ "", "empty" },
		{ "-4", "must be positive" },
		{ "1k", "digits only" },
		{ "1.5", "whole number" },
		{ "1.0", "whole number" },
		{ "1e3", "exponents" },
		{ "18446744073709551616", "too large" },
	};

	(void)state;
	CHECK(check_good, units_parse_count, good);
	CHECK(check_bad, units_parse_count, bad);
}

static void reads_percentages_and_refuses_the_rest(void **state)
{
	static const struct {
		const char *text;
		double pct;
	} good[] = { { "0", 0 }, { "70", 70 }, { "70%", 70 }, { "12.5%", 12.5 }, { "100.0", 100 },
		{ "0.1", 0.1 } };
	static const struct bad bad[] = {
		{ "101", "allowed is 0 to 100" },
		{ "100.1%", "allowed is 0 to 100" },
		{ "-1", "must be positive" },
		{ "50%%", "unit" },
		{ "%", "digit" },
		{ "", "empty" },
		{ "nan", "digit" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		double pct = -1;

		assert_int_equal(units_parse_pct(good[i].text, &pct, NULL), 0);
		assert_close(pct, good[i].pct, 1e-15);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err e = { 0 };
		double pct = 77;

		assert_int_equal(units_parse_pct(bad[i].text, &pct, &e), -1);
		assert_int_equal(e.kind, ERR_USAGE);
		assert_close(pct, 77.0, 0.0);
		assert_contains(e.msg, bad[i].why);
	}
}

static void writes_binary_sizes_exactly_where_short(void **state)
{
	static const struct {
		uint64_t n_bytes;
		const char *text;
	} cases[] = {
		{ 0, "0 B" },
		{ 512, "512 B" },
		{ 1023, "1023 B" },
		{ 1024, "1 KiB" },
		{ 1536, "1.5 KiB" },
		{ 4096, "4 KiB" },
		{ 4097, "4097 B" },
		{ UINT64_C(3) << 29, "1.5 GiB" },
		{ UINT64_C(1025) << 20, "1025 MiB" },
		{ (UINT64_C(5) << 30) + 1, "5.00 GiB" },
		{ UINT64_C(1) << 60, "1 EiB" },
		{ UINT64_MAX, "16.0 EiB" },
	};
	char text[UNITS_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(units_bytes_iec(cases[i].n_bytes, text), cases[i].text);
}

struct written {
	double value;
	const char *text;
};

static void check_written(
	const char *(*write)(double, char[UNITS_TEXT_MAX]), const struct written *cases, size_t n)
{
	char text[UNITS_TEXT_MAX];

	for (size_t i = 0; i < n; i++)
		assert_string_equal(write(cases[i].value, text), cases[i].text);
}

static void writes_numbers_for_people(void **state)
{
	static const struct written sig3[] = {
		{ 0, "0" },
		{ 0.0123, "0.0123" },
		{ 1.234, "1.23" },
		{ 1.2, "1.20" },
		{ 9.996, "10.0" },
		{ 12.34, "12.3" },
		{ 99.96, "100" },
		{ 123.4, "123" },
		{ 1234.4, "1234" },
		{ 12345.6, "12346" },
		{ -5.5, "-5.50" },
	};
	static const struct written si[] = {
		{ 0, "0 B" },
		{ 999, "999 B" },
		{ 999.4, "999 B" },
		{ 999.6, "1 kB" },
		{ 512e6, "512 MB" },
		{ 1.02e9, "1.02 GB" },
		{ 1.5e9, "1.5 GB" },
		{ 999.7e6, "1 GB" },
		{ 2e18, "2 EB" },
	};
	static const struct written durations[] = {
		{ 0, "0 s" },
		{ 9.5e-7, "950 ns" },
		{ 1.234e-5, "12.3 µs" },
		{ 4.56e-3, "4.56 ms" },
		{ 0.9999, "1 s" },
		{ 7.8, "7.8 s" },
		{ 3600, "3600 s" },
	};
	static const struct written waits[] = {
		{ -1, "0 s" },
		{ 0, "0 s" },
		{ 0.2, "1 s" },
		{ 45, "45 s" },
		{ 59.6, "1 min" },
		{ 125, "2 min 5 s" },
		{ 3599.7, "1 h" },
		{ 3780, "1 h 3 min" },
		{ 1e6, "277 h 47 min" },
	};

	(void)state;
	CHECK(check_written, units_sig3, sig3);
	CHECK(check_written, units_bytes_si, si);
	CHECK(check_written, units_duration, durations);
	CHECK(check_written, units_wait, waits);
}

static void extreme_numbers_fit_the_room(void **state)
{
	static const double values[] = { 1e300, -1e300, HUGE_VAL, -HUGE_VAL, (double)NAN, 1e-300,
		999e12, -999999999999999.0, 1e15, -1.23456e-12 };
	char text[UNITS_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		assert_true(strlen(units_sig3(values[i], text)) < UNITS_TEXT_MAX - 8);
		assert_true(strlen(units_bytes_si(values[i], text)) < UNITS_TEXT_MAX - 4);
		assert_true(strlen(units_duration(values[i], text)) < UNITS_TEXT_MAX - 4);
		assert_true(strlen(units_wait(values[i], text)) < UNITS_TEXT_MAX - 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_sizes),
		cmocka_unit_test(refuses_what_is_no_size),
		cmocka_unit_test(reads_durations),
		cmocka_unit_test(refuses_what_is_no_duration),
		cmocka_unit_test(reads_counts_and_refuses_the_rest),
		cmocka_unit_test(reads_percentages_and_refuses_the_rest),
		cmocka_unit_test(writes_binary_sizes_exactly_where_short),
		cmocka_unit_test(writes_numbers_for_people),
		cmocka_unit_test(extreme_numbers_fit_the_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Numbers for people. Rounding decides the unit, not the other way round: 999.7 kB is "1 MB", never
 * "1000 kB".
 */
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Zeros behind a point say nothing in running text: "4.50" becomes "4.5". */
static void trim_zeros(char *text)
{
	if (!strchr(text, '.'))
		return;
	size_t n = strlen(text);

	while (n > 0 && text[n - 1] == '0')
		n--;
	if (n > 0 && text[n - 1] == '.')
		n--;
	text[n] = '\0';
}

const char *units_sig3(double value, char text[UNITS_TEXT_MAX])
{
	char scientific[UNITS_TEXT_MAX];
	int n_decimals = 0, exponent = 0;

	if (!isfinite(value) || fabs(value) >= 1e15) {
		snprintf(text, UNITS_TEXT_MAX, "%.3g", value);
		return text;
	}
	if (fabs(value) < 1e-12) {
		snprintf(text, UNITS_TEXT_MAX, "0");
		return text;
	}
	/* The exponent after rounding to three digits: 9.996 is 1.00e+01, so it gets "10.0". */
	snprintf(scientific, sizeof(scientific), "%.2e", value);

	const char *digits = strchr(scientific, 'e') + 1;

	for (const char *c = digits + 1; *c; c++)
		exponent = exponent * 10 + (*c - '0');
	if (*digits == '-')
		exponent = -exponent;
	if (exponent < 2)
		n_decimals = 2 - exponent;
	snprintf(text, UNITS_TEXT_MAX, "%.*f", n_decimals, value);
	return text;
}

/* "12.3 MB": three digits, the zeros trimmed, with the largest of the units that fits. */
static const char *with_unit(
	double value, const char *const *units, size_t n_units, char text[UNITS_TEXT_MAX])
{
	char number[UNITS_TEXT_MAX];
	size_t k = 0;

	while (k + 1 < n_units && fabs(value) >= 999.5) {
		value /= 1000;
		k++;
	}
	units_sig3(value, number);
	trim_zeros(number);
	snprintf(text, UNITS_TEXT_MAX, "%.20s %s", number, units[k]);
	return text;
}

const char *units_bytes_si(double n_bytes, char text[UNITS_TEXT_MAX])
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };

	return with_unit(n_bytes, units, sizeof(units) / sizeof(units[0]), text);
}

const char *units_duration(double seconds, char text[UNITS_TEXT_MAX])
{
	static const char *const units[] = { "ns", "µs", "ms", "s" };

	if (fabs(seconds) < 1e-15) {
		snprintf(text, UNITS_TEXT_MAX, "0 s");
		return text;
	}
	return with_unit(seconds * 1e9, units, sizeof(units) / sizeof(units[0]), text);
}

const char *units_bytes_iec(uint64_t n_bytes, char text[UNITS_TEXT_MAX])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	unsigned k = n_bytes ? (63u - (unsigned)__builtin_clzll(n_bytes)) / 10 : 0;
	uint64_t unit = UINT64_C(1) << (10 * k);
	uint64_t whole = n_bytes / unit, rest = n_bytes % unit;
	/* In hundredths: rest < unit <= 2^60, so 128 bits for the product. */
	unsigned __int128 hundredths = (unsigned __int128)rest * 100;

	if (hundredths % unit == 0) {
		snprintf(text, UNITS_TEXT_MAX, "%llu.%02u", (unsigned long long)whole,
			(unsigned)(hundredths / unit));
		trim_zeros(text);
		size_t n = strlen(text);

		snprintf(text + n, UNITS_TEXT_MAX - n, " %s", units[k]);
		return text;
	}
	/* One unit down it may be whole: "1025 MiB", "4097 B". */
	uint64_t lower = unit / 1024;

	if (n_bytes % lower == 0 && n_bytes / lower < 100000) {
		snprintf(text, UNITS_TEXT_MAX, "%llu %s", (unsigned long long)(n_bytes / lower),
			units[k - 1]);
		return text;
	}
	char number[UNITS_TEXT_MAX];

	units_sig3((double)n_bytes / (double)unit, number);
	snprintf(text, UNITS_TEXT_MAX, "%.20s %s", number, units[k]);
	return text;
}

const char *units_wait(double seconds, char text[UNITS_TEXT_MAX])
{
	unsigned long long s = 0;

	if (seconds > 0)
		s = seconds < 1	     ? 1
		    : seconds < 1e12 ? (unsigned long long)(seconds + 0.5)
				     : 1000000000000;
	if (s >= 3600) {
		unsigned long long n_min = (s + 30) / 60;

		if (n_min % 60)
			snprintf(text, UNITS_TEXT_MAX, "%llu h %llu min", n_min / 60, n_min % 60);
		else
			snprintf(text, UNITS_TEXT_MAX, "%llu h", n_min / 60);
	} else if (s >= 60 && s % 60) {
		snprintf(text, UNITS_TEXT_MAX, "%llu min %llu s", s / 60, s % 60);
	} else if (s >= 60) {
		snprintf(text, UNITS_TEXT_MAX, "%llu min", s / 60);
	} else {
		snprintf(text, UNITS_TEXT_MAX, "%llu s", s);
	}
	return text;
}

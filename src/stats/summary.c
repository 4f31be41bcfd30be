/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mean and variance in one pass with running updates (Welford 1962), which loses no digits when
 * the spread is small against the mean.
 */
#include "stats/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static int by_value(const void *a, const void *b)
{
	double x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

int summary_of(const double *values, size_t n, struct summary *ret)
{
	cleanup(free_p) double *sorted = n > 0 ? calloc(n, sizeof(*sorted)) : NULL;
	struct summary s = { .n = n };
	double squares = 0;

	if (!sorted)
		return 1;
	for (size_t i = 0; i < n; i++) {
		double from_mean = values[i] - s.mean;

		sorted[i] = values[i];
		s.mean += from_mean / (double)(i + 1);
		squares += from_mean * (values[i] - s.mean);
	}
	qsort(sorted, n, sizeof(*sorted), by_value);
	s.min = sorted[0];
	s.max = sorted[n - 1];
	s.median = n % 2 ? sorted[n / 2] : sorted[n / 2 - 1] / 2 + sorted[n / 2] / 2;
	if (n >= 2) {
		s.sd = sqrt(squares / (double)(n - 1));
		if (fabs(s.median) > 0)
			s.spread_ratio = (s.max - s.min) / fabs(s.median);
	}
	*ret = s;
	return 0;
}

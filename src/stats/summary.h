/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Few numbers about few samples, floor 1, pure. One run is one observation: these work on the
 * samples of a metric, never on the seconds inside a run.
 */
#pragma once

#include <stddef.h>

struct summary {
	size_t n;
	double min;
	double max;
	double mean;
	double sd;	     /* n - 1 below the line; 0 when n < 2 */
	double median;	     /* mean of the middle two for an even n */
	double spread_ratio; /* (max - min) / |median|; 0 when n < 2 or the median is 0 */
};

/**
 * summary_of() - all of the above
 * @values: [n] any order, finite; not changed
 * @n:      >= 1
 *
 * Return: 0; 1 if n is 0 or memory for the sort is out (@ret untouched)
 */
int summary_of(const double *values, size_t n, struct summary *ret);

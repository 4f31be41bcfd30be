/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Latency histogram, floor 1, pure. Log-linear: values below 64 ns are exact, above that every
 * power of two has 64 buckets, so a reported value is off by at most 1/64. The whole range of
 * uint64_t fits: there is no ceiling above which latencies are lost. Bucket layout and the packed
 * form: docs/formats.md.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct err;

enum {
	HIST_SUB_BITS = 6, /* 64 buckets per power of two */
	HIST_N_SUB = 1 << HIST_SUB_BITS,
	HIST_N_BUCKETS = (64 - HIST_SUB_BITS + 1) * HIST_N_SUB,
};

/* Plain data; { 0 } is an empty histogram. One writer; merged by hist_merge() after it stopped. */
struct hist {
	uint64_t n;	 /* [count] values recorded */
	uint64_t min_ns; /* exact; undefined while n == 0 */
	uint64_t max_ns; /* exact */
	double sum_ns;	 /* for the mean; a double, so that it cannot overflow */
	uint64_t buckets[HIST_N_BUCKETS];
};

/* Index of the bucket that holds @value_ns: 0..HIST_N_BUCKETS-1. */
static inline unsigned hist_index(uint64_t value_ns)
{
	if (value_ns < HIST_N_SUB)
		return (unsigned)value_ns;

	unsigned exponent = 63u - (unsigned)__builtin_clzll(value_ns);
	unsigned sub = (unsigned)(value_ns >> (exponent - HIST_SUB_BITS)) & (HIST_N_SUB - 1);

	return ((exponent - HIST_SUB_BITS + 1) << HIST_SUB_BITS) + sub;
}

static inline void hist_add(struct hist *h, uint64_t value_ns)
{
	h->buckets[hist_index(value_ns)]++;
	if (h->n++ == 0 || value_ns < h->min_ns)
		h->min_ns = value_ns;
	if (value_ns > h->max_ns)
		h->max_ns = value_ns;
	h->sum_ns += (double)value_ns;
}

/* Smallest and largest value of a bucket [ns]. */
uint64_t hist_bucket_low_ns(unsigned index);
uint64_t hist_bucket_high_ns(unsigned index);

/* Adds all of @from to @into. */
void hist_merge(struct hist *into, const struct hist *from);

/**
 * hist_quantile() - smallest recorded value v with at least q of all samples <= v
 * @h:      may be empty
 * @q:      [1]  0 < q <= 1
 * @ret_ns: [ns] upper edge of the bucket, never above the exact maximum; error <= 1/64
 *
 * Return:  0; 1 if @h is empty (@ret_ns untouched)
 * Threads: any number of readers; no writer at the same time
 * Source:  inverse of the empirical distribution (Hyndman & Fan 1996, definition 1)
 */
int hist_quantile(const struct hist *h, double q, uint64_t *ret_ns);

/* [count] samples that a quantile needs before it is shown: ceil(10 / (1 - q)); no number for q
 * = 1. */
uint64_t hist_quantile_needs(double q);

/* [ns] mean; 0 when empty. */
double hist_mean_ns(const struct hist *h);

/**
 * hist_pack() - the compact form that is stored: varint pairs of (bucket step, count)
 * @ret_bytes: [*ret_n_bytes] the caller frees
 *
 * Return: 0, or -1 with ERR_NOMEM
 */
int hist_pack(const struct hist *h, uint8_t **ret_bytes, size_t *ret_n_bytes, struct err *e);

/**
 * hist_unpack() - reads the packed form; the input is hostile until parsed
 * @ret_hist: untouched on failure
 *
 * Return: 0, or -1 with ERR_FORMAT
 */
int hist_unpack(const uint8_t *bytes, size_t n_bytes, struct hist *ret_hist, struct err *e);

struct hist *hist_new(void); /* empty, or NULL when memory is out */
void hist_free(struct hist *h);
DEFINE_CLEANUP(struct hist *, hist_free)

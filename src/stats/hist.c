/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Everything about the histogram that is not in the measuring loop. The packed form is read in two
 * passes, first to judge and then to fill, so that a damaged one changes nothing and no second
 * histogram is needed.
 */
#include "stats/hist.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum {
	PACK_VERSION = 1,
	VARINT_MAX_BYTES = 10, /* 64 bits, 7 per byte */
	PACK_HEAD_BYTES = 1 + 2 * VARINT_MAX_BYTES + 8,
};

/* A count stays exact as a double, and thousands of histograms add up without overflow. */
#define PACK_N_MAX (UINT64_C(1) << 53)

uint64_t hist_bucket_low_ns(unsigned index)
{
	if (index < HIST_N_SUB)
		return index;

	unsigned shift = (index >> HIST_SUB_BITS) - 1;

	return (uint64_t)(HIST_N_SUB + index % HIST_N_SUB) << shift;
}

uint64_t hist_bucket_high_ns(unsigned index)
{
	if (index < HIST_N_SUB)
		return index;

	unsigned shift = (index >> HIST_SUB_BITS) - 1;

	return hist_bucket_low_ns(index) + ((UINT64_C(1) << shift) - 1);
}

void hist_merge(struct hist *into, const struct hist *from)
{
	if (from->n == 0)
		return;
	if (into->n == 0 || from->min_ns < into->min_ns)
		into->min_ns = from->min_ns;
	if (from->max_ns > into->max_ns)
		into->max_ns = from->max_ns;
	into->n += from->n;
	into->sum_ns += from->sum_ns;
	for (unsigned i = 0; i < HIST_N_BUCKETS; i++)
		into->buckets[i] += from->buckets[i];
}

int hist_quantile(const struct hist *h, double q, uint64_t *ret_ns)
{
	uint64_t n_seen = 0, high_ns;
	double rank;

	if (h->n == 0)
		return 1;
	/* 0.07 of 100 is 7, though 0.07 as a double is a little more: forgive the last bits. */
	rank = q < 1 ? ceil(q * (double)h->n * (1 - 4 * DBL_EPSILON)) : (double)h->n;
	for (unsigned i = 0; i < HIST_N_BUCKETS; i++) {
		n_seen += h->buckets[i];
		if (h->buckets[i] == 0 || (double)n_seen < rank)
			continue;
		high_ns = hist_bucket_high_ns(i);
		*ret_ns = high_ns < h->max_ns ? high_ns : h->max_ns;
		return 0;
	}
	*ret_ns = h->max_ns;
	return 0;
}

uint64_t hist_quantile_needs(double q)
{
	double n = ceil(10 / (1 - q) * (1 - 1e-9));

	return q < 1 && n < 1e18 ? (uint64_t)n : UINT64_MAX;
}

double hist_mean_ns(const struct hist *h)
{
	return h->n ? h->sum_ns / (double)h->n : 0;
}

/* Little-endian base 128, the top bit says that more follows; the shortest form only. */
static uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

static bool get_varint(const uint8_t **at, const uint8_t *end, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
		uint64_t bits = **at & 0x7f;
		bool more = *(*at)++ & 0x80;

		if (shift == 63 && (bits > 1 || more))
			return false;
		value |= bits << shift;
		if (!more) {
			*ret_value = value;
			return shift == 0 || bits != 0;
		}
	}
	return false;
}

static uint8_t *put_double(uint8_t *at, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	for (unsigned k = 0; k < 8; k++)
		*at++ = (uint8_t)(bits >> 8 * k);
	return at;
}

static bool get_double(const uint8_t **at, const uint8_t *end, double *ret_value)
{
	uint64_t bits = 0;

	if (end - *at < 8)
		return false;
	for (unsigned k = 0; k < 8; k++)
		bits |= (uint64_t) * (*at)++ << 8 * k;
	memcpy(ret_value, &bits, sizeof(bits));
	return isfinite(*ret_value);
}

int hist_pack(const struct hist *h, uint8_t **ret_bytes, size_t *ret_n_bytes, struct err *e)
{
	size_t n_used = 0;
	unsigned next = 0; /* the first bucket that was not written yet */

	for (unsigned i = 0; i < HIST_N_BUCKETS; i++)
		n_used += h->buckets[i] != 0;

	uint8_t *bytes = malloc(PACK_HEAD_BYTES + n_used * 2 * VARINT_MAX_BYTES);
	uint8_t *at = bytes;

	if (!bytes)
		return err_set(e, ERR_NOMEM, 0, "no memory to pack a histogram");
	*at++ = PACK_VERSION;
	if (h->n > 0) {
		at = put_varint(at, h->min_ns);
		at = put_varint(at, h->max_ns);
		at = put_double(at, h->sum_ns);
	}
	for (unsigned i = 0; i < HIST_N_BUCKETS; i++) {
		if (h->buckets[i] == 0)
			continue;
		at = put_varint(at, i - next);
		at = put_varint(at, h->buckets[i]);
		next = i + 1;
	}
	*ret_bytes = bytes;
	*ret_n_bytes = (size_t)(at - bytes);
	return 0;
}

struct head {
	uint64_t min_ns, max_ns;
	double sum_ns;
};

/* What the buckets of a packed form add up to. */
struct pairs {
	uint64_t n;
	unsigned first, last; /* index of the lowest and the highest bucket */
};

/* Judges the pairs; fills the buckets of @fill too unless it is NULL. Returns what is wrong. */
static const char *read_pairs(
	const uint8_t *at, const uint8_t *end, struct hist *fill, struct pairs *ret)
{
	uint64_t step, count, n = 0;
	unsigned next = 0, first = 0;

	while (at < end) {
		if (!get_varint(&at, end, &step) || !get_varint(&at, end, &count))
			return "a number is cut off or not in its shortest form";
		if (step >= HIST_N_BUCKETS - next)
			return "a bucket lies outside the table";
		if (count == 0 || count > PACK_N_MAX - n)
			return "a count is zero or too large";
		if (n == 0)
			first = (unsigned)step;
		next += (unsigned)step;
		if (fill)
			fill->buckets[next] = count;
		next++;
		n += count;
	}
	if (n == 0)
		return "it has values but no buckets";
	*ret = (struct pairs){ .n = n, .first = first, .last = next - 1 };
	return NULL;
}

/* The head must agree with the buckets; the sum only up to its rounding. */
static const char *check_head(const struct head *head, const struct pairs *p)
{
	double low_ns = (double)p->n * (double)head->min_ns;
	double high_ns = (double)p->n * (double)head->max_ns;

	if (head->min_ns > head->max_ns || hist_index(head->min_ns) != p->first ||
		hist_index(head->max_ns) != p->last)
		return "minimum or maximum is not in its bucket";
	if (head->sum_ns < low_ns * (1 - 1e-6) || head->sum_ns > high_ns * (1 + 1e-6))
		return "the sum cannot be that of the values";
	return NULL;
}

int hist_unpack(const uint8_t *bytes, size_t n_bytes, struct hist *ret_hist, struct err *e)
{
	const uint8_t *at = bytes, *end = bytes + n_bytes;
	struct head head;
	struct pairs pairs;
	const char *why;

	if (n_bytes == 0 || *at++ != PACK_VERSION)
		return err_set(e, ERR_FORMAT, 0,
			"damaged histogram: not version %d of the packed form", PACK_VERSION);
	if (at == end) {
		memset(ret_hist, 0, sizeof(*ret_hist));
		return 0;
	}
	if (!get_varint(&at, end, &head.min_ns) || !get_varint(&at, end, &head.max_ns) ||
		!get_double(&at, end, &head.sum_ns))
		return err_set(e, ERR_FORMAT, 0, "damaged histogram: the head is cut off");
	why = read_pairs(at, end, NULL, &pairs);
	if (!why)
		why = check_head(&head, &pairs);
	if (why)
		return err_set(e, ERR_FORMAT, 0, "damaged histogram: %s", why);
	memset(ret_hist, 0, sizeof(*ret_hist));
	read_pairs(at, end, ret_hist, &pairs);
	ret_hist->n = pairs.n;
	ret_hist->min_ns = head.min_ns;
	ret_hist->max_ns = head.max_ns;
	ret_hist->sum_ns = head.sum_ns;
	return 0;
}

struct hist *hist_new(void)
{
	return calloc(1, sizeof(struct hist));
}

void hist_free(struct hist *h)
{
	free(h);
}

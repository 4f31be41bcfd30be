/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes are refused, or are a consistent histogram that packs to the very same bytes. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fuzz.h"
#include "stats/hist.h"

static void check_consistent(const struct hist *h)
{
	static const double qs[] = { 1e-9, 0.5, 0.99, 1 };
	uint64_t before_ns = 0, now_ns = 0, n = 0;

	for (unsigned i = 0; i < HIST_N_BUCKETS; i++)
		n += h->buckets[i];
	assert(n == h->n);
	for (size_t i = 0; i < sizeof(qs) / sizeof(qs[0]); i++) {
		if (hist_quantile(h, qs[i], &now_ns) != 0) {
			assert(n == 0);
			return;
		}
		assert(now_ns >= h->min_ns && now_ns <= h->max_ns && now_ns >= before_ns);
		before_ns = now_ns;
	}
	assert(now_ns == h->max_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	struct hist *h cleanup(hist_free_p) = hist_new();
	uint8_t *again cleanup(free_p) = NULL;
	size_t n_again_bytes = 0;
	struct err e = { 0 };

	if (!h)
		return 0;
	if (hist_unpack(bytes, n_bytes, h, &e) != 0) {
		assert(e.kind == ERR_FORMAT && h->n == 0);
		return 0;
	}
	check_consistent(h);
	if (hist_pack(h, &again, &n_again_bytes, &e) == 0)
		assert(n_again_bytes == n_bytes && memcmp(again, bytes, n_bytes) == 0);
	return 0;
}

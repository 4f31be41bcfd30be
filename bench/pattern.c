/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How fast the data of writes is made and checked, in GB/s on one core: it must not limit a
 * device. Usage: build/bench/pattern
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "engine/iobuf.h"
#include "engine/pattern.h"

static const uint64_t RUN_NS = 300000000;

static double fill_gbps(const struct pattern *p, struct iobuf *b)
{
	uint64_t start_ns = clock_now_ns(&clock_monotonic);
	uint64_t now_ns = start_ns;
	uint64_t n_bytes = 0;

	for (; now_ns - start_ns < RUN_NS; now_ns = clock_now_ns(&clock_monotonic))
		for (int i = 0; i < 64; i++, n_bytes += b->slot_bytes)
			pattern_fill(p, b->base, b->slot_bytes, n_bytes, 1);
	return (double)n_bytes / (double)(now_ns - start_ns);
}

static double check_gbps(const struct pattern *p, struct iobuf *b)
{
	uint32_t generations[(1 << 20) / 512];
	struct pattern_bad bad;
	uint64_t n_bytes = 0, n_bad = 0, start_ns, now_ns;

	for (size_t i = 0; i < sizeof(generations) / sizeof(generations[0]); i++)
		generations[i] = 1;
	pattern_fill(p, b->base, b->slot_bytes, 0, 1);
	start_ns = now_ns = clock_now_ns(&clock_monotonic);
	for (; now_ns - start_ns < RUN_NS; now_ns = clock_now_ns(&clock_monotonic))
		for (int i = 0; i < 64; i++, n_bytes += b->slot_bytes)
			n_bad += pattern_check(p, b->base, b->slot_bytes, 0, generations, &bad);
	return n_bad ? -1 : (double)n_bytes / (double)(now_ns - start_ns);
}

int main(void)
{
	static const size_t blocks[] = { 4096, 16384, 1 << 20 };
	static const char *const kinds[] = { "random", "zeros", "compress=50" };
	struct err e = { 0 };

	printf("%-12s %10s %12s %14s %14s\n", "data", "block B", "fill GB/s", "stamped GB/s",
		"check GB/s");
	for (int kind = 0; kind < PATTERN_N_KINDS; kind++)
		for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
			struct iobuf *b cleanup(iobuf_free_p) = NULL;
			struct pattern p = {
				.kind = (enum pattern_kind)kind,
				.compress_pct = 50,
				.seed = 42,
				.unit_bytes = 4096,
			};
			struct pattern stamped = p;

			stamped.stamps = true;
			if (iobuf_new(1, blocks[i], &b, &e) != 0) {
				fprintf(stderr, "%s\n", e.msg);
				return 1;
			}
			printf("%-12s %10zu %12.1f %14.1f %14.1f\n", kinds[kind], blocks[i],
				fill_gbps(&p, b), fill_gbps(&stamped, b), check_gbps(&stamped, b));
		}
	return 0;
}

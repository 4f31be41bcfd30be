/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One anonymous mapping per worker; see iobuf.h. Where it is large enough it lies on huge pages:
 * the kernel then handles a registered slot as one piece instead of one per 4 KiB. Source:
 * madvise(2), MADV_HUGEPAGE.
 */
#include "engine/iobuf.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"

enum {
	HUGE_BYTES = 2 * 1024 * 1024,
	HUGE_FROM_BYTES = 128 * 1024, /* below it, a huge page per worker would be waste */
};

/* The mapping, in *ret_map, and the aligned place in it to use; NULL: no memory. */
static uint8_t *map_buffers(size_t n_bytes, void **ret_map, size_t *ret_map_bytes)
{
	bool huge = n_bytes >= HUGE_FROM_BYTES;
	size_t map_bytes = n_bytes;
	uint8_t *base;

	/* One more to align in, and whole pages at the end. */
	if (huge && __builtin_add_overflow(n_bytes, 2 * (size_t)HUGE_BYTES, &map_bytes))
		return NULL;
	base = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		return NULL;
	*ret_map = base;
	*ret_map_bytes = map_bytes;
	if (huge) {
		base += (HUGE_BYTES - (uintptr_t)base % HUGE_BYTES) % HUGE_BYTES;
		madvise(base, map_bytes - HUGE_BYTES, MADV_HUGEPAGE); /* refused: small pages do */
	}
	return base;
}

int iobuf_new(uint32_t n_slots, size_t slot_bytes, struct iobuf **ret, struct err *e)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	size_t stride_bytes, n_bytes, map_bytes;
	struct iobuf *b;
	uint8_t *base;
	void *map;

	if (__builtin_add_overflow(slot_bytes, page_bytes - 1, &stride_bytes))
		return err_set(e, ERR_NOMEM, 0, "no memory for buffers of %zu bytes", slot_bytes);
	stride_bytes -= stride_bytes % page_bytes;
	if (n_slots == 0 || stride_bytes == 0 ||
		__builtin_mul_overflow(stride_bytes, (size_t)n_slots, &n_bytes))
		return err_set(e, ERR_NOMEM, 0, "no memory for %u buffers of %zu bytes", n_slots,
			slot_bytes);
	b = calloc(1, sizeof(*b));
	if (!b)
		return err_set(e, ERR_NOMEM, 0, "no memory for %u buffers", n_slots);
	base = map_buffers(n_bytes, &map, &map_bytes);
	if (!base) {
		free(b);
		return err_set(e, ERR_NOMEM, 0, "no memory for %u buffers of %zu bytes", n_slots,
			slot_bytes);
	}
	memset(base, 0x55, n_bytes); /* touched now, not inside the clock */
	*b = (struct iobuf){
		.base = base,
		.map = map,
		.map_bytes = map_bytes,
		.stride_bytes = stride_bytes,
		.slot_bytes = slot_bytes,
		.n_slots = n_slots,
	};
	*ret = b;
	return 0;
}

void iobuf_free(struct iobuf *b)
{
	if (!b)
		return;
	munmap(b->map, b->map_bytes);
	free(b);
}

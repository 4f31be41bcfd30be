/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One anonymous mapping per worker; see iobuf.h. */
#include "engine/iobuf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"

int iobuf_new(uint32_t n_slots, size_t slot_bytes, struct iobuf **ret, struct err *e)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	size_t stride_bytes, n_bytes;
	struct iobuf *b;
	void *base;

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
	base = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED) {
		free(b);
		return err_set(e, ERR_NOMEM, errno, "no memory for %u buffers of %zu bytes",
			n_slots, slot_bytes);
	}
	memset(base, 0x55, n_bytes); /* touched now, not inside the clock */
	*b = (struct iobuf){
		.base = base,
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
	munmap(b->base, b->stride_bytes * b->n_slots);
	free(b);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * I/O buffers, floor 1: one page-aligned mapping cut into equal slots, touched before the clock
 * starts (an unaligned buffer triples the kernel's copy). Owned by a worker, borrowed by engines.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct err;

struct iobuf {
	uint8_t *base;	     /* page aligned */
	size_t stride_bytes; /* between slots; a multiple of the page size */
	size_t slot_bytes;   /* usable in each slot */
	uint32_t n_slots;
};

/* All pages are touched. 0, or -1 with ERR_NOMEM. */
int iobuf_new(uint32_t n_slots, size_t slot_bytes, struct iobuf **ret, struct err *e);
void iobuf_free(struct iobuf *b);
DEFINE_CLEANUP(struct iobuf *, iobuf_free)

static inline uint8_t *iobuf_slot(const struct iobuf *b, uint32_t slot)
{
	return b->base + (size_t)slot * b->stride_bytes;
}

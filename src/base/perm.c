/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Each step of a round is a bijection on 0..mask: a multiplication by an odd number modulo a power
 * of two, an addition, and an exclusive or with bits from above. The multiplication carries
 * changes upward only, the shift carries the upper half down.
 */
#include "base/perm.h"

#include <assert.h>

#include "base/rng.h"

void perm_init(struct perm *p, uint64_t n, uint64_t seed)
{
	unsigned n_bits = n > 1 ? 64u - (unsigned)__builtin_clzll(n - 1) : 0;
	struct rng r;

	assert(n >= 1 && n <= UINT64_C(1) << 62);
	rng_init(&r, seed);
	p->n = n;
	p->mask = (UINT64_C(1) << n_bits) - 1;
	p->shift = n_bits > 1 ? (n_bits + 1) / 2 : 1;
	for (int k = 0; k < 3; k++) {
		p->mul[k] = rng_next(&r) | 1;
		p->add[k] = rng_next(&r);
	}
}

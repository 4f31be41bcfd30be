/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A random order of 0..n-1 without memory, floor 0: every index once per pass, no holes, no
 * repeats. A keyed bijection on the next power of two (multiply by an odd number, xor-shift, add;
 * three rounds), with cycle walking for the values outside (Black, Rogaway 2002).
 */
#pragma once

#include <stdint.h>

struct perm {
	uint64_t n;    /* [count] size of the set, >= 1 */
	uint64_t mask; /* 2^bits - 1 >= n - 1 */
	unsigned shift;
	uint64_t mul[3]; /* odd */
	uint64_t add[3];
};

/* @n: 1..2^62 */
void perm_init(struct perm *p, uint64_t n, uint64_t seed);

/**
 * perm_at() - the element at position i of the order
 * @i: 0 <= i < n
 *
 * Return: 0..n-1; a bijection. About two rounds of walking at worst on average.
 */
static inline uint64_t perm_at(const struct perm *p, uint64_t i)
{
	do {
		for (int k = 0; k < 3; k++) {
			i = (i * p->mul[k] + p->add[k]) & p->mask;
			i ^= i >> p->shift;
		}
	} while (i >= p->n);
	return i;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is written, floor 1: data that neither compresses nor repeats from block to block, made
 * faster than a device takes it (bench/pattern measures it), and stamps that tell later what a
 * block should hold.
 *
 * The unit is the stamp unit: a block is cut into units of unit_bytes, and each unit is a pure
 * function of (seed, offset of the unit, generation, kind). With stamps, its first 40 bytes are a
 * struct pattern_stamp and the checksum covers the rest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pattern_kind {
	PATTERN_RANDOM,	  /* incompressible */
	PATTERN_ZEROS,	  /* all zero; stamps still stand when asked for */
	PATTERN_COMPRESS, /* compress_pct of each unit is zero, the rest random */
	PATTERN_N_KINDS
};

struct pattern {
	enum pattern_kind kind;
	uint32_t compress_pct; /* 0..100 */
	uint64_t seed;
	bool stamps;	     /* --verify */
	uint32_t unit_bytes; /* 512..4096, a multiple of 8, divides the block */
};

/**
 * pattern_fill() - fills a block
 * @buffer:       [n_bytes] 8-byte aligned
 * @n_bytes:      a multiple of unit_bytes
 * @offset_bytes: where in the file the block goes
 * @generation:   how often this place has been written before, from 1; makes rewrites differ
 *
 * Hot path: no allocation, no branch per byte.
 */
void pattern_fill(const struct pattern *p, void *buffer, size_t n_bytes, uint64_t offset_bytes,
	uint32_t generation);

enum pattern_held {
	PATTERN_HELD_RIGHT,
	PATTERN_HELD_ZEROS,
	PATTERN_HELD_OTHER_OFFSET, /* a good stamp of another place */
	PATTERN_HELD_OLDER,	   /* a good stamp of an older generation */
	PATTERN_HELD_NEWER,	   /* a good stamp of a generation never expected yet */
	PATTERN_HELD_OTHER_RUN,	   /* a good stamp with another seed */
	PATTERN_HELD_GARBAGE,	   /* no stamp, or the checksum does not fit */
	PATTERN_N_HELD
};

/* "zeros", "data of another offset", ...: borrowed, static. */
const char *pattern_held_text(enum pattern_held held);

struct pattern_bad {
	uint64_t offset_bytes; /* of the first bad unit */
	enum pattern_held held;
	uint64_t stamp_offset_bytes; /* when held is OTHER_OFFSET */
	uint32_t stamp_generation;   /* when held is OLDER or NEWER */
	uint32_t expected_generation;
};

/**
 * pattern_check() - whether a block read back holds what was written
 * @generations: [n_bytes / unit_bytes] expected generation of each unit; 0: not written by this
 *               run, not checked
 * @ret_bad:     the first bad unit; untouched when all is right
 *
 * Return: number of bad units, 0 when all is right
 */
size_t pattern_check(const struct pattern *p, const void *buffer, size_t n_bytes,
	uint64_t offset_bytes, const uint32_t *generations, struct pattern_bad *ret_bad);

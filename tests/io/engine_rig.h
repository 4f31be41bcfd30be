/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An engine on a real file, for the tests of engine/: small, in /tmp, gone when it is closed. */
#pragma once

#include "../unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "engine/engine.h"
#include "engine/iobuf.h"
#include "engine/pattern.h"

#define RIG_HELPER __attribute__((unused)) static

enum {
	SKIP_STATUS = 77,
	BLOCK = 16 * 1024,
	UNIT = 512,
	N_BLOCKS = 64,
	FILE_BYTES = N_BLOCKS * BLOCK
};

struct rig {
	int fd; /* another one than the engine's, through the page cache; the file has no name */
	struct engine_params params;
	struct iobuf *buffers;
	struct engine *engine;
	struct pattern pattern;
	struct err err;
};

/* A file of FILE_BYTES, one hole. */
RIG_HELPER void rig_init(struct rig *r, uint32_t depth, size_t slot_bytes)
{
	char path[] = "/tmp/clyde-test-XXXXXX";

	memset(r, 0, sizeof(*r));
	r->fd = mkostemp(path, O_CLOEXEC);
	assert_true(r->fd >= 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(ftruncate(r->fd, FILE_BYTES), 0);
	assert_int_equal(iobuf_new(depth, slot_bytes, &r->buffers, &r->err), 0);
	r->pattern = (struct pattern){ .seed = 9, .stamps = true, .unit_bytes = UNIT };
	r->params = (struct engine_params){
		.fd = -1,
		.file_bytes = FILE_BYTES,
		.depth = depth,
		.buffers = r->buffers,
	};
}

/* False: the file system refuses direct I/O. */
RIG_HELPER bool rig_open_file(struct rig *r, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", r->fd);
	r->params.fd = open(path, flags | O_CLOEXEC);
	if (r->params.fd < 0 && flags & O_DIRECT && errno == EINVAL)
		return false;
	assert_true(r->params.fd >= 0);
	return true;
}

RIG_HELPER void rig_open(struct rig *r, const struct engine_ops *ops)
{
	if (ops->open(&r->params, &r->engine, &r->err) != 0)
		fail_msg("%s", r->err.msg);
}

RIG_HELPER void rig_close(struct rig *r)
{
	engine_close(r->engine);
	iobuf_free(r->buffers);
	if (r->params.fd >= 0)
		close(r->params.fd);
	close(r->fd);
}

/* Fills the file behind the engine's back, all units of generation 1. */
RIG_HELPER void rig_fill_file(struct rig *r)
{
	uint8_t *block cleanup(free_p) = aligned_alloc(4096, BLOCK);

	assert_non_null(block);
	for (uint64_t at = 0; at < FILE_BYTES; at += BLOCK) {
		pattern_fill(&r->pattern, block, BLOCK, at, 1);
		assert_int_equal(pwrite(r->fd, block, BLOCK, (off_t)at), BLOCK);
	}
	assert_int_equal(fdatasync(r->fd), 0);
}

/* Number of units in @block that do not hold what belongs to the place. */
RIG_HELPER size_t rig_n_bad(
	const struct rig *r, const void *block, size_t n_bytes, uint64_t offset_bytes)
{
	uint32_t generations[BLOCK / UNIT];
	struct pattern_bad bad;

	for (size_t i = 0; i < BLOCK / UNIT; i++)
		generations[i] = 1;
	return pattern_check(&r->pattern, block, n_bytes, offset_bytes, generations, &bad);
}

/* Reads the file behind the engine's back. */
RIG_HELPER size_t rig_n_bad_in_file(const struct rig *r)
{
	uint8_t *block cleanup(free_p) = aligned_alloc(4096, BLOCK);
	size_t n = 0;

	assert_non_null(block);
	for (uint64_t at = 0; at < FILE_BYTES; at += BLOCK) {
		assert_int_equal(pread(r->fd, block, BLOCK, (off_t)at), BLOCK);
		n += rig_n_bad(r, block, BLOCK, at);
	}
	return n;
}

RIG_HELPER struct io rig_io(enum io_op op, uint16_t slot, uint64_t offset_bytes, uint32_t n_bytes)
{
	return (struct io){
		.op = (uint8_t)op,
		.slot = slot,
		.offset_bytes = offset_bytes,
		.n_bytes = n_bytes,
	};
}

/* One transfer by engine_io() in slot 0. */
RIG_HELPER int64_t rig_transfer(
	struct rig *r, enum io_op op, uint64_t offset_bytes, uint32_t n_bytes)
{
	struct io io = rig_io(op, 0, offset_bytes, n_bytes);

	return engine_io(r->engine, &io);
}

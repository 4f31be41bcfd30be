/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * preadv2(2) and pwritev2(2), one transfer at a time: submit remembers it, reap makes it. What the
 * kernel does with a plain read or write, and what depth 1 costs without a ring.
 */
#include "engine/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "engine/iobuf.h"

struct sync_engine {
	struct engine head;
	const struct iobuf *buffers;
	int fd;
	bool queued;
	struct io io;
};

static int sync_probe(struct err *e)
{
	(void)e;
	return 0;
}

static int sync_open(const struct engine_params *params, struct engine **ret, struct err *e)
{
	struct sync_engine *s;

	if (params->depth > engine_sync.max_depth)
		return err_set(
			e, ERR_USAGE, 0, "engine sync has depth 1, %u was asked", params->depth);
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(e, ERR_NOMEM, 0, "no memory for engine sync");
	s->head.ops = &engine_sync;
	s->buffers = params->buffers;
	s->fd = params->fd;
	*ret = &s->head;
	return 0;
}

static int sync_submit(struct engine *engine, const struct io *ios, uint32_t n)
{
	struct sync_engine *s = (struct sync_engine *)engine;

	if (n == 0)
		return 0;
	if (n > 1 || s->queued)
		return -EBUSY;
	s->io = ios[0];
	s->queued = true;
	return 0;
}

static ssize_t transfer(const struct sync_engine *s)
{
	const struct io *io = &s->io;
	struct iovec iov;

	if (io->op == IO_DATASYNC)
		return fdatasync(s->fd);
	if (io->op == IO_FSYNC)
		return fsync(s->fd);
	iov.iov_base = iobuf_slot(s->buffers, io->slot) + io->buffer_offset_bytes;
	iov.iov_len = io->n_bytes;
	if (io->op == IO_READ)
		return preadv2(s->fd, &iov, 1, (off_t)io->offset_bytes, 0);
	return pwritev2(s->fd, &iov, 1, (off_t)io->offset_bytes, 0);
}

static int sync_reap(struct engine *engine, struct io_done *done, uint32_t n_max, uint32_t n_min,
	uint64_t timeout_ns)
{
	struct sync_engine *s = (struct sync_engine *)engine;
	ssize_t result;

	(void)n_max;
	(void)n_min;
	(void)timeout_ns;
	if (!s->queued)
		return 0;
	result = transfer(s);
	s->queued = false;
	done->slot = s->io.slot;
	done->result = (int32_t)(result < 0 ? -errno : result);
	return 1;
}

static int sync_sync(struct engine *engine)
{
	struct sync_engine *s = (struct sync_engine *)engine;

	return fdatasync(s->fd) != 0 ? -errno : 0;
}

static void sync_describe(const struct engine *engine, struct buf *out)
{
	(void)engine;
	buf_add(out, "sync, preadv2 and pwritev2");
}

static void sync_close(struct engine *engine)
{
	free(engine);
}

const struct engine_ops engine_sync = {
	.name = "sync",
	.summary = "one preadv2 or pwritev2 at a time; depth 1, more by threads",
	.max_depth = 1,
	.probe = sync_probe,
	.open = sync_open,
	.submit = sync_submit,
	.reap = sync_reap,
	.sync = sync_sync,
	.describe = sync_describe,
	.close = sync_close,
};

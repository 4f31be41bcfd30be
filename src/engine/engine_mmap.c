/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A mapping of the file; a transfer is a copy out of it or into it. The copy is made by the kernel
 * (process_vm_readv(2) on ourselves): a page that cannot be had, because the file shrank, the disk
 * failed or is full, is then EFAULT of a call and not a SIGBUS that kills the process. The call
 * costs a fraction of a microsecond a transfer, little beside the page faults that mmap is
 * measured for.
 */
#include "engine/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "engine/iobuf.h"

struct mmap_engine {
	struct engine head;
	const struct iobuf *buffers;
	uint8_t *map;
	size_t n_bytes;
	pid_t pid;
	int fd;
	bool queued;
	struct io io;
};

static int mmap_probe(struct err *e)
{
	char from = 1, to = 0;
	struct iovec local = { &to, 1 }, remote = { &from, 1 };

	if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1)
		return 0;
	err_set(e, ERR_UNSUPPORTED, errno, "a seccomp filter refuses process_vm_readv");
	return 1;
}

static int mmap_open(const struct engine_params *params, struct engine **ret, struct err *e)
{
	int protection = PROT_READ | (params->flags & ENGINE_READ_ONLY ? 0 : PROT_WRITE);
	struct mmap_engine *m;

	if (params->depth > engine_mmap.max_depth)
		return err_set(
			e, ERR_USAGE, 0, "engine mmap has depth 1, %u was asked", params->depth);
	if (params->file_bytes == 0)
		return err_set(e, ERR_USAGE, 0,
			"engine mmap cannot map an empty file; use --engine sync or uring");
	m = calloc(1, sizeof(*m));
	if (!m)
		return err_set(e, ERR_NOMEM, 0, "no memory for engine mmap");
	m->head.ops = &engine_mmap;
	m->buffers = params->buffers;
	m->n_bytes = params->file_bytes;
	m->fd = params->fd;
	m->pid = getpid();
	m->map = mmap(NULL, m->n_bytes, protection, MAP_SHARED, params->fd, 0);
	if (m->map == MAP_FAILED) {
		free(m);
		return err_set(e, ERR_UNSUPPORTED, errno, "cannot map the file");
	}
	*ret = &m->head;
	return 0;
}

static int mmap_submit(struct engine *engine, const struct io *ios, uint32_t n)
{
	struct mmap_engine *m = (struct mmap_engine *)engine;

	if (n == 0)
		return 0;
	if (n > 1 || m->queued)
		return -EBUSY;
	m->io = ios[0];
	m->queued = true;
	return 0;
}

static int flush(const struct mmap_engine *m)
{
	if (msync(m->map, m->n_bytes, MS_SYNC) != 0)
		return -errno;
	return fdatasync(m->fd) != 0 ? -errno : 0;
}

/* Reads end at the end of the mapping; writes beyond it are EFBIG: a mapping does not grow. */
static int64_t transfer(const struct mmap_engine *m)
{
	const struct io *io = &m->io;
	struct iovec local, remote;
	size_t n_bytes = io->n_bytes;
	ssize_t n;

	if (io->op >= IO_DATASYNC)
		return flush(m);
	if (io->offset_bytes >= m->n_bytes)
		return io->op == IO_READ ? 0 : -EFBIG;
	if (n_bytes > m->n_bytes - io->offset_bytes)
		n_bytes = m->n_bytes - io->offset_bytes;
	local.iov_base = iobuf_slot(m->buffers, io->slot) + io->buffer_offset_bytes;
	remote.iov_base = m->map + io->offset_bytes;
	local.iov_len = remote.iov_len = n_bytes;
	n = io->op == IO_READ ? process_vm_readv(m->pid, &local, 1, &remote, 1, 0)
			      : process_vm_writev(m->pid, &local, 1, &remote, 1, 0);
	if (n < 0)
		return errno == EFAULT ? -EIO : -errno;
	return n;
}

static int mmap_reap(struct engine *engine, struct io_done *done, uint32_t n_max, uint32_t n_min,
	uint64_t timeout_ns)
{
	struct mmap_engine *m = (struct mmap_engine *)engine;

	(void)n_max;
	(void)n_min;
	(void)timeout_ns;
	if (!m->queued)
		return 0;
	m->queued = false;
	done->slot = m->io.slot;
	done->result = (int32_t)transfer(m);
	return 1;
}

static int mmap_sync(struct engine *engine)
{
	return flush((struct mmap_engine *)engine);
}

static void mmap_describe(const struct engine *engine, struct buf *out)
{
	(void)engine;
	buf_add(out, "mmap, shared mapping, copied by the kernel");
}

static void mmap_close(struct engine *engine)
{
	struct mmap_engine *m = (struct mmap_engine *)engine;

	if (!m)
		return;
	munmap(m->map, m->n_bytes);
	free(m);
}

const struct engine_ops engine_mmap = {
	.name = "mmap",
	.summary =
		"copies out of and into a shared mapping; depth 1, always through the page cache",
	.max_depth = 1,
	.maps_file = true,
	.probe = mmap_probe,
	.open = mmap_open,
	.submit = mmap_submit,
	.reap = mmap_reap,
	.sync = mmap_sync,
	.describe = mmap_describe,
	.close = mmap_close,
};

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A mapping of the file; a transfer is a memcpy out of it or into it.
 *
 * A page that cannot be had, because the file shrank, the disk failed or is full, is a SIGBUS in
 * the middle of the copy. The handler puts memory of nobody in place of the pages that are left of
 * the transfer, so the copy runs to its end (no longjmp), and the transfer is then EIO and the file
 * mapped anew. The handler stays installed, since engines of other threads may need it; a SIGBUS
 * that is not of such a copy ends the process, as without it.
 *
 * Why not let the kernel copy (process_vm_readv(2) on ourselves gives EFAULT, no signal): it costs
 * more CPU than pread(2), 1.0 us beside 0.7 for 4 KiB of the page cache where memcpy takes 0.5
 * (ext4, Linux 6.18), and the engine would show mapped files slower than they are.
 */
#include "engine/engine.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "engine/iobuf.h"

struct mmap_engine {
	struct engine head;
	const struct iobuf *buffers;
	uint8_t *map;
	size_t n_bytes;
	size_t page_bytes;
	int protection;
	int fd;
	bool queued;
	bool lost; /* the file could not be mapped anew after a fault */
	struct io io;
	/* Of the copy under way, for the handler. */
	uint8_t *copy_start, *copy_end; /* in the mapping */
	volatile sig_atomic_t faulted;
};

/*
 * What this thread copies now; NULL: nothing. A handler learns only an address, so here, and only
 * here, something outlives a call: of one thread, set around a memcpy.
 */
static _Thread_local struct mmap_engine *volatile copying;

/* In the thread that copies. mmap and sigaction are plain system calls: safe in a handler. */
static void on_sigbus(int signo, siginfo_t *info, void *context)
{
	struct sigaction deadly = { .sa_handler = SIG_DFL };
	struct mmap_engine *m = copying;
	uint8_t *at = info->si_addr;
	int errno_before = errno;

	(void)context;
	if (m && info->si_code > 0 && at >= m->copy_start && at < m->copy_end) {
		uint8_t *page = at - (uintptr_t)at % m->page_bytes;

		if (mmap(page, (size_t)(m->copy_end - page), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) {
			m->faulted = 1;
			errno = errno_before;
			return;
		}
	}
	/* Not ours: the instruction faults again, or the signal that was sent comes again. */
	sigaction(SIGBUS, &deadly, NULL);
	if (info->si_code <= 0)
		raise(signo);
}

/* A SIGBUS that is blocked kills: it must not be, in the thread that copies. */
static void catch_sigbus(void)
{
	struct sigaction action = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGBUS);
	sigaction(SIGBUS, &action, NULL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static int mmap_probe(struct err *e)
{
	(void)e;
	return 0;
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
	m->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	m->protection = protection;
	m->map = mmap(NULL, m->n_bytes, protection, MAP_SHARED, params->fd, 0);
	if (m->map == MAP_FAILED) {
		free(m);
		return err_set(e, ERR_UNSUPPORTED, errno, "cannot map the file");
	}
	catch_sigbus();
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

/* fdatasync(2) writes pages dirtied through a shared mapping, too; msync(2) would flush twice. */
static int flush(const struct mmap_engine *m)
{
	return fdatasync(m->fd) != 0 ? -errno : 0;
}

/* After a fault: the file again in place of what the handler put there. */
static int64_t map_anew(struct mmap_engine *m)
{
	m->faulted = 0;
	m->lost = mmap(m->map, m->n_bytes, m->protection, MAP_SHARED | MAP_FIXED, m->fd, 0) ==
		  MAP_FAILED;
	return -EIO;
}

static int64_t copy(struct mmap_engine *m, uint8_t *place, uint8_t *data, size_t n_bytes)
{
	m->copy_start = place;
	m->copy_end = place + n_bytes;
	copying = m;
	atomic_signal_fence(memory_order_seq_cst);
	if (m->io.op == IO_READ)
		memcpy(data, place, n_bytes);
	else
		memcpy(place, data, n_bytes);
	atomic_signal_fence(memory_order_seq_cst);
	copying = NULL;
	return m->faulted ? map_anew(m) : (int64_t)n_bytes;
}

/* Reads end at the end of the mapping; writes beyond it are EFBIG: a mapping does not grow. */
static int64_t transfer(struct mmap_engine *m)
{
	const struct io *io = &m->io;
	size_t n_bytes = io->n_bytes;

	if (io->op >= IO_DATASYNC)
		return flush(m);
	if (io->op == IO_WRITE && !(m->protection & PROT_WRITE))
		return -EBADF;
	if (io->offset_bytes >= m->n_bytes)
		return io->op == IO_READ ? 0 : -EFBIG;
	if (m->lost)
		return -EIO;
	if (n_bytes > m->n_bytes - io->offset_bytes)
		n_bytes = m->n_bytes - io->offset_bytes;
	return copy(m, m->map + io->offset_bytes,
		iobuf_slot(m->buffers, io->slot) + io->buffer_offset_bytes, n_bytes);
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
	buf_add(out, "mmap, shared mapping, memcpy");
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

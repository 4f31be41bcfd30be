/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * io_uring through liburing: registered buffers and file, queued by submit, started and collected
 * by reap with at most one system call. Source: io_uring(7), io_uring_setup(2), io_uring_enter(2).
 *
 * A feature the kernel or a limit refuses is left out, step by step, and describe() says what is
 * in use: the measurement goes on, and the record tells how.
 */
#include "engine/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "engine/iobuf.h"

enum { SQPOLL_IDLE_MS = 50 };

struct uring_engine {
	struct engine head;
	struct io_uring ring;
	const struct iobuf *buffers;
	int fd;		   /* index 0 when the file is registered */
	int fd_plain;	   /* for fdatasync */
	uint8_t sqe_flags; /* IOSQE_FIXED_FILE or 0 */
	uint8_t op_read, op_write;
	unsigned n_queued; /* filled, not given to the kernel yet */
	unsigned setup_flags;
	bool fixed_buffers;
};

/* Best first: what the kernel does not know (EINVAL) is tried without. */
static const unsigned setup_steps[] = {
	IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CLAMP,
	IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_CLAMP,
	IORING_SETUP_COOP_TASKRUN | IORING_SETUP_CLAMP,
	IORING_SETUP_CLAMP,
};

static int set_up_ring(uint32_t depth, unsigned flags, struct io_uring *ring, unsigned *ret_flags)
{
	unsigned wanted = 0;
	int rc = -EINVAL;

	if (flags & ENGINE_IOPOLL)
		wanted |= IORING_SETUP_IOPOLL;
	if (flags & ENGINE_SQPOLL)
		wanted |= IORING_SETUP_SQPOLL;
	for (size_t i = 0; i < sizeof(setup_steps) / sizeof(setup_steps[0]); i++) {
		struct io_uring_params params = { .flags = setup_steps[i] | wanted };

		/* A polling kernel thread excludes running task work in ours. */
		if (flags & ENGINE_SQPOLL) {
			params.flags &=
				~(unsigned)(IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_COOP_TASKRUN);
			params.sq_thread_idle = SQPOLL_IDLE_MS;
		}
		rc = io_uring_queue_init_params(depth, ring, &params);
		*ret_flags = params.flags;
		if (rc != -EINVAL)
			return rc;
	}
	return rc;
}

/* /proc/sys/kernel/io_uring_disabled (6.6): 1 for unprivileged processes, 2 for all. */
static bool switched_off(void)
{
	char digit = '0';
	int fd cleanup(close_p) = open("/proc/sys/kernel/io_uring_disabled", O_RDONLY | O_CLOEXEC);

	return fd >= 0 && read(fd, &digit, 1) == 1 && digit != '0';
}

static int refused(int rc, struct err *e)
{
	if (rc == -ENOSYS)
		err_set(e, ERR_UNSUPPORTED, 0,
			"the kernel or a seccomp filter does not have io_uring (ENOSYS)");
	else if (rc == -EPERM && switched_off())
		err_set(e, ERR_UNSUPPORTED, 0,
			"kernel.io_uring_disabled switches io_uring off (EPERM)");
	else if (rc == -EPERM)
		err_set(e, ERR_UNSUPPORTED, 0,
			"the kernel or a container's seccomp filter refuses io_uring (EPERM)");
	else
		err_set(e, ERR_UNSUPPORTED, -rc, "cannot set up io_uring");
	return 1;
}

static int uring_probe(struct err *e)
{
	struct io_uring ring;
	unsigned flags;
	int rc = set_up_ring(2, 0, &ring, &flags);

	if (rc != 0)
		return refused(rc, e);
	io_uring_queue_exit(&ring);
	return 0;
}

static bool register_buffers(struct uring_engine *u, uint32_t depth)
{
	struct iovec *iovs cleanup(free_p) = calloc(depth, sizeof(*iovs));

	if (!iovs)
		return false;
	for (uint32_t i = 0; i < depth; i++) {
		iovs[i].iov_base = iobuf_slot(u->buffers, i);
		iovs[i].iov_len = u->buffers->slot_bytes;
	}
	/* ENOMEM: RLIMIT_MEMLOCK of an ordinary user. */
	return io_uring_register_buffers(&u->ring, iovs, depth) == 0;
}

static void register_all(struct uring_engine *u, const struct engine_params *params)
{
	io_uring_register_ring_fd(&u->ring);
	if (params->flags & ENGINE_NO_FIXED)
		return;
	if (io_uring_register_files(&u->ring, &params->fd, 1) == 0) {
		u->fd = 0;
		u->sqe_flags = IOSQE_FIXED_FILE;
	}
	if (register_buffers(u, params->depth)) {
		u->fixed_buffers = true;
		u->op_read = IORING_OP_READ_FIXED;
		u->op_write = IORING_OP_WRITE_FIXED;
	}
}

static int uring_open(const struct engine_params *params, struct engine **ret, struct err *e)
{
	struct uring_engine *u;
	int rc;

	if (params->depth > engine_uring.max_depth)
		return err_set(e, ERR_USAGE, 0, "engine uring has depth %u, %u was asked",
			engine_uring.max_depth, params->depth);
	u = calloc(1, sizeof(*u));
	if (!u)
		return err_set(e, ERR_NOMEM, 0, "no memory for engine uring");
	rc = set_up_ring(params->depth, params->flags, &u->ring, &u->setup_flags);
	if (rc != 0) {
		free(u);
		return err_set(e, rc == -ENOMEM ? ERR_NOMEM : ERR_UNSUPPORTED, -rc,
			"cannot set up io_uring of depth %u", params->depth);
	}
	u->head.ops = &engine_uring;
	u->buffers = params->buffers;
	u->fd = u->fd_plain = params->fd;
	u->op_read = IORING_OP_READ;
	u->op_write = IORING_OP_WRITE;
	register_all(u, params);
	*ret = &u->head;
	return 0;
}

/* The ring has a place for every transfer of the depth, so get_sqe cannot fail within it. */
static int uring_submit(struct engine *engine, const struct io *ios, uint32_t n)
{
	struct uring_engine *u = (struct uring_engine *)engine;

	for (uint32_t i = 0; i < n; i++) {
		const struct io *io = &ios[i];
		struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);

		if (!sqe)
			return -EBUSY;
		if (__builtin_expect(io->op >= IO_DATASYNC, 0)) {
			io_uring_prep_fsync(
				sqe, u->fd, io->op == IO_DATASYNC ? IORING_FSYNC_DATASYNC : 0);
		} else {
			io_uring_prep_rw(io->op == IO_READ ? u->op_read : u->op_write, sqe, u->fd,
				iobuf_slot(u->buffers, io->slot) + io->buffer_offset_bytes,
				io->n_bytes, io->offset_bytes);
			sqe->buf_index = io->slot;
		}
		sqe->flags |= u->sqe_flags;
		sqe->user_data = io->slot;
	}
	u->n_queued += n;
	return 0;
}

static uint32_t drain(struct uring_engine *u, struct io_done *done, uint32_t n_max)
{
	struct io_uring_cqe *cqe;
	unsigned head;
	uint32_t n = 0;

	io_uring_for_each_cqe(&u->ring, head, cqe)
	{
		if (n == n_max)
			break;
		done[n].slot = (uint16_t)cqe->user_data;
		done[n].result = cqe->res;
		n++;
	}
	io_uring_cq_advance(&u->ring, n);
	return n;
}

/* Starts what is queued and waits; -EINTR and a time-out are not errors. */
static int enter(struct uring_engine *u, uint32_t n_wait, uint64_t timeout_ns)
{
	struct __kernel_timespec ts = {
		.tv_sec = (long long)(timeout_ns / 1000000000u),
		.tv_nsec = (long long)(timeout_ns % 1000000000u),
	};
	struct io_uring_cqe *cqe;
	int rc;

	if (timeout_ns == ENGINE_WAIT_FOREVER || n_wait == 0)
		rc = io_uring_submit_and_wait(&u->ring, n_wait);
	else
		rc = io_uring_submit_and_wait_timeout(&u->ring, &cqe, n_wait, &ts, NULL);
	u->n_queued = io_uring_sq_ready(&u->ring);
	return rc < 0 && rc != -EINTR && rc != -ETIME && rc != -EAGAIN && rc != -EBUSY ? rc : 0;
}

static int uring_reap(struct engine *engine, struct io_done *done, uint32_t n_max, uint32_t n_min,
	uint64_t timeout_ns)
{
	struct uring_engine *u = (struct uring_engine *)engine;
	uint32_t n = 0;

	if (n_min > n_max)
		n_min = n_max;
	/* With nothing to start, completions that are there already need no system call. */
	if (!u->n_queued) {
		n = drain(u, done, n_max);
		if (n >= n_min && n > 0)
			return (int)n;
	}

	int rc = enter(u, n_min - n, timeout_ns);

	if (rc < 0)
		return rc;
	return (int)(n + drain(u, done + n, n_max - n));
}

static int uring_sync(struct engine *engine)
{
	struct uring_engine *u = (struct uring_engine *)engine;

	return fdatasync(u->fd_plain) != 0 ? -errno : 0;
}

static void uring_describe(const struct engine *engine, struct buf *out)
{
	const struct uring_engine *u = (const struct uring_engine *)engine;

	buf_addf(out, "uring, %s buffers, %s file", u->fixed_buffers ? "registered" : "plain",
		u->sqe_flags ? "registered" : "plain");
	if (u->setup_flags & IORING_SETUP_DEFER_TASKRUN)
		buf_add(out, ", defer_taskrun");
	else if (u->setup_flags & IORING_SETUP_COOP_TASKRUN)
		buf_add(out, ", coop_taskrun");
	if (u->setup_flags & IORING_SETUP_IOPOLL)
		buf_add(out, ", iopoll");
	if (u->setup_flags & IORING_SETUP_SQPOLL)
		buf_add(out, ", sqpoll");
}

static void uring_close(struct engine *engine)
{
	struct uring_engine *u = (struct uring_engine *)engine;

	if (!u)
		return;
	/*
	 * The kernel takes a ring down in its own time and holds the file until then: space that is
	 * not free yet, a mount that is busy, a name like .nfs... in place of a removed file.
	 */
	if (u->sqe_flags)
		io_uring_unregister_files(&u->ring);
	io_uring_queue_exit(&u->ring);
	free(u);
}

const struct engine_ops engine_uring = {
	.name = "uring",
	.summary = "io_uring: registered buffers and file, batched submit and reap",
	.max_depth = 4096,
	.probe = uring_probe,
	.open = uring_open,
	.submit = uring_submit,
	.reap = uring_reap,
	.sync = uring_sync,
	.describe = uring_describe,
	.close = uring_close,
};

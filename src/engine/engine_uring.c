/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * io_uring through liburing: registered buffers and file, queued by submit, started and collected
 * by reap with at most one system call. Source: io_uring(7), io_uring_setup(2), io_uring_enter(2).
 *
 * A feature the kernel or a limit refuses is left out, step by step, and describe() says what is
 * in use: the measurement goes on, and the record tells how.
 *
 * A polled ring (IOPOLL) takes reads and writes only, so reap makes a flush by fdatasync(2) there.
 */
#include "engine/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "engine/iobuf.h"

enum { SQPOLL_IDLE_MS = 50 };

struct held_sync {
	uint16_t slot;
	uint8_t op;
};

struct uring_engine {
	struct engine head;
	struct io_uring ring;
	const struct iobuf *buffers;
	int fd;		   /* index 0 when the file is registered */
	int fd_plain;	   /* for fdatasync */
	uint8_t sqe_flags; /* IOSQE_FIXED_FILE or 0 */
	uint8_t op_read, op_write;
	unsigned n_queued; /* filled, not given to the kernel yet */
	uint32_t depth;
	uint32_t n_in_flight; /* submitted, not reaped yet */
	unsigned setup_flags;
	bool fixed_buffers;
	uint32_t n_batch; /* handed over at once while others are under way */
	uint32_t n_syncs;
	struct held_sync syncs[]; /* [depth] with IOPOLL, else [0] */
};

/* Best first: what the kernel does not know (EINVAL) is tried without. */
static const unsigned setup_steps[] = {
	IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
	IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN,
	IORING_SETUP_SUBMIT_ALL | IORING_SETUP_COOP_TASKRUN,
	0,
};

/* Without it (before 5.11) a time-out takes a place in the queue, and an event of its own. */
static int demand_timeouts(struct io_uring *ring, unsigned features)
{
	if (features & IORING_FEAT_EXT_ARG)
		return 0;
	io_uring_queue_exit(ring);
	return -EOPNOTSUPP;
}

static int set_up_ring(uint32_t depth, unsigned flags, struct io_uring *ring, unsigned *ret_flags)
{
	unsigned wanted = IORING_SETUP_CLAMP;
	int rc = -EINVAL;

	if (flags & ENGINE_IOPOLL)
		wanted |= IORING_SETUP_IOPOLL;
	if (flags & ENGINE_SQPOLL) {
		wanted |= IORING_SETUP_SQPOLL;
		/*
		 * The polling thread gives places back a batch at a time, maybe after transfers of
		 * the batch were reaped and replaced: at most depth of either are in the queue.
		 */
		depth *= 2;
	}
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
		if (rc == 0)
			return demand_timeouts(ring, params.features);
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
	else if (rc == -EOPNOTSUPP)
		err_set(e, ERR_UNSUPPORTED, 0,
			"io_uring of this kernel is too old: Linux 5.11 is the first that serves");
	else
		err_set(e, ERR_UNSUPPORTED, -rc, "cannot set up io_uring");
	return 1;
}

/* A filter may let the ring be made and refuse to enter it: something must go through. */
static int try_out(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	int rc;

	if (!sqe)
		return -EBUSY;
	io_uring_prep_nop(sqe);
	do
		rc = io_uring_submit_and_wait(ring, 1);
	while (rc == -EINTR);
	return rc < 0 ? rc : 0;
}

static int uring_probe(struct err *e)
{
	struct io_uring ring;
	unsigned flags;
	int rc = set_up_ring(2, 0, &ring, &flags);

	if (rc != 0)
		return refused(rc, e);
	rc = try_out(&ring);
	io_uring_queue_exit(&ring);
	return rc != 0 ? refused(rc, e) : 0;
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
	uint32_t n_syncs_max = params->flags & ENGINE_IOPOLL ? params->depth : 0;
	struct uring_engine *u;
	int rc;

	if (params->depth > engine_uring.max_depth)
		return err_set(e, ERR_USAGE, 0, "engine uring has depth %u, %u was asked",
			engine_uring.max_depth, params->depth);
	u = calloc(1, sizeof(*u) + n_syncs_max * sizeof(u->syncs[0]));
	if (!u)
		return err_set(e, ERR_NOMEM, 0, "no memory for engine uring");
	rc = set_up_ring(params->depth, params->flags, &u->ring, &u->setup_flags);
	if (rc != 0) {
		free(u);
		return err_set(e, rc == -ENOMEM ? ERR_NOMEM : ERR_UNSUPPORTED, -rc,
			"cannot set up io_uring of depth %u", params->depth);
	}
	u->head.ops = &engine_uring;
	u->depth = params->depth;
	u->n_batch = params->depth >= 16 ? params->depth / 8 : 1;
	u->buffers = params->buffers;
	u->fd = u->fd_plain = params->fd;
	u->op_read = IORING_OP_READ;
	u->op_write = IORING_OP_WRITE;
	register_all(u, params);
	*ret = &u->head;
	return 0;
}

static void queue(struct uring_engine *u, struct io_uring_sqe *sqe, const struct io *io)
{
	if (__builtin_expect(io->op >= IO_DATASYNC, 0)) {
		io_uring_prep_fsync(sqe, u->fd, io->op == IO_DATASYNC ? IORING_FSYNC_DATASYNC : 0);
	} else {
		io_uring_prep_rw(io->op == IO_READ ? u->op_read : u->op_write, sqe, u->fd,
			iobuf_slot(u->buffers, io->slot) + io->buffer_offset_bytes, io->n_bytes,
			io->offset_bytes);
		sqe->buf_index = io->slot;
	}
	sqe->flags |= u->sqe_flags;
	sqe->user_data = io->slot;
	u->n_queued++;
}

static int uring_submit(struct engine *engine, const struct io *ios, uint32_t n)
{
	struct uring_engine *u = (struct uring_engine *)engine;

	if (n > u->depth - u->n_in_flight)
		return -EBUSY;
	for (uint32_t i = 0; i < n; i++) {
		const struct io *io = &ios[i];

		if (io->op >= IO_DATASYNC && u->setup_flags & IORING_SETUP_IOPOLL) {
			u->syncs[u->n_syncs++] = (struct held_sync){ io->slot, io->op };
		} else {
			struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);

			/* Not within the depth: the ring has a place for every transfer of it. */
			if (!sqe)
				return -EBUSY;
			queue(u, sqe, io);
		}
		u->n_in_flight++;
	}
	return 0;
}

/*
 * A device that works in the background should get a new transfer soon after one has ended: handing
 * over all that ended, to be replaced by one call, leaves it with half the depth (a quarter fewer
 * transfers at depth 32, btrfs on a loop device). Where everything has ended, as what the page
 * cache holds does within the call that starts it, nothing is lost and large batches save calls.
 */
static uint32_t batch_of(const struct uring_engine *u, uint32_t n_max, uint32_t n_min)
{
	bool idle = io_uring_cq_ready(&u->ring) >= u->n_in_flight;
	uint32_t n_batch = n_min > u->n_batch ? n_min : u->n_batch;

	return idle || n_max < n_batch ? n_max : n_batch;
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
	u->n_in_flight -= n;
	return n;
}

/*
 * Starts what is queued and waits; -EINTR and a time-out are not errors, and what the kernel has
 * no memory or place for at the moment stays queued. Without a wait the kernel is still asked for
 * events: with DEFER_TASKRUN none comes unasked.
 */
static int enter(struct uring_engine *u, uint32_t n_wait, uint64_t timeout_ns)
{
	struct __kernel_timespec ts = {
		.tv_sec = (long long)(timeout_ns / 1000000000u),
		.tv_nsec = (long long)(timeout_ns % 1000000000u),
	};
	struct io_uring_cqe *cqe;
	int rc;

	/*
	 * First start and collect, then look, then wait: what ends at once (a read from the page
	 * cache, a device that is faster than the call) is there after the first call, and on
	 * others more than one transfer has ended by then, so fewer sleeps: a sixth more transfers
	 * at depth 32 on a loop device than submit and wait in one call gives. Collecting here also
	 * keeps what ends later from being starved by what ends at once.
	 */
	if (n_wait > 0 && u->n_queued) {
		rc = io_uring_submit_and_get_events(&u->ring);
		if (rc >= 0 && io_uring_cq_ready(&u->ring) >= n_wait) {
			u->n_queued = io_uring_sq_ready(&u->ring);
			return 0;
		}
	}
	if (n_wait == 0)
		rc = io_uring_submit_and_get_events(&u->ring);
	else if (timeout_ns == ENGINE_WAIT_FOREVER)
		rc = io_uring_submit_and_wait(&u->ring, n_wait);
	else
		rc = io_uring_submit_and_wait_timeout(&u->ring, &cqe, n_wait, &ts, NULL);
	/* A polling thread takes the rest by itself. */
	u->n_queued = u->setup_flags & IORING_SETUP_SQPOLL ? 0 : io_uring_sq_ready(&u->ring);
	return rc < 0 && rc != -EINTR && rc != -ETIME && rc != -EAGAIN && rc != -EBUSY ? rc : 0;
}

static uint32_t make_syncs(struct uring_engine *u, struct io_done *done, uint32_t n_max)
{
	uint32_t n = 0;

	while (n < n_max && u->n_syncs) {
		const struct held_sync *s = &u->syncs[--u->n_syncs];
		int rc = s->op == IO_DATASYNC ? fdatasync(u->fd_plain) : fsync(u->fd_plain);

		done[n++] = (struct io_done){ .result = rc != 0 ? -errno : 0, .slot = s->slot };
	}
	u->n_in_flight -= n;
	return n;
}

/* The kernel polls until there is an event, whatever the time: look without waiting instead. */
static int poll_until(struct uring_engine *u, struct io_done *done, uint32_t n_max, uint32_t n_min,
	uint64_t timeout_ns)
{
	uint64_t start_ns = clock_now_ns(&clock_monotonic);
	uint32_t n = 0;

	do {
		int rc = enter(u, 0, 0);

		if (rc < 0 && n == 0)
			return rc;
		n += drain(u, done + n, n_max - n);
	} while (n < n_min && clock_now_ns(&clock_monotonic) - start_ns < timeout_ns);
	return (int)n;
}

static int uring_reap(struct engine *engine, struct io_done *done, uint32_t n_max, uint32_t n_min,
	uint64_t timeout_ns)
{
	struct uring_engine *u = (struct uring_engine *)engine;
	bool polled = u->setup_flags & IORING_SETUP_IOPOLL;
	uint32_t n = 0;
	int rc;

	if (n_min > u->n_in_flight)
		n_min = u->n_in_flight;
	if (n_min > n_max)
		n_min = n_max;
	if (__builtin_expect(u->n_syncs != 0, 0)) {
		rc = enter(u, 0, 0);
		if (rc < 0)
			return rc;
		n = make_syncs(u, done, n_max);
	}
	/* With nothing to start, completions that are there already need no system call. */
	if (!u->n_queued) {
		n += drain(u, done + n, batch_of(u, n_max - n, n_min));
		if (n >= n_min && n > 0)
			return (int)n;
	}
	n_min -= n < n_min ? n : n_min;
	if (polled && n_min > 0 && timeout_ns != ENGINE_WAIT_FOREVER) {
		rc = poll_until(u, done + n, n_max - n, n_min, timeout_ns);
		return rc < 0 ? (n ? (int)n : rc) : (int)n + rc;
	}
	rc = enter(u, n_min, timeout_ns);
	n += drain(u, done + n, batch_of(u, n_max - n, n_min));
	return rc < 0 && n == 0 ? rc : (int)n;
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

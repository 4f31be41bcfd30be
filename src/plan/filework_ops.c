/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One function per file operation, called from the measuring loop: plain system calls, no
 * allocation, no formatting but of the name.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "plan/filework_name.h"
#include "plan/filework_private.h"

enum {
	TRIES_MAX = 1000,  /* of EINTR and EAGAIN in a row */
	STAMP_BYTES = 512, /* every sector is written with a word of its own */
};

/* Where a file is: relative to its directory, or to the tree. */
struct place {
	int dir_fd;
	char path[FILEWORK_PATH_MAX];
};

static void place_of(
	const struct filework_thread *t, uint64_t index, char letter, struct place *ret)
{
	const struct filework *w = t->work;
	uint64_t dir = index % w->params.n_dirs;
	char *at = ret->path;

	if (w->dir_fds) {
		ret->dir_fd = w->dir_fds[dir];
	} else {
		ret->dir_fd = w->tree_fd;
		at = filework_name(at, 'd', dir, FILEWORK_DIR_DIGITS);
		*at++ = '/';
	}
	filework_name(at, letter, index, FILEWORK_FILE_DIGITS);
}

static char letter_now(const struct filework *w)
{
	return w->renamed ? 'r' : 'f';
}

static char letter_other(const struct filework *w)
{
	return w->renamed ? 'f' : 'r';
}

uint64_t filework_size(const struct filework_params *p, uint64_t index)
{
	uint64_t n_sizes = p->max_bytes - p->min_bytes + 1;
	uint64_t random = rng_mix(rng_mix(p->seed) + index);

	return p->min_bytes + (uint64_t)(((unsigned __int128)random * n_sizes) >> 64);
}

/* Whether a call that set errno is repeated. Counts it. */
static bool again(struct filework_thread *t, unsigned *n_tries)
{
	if ((errno != EINTR && errno != EAGAIN) || ++*n_tries > TRIES_MAX)
		return false;
	if (filework_should_stop(t))
		return false;
	t->n_retries++;
	return true;
}

/* -errno of a call that failed for good; one cut short by a signal that asks to end is no error. */
static int failure(const struct filework_thread *t)
{
	int sys = errno;

	return sys == EINTR && filework_should_stop(t) ? FILEWORK_STOPPED : -sys;
}

static int open_at(struct filework_thread *t, const struct place *p, int flags)
{
	unsigned n_tries = 0;
	int fd;

	do
		fd = openat(p->dir_fd, p->path, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
	while (fd < 0 && again(t, &n_tries));
	return fd;
}

/* Linux closes the descriptor in any case (close(2)): EINTR is no failure. */
static int close_checked(int fd)
{
	return close(fd) == 0 || errno == EINTR ? 0 : -errno;
}

/*
 * Makes every sector of the next write differ from all others of the phase, at a few nanoseconds:
 * the rest of the buffer is random already.
 */
static void stamp(struct filework_thread *t, uint64_t index, uint64_t offset_bytes, size_t n_bytes)
{
	uint64_t word = rng_mix(t->work->params.seed + t->work->n_runs) ^ rng_mix(index);

	for (size_t at = 0; at < n_bytes; at += STAMP_BYTES)
		*(uint64_t *)(void *)(t->buffer + at) = rng_mix(word + offset_bytes + at);
}

/* A write or read of the whole file, buffer by buffer. @moves: does one call */
typedef ssize_t move_fn(struct filework_thread *t, int fd, size_t first_byte, size_t n_bytes);

static ssize_t do_write(struct filework_thread *t, int fd, size_t first_byte, size_t n_bytes)
{
	return write(fd, t->buffer + first_byte, n_bytes);
}

static ssize_t do_read(struct filework_thread *t, int fd, size_t first_byte, size_t n_bytes)
{
	return read(fd, t->buffer + first_byte, n_bytes);
}

/* One buffer's worth; short transfers are continued and counted. */
static int move_buffer(struct filework_thread *t, int fd, move_fn *move, size_t n_bytes)
{
	size_t n_moved = 0;
	unsigned n_tries = 0;

	while (n_moved < n_bytes) {
		ssize_t n = move(t, fd, n_moved, n_bytes - n_moved);

		if (n < 0) {
			if (!again(t, &n_tries))
				return failure(t);
			continue;
		}
		if (n == 0)
			return move == do_write ? -ENOSPC : -ENODATA;
		n_tries = 0;
		n_moved += (size_t)n;
		t->n_short += n_moved < n_bytes;
	}
	return FILEWORK_OK;
}

static int move_file(struct filework_thread *t, int fd, move_fn *move, uint64_t index)
{
	uint64_t size_bytes = filework_size(&t->work->params, index);

	for (uint64_t offset_bytes = 0; offset_bytes < size_bytes;) {
		uint64_t left_bytes = size_bytes - offset_bytes;
		size_t n_bytes =
			left_bytes < t->buffer_bytes ? (size_t)left_bytes : t->buffer_bytes;
		int rc;

		/* Between the buffers of a large file: it may take long. */
		if (offset_bytes > 0 && filework_should_stop(t))
			return FILEWORK_STOPPED;
		if (move == do_write)
			stamp(t, index, offset_bytes, n_bytes);
		rc = move_buffer(t, fd, move, n_bytes);
		if (rc != FILEWORK_OK) {
			t->error.offset_bytes = offset_bytes;
			return rc;
		}
		offset_bytes += n_bytes;
	}
	return FILEWORK_OK;
}

static int sync_file(struct filework_thread *t, int fd)
{
	unsigned n_tries = 0;
	int rc;

	do
		rc = fsync(fd);
	while (rc != 0 && again(t, &n_tries));
	return rc == 0 ? FILEWORK_OK : failure(t);
}

static int op_create(struct filework_thread *t, uint64_t item, unsigned step)
{
	struct place p;
	int fd, rc, close_rc;

	(void)step;
	place_of(t, item, letter_now(t->work), &p);
	fd = open_at(t, &p, O_WRONLY | O_CREAT | O_EXCL);
	if (fd < 0)
		return failure(t);
	rc = move_file(t, fd, do_write, item);
	if (rc == FILEWORK_OK && t->work->params.fsync_each)
		rc = sync_file(t, fd);
	close_rc = close_checked(fd);
	if (rc != FILEWORK_OK)
		return rc;
	if (close_rc != 0)
		return close_rc;
	t->written_bytes += filework_size(&t->work->params, item);
	return FILEWORK_OK;
}

/* Where the file is now; after a rename that was cut short it may be under either name. */
static int op_stat(struct filework_thread *t, uint64_t item, unsigned step)
{
	unsigned n_tries = 0;
	struct place p;
	struct stat st;
	int rc;

	(void)step;
	place_of(t, item, letter_now(t->work), &p);
	do
		rc = fstatat(p.dir_fd, p.path, &st, AT_SYMLINK_NOFOLLOW);
	while (rc != 0 && again(t, &n_tries));
	if (rc != 0 && errno == ENOENT && t->work->mixed) {
		place_of(t, item, letter_other(t->work), &p);
		rc = fstatat(p.dir_fd, p.path, &st, AT_SYMLINK_NOFOLLOW);
	}
	return rc == 0 ? FILEWORK_OK : failure(t);
}

static int op_read(struct filework_thread *t, uint64_t item, unsigned step)
{
	struct place p;
	int fd, rc, close_rc;

	(void)step;
	place_of(t, item, letter_now(t->work), &p);
	fd = open_at(t, &p, O_RDONLY);
	if (fd < 0 && errno == ENOENT && t->work->mixed) {
		place_of(t, item, letter_other(t->work), &p);
		fd = open_at(t, &p, O_RDONLY);
	}
	if (fd < 0)
		return failure(t);
	rc = move_file(t, fd, do_read, item);
	close_rc = close_checked(fd);
	if (rc != FILEWORK_OK)
		return rc;
	if (close_rc != 0)
		return close_rc;
	t->read_bytes += filework_size(&t->work->params, item);
	return FILEWORK_OK;
}

static int op_readdir(struct filework_thread *t, uint64_t item, unsigned step)
{
	struct place p = { .dir_fd = t->work->tree_fd };
	unsigned n_tries = 0;
	ssize_t n;
	int fd, rc;

	(void)step;
	filework_name(p.path, 'd', item, FILEWORK_DIR_DIGITS);
	fd = open_at(t, &p, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return failure(t);
	do
		n = getdents64(fd, t->entries, FILEWORK_ENTRIES_BYTES);
	while ((n > 0 && !filework_should_stop(t)) || (n < 0 && again(t, &n_tries)));
	rc = n < 0 ? failure(t) : n > 0 ? FILEWORK_STOPPED : FILEWORK_OK;
	close(fd);
	return rc;
}

static int op_rename(struct filework_thread *t, uint64_t item, unsigned step)
{
	unsigned n_tries = 0;
	struct place from, to;
	int rc;

	(void)step;
	/* After one that was cut short this goes on towards the same names. */
	place_of(t, item, t->work->mixed ? letter_other(t->work) : letter_now(t->work), &from);
	place_of(t, item, t->work->mixed ? letter_now(t->work) : letter_other(t->work), &to);
	do
		rc = renameat(from.dir_fd, from.path, to.dir_fd, to.path);
	while (rc != 0 && again(t, &n_tries));
	if (rc != 0 && errno == ENOENT && t->work->mixed)
		return FILEWORK_NOTHING;
	return rc == 0 ? FILEWORK_OK : failure(t);
}

static int op_link(struct filework_thread *t, uint64_t item, unsigned step)
{
	unsigned n_tries = 0;
	struct place from, to;
	int rc;

	(void)step;
	place_of(t, item, letter_now(t->work), &from);
	place_of(t, item, 'l', &to);
	do
		rc = linkat(from.dir_fd, from.path, to.dir_fd, to.path, 0);
	while (rc != 0 && again(t, &n_tries));
	if (rc != 0 && errno == ENOENT && t->work->mixed) {
		place_of(t, item, letter_other(t->work), &from);
		rc = linkat(from.dir_fd, from.path, to.dir_fd, to.path, 0);
	}
	return rc == 0 ? FILEWORK_OK : failure(t);
}

static int op_delete(struct filework_thread *t, uint64_t item, unsigned step)
{
	const struct filework *w = t->work;
	bool second = w->linked && step == 0;
	unsigned n_tries = 0;
	struct place p;
	int rc;

	place_of(t, item, second ? 'l' : letter_now(w), &p);
	do
		rc = unlinkat(p.dir_fd, p.path, 0);
	while (rc != 0 && again(t, &n_tries));
	if (rc != 0 && errno == ENOENT && !second && w->mixed) {
		place_of(t, item, letter_other(w), &p);
		rc = unlinkat(p.dir_fd, p.path, 0);
	}
	if (rc != 0 && errno == ENOENT && w->partly)
		return FILEWORK_NOTHING;
	return rc == 0 ? FILEWORK_OK : failure(t);
}

filework_fn *const filework_fns[FILEWORK_N_OPS] = {
	[FILEWORK_CREATE] = op_create,
	[FILEWORK_STAT] = op_stat,
	[FILEWORK_READ] = op_read,
	[FILEWORK_READDIR] = op_readdir,
	[FILEWORK_RENAME] = op_rename,
	[FILEWORK_LINK] = op_link,
	[FILEWORK_DELETE] = op_delete,
};

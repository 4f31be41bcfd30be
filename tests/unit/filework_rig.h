/* SPDX-License-Identifier: GPL-3.0-or-later */
/* File operations on a real, small temporary directory, with a clock that counts its reads. */
#pragma once

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "plan/filework.h"
#include "plan/filework_name.h"
#include "plan/filework_private.h"

enum { US = 1000, N_FILES = 50, N_DIRS = 7 };

/* Every read is 1 us after the one before; can raise a stop flag at one of them. */
struct ticking {
	_Atomic uint64_t n_reads;
	uint64_t stop_at; /* 0: never */
	_Atomic int stop;
};

static inline uint64_t ticking_now_ns(void *ctx)
{
	struct ticking *t = ctx;
	uint64_t n = atomic_fetch_add(&t->n_reads, 1) + 1;

	if (t->stop_at && n >= t->stop_at)
		atomic_store(&t->stop, 2);
	return n * US;
}

static inline void ticking_sleep(void *ctx, uint64_t when_ns)
{
	(void)ctx;
	(void)when_ns;
}

struct rig {
	char top[64];
	int fd;
	struct ticking ticking;
	struct clock clock;
	struct filework_params params;
	struct filework *work;
	struct phase_result phase;
	struct err err;
};

static inline void rig_open(struct rig *r)
{
	memset(r, 0, sizeof(*r));
	snprintf(r->top, sizeof(r->top), "/tmp/test_filework.XXXXXX");
	assert_non_null(mkdtemp(r->top));
	r->fd = open(r->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(r->fd >= 0);
	r->clock = (struct clock){ ticking_now_ns, ticking_sleep, &r->ticking };
	r->params = (struct filework_params){
		.dir_fd = r->fd,
		.n_files = N_FILES,
		.n_dirs = N_DIRS,
		.min_bytes = 100,
		.max_bytes = 10000,
		.seed = 42,
		.n_threads = 1,
		.clock = &r->clock,
		.stop = &r->ticking.stop,
	};
}

static inline void rig_start(struct rig *r)
{
	assert_int_equal(filework_new(&r->params, &r->work, &r->err), 0);
}

/* Runs one operation with a fresh result and clock. */
static inline void rig_run(struct rig *r, enum filework_op op, bool random)
{
	phase_release(&r->phase);
	memset(&r->phase, 0, sizeof(r->phase));
	atomic_store(&r->ticking.n_reads, 0);
	assert_int_equal(filework_run(r->work, op, random, &r->phase, &r->err), 0);
}

static inline void rig_close(struct rig *r)
{
	if (r->work)
		assert_int_equal(filework_remove(r->work, &r->err), 0);
	filework_free(r->work);
	phase_release(&r->phase);
	close(r->fd);
	assert_int_equal(rmdir(r->top), 0); /* nothing was left */
}

static inline uint64_t total_bytes(const struct filework_params *p)
{
	uint64_t n_bytes = 0;

	for (uint64_t i = 0; i < p->n_files; i++)
		n_bytes += filework_size(p, i);
	return n_bytes;
}

static inline void path_of(const struct rig *r, char letter, uint64_t index, char path[32])
{
	char *at = path + snprintf(path, 32, "files/");

	at = filework_name(at, 'd', index % r->params.n_dirs, FILEWORK_DIR_DIGITS);
	*at++ = '/';
	filework_name(at, letter, index, FILEWORK_FILE_DIGITS);
}

/* How many of the files are there under that kind of name, with their right size. */
static inline uint64_t count_files(const struct rig *r, char letter)
{
	uint64_t n = 0;
	char path[32];
	struct stat st;

	for (uint64_t i = 0; i < r->params.n_files; i++) {
		path_of(r, letter, i, path);
		if (fstatat(r->fd, path, &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		assert_int_equal(st.st_size, filework_size(&r->params, i));
		n++;
	}
	return n;
}

static inline void expect_exact(const struct rig *r, uint64_t n_ops)
{
	const struct phase_result *p = &r->phase;

	assert_int_equal(p->status, PHASE_DONE);
	assert_string_equal(p->reason, "");
	assert_int_equal(p->error.sys, 0);
	assert_int_equal(p->n_ops, n_ops);
	assert_int_equal(p->latency->n, n_ops);
	/* One read of the clock at the start, one at each end: no time between operations. */
	assert_int_equal(r->ticking.n_reads, n_ops + 1);
	assert_int_equal(p->elapsed_ns, n_ops * US);
	assert_int_equal(p->latency->min_ns, US);
	assert_int_equal(p->latency->max_ns, US);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * File operations, floor 3, the sibling of the block workloads with the same result record:
 * create, stat, read, readdir, rename, link, delete over n files in d directories, in sequential
 * or random order. Names are derived from the index, so memory does not grow with the files.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct clock;
struct err;
struct filework;
struct phase_result;

enum filework_op {
	FILEWORK_CREATE, /* open(O_CREAT|O_EXCL), write its bytes, close */
	FILEWORK_STAT,
	FILEWORK_READ,	  /* open, read the bytes it was made with, close */
	FILEWORK_READDIR, /* one operation = one directory read to its end */
	FILEWORK_RENAME,  /* to its other name and, at the next call, back */
	FILEWORK_LINK,	  /* a second name, removed with the file by delete */
	FILEWORK_DELETE,  /* one operation = one name removed; two a file after link */
	FILEWORK_N_OPS
};

struct filework_op_def {
	const char *name; /* "create" */
	const char *summary;
};
extern const struct filework_op_def filework_ops[FILEWORK_N_OPS];

struct filework_params {
	int dir_fd;	    /* work directory; borrowed; "files" is made inside it */
	uint64_t n_files;   /* 1..1e9 */
	uint64_t n_dirs;    /* 1..1e6, files are spread over them in turn */
	uint64_t min_bytes; /* sizes are uniform in min..max by index and seed */
	uint64_t max_bytes;
	uint64_t seed;
	uint32_t n_threads; /* 1..1024; each has its share of the order */
	bool fsync_each;    /* after each create, inside the clock */
	const struct clock *clock;
	const _Atomic int *stop;  /* nonzero: end early, the phase becomes PARTIAL */
	_Atomic uint64_t *n_done; /* counted up while it runs, for the live line; may be NULL */
};

/*
 * Makes the directories, outside any clock. 0, or -1 with ERR_USAGE/ERR_IO/ERR_NOMEM, and then
 * nothing is left behind.
 */
int filework_new(const struct filework_params *params, struct filework **ret, struct err *e);

/**
 * filework_run() - one operation over all files
 * @random: order of the indices: by permutation, else ascending
 * @phase:  name, sample and started are the caller's; ops, bytes, latency, elapsed, CPU, settings
 *          (access, n_files, n_dirs, block, threads, seed), first error and status are filled
 *
 * Latency of every operation is in the histogram. The clock holds the operations only: the end of
 * one is the start of the next. The first error ends all threads; so does the stop flag. The phase
 * is then PARTIAL, or FAILED when no operation ended. A phase with files missing that an earlier
 * one did not make fails at the first of them.
 *
 * Directories are opened once and kept where they are few; files are then opened relative to
 * them, else by "dNNNNNN/fNNNNNNNNN" relative to the tree.
 *
 * Return: 0 (also when the phase failed: see phase->status); -1 with ERR_NOMEM/ERR_BUG
 * Threads: one call at a time
 */
int filework_run(struct filework *w, enum filework_op op, bool random, struct phase_result *phase,
	struct err *e);

/*
 * Removes all files and directories it made, whatever state they are in; only free it after this.
 * What clyde did not make is kept. 0, or -1 with ERR_IO naming what stayed. Idempotent.
 */
int filework_remove(struct filework *w, struct err *e);

/* Leaves the files where they are. */
void filework_free(struct filework *w);
DEFINE_CLEANUP(struct filework *, filework_free)

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What filework.c and filework_ops.c share; nobody else includes it. */
#pragma once

#include <stdbool.h>

#include "plan/filework.h"
#include "result/result.h"
#include "stats/hist.h"

struct filework {
	struct filework_params params;
	int tree_fd;	 /* "files" */
	int *dir_fds;	 /* [n_dirs], or NULL: too many to keep open */
	bool renamed;	 /* the names are the other ones; while MIXED: those aimed at */
	bool mixed;	 /* a rename was cut short: some files have one name, some the other */
	bool linked;	 /* there are second names, all or some */
	bool partly;	 /* not every file has its second name, or any name, left */
	uint64_t n_runs; /* makes orders differ from run to run */
};

/* One thread of a phase. Everything it writes in the loop is its own. */
struct filework_thread {
	_Alignas(64) const struct filework *work;
	const _Atomic int *person_stop; /* may be NULL */
	_Atomic int *stop;		/* of this phase: an error somewhere */
	char *buffer;			/* [buffer_bytes] what is written or read into */
	size_t buffer_bytes;
	char *entries; /* [FILEWORK_ENTRIES_BYTES] of readdir */
	/* outcome */
	uint64_t n_ops, read_bytes, written_bytes;
	uint64_t n_short, n_retries;
	uint64_t start_ns, end_ns;
	bool stopped; /* before its share was done */
	double cpu_s;
	struct phase_error error; /* when error.sys != 0 */
	uint64_t error_item;	  /* index of the file or directory */
	struct hist latency;
};

enum { FILEWORK_ENTRIES_BYTES = 32 * 1024 };

/* What an operation returns beside -errno. */
enum {
	FILEWORK_OK = 0,
	FILEWORK_NOTHING = 1, /* nothing to do for this item: not counted */
	FILEWORK_STOPPED = 2, /* asked to end in the middle of it: not counted */
};

/* @step: of the item: 0; with two steps an item (delete with second names) 0 or 1 */
typedef int filework_fn(struct filework_thread *t, uint64_t item, unsigned step);
extern filework_fn *const filework_fns[FILEWORK_N_OPS];

/* [bytes] of a file, by its index and the seed. */
uint64_t filework_size(const struct filework_params *p, uint64_t index);

static inline bool filework_should_stop(const struct filework_thread *t)
{
	return atomic_load_explicit(t->stop, memory_order_relaxed) ||
	       (t->person_stop && atomic_load_explicit(t->person_stop, memory_order_relaxed));
}

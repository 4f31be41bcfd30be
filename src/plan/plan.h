/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plans as tables, floor 3: a plan is a name and rows of phases; a phase is what one timed
 * measurement does. Nothing here runs: session.h does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/filework.h"
#include "result/result.h"

enum work_kind {
	WORK_BLOCK, /* transfers inside one file or device */
	WORK_FILES, /* file operations */
	WORK_N_KINDS
};

enum access_kind {
	ACCESS_READ,
	ACCESS_WRITE,
	ACCESS_RW,
	ACCESS_RANDREAD,
	ACCESS_RANDWRITE,
	ACCESS_RANDRW,
	ACCESS_APPEND, /* a file of its own that grows by a block at a time */
	ACCESS_N_KINDS
};

struct access_def {
	const char *name; /* as in --rw and the record */
	bool reads;
	bool writes;
	bool random;
};

extern const struct access_def access_defs[ACCESS_N_KINDS];

/* The access of that name, or -1. */
int access_find(const char *name);

struct phase_spec {
	char name[RESULT_NAME_MAX]; /* "rand_read_qd32": names with a depth end in _qdN */
	char group[24];		    /* "files": picks several rows by --phase; "" : none */
	char summary[120];
	enum work_kind work;
	/* WORK_BLOCK */
	enum access_kind access;
	uint32_t block_bytes;
	uint32_t depth; /* per worker */
	uint32_t n_threads;
	uint32_t read_pct;  /* of ACCESS_RW and ACCESS_RANDRW */
	uint64_t rate_iops; /* open loop over all workers; 0: as fast as it goes */
	uint64_t time_ns;   /* 0: the plan's */
	enum flush_kind flush;
	bool fresh; /* starts with a new, empty file */
	/* WORK_FILES */
	enum filework_op file_op;
	bool random_order;
};

struct plan {
	const char *name;
	const char *summary;
	const struct phase_spec *phases;
	size_t n_phases;
};

extern const struct plan plan_list[];
extern const size_t plan_n;

const struct plan *plan_find(const char *name);

/**
 * phase_spec_rename() - makes the name tell the truth after the depth was changed:
 * rand_read_qd32 with depth 64 becomes rand_read_qd64
 */
void phase_spec_rename(struct phase_spec *spec);

/* Whether the phase writes to the data file (then it cannot run on a file that is only read). */
bool phase_spec_writes(const struct phase_spec *spec);

/* Name of a custom phase made of its parts: "randread_16k_qd64_t4". */
void phase_spec_name_custom(struct phase_spec *spec);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What session*.c share; nobody else includes it. */
#pragma once

#include "plan/session.h"
#include "plan/workdir.h"

enum { HOLES_MAX = 4096 };

/* A part of the data file that is not written yet. */
struct hole {
	uint64_t first_byte;
	uint64_t n_bytes;
};

struct session {
	struct session_params params;
	struct workdir *workdir; /* of a directory target; else NULL */
	int fd;			 /* data file or target */
	uint64_t size_bytes;	 /* working set */
	enum direct_mode direct;
	uint32_t align_bytes;
	struct hole holes[HOLES_MAX];
	size_t n_holes;
	uint32_t *generations; /* [n_units] with --verify */
	size_t n_units;
	struct filework *files;
	bool files_exist;
	_Atomic uint64_t n_files_done; /* of the running phase, for the live line */
	uint64_t n_phases_run;	       /* makes orders and data differ from phase to phase */
};

bool session_writable(const struct session *s);
uint32_t session_depth(const struct session *s, const struct phase_spec *spec);
uint32_t session_threads(const struct session *s, const struct phase_spec *spec);

/* A new empty data file (or the same device again): everything is a hole. */
int session_renew_data(struct session *s, struct err *e);

/* Prepare, counters, run, counters. 0, also with a failed phase; -1 when it could not start. */
int session_run_block(
	struct session *s, const struct phase_spec *spec, struct phase_result *out, struct err *e);
int session_run_files(
	struct session *s, const struct phase_spec *spec, struct phase_result *out, struct err *e);

/* Readings before a phase, for session_evidence_end(). */
struct evidence_start {
	struct disk_counters disk;
	struct cpu_counters cpu;
};

void session_evidence_begin(const struct session *s, struct evidence_start *start);
void session_evidence_end(
	const struct session *s, const struct evidence_start *start, struct phase_evidence *out);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of history/ share.
 */
#pragma once

#include <stdint.h>
#include <sys/stat.h>

#include "history/db.h"
#include "history/history.h"
#include "probe/probe.h"
#include "result/fields.h"

/* What tells that a file was written to. Zero when it is not there. */
struct history_stamp {
	struct timespec changed;
	uint64_t size_bytes;
	uint64_t inode;
	bool has_log; /* a -wal or -journal with something in it */
};

struct history {
	struct db db;
	enum history_mode mode;
	bool immutable; /* opened without locks: what was read counts only if the stamp still fits
			 */
	struct history_stamp stamp; /* when it was opened */
};

/**
 * history_read_begin() - makes a reading object see the file as it is now
 *
 * Return: 0; 1: there is nothing to read, the history is empty; -1
 */
int history_read_begin(struct history *h, struct err *e);

/**
 * history_read_end() - whether what was read since history_read_begin() belongs together
 *
 * If not, it is to be read again. A connection beside a log is closed: left open, it would keep
 * the last writer from tidying the log up.
 */
bool history_read_end(struct history *h);

enum { HISTORY_N_READS_MAX = 20 }; /* attempts before a file that keeps changing is an error */

/* How the columns of a phase are made of rows: a part of the record that may be absent. */
enum history_presence { PART_ALWAYS, PART_CACHED, PART_DEVICE, PART_ERROR };

struct history_part {
	const struct field_set *fields;
	const char *prefix;
	size_t offset_bytes; /* in struct phase_result */
	enum history_presence presence;
};

enum { HISTORY_N_PHASE_PARTS = 5 };
extern const struct history_part history_phase_parts[HISTORY_N_PHASE_PARTS];

/* Who ran a run that is still called running. */
struct history_process {
	char hostname[PROBE_NAME_MAX];
	char boot_id[PROBE_NAME_MAX];
	long pid;
	uint64_t start_ticks;
};

#define HISTORY_KILLED "killed while running"

/**
 * history_process_gone() - whether a run can have no process any more
 *
 * Of another host nothing can be said: false. Of this one, after a reboot: true.
 */
bool history_process_gone(const struct probe_root *root, const struct history_process *p);

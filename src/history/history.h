/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every result ever measured, floor 3: one SQLite file, WAL, shared by any number of processes.
 * A run is inserted when it starts and each phase when it ends, each in its own transaction, so a
 * crash loses the running phase and nothing else. Schema, numbered migrations: docs/formats.md.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct err;
struct history;
struct phase_result;
struct probe_root;
struct result;

enum history_mode {
	HISTORY_READ,  /* a file that is not there is an empty history; nothing is created */
	HISTORY_WRITE, /* created with its directories (0700, file 0600), migrated if older */
};

/* $CLYDE_DB, else $XDG_DATA_HOME/clyde/history.db, else ~/.local/share/clyde/history.db.
 * Caller frees; NULL with ERR_USAGE when no home can be found. */
char *history_default_path(struct err *e);

/**
 * history_open() - opens or makes the database
 *
 * Return: 0; -1 with ERR_USAGE (no regular file), ERR_IO (cannot open or create), ERR_FORMAT (not a
 * clyde history, damaged), ERR_UNSUPPORTED (schema newer than this program) Threads: one thread per
 * object; any number of processes on one file (busy time-out 10 s)
 */
int history_open(const char *path, enum history_mode mode, struct history **ret, struct err *e);
void history_close(struct history *h);
DEFINE_CLEANUP(struct history *, history_close)

/* Inserts the run without phases, status RUN_RUNNING. */
int history_begin(struct history *h, const struct result *r, struct err *e);

/* Commits one ended phase of run @id; durable when it returns. */
int history_add_phase(
	struct history *h, const char *id, const struct phase_result *phase, struct err *e);

/* Final status, reason, end time and findings. */
int history_end(struct history *h, const struct result *r, struct err *e);

/* A result that is complete already (an import): all of the above in one transaction. */
int history_add(struct history *h, const struct result *r, struct err *e);

/**
 * history_load() - one result with everything
 * @which: an id, the unambiguous start of one (at least 4 characters), "last", "last~N"
 *
 * A RUN_RUNNING row whose process is gone (by pid, its start time and the boot id) is returned as
 * RUN_PARTIAL with reason "killed while running"; the file is not changed.
 *
 * Return: 0; -1 with ERR_USAGE (no such result, ambiguous), ERR_FORMAT, ERR_IO
 */
int history_load(struct history *h, const struct probe_root *root, const char *which,
	struct result **ret, struct err *e);

struct history_row {
	char id[40];
	uint64_t started_wall_ns;
	int status; /* enum run_status, with the rule of history_load() */
	char plan[32];
	char *target_path; /* owned by the list */
	char *label;	   /* owned by the list; may be NULL */
	char *hostname;	   /* owned by the list */
	uint32_t n_samples;
	uint32_t n_phases;
};

struct history_list {
	struct history_row *rows; /* newest first */
	size_t n_rows;
};

struct history_filter {
	const char *target; /* path prefix; NULL: any */
	const char *label;  /* exact; NULL: any */
	uint32_t n_max;	    /* 0: all */
};

int history_list(struct history *h, const struct probe_root *root,
	const struct history_filter *filter, struct history_list *ret, struct err *e);
void history_list_release(struct history_list *list);

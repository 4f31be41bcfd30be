/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of report/ share, floor 3: text for a terminal and the storage of a table's cells.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct buf;
struct err;

/*
 * Adds text for a terminal: control characters and invalid UTF-8 are escaped; with @ascii the signs
 * this program uses itself are spelt out (us, +/-, x, >=) and other characters escaped.
 */
void cells_add_text(struct buf *b, const char *text, bool ascii);

enum cells_time {
	CELLS_TIME_LOCAL, /* "2026-07-14 10:02:03 +0200" */
	CELLS_TIME_BRIEF, /* "2026-07-14 10:02", local */
	CELLS_TIME_UTC,	  /* "2026-07-14T08:02:03Z" (ISO 8601), for JSON */
};

void cells_add_time(struct buf *b, uint64_t wall_ns, enum cells_time form);

/* [n_rows][n_columns] strings, all owned. */
struct cells {
	char **text;
	size_t n_rows;
	size_t n_columns;
};

/* Return: 0, or -1 with ERR_NOMEM. */
int cells_init(struct cells *c, size_t n_rows, size_t n_columns, struct err *e);
void cells_release(struct cells *c);

/* Moves the text of @b into a cell; empty stays NULL. 0, or -1 with ERR_NOMEM. */
int cells_take(struct cells *c, size_t row, size_t column, struct buf *b, struct err *e);

/* Escapes @text into a cell. 0, or -1 with ERR_NOMEM. */
int cells_set(
	struct cells *c, size_t row, size_t column, const char *text, bool ascii, struct err *e);

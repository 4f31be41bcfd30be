/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Results for people, floor 3: tables through libsmartcols, lines of text, JSON documents. Writes
 * to a FILE it is given; colours, widths and the character set come in, nothing asks the
 * environment. Names from outside are escaped. Columns are rows of const tables.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct err;
struct phase_result;
struct result;

/* Everything zero: no colours, never cut, UTF-8, no proof column. */
struct report_style {
	bool color;
	bool ascii;		/* the terminal does not take UTF-8: "us", "+/-" */
	bool verbose;		/* every sample, not only the summary */
	unsigned width_columns; /* 0: do not cut */
	/* Word for where the bytes of a phase came from and the share the device moved, -1 unknown
	 * (verdict/ knows; this floor does not). NULL: the column is left out. */
	const char *(*proof)(
		const struct result *r, const struct phase_result *phase, double *ret_device_ratio);
};

/* One row per phase name: medians over the samples, spread, proof, marks; findings below. */
int report_table(
	const struct result *r, const struct report_style *style, FILE *out, struct err *e);

/* The head of a result: target, file system, disks, host, when, status. */
int report_head(const struct result *r, const struct report_style *style, FILE *out, struct err *e);

struct report_list_row {
	const char *id;
	uint64_t started_wall_ns;
	const char *status;
	const char *plan;
	const char *target;
	const char *label; /* NULL: "" */
	const char *hostname;
	uint32_t n_samples;
	uint32_t n_phases;
};

int report_list(const struct report_list_row *rows, size_t n_rows, const struct report_style *style,
	FILE *out, struct err *e);

/* Name and help line in two columns, for engines, plans, checks, commands. */
struct report_pair {
	const char *name;
	const char *text;
};

int report_pairs(const struct report_pair *pairs, size_t n_pairs, const struct report_style *style,
	FILE *out, struct err *e);

/* Column @i of report_table() with what it means; false past the last one. */
bool report_column(size_t i, struct report_pair *ret);

/* ---- any table, in both forms ---- */

enum report_cell {
	REPORT_TEXT,
	REPORT_NUMBER, /* right; a number in JSON */
	REPORT_BOOL,   /* "true", "false"; yes and no in a table */
};

struct report_grid_column {
	const char *key;     /* in JSON; NULL: not there */
	const char *heading; /* in the table; NULL: not there */
	enum report_cell kind;
	bool right;    /* aligned to the right though text */
	bool trim;     /* may be cut when the width is short */
	bool fold;     /* prose: goes on below instead of being cut; the last column */
	bool color;    /* shown in the colour of its row */
	unsigned drop; /* order in which columns are left out when it is shorter; 0: never */
};

struct report_grid {
	const char *name; /* JSON: {"name": [{key: cell, ...}, ...]} */
	const struct report_grid_column *columns;
	size_t n_columns;
	const char *const *cells; /* [n_rows][n_columns]; NULL: nothing */
	size_t n_rows;
	const char *const *row_colors; /* [n_rows] escape sequence, NULL: plain; may be NULL */
	bool no_headings;
};

/**
 * report_grid() - a table on a terminal or in a file
 *
 * One line per row, never broken (but for columns of prose). When it is wider than
 * style->width_columns, columns are left out by their drop order and then trimmed; a last line
 * names those left out.
 *
 * Return: 0; -1 with ERR_NOMEM
 */
int report_grid(
	const struct report_grid *grid, const struct report_style *style, FILE *out, struct err *e);

/* ---- JSON documents, one each, with a line end ---- */

int report_json(const struct result *r, FILE *out, struct err *e);

/* What a run came to: {"results": [...]} and, when @failed is set, its "error" beside them. */
int report_run_json(const struct result *const *results, size_t n_results, const struct err *failed,
	FILE *out, struct err *e);
int report_list_json(const struct report_list_row *rows, size_t n_rows, FILE *out, struct err *e);
int report_grid_json(const struct report_grid *grid, FILE *out, struct err *e);
int report_text_json(const char *key, const char *text, FILE *out, struct err *e);

/* {"error": {"kind": ..., "message": ...}}; never fails: has a form for when memory is out. */
void report_err_json(const struct err *what, FILE *out);

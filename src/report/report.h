/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Results for people, floor 3: tables through libsmartcols and lines of text. Writes to a FILE it
 * is given; colours and widths come in, nothing asks the environment. Names from outside are
 * escaped. Columns are rows of one const table (report_columns()).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct err;
struct result;

struct report_style {
	bool color;
	unsigned width_columns; /* 0: do not cut */
	bool verbose;           /* every sample, not only the summary */
};

/* One row per phase name: medians over the samples, spread, proof, marks; findings below. */
int report_table(const struct result *r, const struct report_style *style, FILE *out,
	struct err *e);

/* The head of a result: target, file system, disks, host, when, status. */
int report_head(const struct result *r, const struct report_style *style, FILE *out,
	struct err *e);

struct report_list_row {
	const char *id;
	uint64_t started_wall_ns;
	const char *status;
	const char *plan;
	const char *target;
	const char *label;    /* NULL: "" */
	const char *hostname;
	uint32_t n_samples;
	uint32_t n_phases;
};

int report_list(const struct report_list_row *rows, size_t n_rows,
	const struct report_style *style, FILE *out, struct err *e);

/* Name and help line in two columns, for engines, plans, checks, commands. */
struct report_pair {
	const char *name;
	const char *text;
};

int report_pairs(const struct report_pair *pairs, size_t n_pairs,
	const struct report_style *style, FILE *out, struct err *e);

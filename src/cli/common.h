/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What several commands need, floor 4: the history, the terminal, printing a table in the form
 * that was asked for.
 */
#pragma once

#include <stdbool.h>

#include "history/history.h"
#include "report/report.h"

struct buf;
struct cmd;
struct context;
struct err;

/* Opens --db, or the default one. 0 or -1. */
int common_open_history(
	const struct context *ctx, enum history_mode mode, struct history **ret, struct err *e);

/* Style for standard output: colours only on a terminal that wants them, its width, its characters,
 * and the proof of verdict/. */
struct report_style common_style(const struct context *ctx, bool verbose);

/* Whether colours may be used on @fd: a terminal, no --no-color, no NO_COLOR, not a dumb one. */
bool common_wants_color(const struct context *ctx, int fd);

/* [columns] of the terminal on @fd; 0 when it is none or does not say. */
unsigned common_width(int fd);

/* The table to standard output: JSON with --json (then json_printed is set). Exit status. */
int common_print_grid(struct context *ctx, const struct report_grid *grid, struct err *e);

/* Text to standard output; with --json as {"key": text}. Exit status. */
int common_print_text(struct context *ctx, const char *key, const struct buf *text, struct err *e);

/* Adds an argument as the shell would take it back. */
void common_add_quoted(struct buf *b, const char *text);

/* ---- help, written from the tables; cmd_help.c ---- */

void help_overview(struct buf *out);
void help_usage(struct buf *out);
void help_command(const struct cmd *cmd, struct buf *out);

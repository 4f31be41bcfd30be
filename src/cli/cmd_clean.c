/* SPDX-License-Identifier: GPL-3.0-or-later */
/* clyde clean: removes what runs that were killed left behind, and nothing else. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "cli/cmd.h"
#include "cli/common.h"
#include "plan/workdir.h"

struct clean_args {
	bool dry_run;
};

/* clang-format off */
static const struct opt clean_opts[] = {
	OPT_FLAG(struct clean_args, dry_run, 'n', "dry-run", "only say what would be removed (default remove it)"),
	OPT_END,
};
/* clang-format on */

enum clean_column {
	CLEAN_PATH,
	CLEAN_REMOVED,
	CLEAN_BYTES,
	CLEAN_SIZE,
	CLEAN_RUN,
	CLEAN_REASON,
	CLEAN_N_COLUMNS
};

static const struct report_grid_column clean_columns[CLEAN_N_COLUMNS] = {
	[CLEAN_PATH] = { .key = "path", .heading = "left behind" },
	[CLEAN_REMOVED] = { .key = "removed", .heading = "removed", .kind = REPORT_BOOL },
	[CLEAN_BYTES] = { .key = "bytes", .kind = REPORT_NUMBER },
	[CLEAN_SIZE] = { .heading = "size", .right = true, .drop = 2 },
	[CLEAN_RUN] = { .key = "run", .heading = "run", .drop = 1 },
	[CLEAN_REASON] = { .key = "reason", .heading = "why not", .trim = true },
};

/* All rows of all directories, and the texts made for them. */
struct clean_rows {
	const char **cells;
	char **texts; /* [n_texts] owned */
	size_t n_rows;
	size_t n_texts;
};

static void clean_rows_release(struct clean_rows *c)
{
	for (size_t i = 0; i < c->n_texts; i++)
		free(c->texts[i]);
	free(c->texts);
	free(c->cells);
}

/* The text of @b, kept until the end; NULL when memory is out. */
static const char *keep(struct clean_rows *c, struct buf *b)
{
	char *text = buf_take(b);

	if (text)
		c->texts[c->n_texts++] = text;
	return text;
}

/* Paths come from outside: for a terminal they are escaped, in JSON they are as they are. */
static const char *keep_text(struct clean_rows *c, const char *text, bool json)
{
	cleanup(buf_release_p) struct buf b = { 0 };

	if (json)
		buf_add(&b, text);
	else
		buf_add_escaped(&b, text);
	return b.n_bytes > 0 || b.failed ? keep(c, &b) : "";
}

static int add_row(struct clean_rows *c, const struct workdir_leftover *l, bool json)
{
	const char **cell = &c->cells[c->n_rows * CLEAN_N_COLUMNS];
	char size[UNITS_TEXT_MAX];
	cleanup(buf_release_p) struct buf b = { 0 };

	buf_addf(&b, "%" PRIu64, l->n_bytes);
	cell[CLEAN_BYTES] = keep(c, &b);
	cell[CLEAN_SIZE] = keep_text(c, units_bytes_iec(l->n_bytes, size), json);
	cell[CLEAN_PATH] = keep_text(c, l->path, json);
	cell[CLEAN_RUN] = keep_text(c, l->run_id, json);
	cell[CLEAN_REASON] = keep_text(c, l->reason, json);
	cell[CLEAN_REMOVED] = l->removed ? "true" : "false";
	for (size_t i = 0; i < CLEAN_N_COLUMNS; i++)
		if (!cell[i])
			return -1;
	c->n_rows++;
	return 0;
}

static int add_rows(
	struct clean_rows *c, const struct workdir_leftovers *l, bool json, struct err *e)
{
	size_t n_rows = c->n_rows + l->n_rows;
	void *cells = realloc(c->cells, (n_rows + 1) * CLEAN_N_COLUMNS * sizeof(c->cells[0]));
	void *texts;

	if (cells)
		c->cells = cells;
	texts = realloc(c->texts, (n_rows + 1) * CLEAN_N_COLUMNS * sizeof(c->texts[0]));
	if (texts)
		c->texts = texts;
	for (size_t i = 0; cells && texts && i < l->n_rows; i++)
		if (add_row(c, &l->rows[i], json))
			cells = NULL;
	return cells && texts ? 0 : err_set(e, ERR_NOMEM, 0, "memory is out for the leftovers");
}

static int print_rows(struct context *ctx, const struct clean_rows *c, struct err *e)
{
	if (c->n_rows == 0 && !ctx->global.json)
		fputs("nothing was left behind\n", stderr);
	return common_print_grid(ctx,
		&(struct report_grid){ .name = "leftovers",
			.columns = clean_columns,
			.n_columns = CLEAN_N_COLUMNS,
			.cells = c->cells,
			.n_rows = c->n_rows },
		e);
}

/* What should have gone and did not; what still lives is not meant to. */
static size_t count_stuck(const struct workdir_leftovers *left, bool dry_run)
{
	size_t n = 0;

	for (size_t i = 0; i < left->n_rows && !dry_run; i++)
		n += !left->rows[i].removed && !left->rows[i].living;
	return n;
}

/* Exit status. */
static int say_stuck(size_t n_stuck, size_t n_rows, struct err *e)
{
	if (n_stuck == 0)
		return 0;
	err_set(e, ERR_IO, 0, "%zu of %zu could not be removed, see the reasons", n_stuck, n_rows);
	return err_exit_status(e->kind);
}

static int cmd_clean_main(struct context *ctx, void *args, const char *const *operands,
	size_t n_operands, struct err *e)
{
	const struct clean_args *a = args;
	cleanup(clean_rows_release) struct clean_rows rows = { 0 };
	size_t n_stuck = 0;
	int failed = 0, status;

	if (n_operands == 0) {
		err_set(e, ERR_USAGE, 0,
			"clean needs the directory that was measured; example: clyde clean .");
		return err_exit_status(e->kind);
	}
	for (size_t i = 0; i < n_operands && !failed; i++) {
		cleanup(workdir_leftovers_release) struct workdir_leftovers left = { 0 };

		/* What was seen until an error is shown too. */
		failed = workdir_clean(operands[i], NULL, a->dry_run, &left, e);
		n_stuck += count_stuck(&left, a->dry_run);
		if (add_rows(&rows, &left, ctx->global.json, failed ? NULL : e))
			failed = -1;
	}
	if (failed && ctx->global.json)
		return err_exit_status(e->kind);
	status = rows.n_rows > 0 || !failed ? print_rows(ctx, &rows, failed ? NULL : e) : 0;
	if (!failed && !status)
		status = say_stuck(n_stuck, rows.n_rows, e);
	return failed ? err_exit_status(e->kind) : status;
}

const struct cmd cmd_clean = {
	.name = "clean",
	.summary = "remove test files that a killed run left behind",
	.operands = "DIRECTORY...",
	.group = "care",
	.opts = clean_opts,
	.args_size = sizeof(struct clean_args),
	.examples = "clyde clean /mnt/data\n"
		    "clyde clean --dry-run .",
	.run = cmd_clean_main,
};

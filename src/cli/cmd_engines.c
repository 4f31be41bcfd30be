/* SPDX-License-Identifier: GPL-3.0-or-later */
/* clyde engines: how transfers can be made here. */
#include "base/err.h"
#include "cli/cmd.h"
#include "cli/common.h"
#include "engine/engine.h"

enum { ENGINES_MAX = 16 };

enum engine_column {
	ENGINE_NAME,
	ENGINE_WORKS,
	ENGINE_DEPTH,
	ENGINE_SUMMARY,
	ENGINE_REASON,
	ENGINE_TEXT,
	ENGINE_N_COLUMNS
};

static const struct report_grid_column engine_columns[ENGINE_N_COLUMNS] = {
	[ENGINE_NAME] = { .key = "name", .heading = "engine" },
	[ENGINE_WORKS] = { .key = "works", .heading = "works here", .kind = REPORT_BOOL },
	[ENGINE_DEPTH] = { .key = "max_depth", .heading = "depth", .kind = REPORT_NUMBER },
	[ENGINE_SUMMARY] = { .key = "summary" },
	[ENGINE_REASON] = { .key = "reason" },
	[ENGINE_TEXT] = { .heading = "what it is, or why it does not work", .fold = true },
};

struct engine_row {
	struct err reason;
	char depth[16];
};

static void fill_row(const struct engine_ops *ops, struct engine_row *row, const char **cells)
{
	bool works = ops->probe(&row->reason) == 0;

	snprintf(row->depth, sizeof(row->depth), "%u", ops->max_depth);
	cells[ENGINE_NAME] = ops->name;
	cells[ENGINE_WORKS] = works ? "true" : "false";
	cells[ENGINE_DEPTH] = row->depth;
	cells[ENGINE_SUMMARY] = ops->summary;
	cells[ENGINE_REASON] = works ? "" : row->reason.msg;
	cells[ENGINE_TEXT] = works ? ops->summary : row->reason.msg;
}

static int cmd_engines_main(struct context *ctx, void *args, const char *const *operands,
	size_t n_operands, struct err *e)
{
	const char *cells[ENGINES_MAX * ENGINE_N_COLUMNS];
	struct engine_row rows[ENGINES_MAX] = { 0 };
	size_t n = 0;

	(void)args;
	if (n_operands > 0) {
		err_set(e, ERR_USAGE, 0, "'%s': engines takes no operand", operands[0]);
		return err_exit_status(e->kind);
	}
	for (size_t i = 0; engine_list[i] && n < ENGINES_MAX; i++)
		if (!engine_list[i]->for_tests) {
			fill_row(engine_list[i], &rows[n], &cells[n * ENGINE_N_COLUMNS]);
			n++;
		}
	return common_print_grid(ctx,
		&(struct report_grid){ .name = "engines",
			.columns = engine_columns,
			.n_columns = ENGINE_N_COLUMNS,
			.cells = cells,
			.n_rows = n },
		e);
}

static const struct opt engines_opts[] = { OPT_END };

const struct cmd cmd_engines = {
	.name = "engines",
	.summary = "how transfers can be made, and what works here",
	.operands = "",
	.group = "care",
	.opts = engines_opts,
	.examples = "clyde engines",
	.run = cmd_engines_main,
};

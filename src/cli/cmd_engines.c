/* SPDX-License-Identifier: GPL-3.0-or-later */
/* clyde engines: how transfers can be made here. */
#include "base/err.h"
#include "cli/cmd.h"
#include "cli/common.h"
#include "engine/engine.h"

enum { ENGINE_KEY_N = 5, ENGINES_MAX = 32 };

static const struct report_grid_column engine_columns[ENGINE_KEY_N] = {
	{ .key = "name", .heading = "engine" },
	{ .key = "works", .heading = "works here", .kind = REPORT_BOOL },
	{ .key = "max_depth", .heading = "depth", .kind = REPORT_NUMBER, .drop = 1 },
	{ .key = "summary", .heading = "what it is", .trim = true },
	{ .key = "reason", .heading = "why not", .trim = true },
};

static int cmd_engines_main(struct context *ctx, void *args, const char *const *operands,
	size_t n_operands, struct err *e)
{
	const char *cells[ENGINES_MAX * ENGINE_KEY_N];
	struct err reasons[ENGINES_MAX] = { 0 };
	char depths[ENGINES_MAX][16];
	size_t n = 0;

	(void)args;
	if (n_operands > 0) {
		err_set(e, ERR_USAGE, 0, "'%s': engines takes no operand", operands[0]);
		return err_exit_status(e->kind);
	}
	for (size_t i = 0; engine_list[i] && n < ENGINES_MAX; i++) {
		const struct engine_ops *ops = engine_list[i];
		const char **row = &cells[n * ENGINE_KEY_N];

		if (ops->for_tests)
			continue;
		snprintf(depths[n], sizeof(depths[n]), "%u", ops->max_depth);
		row[0] = ops->name;
		row[1] = ops->probe(&reasons[n]) == 0 ? "true" : "false";
		row[2] = depths[n];
		row[3] = ops->summary;
		row[4] = reasons[n].msg[0] ? reasons[n].msg : NULL;
		n++;
	}
	return common_print_grid(ctx,
		&(struct report_grid){ .name = "engines",
			.columns = engine_columns,
			.n_columns = ENGINE_KEY_N,
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

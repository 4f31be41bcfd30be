/* SPDX-License-Identifier: GPL-3.0-or-later */
/* clyde checks: what every figure is checked for. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "cli/cmd.h"
#include "cli/common.h"
#include "verdict/verdict.h"

static const struct report_grid_column check_columns[] = {
	{ .key = "id", .heading = "check" },
	{ .key = "summary", .heading = "what it looks at", .fold = true },
};

static int cmd_checks_main(struct context *ctx, void *args, const char *const *operands,
	size_t n_operands, struct err *e)
{
	cleanup(free_p) const char **cells = calloc(2 * verdict_n_checks + 1, sizeof(cells[0]));

	(void)args;
	if (n_operands > 0 || !cells) {
		if (cells)
			err_set(e, ERR_USAGE, 0, "'%s': checks takes no operand", operands[0]);
		else
			err_set(e, ERR_NOMEM, 0, "memory is out for the list of checks");
		return err_exit_status(e->kind);
	}
	for (size_t i = 0; i < verdict_n_checks; i++) {
		cells[2 * i] = verdict_checks[i].id;
		cells[2 * i + 1] = verdict_checks[i].summary;
	}
	return common_print_grid(ctx,
		&(struct report_grid){ .name = "checks",
			.columns = check_columns,
			.n_columns = 2,
			.cells = cells,
			.n_rows = verdict_n_checks },
		e);
}

static const struct opt checks_opts[] = { OPT_END };

const struct cmd cmd_checks = {
	.name = "checks",
	.summary = "what every figure is checked for",
	.operands = "",
	.group = "care",
	.opts = checks_opts,
	.examples = "clyde checks",
	.run = cmd_checks_main,
};

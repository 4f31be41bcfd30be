/* SPDX-License-Identifier: GPL-3.0-or-later */
/* clyde plans: what clyde run can do; with a name, the phases of that plan. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "cli/cmd.h"
#include "cli/common.h"
#include "plan/plan.h"

static const struct report_grid_column plan_columns[] = {
	{ .key = "name", .heading = "plan" },
	{ .key = "summary", .heading = "what it measures", .fold = true },
};

static const struct report_grid_column phase_columns[] = {
	{ .key = "name", .heading = "phase" },
	{ .key = "group", .heading = "group", .drop = 1 },
	{ .key = "summary", .heading = "what it measures", .fold = true },
};

static int print_plans(struct context *ctx, struct err *e)
{
	cleanup(free_p) const char **cells = calloc(2 * plan_n + 1, sizeof(cells[0]));

	if (!cells) {
		err_set(e, ERR_NOMEM, 0, "memory is out for the list of plans");
		return err_exit_status(e->kind);
	}
	for (size_t i = 0; i < plan_n; i++) {
		cells[2 * i] = plan_list[i].name;
		cells[2 * i + 1] = plan_list[i].summary;
	}
	return common_print_grid(ctx,
		&(struct report_grid){ .name = "plans",
			.columns = plan_columns,
			.n_columns = 2,
			.cells = cells,
			.n_rows = plan_n },
		e);
}

static int print_phases(struct context *ctx, const struct plan *plan, struct err *e)
{
	cleanup(free_p) const char **cells = calloc(3 * plan->n_phases + 1, sizeof(cells[0]));

	if (!cells) {
		err_set(e, ERR_NOMEM, 0, "memory is out for the list of phases");
		return err_exit_status(e->kind);
	}
	for (size_t i = 0; i < plan->n_phases; i++) {
		cells[3 * i] = plan->phases[i].name;
		cells[3 * i + 1] = plan->phases[i].group[0] ? plan->phases[i].group : NULL;
		cells[3 * i + 2] = plan->phases[i].summary;
	}
	return common_print_grid(ctx,
		&(struct report_grid){ .name = "phases",
			.columns = phase_columns,
			.n_columns = 3,
			.cells = cells,
			.n_rows = plan->n_phases },
		e);
}

static int cmd_plans_main(struct context *ctx, void *args, const char *const *operands,
	size_t n_operands, struct err *e)
{
	const struct plan *plan = n_operands ? plan_find(operands[0]) : NULL;

	(void)args;
	if (n_operands > 1) {
		err_set(e, ERR_USAGE, 0, "'%s': plans takes one plan at a time", operands[1]);
		return err_exit_status(e->kind);
	}
	if (n_operands == 1 && !plan) {
		err_set(e, ERR_USAGE, 0, "there is no plan '%s'; clyde plans lists them",
			operands[0]);
		return err_exit_status(e->kind);
	}
	return plan ? print_phases(ctx, plan, e) : print_plans(ctx, e);
}

static const struct opt plans_opts[] = { OPT_END };

const struct cmd cmd_plans = {
	.name = "plans",
	.summary = "what can be measured, or the phases of a plan",
	.operands = "[PLAN]",
	.group = "care",
	.opts = plans_opts,
	.examples = "clyde plans\n"
		    "clyde plans overview",
	.run = cmd_plans_main,
};

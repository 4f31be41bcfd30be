/* SPDX-License-Identifier: GPL-3.0-or-later */
/* clyde list: what has been measured. */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "cli/cmd.h"
#include "cli/common.h"
#include "result/result.h"

struct list_args {
	const char *target;
	const char *label;
	uint64_t n_max;
};

/* clang-format off */
static const struct opt list_opts[] = {
	OPT_GROUP("Which results"),
	OPT_STR  (struct list_args, target, 't', "target", "PREFIX", "only targets whose path starts like this (default all)"),
	OPT_STR  (struct list_args, label,  'l', "label", "TEXT", "only results with this label (default all)"),
	OPT_COUNT(struct list_args, n_max,  'n', "newest", 1, 1000000000, "only the last N (default all)"),
	OPT_END,
};
/* clang-format on */

static int print_list(struct context *ctx, const struct history_list *list, struct err *e)
{
	cleanup(free_p) struct report_list_row *rows = calloc(list->n_rows + 1, sizeof(rows[0]));
	struct report_style style = common_style(ctx, false);

	if (!rows)
		return err_set(e, ERR_NOMEM, 0, "memory is out for the list of results");
	for (size_t i = 0; i < list->n_rows; i++) {
		const struct history_row *h = &list->rows[i];

		rows[i] = (struct report_list_row){
			.id = h->id,
			.started_wall_ns = h->started_wall_ns,
			.status = run_status_name((enum run_status)h->status),
			.plan = h->plan,
			.target = h->target_path,
			.label = h->label,
			.hostname = h->hostname,
			.n_samples = h->n_samples,
			.n_phases = h->n_phases,
		};
	}
	if (ctx->global.json) {
		int failed = report_list_json(rows, list->n_rows, stdout, e);

		ctx->json_printed = !failed;
		return failed;
	}
	return report_list(rows, list->n_rows, &style, stdout, e);
}

static int cmd_list_main(struct context *ctx, void *args, const char *const *operands,
	size_t n_operands, struct err *e)
{
	const struct list_args *a = args;
	struct history_filter filter = {
		.target = a->target, .label = a->label, .n_max = (uint32_t)a->n_max
	};
	cleanup(history_close_p) struct history *history = NULL;
	cleanup(history_list_release) struct history_list list = { 0 };

	if (n_operands > 0) {
		err_set(e, ERR_USAGE, 0,
			"'%s': list takes no operand; --target '%s' picks a target", operands[0],
			operands[0]);
		return err_exit_status(e->kind);
	}
	if (common_open_history(ctx, HISTORY_READ, &history, e) ||
		history_list(history, NULL, &filter, &list, e) || print_list(ctx, &list, e))
		return err_exit_status(e->kind);
	if (list.n_rows == 0 && !ctx->global.json)
		fputs(a->target || a->label
				? "no result like that; clyde list shows all\n"
				: "nothing measured yet; clyde run DIRECTORY makes the first result\n",
			stderr);
	return 0;
}

const struct cmd cmd_list_results = {
	.name = "list",
	.summary = "what has been measured, newest first",
	.operands = "",
	.group = "understand",
	.opts = list_opts,
	.args_size = sizeof(struct list_args),
	.examples = "clyde list\n"
		    "clyde list --target /mnt/data -n 5",
	.run = cmd_list_main,
};

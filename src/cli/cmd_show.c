/* SPDX-License-Identifier: GPL-3.0-or-later */
/* clyde show: one result again, as it was printed when it was measured. */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "cli/cmd.h"
#include "cli/common.h"
#include "result/result.h"

struct show_args {
	bool verbose;
};

/* clang-format off */
static const struct opt show_opts[] = {
	OPT_FLAG(struct show_args, verbose, 'v', "verbose", "every sample and every finding (default the medians and the worst five)"),
	OPT_END,
};
/* clang-format on */

static int print_result(struct context *ctx, const struct result *r, bool verbose, struct err *e)
{
	struct report_style style = common_style(ctx, verbose);

	if (ctx->global.json) {
		int failed = report_json(r, stdout, e);

		ctx->json_printed = !failed;
		return failed;
	}
	if (report_head(r, &style, stdout, e))
		return -1;
	fputc('\n', stdout);
	return report_table(r, &style, stdout, e);
}

static int cmd_show_main(struct context *ctx, void *args, const char *const *operands,
	size_t n_operands, struct err *e)
{
	const struct show_args *a = args;
	const char *which = n_operands ? operands[0] : "last";
	cleanup(history_close_p) struct history *history = NULL;
	cleanup(result_free_p) struct result *r = NULL;

	if (n_operands > 1) {
		err_set(e, ERR_USAGE, 0, "'%s': show takes one result at a time", operands[1]);
		return err_exit_status(e->kind);
	}
	if (common_open_history(ctx, HISTORY_READ, &history, e) ||
		history_load(history, NULL, which, &r, e) || print_result(ctx, r, a->verbose, e))
		return err_exit_status(e->kind);
	return 0;
}

const struct cmd cmd_show = {
	.name = "show",
	.summary = "one result: what was measured, on what, and the figures",
	.operands = "[ID|last|last~N]",
	.group = "understand",
	.opts = show_opts,
	.args_size = sizeof(struct show_args),
	.examples = "clyde show              the last result\n"
		    "clyde show last~1       the one before\n"
		    "clyde show 0198f3c2-7b1e --verbose\n"
		    "clyde show last --json  the whole record",
	.run = cmd_show_main,
};

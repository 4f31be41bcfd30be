/* SPDX-License-Identifier: GPL-3.0-or-later */
/* clyde help: texts made from the tables of commands and options, for people and man pages. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/cmd.h"
#include "cli/common.h"

/* Parts of a man page; "none" first: help as plain text. */
#define SCDOC_CHOICES "none|options|examples|commands|columns"

enum scdoc_part { SCDOC_NONE, SCDOC_OPTIONS, SCDOC_EXAMPLES, SCDOC_COMMANDS, SCDOC_COLUMNS };

struct help_args {
	bool columns;
	int scdoc;
};

/* clang-format off */
static const struct opt help_opts[] = {
	OPT_FLAG(struct help_args, columns, 0, "columns", "what the columns of a result mean (default help of the command)"),
	OPT_CHOICE(struct help_args, scdoc, 0, "scdoc", SCDOC_CHOICES, "a part of the man page, for packaging (default none)"),
	OPT_END,
};
/* clang-format on */

void help_usage(struct buf *out)
{
	buf_add(out, "usage: clyde [OPTIONS] COMMAND [OPTIONS] [OPERANDS]\n"
		     "       clyde help [COMMAND]\n");
}

static void add_group(struct buf *out, const char *group)
{
	bool any = false;

	for (size_t i = 0; cmd_list[i]; i++) {
		if (strcmp(cmd_list[i]->group, group) != 0)
			continue;
		if (!any)
			buf_addf(out, "\n%c%s:\n", group[0] - 'a' + 'A', group + 1);
		buf_addf(out, "  %-12s %s\n", cmd_list[i]->name, cmd_list[i]->summary);
		any = true;
	}
}

void help_overview(struct buf *out)
{
	static const char *const groups[] = { "measure", "classic", "understand", "exchange",
		"care" };

	help_usage(out);
	buf_add(out, "\nMeasures storage, keeps every result, and says what a figure is worth.\n");
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		add_group(out, groups[i]);
	buf_add(out, "\n");
	opt_help(global_opts, out);
	buf_add(out,
		"\nSizes: k, M, G, T are powers of 1024, kB, MB, GB, TB powers of 1000. Times: us, "
		"ms, s, m, h.\n"
		"Exit status: 0 done, 1 measuring failed, 2 usage, 3 negative verdict, 4 not "
		"supported here,\n"
		"130 interrupted.\n");
}

/* Lines of the examples, indented. */
static void add_examples(struct buf *out, const char *examples, const char *indent)
{
	while (*examples) {
		size_t n = strcspn(examples, "\n");

		buf_add(out, indent);
		buf_add_bytes(out, examples, n);
		buf_add(out, "\n");
		examples += n + (examples[n] == '\n');
	}
}

void help_command(const struct cmd *cmd, struct buf *out)
{
	bool has_options = cmd->opts && cmd->opts[0].name;

	buf_addf(out, "usage: clyde %s%s%s%s\n\n%s\n", cmd->name, has_options ? " [OPTIONS]" : "",
		cmd->operands[0] ? " " : "", cmd->operands, cmd->summary);
	if (has_options) {
		buf_add(out, "\n");
		opt_help(cmd->opts, out);
	}
	buf_add(out, "\n");
	opt_help(global_opts, out);
	if (cmd->examples && cmd->examples[0]) {
		buf_add(out, "\nExamples:\n");
		add_examples(out, cmd->examples, "  ");
	}
}

/* ---- parts of man pages, scdoc(5) ---- */

static void add_scdoc_text(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("*_\\#[]|.<>`~", *text))
			buf_add(out, "\\");
		buf_add_bytes(out, text, 1);
	}
}

static void add_scdoc_item(struct buf *out, const char *prefix, const char *name, const char *text)
{
	buf_addf(out, "*%s", prefix);
	add_scdoc_text(out, name);
	buf_add(out, "*\n\t");
	add_scdoc_text(out, text);
	buf_add(out, ".\n\n");
}

static void scdoc_options(const struct cmd *cmd, struct buf *out)
{
	if (!cmd) {
		opt_scdoc(global_opts, out);
		return;
	}
	if (cmd->opts[0].name)
		opt_scdoc(cmd->opts, out);
	buf_add(out, "The options in *clyde*(1) are taken as well.\n");
}

static void scdoc_commands(struct buf *out)
{
	for (size_t i = 0; cmd_list[i]; i++)
		add_scdoc_item(out, "clyde ", cmd_list[i]->name, cmd_list[i]->summary);
}

static void scdoc_columns(struct buf *out)
{
	struct report_pair column;

	for (size_t i = 0; report_column(i, &column); i++)
		add_scdoc_item(out, "", column.name, column.text);
}

static void add_scdoc(enum scdoc_part part, const struct cmd *cmd, struct buf *out)
{
	switch (part) {
	case SCDOC_OPTIONS:
		scdoc_options(cmd, out);
		break;
	case SCDOC_EXAMPLES:
		buf_add(out, "```\n");
		add_examples(out, cmd ? cmd->examples : "clyde run\nclyde show last", "");
		buf_add(out, "```\n");
		break;
	case SCDOC_COMMANDS:
		scdoc_commands(out);
		break;
	case SCDOC_COLUMNS:
		scdoc_columns(out);
		break;
	case SCDOC_NONE:
		break;
	}
}

static int print_columns(struct context *ctx, struct err *e)
{
	static const struct report_grid_column columns[] = {
		{ .key = "id", .heading = "column" },
		{ .key = "help", .heading = "what it means", .fold = true },
	};
	enum { N_MAX = 32 };
	const char *cells[2 * N_MAX];
	struct report_pair pair;
	size_t n = 0;

	for (; n < N_MAX && report_column(n, &pair); n++) {
		cells[2 * n] = pair.name;
		cells[2 * n + 1] = pair.text;
	}
	return common_print_grid(ctx,
		&(struct report_grid){ .name = "columns",
			.columns = columns,
			.n_columns = 2,
			.cells = cells,
			.n_rows = n },
		e);
}

static int cmd_help_main(struct context *ctx, void *args, const char *const *operands,
	size_t n_operands, struct err *e)
{
	const struct help_args *a = args;
	const struct cmd *cmd = n_operands ? cmd_find(operands[0]) : NULL;
	cleanup(buf_release_p) struct buf text = { 0 };

	if (n_operands > 1) {
		err_set(e, ERR_USAGE, 0, "'%s': help takes one command at a time", operands[1]);
		return err_exit_status(e->kind);
	}
	if (n_operands == 1 && !cmd) {
		err_set(e, ERR_USAGE, 0, "unknown command '%s'; clyde help lists them",
			operands[0]);
		return err_exit_status(e->kind);
	}
	if (a->columns)
		return print_columns(ctx, e);
	if (a->scdoc != SCDOC_NONE)
		add_scdoc((enum scdoc_part)a->scdoc, cmd, &text);
	else if (cmd)
		help_command(cmd, &text);
	else
		help_overview(&text);
	return common_print_text(ctx, "help", &text, e);
}

const struct cmd cmd_help = {
	.name = "help",
	.summary = "help for a command",
	.operands = "[COMMAND]",
	.group = "care",
	.opts = help_opts,
	.args_size = sizeof(struct help_args),
	.examples = "clyde help run\n"
		    "clyde help --columns   what the columns of a result mean",
	.run = cmd_help_main,
};

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * clyde [GLOBAL] COMMAND [OPTIONS] [OPERANDS]: finds the command, fills its arguments, prints its
 * error, and makes sure that what was printed has arrived.
 */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/cmd.h"
#include "cli/common.h"
#include "cli/stop.h"

/*
 * A standard stream that is closed would give its number to the next file that is opened, and
 * messages would end up in a test file or the history. The stand-in is opened the wrong way round,
 * so that using it is still an error.
 */
static void reserve_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			_exit(1);
}

/* Position of the command's name, or argc. Global options before it may have a value. */
static int find_command(int argc, const char *const *argv)
{
	int i = 1;

	for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
		const struct opt *row = global_opts;

		if (strcmp(argv[i], "--") == 0)
			return argc;
		while (row->name && (row->kind == OPT_KIND_END || strncmp(argv[i], "--", 2) != 0 ||
					    strcmp(row->name, argv[i] + 2) != 0))
			row++;
		if (row->name && row->kind != OPT_KIND_FLAG)
			i++;
	}
	return i < argc ? i : argc;
}

/* For errors of the command line itself, which end before --json is parsed. */
static bool asks_for_json(int argc, const char *const *argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--json") == 0)
			return true;
	return false;
}

static int unknown_command(const char *name, struct err *e)
{
	const struct cmd *near = cmd_nearest(name);

	if (near)
		err_set(e, ERR_USAGE, 0, "unknown command '%s'; did you mean '%s'?", name,
			near->name);
	else
		err_set(e, ERR_USAGE, 0, "unknown command '%s'; clyde help lists them", name);
	return err_exit_status(e->kind);
}

static int print_version(struct context *ctx, struct err *e)
{
	cleanup(buf_release_p) struct buf text = { 0 };

	buf_add(&text, ctx->global.json ? CLYDE_VERSION : "clyde " CLYDE_VERSION "\n");
	return common_print_text(ctx, "version", &text, e);
}

static int print_help(struct context *ctx, const struct cmd *cmd, struct err *e)
{
	cleanup(buf_release_p) struct buf text = { 0 };

	if (cmd)
		help_command(cmd, &text);
	else
		help_overview(&text);
	return common_print_text(ctx, "help", &text, e);
}

static int without_command(struct context *ctx, struct err *e)
{
	cleanup(buf_release_p) struct buf text = { 0 };

	if (ctx->global.version)
		return print_version(ctx, e);
	if (ctx->global.help)
		return print_help(ctx, NULL, e);
	help_usage(&text);
	fputs(buf_text(&text), stderr);
	err_set(e, ERR_USAGE, 0, "no command; clyde help lists them");
	return err_exit_status(e->kind);
}

/* Only what measures has something to end cleanly; the rest dies of ^C as any program. */
static bool ends_cleanly(const struct cmd *cmd)
{
	return strcmp(cmd->group, "measure") == 0 || strcmp(cmd->group, "classic") == 0;
}

/* @argv: [argc] what stands behind the command's name */
static int run_command(struct context *ctx, const struct cmd *cmd, int argc,
	const char *const *argv, struct err *e)
{
	cleanup(free_p) void *args = calloc(1, cmd->args_size ? cmd->args_size : 1);
	cleanup(free_p) const char **operands = calloc((size_t)argc + 1, sizeof(operands[0]));
	struct opt_table tables[] = { { cmd->opts, args }, { global_opts, &ctx->global } };
	size_t n_operands = 0;
	int status;

	if (!args || !operands) {
		err_set(e, ERR_NOMEM, 0, "memory is out");
		return err_exit_status(e->kind);
	}
	if (opt_parse(tables, 2, argc, argv, operands, &n_operands, e)) {
		err_wrap(e, "%s", cmd->name);
		return err_exit_status(e->kind);
	}
	if (ctx->global.version)
		return print_version(ctx, e);
	if (ctx->global.help)
		return print_help(ctx, cmd, e);
	if (ends_cleanly(cmd))
		stop_install(STOP_GRACE_MS);
	status = cmd->run(ctx, args, operands, n_operands, e);
	return status < 0 ? err_exit_status(e->kind) : status;
}

static int dispatch(struct context *ctx, struct err *e)
{
	int at = find_command(ctx->argc, ctx->argv);
	cleanup(free_p) const char **operands = calloc((size_t)ctx->argc + 1, sizeof(operands[0]));
	struct opt_table table = { global_opts, &ctx->global };
	const struct cmd *cmd;
	size_t n_operands = 0;

	if (!operands) {
		err_set(e, ERR_NOMEM, 0, "memory is out");
		return err_exit_status(e->kind);
	}
	if (at > 1 && opt_parse(&table, 1, at - 1, ctx->argv + 1, operands, &n_operands, e))
		return err_exit_status(e->kind);
	if (at >= ctx->argc)
		return without_command(ctx, e);
	cmd = cmd_find(ctx->argv[at]);
	if (!cmd)
		return unknown_command(ctx->argv[at], e);
	return run_command(ctx, cmd, ctx->argc - at - 1, ctx->argv + at + 1, e);
}

/* What was printed may still be on its way to a full disk or a closed pipe. */
static int close_output(int status)
{
	bool failed = ferror(stdout) != 0;

	errno = 0;
	/* fclose() flushes, and shows what a network file system says only at close. */
	if (fclose(stdout) != 0)
		failed = true;
	if (!failed)
		return status;
	fprintf(stderr, "clyde: cannot write to standard output%s%s\n", errno ? ": " : "",
		errno ? strerror(errno) : "");
	return status ? status : 1;
}

int main(int argc, char **argv)
{
	struct context ctx = { .argv = (const char *const *)argv, .argc = argc };
	cleanup(buf_release_p) struct buf line = { 0 };
	struct err e = { 0 };
	int status;

	reserve_streams();
	/* Characters only: numbers keep their point. */
	setlocale(LC_CTYPE, "");
	stop_ignore_write_signals();
	for (int i = 0; i < argc; i++) {
		buf_add(&line, i ? " " : "");
		common_add_quoted(&line, argv[i]);
	}
	ctx.command_line = buf_text(&line);
	ctx.stop = stop_flag();
	status = dispatch(&ctx, &e);
	if (status != 0 && e.kind != ERR_NONE) {
		fprintf(stderr, "clyde: %s\n", e.msg);
		if ((ctx.global.json || asks_for_json(argc, ctx.argv)) && !ctx.json_printed)
			report_err_json(&e, stdout);
	}
	return close_output(status);
}

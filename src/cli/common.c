/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The environment is looked at here and in main.c only: below, everything comes in as arguments.
 */
#include "cli/common.h"

#include <langinfo.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/cmd.h"
#include "verdict/verdict.h"

int common_open_history(
	const struct context *ctx, enum history_mode mode, struct history **ret, struct err *e)
{
	cleanup(free_p) char *path =
		ctx->global.db ? strdup(ctx->global.db) : history_default_path(e);

	if (!path)
		return ctx->global.db ? err_set(e, ERR_NOMEM, 0, "memory is out") : -1;
	return history_open(path, mode, ret, e);
}

/* NO_COLOR counts when it is there and not empty (no-color.org). */
bool common_wants_color(const struct context *ctx, int fd)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (ctx->global.no_color || (no_color && no_color[0]))
		return false;
	return isatty(fd) && term && term[0] && strcmp(term, "dumb") != 0;
}

unsigned common_width(int fd)
{
	struct winsize size = { 0 };

	if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) != 0)
		return 0;
	return size.ws_col;
}

static const char *proof_word(
	const struct result *r, const struct phase_result *phase, double *ret_device_ratio)
{
	return proof_name(verdict_proof(r, phase, ret_device_ratio));
}

struct report_style common_style(const struct context *ctx, bool verbose)
{
	return (struct report_style){
		.color = common_wants_color(ctx, STDOUT_FILENO),
		.ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0,
		.verbose = verbose,
		.width_columns = common_width(STDOUT_FILENO),
		.proof = proof_word,
	};
}

int common_print_grid(struct context *ctx, const struct report_grid *grid, struct err *e)
{
	struct report_style style = common_style(ctx, false);
	int failed;

	if (ctx->global.json) {
		failed = report_grid_json(grid, stdout, e);
		ctx->json_printed = !failed;
	} else {
		failed = report_grid(grid, &style, stdout, e);
	}
	return failed ? err_exit_status(e->kind) : 0;
}

int common_print_text(struct context *ctx, const char *key, const struct buf *text, struct err *e)
{
	int failed = 0;

	if (text->failed)
		failed = err_set(e, ERR_NOMEM, 0, "memory is out for a text");
	else if (!ctx->global.json)
		fputs(buf_text(text), stdout);
	else
		failed = report_text_json(key, buf_text(text), stdout, e);
	ctx->json_printed = ctx->global.json && !failed;
	return failed ? err_exit_status(e->kind) : 0;
}

void common_add_quoted(struct buf *b, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_./:=,@%+-";

	if (text[0] && strspn(text, plain) == strlen(text)) {
		buf_add(b, text);
		return;
	}
	buf_add(b, "'");
	for (; *text; text++) {
		if (*text == '\'')
			buf_add(b, "'\\''");
		else
			buf_add_bytes(b, text, 1);
	}
	buf_add(b, "'");
}

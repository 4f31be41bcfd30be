/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The line is one write, so that nothing comes between; it is cut below the width, because a
 * terminal that wraps it could not take it away again. The text is ASCII, a byte is a column.
 */
#include "cli/live.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/units.h"
#include "cli/cmd.h"
#include "cli/common.h"

struct live {
	bool color;
	bool shown;
};

struct live *live_new(const struct context *ctx)
{
	const char *term = getenv("TERM");
	struct live *live;

	if (!isatty(STDERR_FILENO) || !term || strcmp(term, "dumb") == 0)
		return NULL;
	live = calloc(1, sizeof(*live));
	if (live)
		live->color = common_wants_color(ctx, STDERR_FILENO);
	return live;
}

/* Adds ", part" if it fits; a part that does not is left out whole. */
static void add_part(struct buf *out, const char *part, unsigned width_columns)
{
	if (width_columns == 0 || out->n_bytes + 2 + strlen(part) <= width_columns)
		buf_addf(out, "  %s", part);
}

void live_text(const struct live_view *view, unsigned width_columns, struct buf *out)
{
	cleanup(buf_release_p) struct buf name = { 0 };
	char number[UNITS_TEXT_MAX], part[64];

	buf_add_escaped(&name, view->phase);
	if (width_columns > 0 && name.n_bytes > width_columns)
		buf_add_bytes(out, buf_text(&name), width_columns);
	else
		buf_add(out, buf_text(&name));
	if (view->step)
		add_part(out, view->step, width_columns);
	if (view->left_s >= 0) {
		snprintf(part, sizeof(part), "%s left", units_wait(view->left_s, number));
		add_part(out, part, width_columns);
	}
	if (view->throughput_bps >= 0) {
		snprintf(part, sizeof(part), "%s/s", units_bytes_si(view->throughput_bps, number));
		add_part(out, part, width_columns);
	}
	if (view->ops_per_s >= 0) {
		snprintf(part, sizeof(part), "%s ops/s", units_sig3(view->ops_per_s, number));
		add_part(out, part, width_columns);
	}
	if (view->sample > 0) {
		snprintf(part, sizeof(part), "sample %u of %u", view->sample, view->n_samples);
		add_part(out, part, width_columns);
	}
}

/* Progress is a courtesy: a terminal that is gone must not end the run. */
static void write_line(const struct buf *line)
{
	if (!line->failed && write(STDERR_FILENO, buf_text(line), line->n_bytes) < 0)
		return;
}

/* A background job that writes would be stopped by a terminal with TOSTOP. */
static bool in_foreground(void)
{
	return tcgetpgrp(STDERR_FILENO) == getpgrp();
}

void live_show(struct live *live, const struct live_view *view)
{
	unsigned width = live ? common_width(STDERR_FILENO) : 0;
	cleanup(buf_release_p) struct buf text = { 0 };
	cleanup(buf_release_p) struct buf line = { 0 };

	if (!live || !in_foreground())
		return;
	live_text(view, width > 1 ? width - 1 : 0, &text);
	/* Erase to the end of the line: ECMA-48, EL. */
	buf_addf(&line, live->color ? "\r\033[2m%s\033[0m\033[K" : "\r%s\033[K", buf_text(&text));
	write_line(&line);
	live->shown = true;
}

void live_erase(struct live *live)
{
	cleanup(buf_release_p) struct buf line = { 0 };

	if (!live || !live->shown || !in_foreground())
		return;
	buf_add(&line, "\r\033[K");
	write_line(&line);
	live->shown = false;
}

void live_free(struct live *live)
{
	live_erase(live);
	free(live);
}

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

/* Phase names are ours and ASCII; one from a file is escaped until it is. */
static void add_name(struct buf *name, const struct live_view *view)
{
	buf_add_escaped(name, view->phase);
	if (view->step)
		buf_addf(name, "  %s", view->step);
}

enum { PART_SAMPLE, PART_SPEED, PART_OPS, PART_LEFT, PART_N };

struct parts {
	char text[PART_N][64]; /* in the order they are shown; "": not there */
	size_t n_columns;
};

static void drop_part(struct parts *p, int part)
{
	if (p->text[part][0])
		p->n_columns -= 2 + strlen(p->text[part]);
	p->text[part][0] = '\0';
}

static void make_parts(const struct live_view *view, struct parts *p)
{
	char number[UNITS_TEXT_MAX];

	if (view->sample > 0)
		snprintf(p->text[PART_SAMPLE], sizeof(p->text[0]), "sample %u of %u", view->sample,
			view->n_samples);
	if (view->throughput_bps >= 0)
		snprintf(p->text[PART_SPEED], sizeof(p->text[0]), "%s/s",
			units_bytes_si(view->throughput_bps, number));
	if (view->ops_per_s >= 0)
		snprintf(p->text[PART_OPS], sizeof(p->text[0]), "%s ops/s",
			units_sig3(view->ops_per_s, number));
	if (view->left_s >= 0)
		snprintf(p->text[PART_LEFT], sizeof(p->text[0]), "%s left",
			units_wait(view->left_s, number));
	for (int i = 0; i < PART_N; i++)
		if (p->text[i][0])
			p->n_columns += 2 + strlen(p->text[i]);
}

void live_text(const struct live_view *view, unsigned width_columns, struct buf *out)
{
	/* What a person misses least goes first. */
	static const int drop_order[PART_N] = { PART_SAMPLE, PART_OPS, PART_SPEED, PART_LEFT };
	cleanup(buf_release_p) struct buf name = { 0 };
	struct parts parts = { 0 };

	add_name(&name, view);
	make_parts(view, &parts);
	for (int i = 0; i < PART_N; i++)
		if (width_columns > 0 && name.n_bytes + parts.n_columns > width_columns)
			drop_part(&parts, drop_order[i]);
	if (width_columns > 0 && name.n_bytes > width_columns)
		buf_add_bytes(out, buf_text(&name), width_columns);
	else
		buf_add(out, buf_text(&name));
	for (int i = 0; i < PART_N; i++)
		if (parts.text[i][0])
			buf_addf(out, "  %s", parts.text[i]);
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

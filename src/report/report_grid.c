/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any table through libsmartcols. Rows are never broken: a table that is too wide first loses the
 * columns that say how to lose them, then trims. smartcols' own encoding is off, because cells are
 * escaped already and it would escape the escapes.
 */
#include "report/report.h"

#include <libsmartcols.h>
#include <string.h>
#include <wchar.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "report/cells.h"

static void table_free(struct libscols_table *t)
{
	scols_unref_table(t);
}
DEFINE_CLEANUP(struct libscols_table *, table_free)

/* [columns] on a terminal; a byte that is no character counts as one. */
static size_t text_width(const char *text)
{
	mbstate_t state = { 0 };
	size_t n_left = strlen(text), width = 0;

	while (n_left > 0) {
		wchar_t c;
		size_t n = mbrtowc(&c, text, n_left, &state);
		int w = 1;

		if (n == 0 || n > n_left) {
			state = (mbstate_t){ 0 };
			n = 1;
		} else {
			w = wcwidth(c);
		}
		width += w > 0 ? (size_t)w : 0;
		text += n;
		n_left -= n;
	}
	return width;
}

static const char *cell_of(const struct report_grid *g, size_t row, size_t column)
{
	const char *text = g->cells[row * g->n_columns + column];

	if (text && g->columns[column].kind == REPORT_BOOL)
		return strcmp(text, "true") == 0 ? "yes" : "no";
	return text;
}

static size_t column_width(const struct report_grid *g, size_t column)
{
	size_t width = g->no_headings ? 0 : text_width(g->columns[column].heading);

	for (size_t row = 0; row < g->n_rows; row++) {
		const char *text = cell_of(g, row, column);
		size_t w = text ? text_width(text) : 0;

		width = w > width ? w : width;
	}
	return width;
}

/* A column that is nowhere filled, or dropped, is not shown. Bit per column. */
struct layout {
	uint64_t shown;
	uint64_t dropped;
	uint64_t trimmed;
};

enum { GRID_N_COLUMNS_MAX = 64 };

static size_t shown_width(const size_t *widths, size_t n, uint64_t shown)
{
	size_t total = 0;

	for (size_t i = 0; i < n; i++)
		if (shown >> i & 1)
			total += widths[i] + 1;
	return total ? total - 1 : 0;
}

/* The column to lose next: the smallest drop order above 0; n when there is none. */
static size_t next_drop(const struct report_grid *g, uint64_t shown)
{
	size_t best = g->n_columns;

	for (size_t i = 0; i < g->n_columns; i++)
		if (shown >> i & 1 && g->columns[i].drop > 0 &&
			(best == g->n_columns || g->columns[i].drop < g->columns[best].drop))
			best = i;
	return best;
}

/* Trims from the right, so that the first column, the name of the row, is cut last. */
static uint64_t choose_trim(
	const struct report_grid *g, const size_t *widths, uint64_t shown, size_t want)
{
	size_t total = shown_width(widths, g->n_columns, shown);
	uint64_t trimmed = 0;

	for (size_t i = g->n_columns; i-- > 0 && total > want;) {
		size_t least = g->no_headings ? 1 : text_width(g->columns[i].heading);

		if (!(shown >> i & 1) || !g->columns[i].trim || widths[i] <= least)
			continue;
		trimmed |= UINT64_C(1) << i;
		total -= widths[i] - least;
	}
	return trimmed;
}

static struct layout choose_layout(const struct report_grid *g, size_t want)
{
	size_t widths[GRID_N_COLUMNS_MAX] = { 0 };
	struct layout l = { 0 };

	for (size_t i = 0; i < g->n_columns; i++) {
		if (!g->columns[i].heading)
			continue;
		widths[i] = column_width(g, i);
		l.shown |= UINT64_C(1) << i;
	}
	if (want == 0)
		return l;
	while (shown_width(widths, g->n_columns, l.shown) > want) {
		size_t lost = next_drop(g, l.shown);

		if (lost == g->n_columns)
			break;
		l.shown &= ~(UINT64_C(1) << lost);
		l.dropped |= UINT64_C(1) << lost;
	}
	l.trimmed = choose_trim(g, widths, l.shown, want);
	return l;
}

static int add_columns(
	struct libscols_table *t, const struct report_grid *g, const struct layout *l)
{
	for (size_t i = 0; i < g->n_columns; i++) {
		const struct report_grid_column *c = &g->columns[i];
		int flags = 0;

		if (!(l->shown >> i & 1))
			continue;
		if (c->right || c->kind == REPORT_NUMBER)
			flags |= SCOLS_FL_RIGHT;
		if (l->trimmed >> i & 1)
			flags |= SCOLS_FL_TRUNC;
		if (!scols_table_new_column(t, c->heading, 0, flags))
			return -1;
	}
	return 0;
}

static int add_line(
	struct libscols_table *t, const struct report_grid *g, const struct layout *l, size_t row)
{
	struct libscols_line *line = scols_table_new_line(t, NULL);
	size_t at = 0;

	if (!line)
		return -1;
	for (size_t i = 0; i < g->n_columns; i++) {
		const char *text = cell_of(g, row, i);

		if (!(l->shown >> i & 1))
			continue;
		if (text && scols_line_set_data(line, at, text))
			return -1;
		if (text && g->columns[i].color && g->row_colors && g->row_colors[row] &&
			scols_cell_set_color(scols_line_get_cell(line, at), g->row_colors[row]))
			return -1;
		at++;
	}
	return 0;
}

static void print_dropped(const struct report_grid *g, const struct layout *l, FILE *out)
{
	const char *before = "left out to fit the width: ";

	for (size_t i = 0; i < g->n_columns; i++) {
		if (!(l->dropped >> i & 1))
			continue;
		fprintf(out, "%s%s", before, g->columns[i].heading);
		before = ", ";
	}
	if (l->dropped)
		fputc('\n', out);
}

int report_grid(
	const struct report_grid *grid, const struct report_style *style, FILE *out, struct err *e)
{
	struct layout l = choose_layout(grid, style->width_columns);
	cleanup(table_free_p) struct libscols_table *t = NULL;

	if (grid->n_rows == 0)
		return 0;
	t = scols_new_table();
	if (!t || add_columns(t, grid, &l))
		return err_set(e, ERR_NOMEM, 0, "memory is out for a table");
	scols_table_set_stream(t, out);
	scols_table_enable_noencoding(t, 1);
	scols_table_enable_minout(t, 1);
	scols_table_enable_colors(t, style->color);
	scols_table_enable_noheadings(t, grid->no_headings);
	scols_table_set_termforce(t, l.trimmed ? SCOLS_TERMFORCE_ALWAYS : SCOLS_TERMFORCE_NEVER);
	if (l.trimmed)
		scols_table_set_termwidth(t, style->width_columns);
	for (size_t row = 0; row < grid->n_rows; row++)
		if (add_line(t, grid, &l, row))
			return err_set(e, ERR_NOMEM, 0, "memory is out for a table");
	/* What the stream refuses is seen by whoever closes it. */
	scols_print_table(t);
	print_dropped(grid, &l, out);
	return 0;
}

int report_pairs(const struct report_pair *pairs, size_t n_pairs, const struct report_style *style,
	FILE *out, struct err *e)
{
	static const struct report_grid_column columns[] = {
		{ .key = "name", .heading = "name" },
		{ .key = "text", .heading = "text", .trim = true },
	};
	cleanup(cells_release) struct cells cells = { 0 };

	if (cells_init(&cells, n_pairs, 2, e))
		return -1;
	for (size_t i = 0; i < n_pairs; i++)
		if (cells_set(&cells, i, 0, pairs[i].name, style->ascii, e) ||
			cells_set(&cells, i, 1, pairs[i].text, style->ascii, e))
			return -1;
	return report_grid(&(struct report_grid){ .columns = columns,
				   .n_columns = 2,
				   .cells = (const char *const *)cells.text,
				   .n_rows = n_pairs,
				   .no_headings = true },
		style, out, e);
}

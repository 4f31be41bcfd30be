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

/*
 * [columns] of the start of @text that fits into @n_columns on a terminal, and its bytes. A byte
 * that is no character counts as one.
 */
static size_t text_prefix(const char *text, size_t n_columns, size_t *ret_n_bytes)
{
	mbstate_t state = { 0 };
	size_t n_left = strlen(text), n_bytes = 0, width = 0;

	while (n_left > 0) {
		wchar_t c;
		size_t n = mbrtowc(&c, text + n_bytes, n_left, &state);
		int w = 1;

		if (n == 0 || n > n_left) {
			state = (mbstate_t){ 0 };
			n = 1;
		} else {
			w = wcwidth(c);
		}
		if (w > 0 && width + (size_t)w > n_columns)
			break;
		width += w > 0 ? (size_t)w : 0;
		n_bytes += n;
		n_left -= n;
	}
	if (ret_n_bytes)
		*ret_n_bytes = n_bytes;
	return width;
}

/* [columns] on a terminal */
static size_t text_width(const char *text)
{
	return text_prefix(text, SIZE_MAX, NULL);
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

enum {
	GRID_N_COLUMNS_MAX = 64,
	GRID_TRIM_FINE = 20, /* columns that may be trimmed to this before another is left out */
};

struct layout {
	uint64_t shown; /* bit per column */
	uint64_t dropped;
	size_t widths[GRID_N_COLUMNS_MAX];
};

static bool is_shown(const struct layout *l, size_t column)
{
	return l->shown >> column & 1;
}

static bool may_shrink(const struct report_grid *g, size_t column)
{
	return g->columns[column].trim || g->columns[column].fold;
}

/* The width a column can be trimmed to without harm; the first one names the row. */
static size_t fine_width(const struct report_grid *g, const struct layout *l, size_t column)
{
	if (column > 0 && may_shrink(g, column) && l->widths[column] > GRID_TRIM_FINE)
		return GRID_TRIM_FINE;
	return l->widths[column];
}

static size_t total_width(const struct report_grid *g, const struct layout *l, bool fine)
{
	size_t total = 0;

	for (size_t i = 0; i < g->n_columns; i++)
		if (is_shown(l, i))
			total += (fine ? fine_width(g, l, i) : l->widths[i]) + 1;
	return total ? total - 1 : 0;
}

/* The column to lose next: the smallest drop order above 0; n_columns when there is none. */
static size_t next_drop(const struct report_grid *g, const struct layout *l)
{
	size_t best = g->n_columns;

	for (size_t i = 0; i < g->n_columns; i++)
		if (is_shown(l, i) && g->columns[i].drop > 0 &&
			(best == g->n_columns || g->columns[i].drop < g->columns[best].drop))
			best = i;
	return best;
}

/* Trims from the right, so that the first column is cut last. */
static void trim_columns(const struct report_grid *g, struct layout *l, size_t want)
{
	for (size_t i = g->n_columns; i-- > 0;) {
		size_t total = total_width(g, l, false);
		size_t least = g->no_headings ? 1 : 4;

		if (total <= want)
			return;
		if (!is_shown(l, i) || !may_shrink(g, i) || l->widths[i] <= least)
			continue;
		if (l->widths[i] - least > total - want)
			l->widths[i] -= total - want;
		else
			l->widths[i] = least;
	}
}

static struct layout choose_layout(const struct report_grid *g, size_t want)
{
	struct layout l = { 0 };

	for (size_t i = 0; i < g->n_columns; i++) {
		if (!g->columns[i].heading)
			continue;
		l.widths[i] = column_width(g, i);
		l.shown |= UINT64_C(1) << i;
	}
	if (want == 0)
		return l;
	while (total_width(g, &l, true) > want) {
		size_t lost = next_drop(g, &l);

		if (lost == g->n_columns)
			break;
		l.shown &= ~(UINT64_C(1) << lost);
		l.dropped |= UINT64_C(1) << lost;
	}
	trim_columns(g, &l, want);
	return l;
}

static int add_columns(
	struct libscols_table *t, const struct report_grid *g, const struct layout *l)
{
	for (size_t i = 0; i < g->n_columns; i++) {
		const struct report_grid_column *c = &g->columns[i];
		int flags = 0;

		if (!is_shown(l, i))
			continue;
		if (c->right || c->kind == REPORT_NUMBER)
			flags |= SCOLS_FL_RIGHT;
		if (c->fold)
			flags |= SCOLS_FL_WRAP;

		struct libscols_column *added = scols_table_new_column(t, c->heading, 0, flags);

		if (!added || (c->fold && scols_column_set_wrapfunc(added, scols_wrapnl_chunksize,
						  scols_wrapnl_nextchunk, NULL)))
			return -1;
	}
	return 0;
}

/* Adds @text with line ends between words, so that no line is wider than @width. */
static void add_folded(struct buf *out, const char *text, size_t width)
{
	size_t n_bytes;

	for (;;) {
		text_prefix(text, width, &n_bytes);
		if (text[n_bytes] == '\0')
			break;

		size_t n_words = n_bytes;

		while (n_words > 0 && text[n_words] != ' ')
			n_words--;
		/* A word longer than a line, or a line narrower than a character, is cut anywhere.
		 */
		if (n_words == 0)
			n_words = n_bytes ? n_bytes : 1;
		buf_add_bytes(out, text, n_words);
		buf_add(out, "\n");
		text += n_words + strspn(text + n_words, " ");
	}
	buf_add(out, text);
}

static int set_data(
	struct libscols_line *line, size_t at, const char *text, size_t width, bool fold)
{
	cleanup(buf_release_p) struct buf folded = { 0 };
	size_t n_bytes;

	if (fold) {
		add_folded(&folded, text, width);
		return folded.failed ? -1 : scols_line_set_data(line, at, buf_text(&folded));
	}
	text_prefix(text, width, &n_bytes);

	cleanup(free_p) char *start = strndup(text, n_bytes);

	return start ? scols_line_set_data(line, at, start) : -1;
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

		if (!is_shown(l, i))
			continue;
		if (text && set_data(line, at, text, l->widths[i], g->columns[i].fold))
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
	/* Cells are cut to the width already: smartcols would trim to the heading at once. */
	scols_table_set_termforce(t, SCOLS_TERMFORCE_NEVER);
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
		{ .key = "text", .heading = "text", .fold = true },
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

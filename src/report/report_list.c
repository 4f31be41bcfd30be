/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The list of results. An id is cut to what tells the listed ones apart, at least 13 characters:
 * the time stamp of a UUIDv7 (RFC 9562 section 5.7), which is what a person types.
 */
#include "report/report.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "report/cells.h"

enum { LIST_ID_MIN = 13 };

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t common_length(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

/* Length that tells every id from every other; 0 when memory is out. */
static size_t id_length(const struct report_list_row *rows, size_t n_rows)
{
	cleanup(free_p) const char **ids = calloc(n_rows + 1, sizeof(ids[0]));
	size_t n = LIST_ID_MIN;

	if (!ids)
		return 0;
	for (size_t i = 0; i < n_rows; i++)
		ids[i] = rows[i].id;
	qsort(ids, n_rows, sizeof(ids[0]), by_text);
	for (size_t i = 1; i < n_rows; i++) {
		size_t common = common_length(ids[i - 1], ids[i]);

		n = common + 1 > n ? common + 1 : n;
	}
	return n;
}

enum list_column {
	LIST_ID,
	LIST_WHEN,
	LIST_STATUS,
	LIST_PLAN,
	LIST_SAMPLES,
	LIST_PHASES,
	LIST_HOST,
	LIST_TARGET,
	LIST_LABEL,
	LIST_N_COLUMNS
};

static const struct report_grid_column list_columns[LIST_N_COLUMNS] = {
	[LIST_ID] = { .key = "id", .heading = "id" },
	[LIST_WHEN] = { .key = "started", .heading = "when", .drop = 5 },
	[LIST_STATUS] = { .key = "status", .heading = "status" },
	[LIST_PLAN] = { .key = "plan", .heading = "plan", .drop = 4 },
	[LIST_SAMPLES] = { .key = "samples",
		.heading = "samples",
		.kind = REPORT_NUMBER,
		.drop = 3 },
	[LIST_PHASES] = { .key = "phases", .heading = "phases", .kind = REPORT_NUMBER, .drop = 2 },
	[LIST_HOST] = { .key = "host", .heading = "host", .trim = true, .drop = 1 },
	[LIST_TARGET] = { .key = "target", .heading = "target", .trim = true },
	[LIST_LABEL] = { .key = "label", .heading = "label", .trim = true },
};

/* What both forms share: the numbers. */
static int fill_counts(struct cells *c, size_t i, const struct report_list_row *row, struct err *e)
{
	cleanup(buf_release_p) struct buf b = { 0 };

	buf_addf(&b, "%u", row->n_samples);
	if (cells_take(c, i, LIST_SAMPLES, &b, e))
		return -1;
	buf_addf(&b, "%u", row->n_phases);
	return cells_take(c, i, LIST_PHASES, &b, e);
}

static int fill_row(struct cells *c, size_t i, const struct report_list_row *row, size_t n_id,
	bool ascii, struct err *e)
{
	cleanup(buf_release_p) struct buf b = { 0 };
	cleanup(free_p) char *id = strndup(row->id, n_id);

	if (!id)
		return err_set(e, ERR_NOMEM, 0, "memory is out for the list of results");
	cells_add_time(&b, row->started_wall_ns, CELLS_TIME_BRIEF);
	if (cells_take(c, i, LIST_WHEN, &b, e) || fill_counts(c, i, row, e))
		return -1;
	if (cells_set(c, i, LIST_ID, id, ascii, e) ||
		cells_set(c, i, LIST_STATUS, row->status, ascii, e) ||
		cells_set(c, i, LIST_PLAN, row->plan, ascii, e) ||
		cells_set(c, i, LIST_HOST, row->hostname, ascii, e) ||
		cells_set(c, i, LIST_TARGET, row->target, ascii, e))
		return -1;
	return cells_set(c, i, LIST_LABEL, row->label, ascii, e);
}

int report_list(const struct report_list_row *rows, size_t n_rows, const struct report_style *style,
	FILE *out, struct err *e)
{
	cleanup(cells_release) struct cells cells = { 0 };
	size_t n_id = id_length(rows, n_rows);

	if (n_id == 0)
		return err_set(e, ERR_NOMEM, 0, "memory is out for the list of results");
	if (cells_init(&cells, n_rows, LIST_N_COLUMNS, e))
		return -1;
	for (size_t i = 0; i < n_rows; i++)
		if (fill_row(&cells, i, &rows[i], n_id, style->ascii, e))
			return -1;
	return report_grid(&(struct report_grid){ .columns = list_columns,
				   .n_columns = LIST_N_COLUMNS,
				   .cells = (const char *const *)cells.text,
				   .n_rows = n_rows },
		style, out, e);
}

int report_list_json(const struct report_list_row *rows, size_t n_rows, FILE *out, struct err *e)
{
	cleanup(cells_release) struct cells cells = { 0 };
	cleanup(free_p) const char **texts = calloc(n_rows * LIST_N_COLUMNS + 1, sizeof(texts[0]));
	cleanup(buf_release_p) struct buf b = { 0 };

	if (!texts)
		return err_set(e, ERR_NOMEM, 0, "memory is out for the list of results");
	if (cells_init(&cells, n_rows, LIST_N_COLUMNS, e))
		return -1;
	for (size_t i = 0; i < n_rows; i++) {
		const char **t = &texts[i * LIST_N_COLUMNS];

		cells_add_time(&b, rows[i].started_wall_ns, CELLS_TIME_UTC);
		if (cells_take(&cells, i, LIST_WHEN, &b, e) || fill_counts(&cells, i, &rows[i], e))
			return -1;
		t[LIST_ID] = rows[i].id;
		t[LIST_WHEN] = cells.text[i * LIST_N_COLUMNS + LIST_WHEN];
		t[LIST_STATUS] = rows[i].status;
		t[LIST_PLAN] = rows[i].plan;
		t[LIST_SAMPLES] = cells.text[i * LIST_N_COLUMNS + LIST_SAMPLES];
		t[LIST_PHASES] = cells.text[i * LIST_N_COLUMNS + LIST_PHASES];
		t[LIST_HOST] = rows[i].hostname;
		t[LIST_TARGET] = rows[i].target;
		t[LIST_LABEL] = rows[i].label;
	}
	return report_grid_json(&(struct report_grid){ .name = "results",
					.columns = list_columns,
					.n_columns = LIST_N_COLUMNS,
					.cells = texts,
					.n_rows = n_rows },
		out, e);
}

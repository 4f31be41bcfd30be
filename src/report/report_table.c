/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table of a result: one row per phase name, columns as rows of one table. One run is one
 * observation, so a cell is the median over the samples; percentiles come from the merged
 * histograms, never from averaged percentiles (design.md section 6).
 */
#include "report/report.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "report/cells.h"
#include "report/phase_row.h"

enum unit {
	UNIT_TEXT,
	UNIT_RATE,    /* bytes/s: kB/s, MB/s or GB/s for the whole column, by the largest */
	UNIT_COUNT,   /* 1/s */
	UNIT_LATENCY, /* s: us or ms for the whole column, by the median */
	UNIT_MICRO,   /* s, always shown in us */
};

struct column {
	const char *id;
	const char *heading;
	enum unit unit;
	bool right;
	bool trim;
	bool color;
	unsigned drop; /* see report_grid */
	const char *help;
	bool (*value)(const struct phase_row *row, double *ret);    /* numbers */
	void (*text)(const struct phase_row *row, struct buf *out); /* UNIT_TEXT */
};

static void text_phase(const struct phase_row *row, struct buf *out)
{
	if (row->sample > 0)
		buf_addf(out, "  sample %u", row->sample);
	else
		buf_add(out, row->first->name);
}

static void text_block(const struct phase_row *row, struct buf *out)
{
	static const char suffixes[] = { 0, 'k', 'M', 'G' };
	uint32_t n = row->first->settings.block_bytes;
	unsigned i = 0;

	for (; n > 0 && n % 1024 == 0 && i < 3; i++)
		n /= 1024;
	if (n > 0)
		buf_addf(out, i ? "%u%c" : "%u", n, suffixes[i]);
}

static void text_depth(const struct phase_row *row, struct buf *out)
{
	const struct phase_settings *s = &row->first->settings;

	if (s->n_threads > 1)
		buf_addf(out, "%ux%u", s->n_threads, s->depth ? s->depth : 1);
	else if (s->depth > 0)
		buf_addf(out, "%u", s->depth);
}

static void text_spread(const struct phase_row *row, struct buf *out)
{
	double spread_pct = row->spread_ratio * 100;

	/* One digit behind the point is more than a few samples can tell. */
	if (row->n_values >= 2)
		buf_addf(out, spread_pct < 9.95 ? "±%.1f %%" : "±%.0f %%", spread_pct);
}

/* "-" where nothing was asked of a device that could be proved. */
static const char *proof_short(const char *word)
{
	if (strcmp(word, "unknown") == 0)
		return "?";
	return strcmp(word, "none") == 0 ? "-" : word;
}

static void text_proof(const struct phase_row *row, struct buf *out)
{
	if (row->proof)
		buf_add(out, proof_short(row->proof));
	if (row->proof && strcmp(row->proof, "mixed") == 0 && row->device_ratio >= 0)
		buf_addf(out, " %.0f %%", row->device_ratio * 100);
}

static void text_mark(const struct phase_row *row, struct buf *out)
{
	buf_add(out, buf_text(&row->marks));
}

static bool value_throughput(const struct phase_row *row, double *ret)
{
	*ret = row->throughput_bps;
	return row->has_throughput;
}

static bool value_ops(const struct phase_row *row, double *ret)
{
	*ret = row->ops_per_s;
	return row->has_ops;
}

static bool value_cpu(const struct phase_row *row, double *ret)
{
	*ret = row->cpu_per_op_s;
	return row->has_cpu;
}

static bool value_p50(const struct phase_row *row, double *ret)
{
	*ret = row->latency_s[PHASE_ROW_P50];
	return row->has_latency[PHASE_ROW_P50];
}

static bool value_p99(const struct phase_row *row, double *ret)
{
	*ret = row->latency_s[PHASE_ROW_P99];
	return row->has_latency[PHASE_ROW_P99];
}

static bool value_p999(const struct phase_row *row, double *ret)
{
	*ret = row->latency_s[PHASE_ROW_P999];
	return row->has_latency[PHASE_ROW_P999];
}

static bool value_max(const struct phase_row *row, double *ret)
{
	*ret = row->latency_s[PHASE_ROW_MAX];
	return row->has_latency[PHASE_ROW_MAX];
}

/* clang-format off */
static const struct column columns[] = {
	{ "phase", "phase",  UNIT_TEXT,    .trim = true, .text = text_phase, .help = "name of the phase; with --verbose its samples below it" },
	{ "block", "block",  UNIT_TEXT,    .right = true, .drop = 1, .text = text_block, .help = "bytes of one operation, k and M are powers of 1024; file size for file operations" },
	{ "depth", "depth",  UNIT_TEXT,    .right = true, .drop = 2, .text = text_depth, .help = "operations in flight; 4x32 is 4 threads with 32 each" },
	{ "throughput", "", UNIT_RATE, .value = value_throughput, .help = "bytes moved per second, median over the samples; kB, MB and GB are powers of 1000" },
	{ "ops",   "ops/s",  UNIT_COUNT,   .value = value_ops,  .help = "operations (IOPS) or files per second, median over the samples" },
	{ "p50",   "p50",    UNIT_LATENCY, .drop = 5, .value = value_p50,  .help = "half of all operations took at most this long (all samples together)" },
	{ "p99",   "p99",    UNIT_LATENCY, .value = value_p99,  .help = "99 of 100 operations took at most this long" },
	{ "p99.9", "p99.9",  UNIT_LATENCY, .drop = 4, .value = value_p999, .help = "999 of 1000 operations took at most this long" },
	{ "max",   "max",    UNIT_LATENCY, .drop = 6, .value = value_max,  .help = "the slowest operation" },
	{ "cpu",   "CPU/op", UNIT_MICRO,   .drop = 3, .value = value_cpu,  .help = "CPU time of all threads per operation, kernel workers included, median" },
	{ "spread", "spread", UNIT_TEXT,   .right = true, .drop = 7, .text = text_spread, .help = "half the distance from the slowest to the fastest sample, of the median" },
	{ "proof", "proof",  UNIT_TEXT,    .text = text_proof, .help = "where the bytes came from or went to: device, mixed (share of the device), cache, memory, ? (no device in sight)" },
	{ "mark",  "mark",   UNIT_TEXT,    .trim = true, .color = true, .text = text_mark, .help = "partial or failed, and what the checks found; the sentences are below the table" },
};
/* clang-format on */

enum { N_COLUMNS = sizeof(columns) / sizeof(columns[0]) };

bool report_column(size_t i, struct report_pair *ret)
{
	if (i >= N_COLUMNS)
		return false;
	ret->name = columns[i].id;
	ret->text = columns[i].help;
	return true;
}

/* ---- one unit for a whole column ---- */

struct scale {
	double factor;
	const char *unit; /* behind the heading; "" : none */
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct scale scale_rate(double largest_bps)
{
	if (largest_bps >= 1e10)
		return (struct scale){ 1e-9, "GB/s" };
	if (largest_bps >= 1e6)
		return (struct scale){ 1e-6, "MB/s" };
	return (struct scale){ 1e-3, "kB/s" };
}

/* @values: [n] in any order; sorted here */
static struct scale choose_scale(enum unit unit, double *values, size_t n)
{
	if (n == 0)
		return (struct scale){ 1, unit == UNIT_RATE ? "MB/s" : "" };
	switch (unit) {
	case UNIT_RATE:
		qsort(values, n, sizeof(values[0]), by_value);
		return scale_rate(values[n - 1]);
	case UNIT_LATENCY:
		qsort(values, n, sizeof(values[0]), by_value);
		return values[n / 2] >= 1e-3 ? (struct scale){ 1e3, "ms" }
					     : (struct scale){ 1e6, "µs" };
	case UNIT_MICRO:
		return (struct scale){ 1e6, "µs" };
	case UNIT_TEXT:
	case UNIT_COUNT:
		break;
	}
	return (struct scale){ 1, "" };
}

/* ---- cells ---- */

struct table {
	struct report_grid_column grid[N_COLUMNS];
	struct buf headings[N_COLUMNS];
	struct cells cells;
	const char **colors; /* [n_rows] owned; the colours are not */
};

static void table_release(struct table *t)
{
	for (size_t i = 0; i < N_COLUMNS; i++)
		buf_release(&t->headings[i]);
	cells_release(&t->cells);
	free(t->colors);
}

static int set_cell(struct table *t, size_t row, size_t column, const char *text,
	const struct report_style *style, struct err *e)
{
	/* The last column stays empty: a dash there would look like a remark. */
	if (text[0] == '\0' && column + 1 < N_COLUMNS)
		text = "-";
	return cells_set(&t->cells, row, column, text, style->ascii, e);
}

static int fill_texts(struct table *t, size_t column, const struct phase_rows *rows,
	const struct report_style *style, struct err *e)
{
	for (size_t i = 0; i < rows->n_rows; i++) {
		cleanup(buf_release_p) struct buf b = { 0 };

		columns[column].text(&rows->rows[i], &b);
		if (b.failed)
			return err_set(e, ERR_NOMEM, 0, "memory is out for a table");
		if (set_cell(t, i, column, buf_text(&b), style, e))
			return -1;
	}
	return 0;
}

static int fill_numbers(struct table *t, size_t column, const struct phase_rows *rows,
	struct scale *ret_scale, const struct report_style *style, struct err *e)
{
	cleanup(free_p) double *values = calloc(rows->n_rows + 1, sizeof(values[0]));
	const struct column *c = &columns[column];
	size_t n = 0;

	if (!values)
		return err_set(e, ERR_NOMEM, 0, "memory is out for a table");
	for (size_t i = 0; i < rows->n_rows; i++)
		n += c->value(&rows->rows[i], &values[n]) ? 1 : 0;
	*ret_scale = choose_scale(c->unit, values, n);
	for (size_t i = 0; i < rows->n_rows; i++) {
		char number[UNITS_TEXT_MAX] = "";
		double value;

		if (c->value(&rows->rows[i], &value))
			units_sig3(value * ret_scale->factor, number);
		if (set_cell(t, i, column, number, style, e))
			return -1;
	}
	return 0;
}

static int fill_column(struct table *t, size_t column, const struct phase_rows *rows,
	const struct report_style *style, struct err *e)
{
	const struct column *c = &columns[column];
	struct scale scale = { 1, "" };
	struct buf *heading = &t->headings[column];

	if (c->text ? fill_texts(t, column, rows, style, e)
		    : fill_numbers(t, column, rows, &scale, style, e))
		return -1;
	cells_add_text(heading, c->heading, style->ascii);
	if (heading->n_bytes > 0 && scale.unit[0])
		buf_add(heading, " ");
	cells_add_text(heading, scale.unit, style->ascii);
	if (heading->failed)
		return err_set(e, ERR_NOMEM, 0, "memory is out for a table");
	t->grid[column] = (struct report_grid_column){
		.heading = buf_text(heading),
		.kind = c->value ? REPORT_NUMBER : REPORT_TEXT,
		.right = c->right,
		.trim = c->trim,
		.color = c->color,
		.drop = c->drop,
	};
	if (!style->proof && c->text == text_proof)
		t->grid[column].heading = NULL;
	return 0;
}

/* ECMA-48 SGR; NULL: plain. */
static const char *severity_color(enum severity s)
{
	static const char *const colors[SEVERITY_N] = {
		[SEVERITY_WARNING] = "\033[33m",
		[SEVERITY_ERROR] = "\033[31m",
	};

	return colors[s];
}

/* ---- findings ---- */

/* The same sentence about several phases, or about several samples of one. */
static bool same_finding(const struct finding *a, const struct finding *b)
{
	if (strcmp(a->check, b->check) != 0 || a->severity != b->severity)
		return false;
	return strcmp(a->phase, b->phase) == 0 || strcmp(a->text, b->text) == 0;
}

/* Number of findings that this one speaks for, 0 when an earlier one speaks for it. */
static size_t count_same(const struct result *r, size_t at)
{
	size_t n = 1;

	for (size_t i = 0; i < r->n_findings; i++)
		if (i != at && same_finding(&r->findings[i], &r->findings[at])) {
			if (i < at)
				return 0;
			n++;
		}
	return n;
}

/* Whether all that finding @at speaks for is about its own phase. */
static bool one_phase(const struct result *r, size_t at)
{
	for (size_t i = at; i < r->n_findings; i++)
		if (same_finding(&r->findings[i], &r->findings[at]) &&
			strcmp(r->findings[i].phase, r->findings[at].phase) != 0)
			return false;
	return true;
}

static void add_others(struct buf *b, size_t n_same, bool samples)
{
	if (samples)
		buf_addf(b, " (%zu samples)", n_same);
	else
		buf_addf(b, " and %zu more", n_same - 1);
}

static void print_finding(const struct result *r, size_t at, size_t n_same,
	const struct report_style *style, FILE *out)
{
	const struct finding *f = &r->findings[at];
	const char *color = style->color ? severity_color(f->severity) : NULL;
	cleanup(buf_release_p) struct buf b = { 0 };

	cells_add_text(&b, f->phase[0] ? f->phase : "run", style->ascii);
	if (n_same > 1)
		add_others(&b, n_same, one_phase(r, at));
	else if (f->sample > 0)
		buf_addf(&b, " (sample %u)", f->sample);
	buf_add(&b, ": ");
	cells_add_text(&b, f->text, style->ascii);
	fprintf(out, "%s%s%s\n", color ? color : "", buf_text(&b), color ? "\033[0m" : "");
}

enum { N_FINDINGS_SHOWN = 5 };

/* Worst first. Without --verbose, one line for what several phases have in common. */
static void print_findings(const struct result *r, const struct report_style *style, FILE *out)
{
	size_t n_shown = 0, n_left = 0;

	if (r->n_findings > 0)
		fputc('\n', out);
	for (int severity = SEVERITY_N - 1; severity >= 0; severity--)
		for (size_t i = 0; i < r->n_findings; i++) {
			size_t n_same = style->verbose ? 1 : count_same(r, i);

			if ((int)r->findings[i].severity != severity || n_same == 0)
				continue;
			if (!style->verbose && n_shown == N_FINDINGS_SHOWN) {
				n_left++;
				continue;
			}
			print_finding(r, i, n_same, style, out);
			n_shown++;
		}
	if (n_left > 0)
		fprintf(out, "%zu more: see --verbose\n", n_left);
}

int report_table(const struct result *r, const struct report_style *style, FILE *out, struct err *e)
{
	cleanup(phase_rows_release) struct phase_rows rows = { 0 };
	cleanup(table_release) struct table t = { 0 };

	if (phase_rows_make(r, style, &rows, e) || cells_init(&t.cells, rows.n_rows, N_COLUMNS, e))
		return -1;
	if (rows.n_rows == 0)
		fputs("no phase has ended\n", out);
	t.colors = calloc(rows.n_rows + 1, sizeof(t.colors[0]));
	if (!t.colors)
		return err_set(e, ERR_NOMEM, 0, "memory is out for a table");
	for (size_t i = 0; i < rows.n_rows; i++)
		t.colors[i] = severity_color(rows.rows[i].severity);
	for (size_t i = 0; i < N_COLUMNS; i++)
		if (fill_column(&t, i, &rows, style, e))
			return -1;
	if (report_grid(&(struct report_grid){ .columns = t.grid,
				.n_columns = N_COLUMNS,
				.cells = (const char *const *)t.cells.text,
				.n_rows = rows.n_rows,
				.row_colors = t.colors },
		    style, out, e))
		return -1;
	print_findings(r, style, out);
	return 0;
}

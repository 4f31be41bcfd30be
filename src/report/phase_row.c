/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From the samples of a phase to the figures of its row. Samples that ended as planned count; where
 * there is none, the partial ones do, and the row says so.
 */
#include "report/phase_row.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "report/report.h"
#include "stats/summary.h"

/* The samples that a row speaks of: all of one name, or one of them. */
struct selection {
	const struct result *r;
	const char *name;
	uint32_t sample; /* 0: any */
	enum phase_status counted;
};

static bool selected(const struct selection *s, const struct phase_result *p)
{
	return strcmp(p->name, s->name) == 0 && (s->sample == 0 || p->sample == s->sample);
}

static bool counted(const struct selection *s, const struct phase_result *p)
{
	return selected(s, p) && p->status == s->counted;
}

static enum phase_status best_status(const struct selection *s)
{
	enum phase_status best = PHASE_FAILED;

	for (size_t i = 0; i < s->r->n_phases; i++)
		if (selected(s, &s->r->phases[i]) && s->r->phases[i].status < best)
			best = s->r->phases[i].status;
	return best;
}

/* Return: 0; 1 if no counted sample has that figure; -1 when memory is out. */
static int summarize(const struct selection *s, enum metric_kind kind, struct summary *ret)
{
	cleanup(free_p) double *values = calloc(s->r->n_phases + 1, sizeof(values[0]));
	size_t n = 0;

	if (!values)
		return -1;
	for (size_t i = 0; i < s->r->n_phases; i++)
		if (counted(s, &s->r->phases[i]) &&
			phase_metric(&s->r->phases[i], kind, &values[n]))
			n++;
	if (n == 0)
		return 1;
	return summary_of(values, n, ret) ? -1 : 0;
}

static int fill_medians(struct phase_row *row, const struct selection *s, struct err *e)
{
	static const enum metric_kind ops_kinds[] = { METRIC_IOPS, METRIC_RATE };
	struct summary sum = { 0 };
	int failed = 0, has;

	for (size_t i = 0; i < 2 && !row->has_ops; i++) {
		has = summarize(s, ops_kinds[i], &sum);
		failed |= has < 0;
		if (has != 0)
			continue;
		row->has_ops = true;
		row->ops_per_s = sum.median;
		row->spread_ratio = sum.spread_ratio / 2;
		row->n_values = sum.n;
	}
	has = summarize(s, METRIC_THROUGHPUT, &sum);
	failed |= has < 0;
	if (has == 0) {
		row->has_throughput = true;
		row->throughput_bps = sum.median;
		if (!row->has_ops) {
			row->spread_ratio = sum.spread_ratio / 2;
			row->n_values = sum.n;
		}
	}
	has = summarize(s, METRIC_CPU_PER_OP, &sum);
	failed |= has < 0;
	row->has_cpu = has == 0;
	row->cpu_per_op_s = has == 0 ? sum.median : 0;
	return failed ? err_set(e, ERR_NOMEM, 0, "memory is out for a table") : 0;
}

/* One figure without a histogram, as an import may have it: only for a single sample. */
static void latency_from_metric(struct phase_row *row, const struct selection *s)
{
	static const enum metric_kind kinds[PHASE_ROW_N_LATENCIES] = {
		[PHASE_ROW_P50] = METRIC_LATENCY_P50,
		[PHASE_ROW_P99] = METRIC_LATENCY_P99,
		[PHASE_ROW_P999] = METRIC_LATENCY_P999,
		[PHASE_ROW_MAX] = METRIC_LATENCY_MAX,
	};
	const struct phase_result *only = NULL;

	for (size_t i = 0; i < s->r->n_phases; i++) {
		const struct phase_result *p = &s->r->phases[i];

		if (counted(s, p) && only)
			return;
		if (counted(s, p))
			only = p;
	}
	for (size_t k = 0; only && k < PHASE_ROW_N_LATENCIES; k++)
		row->has_latency[k] = phase_metric(only, kinds[k], &row->latency_s[k]);
}

static int fill_latency(struct phase_row *row, const struct selection *s, struct err *e)
{
	static const double quantiles[PHASE_ROW_N_LATENCIES] = {
		[PHASE_ROW_P50] = 0.5,
		[PHASE_ROW_P99] = 0.99,
		[PHASE_ROW_P999] = 0.999,
	};
	cleanup(hist_free_p) struct hist *all = hist_new();

	if (!all)
		return err_set(e, ERR_NOMEM, 0, "memory is out for a table");
	for (size_t i = 0; i < s->r->n_phases; i++)
		if (counted(s, &s->r->phases[i]) && s->r->phases[i].latency)
			hist_merge(all, s->r->phases[i].latency);
	if (all->n == 0) {
		latency_from_metric(row, s);
		return 0;
	}
	for (size_t k = 0; k < PHASE_ROW_MAX; k++) {
		uint64_t value_ns = 0;

		if (all->n < hist_quantile_needs(quantiles[k]) ||
			hist_quantile(all, quantiles[k], &value_ns))
			continue;
		row->has_latency[k] = true;
		row->latency_s[k] = (double)value_ns / 1e9;
	}
	row->has_latency[PHASE_ROW_MAX] = true;
	row->latency_s[PHASE_ROW_MAX] = (double)all->max_ns / 1e9;
	return 0;
}

/* A median is only as good as its worst sample: the weakest proof is the one shown. */
static void fill_proof(
	struct phase_row *row, const struct selection *s, const struct report_style *style)
{
	for (size_t i = 0; style->proof && i < s->r->n_phases; i++) {
		double ratio = -1;
		const char *word;

		if (!counted(s, &s->r->phases[i]))
			continue;
		word = style->proof(s->r, &s->r->phases[i], &ratio);
		if (!row->proof ||
			(ratio >= 0 && (row->device_ratio < 0 || ratio < row->device_ratio))) {
			row->proof = word;
			row->device_ratio = ratio;
		}
	}
}

static void add_mark(struct buf *marks, const char *mark)
{
	if (marks->n_bytes > 0)
		buf_add(marks, ", ");
	buf_add(marks, mark);
}

/* Marks repeat from sample to sample with other numbers: the first of a check speaks for all. */
static bool seen_before(const struct selection *s, size_t at)
{
	const struct finding *f = &s->r->findings[at];

	for (size_t i = 0; i < at; i++) {
		const struct finding *g = &s->r->findings[i];

		if (strcmp(f->check, g->check) == 0 && strcmp(g->phase, s->name) == 0 &&
			g->mark[0] && (s->sample == 0 || g->sample == 0 || g->sample == s->sample))
			return true;
	}
	return false;
}

static void fill_marks(struct phase_row *row, const struct selection *s)
{
	enum phase_status worst = PHASE_DONE;

	for (size_t i = 0; i < s->r->n_phases; i++)
		if (selected(s, &s->r->phases[i]) && s->r->phases[i].status > worst)
			worst = s->r->phases[i].status;
	if (worst != PHASE_DONE) {
		add_mark(&row->marks, phase_status_name(worst));
		row->severity = SEVERITY_WARNING;
	}
	for (size_t i = 0; i < s->r->n_findings; i++) {
		const struct finding *f = &s->r->findings[i];

		if (strcmp(f->phase, s->name) != 0 ||
			(s->sample != 0 && f->sample != 0 && f->sample != s->sample))
			continue;
		if (f->severity > row->severity)
			row->severity = f->severity;
		if (f->mark[0] && !seen_before(s, i))
			add_mark(&row->marks, f->mark);
	}
}

static int fill_row(struct phase_row *row, const struct phase_result *first, uint32_t sample,
	const struct result *r, const struct report_style *style, struct err *e)
{
	struct selection s = { .r = r, .name = first->name, .sample = sample };

	s.counted = best_status(&s);
	*row = (struct phase_row){ .first = first, .sample = sample, .device_ratio = -1 };
	/* Settings of a sample that counts are what the figures were made with. */
	for (size_t i = r->n_phases; i-- > 0;)
		if (counted(&s, &r->phases[i]))
			row->first = &r->phases[i];
	fill_marks(row, &s);
	if (row->marks.failed)
		return err_set(e, ERR_NOMEM, 0, "memory is out for a table");
	/* No figure can be made of what failed. */
	if (s.counted == PHASE_FAILED)
		return 0;
	fill_proof(row, &s, style);
	return fill_medians(row, &s, e) || fill_latency(row, &s, e) ? -1 : 0;
}

static bool is_first_of_name(const struct result *r, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (strcmp(r->phases[i].name, r->phases[at].name) == 0)
			return false;
	return true;
}

/* Whether a name has several samples: one alone needs no second row. */
static bool is_repeated(const struct result *r, size_t at)
{
	for (size_t i = at + 1; i < r->n_phases; i++)
		if (strcmp(r->phases[i].name, r->phases[at].name) == 0)
			return true;
	return false;
}

int phase_rows_make(const struct result *r, const struct report_style *style,
	struct phase_rows *ret, struct err *e)
{
	cleanup(phase_rows_release) struct phase_rows rows = { 0 };

	rows.rows = calloc(2 * r->n_phases + 1, sizeof(rows.rows[0]));
	if (!rows.rows)
		return err_set(e, ERR_NOMEM, 0, "memory is out for a table");
	for (size_t i = 0; i < r->n_phases; i++) {
		if (!is_first_of_name(r, i))
			continue;
		if (fill_row(&rows.rows[rows.n_rows++], &r->phases[i], 0, r, style, e))
			return -1;
		for (size_t k = i; style->verbose && is_repeated(r, i) && k < r->n_phases; k++)
			if (strcmp(r->phases[k].name, r->phases[i].name) == 0 &&
				fill_row(&rows.rows[rows.n_rows++], &r->phases[k],
					r->phases[k].sample, r, style, e))
				return -1;
	}
	*ret = rows;
	rows = (struct phase_rows){ 0 };
	return 0;
}

void phase_rows_release(struct phase_rows *rows)
{
	for (size_t i = 0; i < rows->n_rows; i++)
		buf_release(&rows->rows[i].marks);
	free(rows->rows);
	*rows = (struct phase_rows){ 0 };
}

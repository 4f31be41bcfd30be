/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The figures of one row of a table, floor 3: all samples of one phase name, or one of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "result/result.h"

struct report_style;

enum phase_row_latency {
	PHASE_ROW_P50,
	PHASE_ROW_P99,
	PHASE_ROW_P999,
	PHASE_ROW_MAX,
	PHASE_ROW_N_LATENCIES
};

struct phase_row {
	const struct phase_result *first; /* of that name, borrowed: settings */
	uint32_t sample;		  /* 0: all of them */
	size_t n_values;		  /* samples behind the medians */
	bool has_throughput, has_ops, has_cpu;
	double throughput_bps; /* medians */
	double ops_per_s;
	double cpu_per_op_s;
	double spread_ratio; /* (max - min) / 2 / median, of the throughput or rate */
	bool has_latency[PHASE_ROW_N_LATENCIES];
	double latency_s[PHASE_ROW_N_LATENCIES]; /* of the merged histograms */
	const char *proof;			 /* static; NULL: none */
	double device_ratio;			 /* of the sample with the weakest proof */
	struct buf marks;
	enum severity severity; /* the worst of its findings */
};

struct phase_rows {
	struct phase_row *rows; /* in the order the names were first seen */
	size_t n_rows;
};

/* @style: verbose adds a row for every sample. Return: 0, or -1 with ERR_NOMEM. */
int phase_rows_make(const struct result *r, const struct report_style *style,
	struct phase_rows *ret, struct err *e);
void phase_rows_release(struct phase_rows *rows);

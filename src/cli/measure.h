/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The way every measuring command goes, floor 4: options -> plan -> run -> verdict -> history ->
 * print. A command turns its options into a struct measure_request and names its printer; the
 * rest is here, once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/cmd.h"
#include "plan/plan.h"
#include "plan/session.h"
#include "report/report.h"

enum { MEASURE_N_TARGETS_MAX = 64, MEASURE_N_PHASES_MAX = 128 };

struct measure_request {
	const char *const *targets;	 /* [n_targets] */
	size_t n_targets;		 /* 1..MEASURE_N_TARGETS_MAX */
	const char *plan;		 /* for the record */
	const struct phase_spec *phases; /* [n_phases] every number settled */
	size_t n_phases;
	uint32_t n_samples;
	uint64_t time_ns;
	uint64_t size_bytes;	     /* 0: by the rule of choose_size() */
	uint64_t default_size_bytes; /* of that rule, with direct I/O */
	bool size_by_memory;	     /* that rule, buffered: twice the memory; else the default */
	const char *engine;	     /* "auto" or a name */
	unsigned engine_flags;
	enum direct_wish direct;
	struct pattern pattern; /* unit_bytes and seed are settled here */
	uint64_t seed;		/* 0: a new one */
	uint64_t n_files;
	uint64_t n_dirs;
	uint64_t file_bytes;
	bool force; /* a depth that the engine cannot give is lowered, not refused */
	bool pin;
	bool warm; /* of struct session_params */
	bool allow_memory;
	const char *write_device; /* name or serial of the device that may be written; NULL: none */
	const char *label;
	bool verbose;
	/* Prints a result for a person; NULL: report_table(). */
	int (*print)(
		const struct result *r, const struct report_style *style, FILE *out, struct err *e);
};

/**
 * measure() - runs it all
 *
 * Samples go round-robin over targets and phases, so that drift hits all alike. What was measured
 * is printed and kept also when the rest failed.
 *
 * Return: exit status: 0; 1 a phase failed; 2, 4 it could not start; 3 verification found a bad
 *         block; 130 interrupted. When not 0, *e says why.
 */
int measure(struct context *ctx, const struct measure_request *request, struct err *e);

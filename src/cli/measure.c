/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The measuring path. Order of things: everything that can be refused is refused before the first
 * byte is written; each phase is in the history before the next starts; whatever happens, sessions
 * are closed (which removes test files) and what was measured is printed.
 */
#include "cli/measure.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/rng.h"
#include "base/units.h"
#include "cli/common.h"
#include "cli/live.h"
#include "cli/measure_plan.h"
#include "history/history.h"
#include "verdict/verdict.h"

#ifndef CLYDE_VERSION
#define CLYDE_VERSION "0"
#endif

/* ---- records ---- */

static int start_record(struct measurement *m, struct target_run *t, struct err *e)
{
	struct result *r = t->result;
	const struct measure_request *q = m->request;

	r->started_wall_ns = clock_wall_ns();
	snprintf(r->tool, sizeof(r->tool), "clyde");
	snprintf(r->version, sizeof(r->version), "%s", CLYDE_VERSION);
	snprintf(r->plan, sizeof(r->plan), "%s", q->plan);
	r->n_samples_asked = q->n_samples;
	r->status = RUN_RUNNING;
	r->pid = (long)getpid();
	r->pid_start_ticks = probe_process_start_ticks(NULL, r->pid);
	r->host = m->host;
	r->command_line = strdup(m->ctx->command_line ? m->ctx->command_line : "");
	r->label = q->label ? strdup(q->label) : NULL;
	if (!r->command_line || (q->label && !r->label))
		return err_set(e, ERR_NOMEM, 0, "no memory for the record");
	return history_begin(m->history, r, e);
}

/* The last word on a run: status, findings, and into the history. */
static int end_record(struct measurement *m, struct target_run *t, struct err *e)
{
	struct result *r = t->result;

	r->ended_wall_ns = clock_wall_ns();
	r->status = r->reason[0] ? RUN_PARTIAL : RUN_DONE;
	if (verdict_judge(r, e) != 0)
		return -1;
	return history_end(m->history, r, e);
}

/* ---- running ---- */

static int stop_signal(const struct measurement *m)
{
	return m->ctx->stop ? atomic_load(m->ctx->stop) : 0;
}

/* Stores what is not stored yet, in order: what a full disk or a lock kept out is tried again. */
static void store_phases(struct measurement *m, struct target_run *t)
{
	const struct result *r = t->result;

	while (t->n_stored < r->n_phases) {
		if (history_add_phase(
			    m->history, r->id, &r->phases[t->n_stored], &m->history_err) != 0)
			return;
		t->n_stored++;
	}
}

static int keep_phase(
	struct measurement *m, struct target_run *t, struct phase_result *phase, struct err *e)
{
	if (phase->n_bad_units)
		m->n_mismatched++;
	if (phase->status != PHASE_DONE) {
		snprintf(t->result->reason, sizeof(t->result->reason), "%s: %.300s", phase->name,
			phase->reason);
		t->ended = true;
		if (!stop_signal(m) && !phase->n_bad_units)
			m->n_failed++;
	}
	if (result_take_phase(t->result, phase, e) != 0)
		return -1;
	store_phases(m, t);
	return 0;
}

static int run_phase(struct measurement *m, struct target_run *t, const struct phase_spec *spec,
	uint32_t sample, struct err *e)
{
	struct phase_result phase cleanup(phase_release_p) = { 0 };

	m->view.sample = sample;
	m->left_s -= measurement_phase_s(m, spec);
	if (session_run(t->session, spec, sample, &phase, e) != 0)
		return -1;
	return keep_phase(m, t, &phase, e);
}

static int verify_sample(
	struct measurement *m, struct target_run *t, uint32_t sample, struct err *e)
{
	struct phase_result phase cleanup(phase_release_p) = { 0 };
	struct err failed = { 0 };
	int rc = session_verify(t->session, sample, &phase, &failed);

	if (rc > 0)
		return 0;
	if (rc < 0) {
		phase.status = PHASE_FAILED;
		phase.sample = sample;
		snprintf(phase.name, sizeof(phase.name), "verify");
		snprintf(phase.reason, sizeof(phase.reason), "%s", failed.msg);
	}
	return keep_phase(m, t, &phase, e);
}

/* From the runner, ten times a second. */
static void show_progress(void *ctx, const struct progress *p)
{
	struct measurement *m = ctx;
	double elapsed_s = 1e-9 * (double)p->elapsed_ns;
	double phase_left_s = 1e-9 * (double)p->planned_ns - elapsed_s;
	double left_s = m->left_s + (phase_left_s > 0 ? phase_left_s : 0);

	m->view.phase = p->phase;
	m->view.step = strcmp(p->stage, "measuring") == 0 ? NULL : p->stage;
	m->view.throughput_bps = elapsed_s > 0 && p->n_bytes ? (double)p->n_bytes / elapsed_s : -1;
	m->view.ops_per_s = elapsed_s > 0 ? (double)p->n_ops / elapsed_s : -1;
	m->view.left_s = left_s > 0 ? left_s : 0;
	live_show(m->live, &m->view);
}

/* One sample: each phase on each target in turn, so that drift hits all alike. */
static int run_sample(struct measurement *m, uint32_t sample, struct err *e)
{
	for (size_t p = 0; p < m->request->n_phases; p++)
		for (size_t i = 0; i < m->n_targets; i++) {
			struct target_run *t = &m->targets[i];

			if (stop_signal(m))
				return 0;
			if (t->ended || !session_can_run(t->session, &m->request->phases[p]))
				continue;
			if (run_phase(m, t, &m->request->phases[p], sample, e) != 0)
				return -1;
		}
	for (size_t i = 0; m->request->pattern.stamps && i < m->n_targets; i++)
		if (!m->targets[i].ended && !stop_signal(m) &&
			verify_sample(m, &m->targets[i], sample, e) != 0)
			return -1;
	return 0;
}

static bool all_ended(const struct measurement *m)
{
	for (size_t i = 0; i < m->n_targets; i++)
		if (!m->targets[i].ended)
			return false;
	return true;
}

static int run_samples(struct measurement *m, struct err *e)
{
	for (uint32_t sample = 1; sample <= m->request->n_samples; sample++) {
		if (stop_signal(m) || all_ended(m))
			return 0;
		if (run_sample(m, sample, e) != 0)
			return -1;
	}
	return 0;
}

/* ---- ending ---- */

/* Test files go first: whatever fails after, nothing is left behind. */
static int close_sessions(struct measurement *m, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < m->n_targets; i++) {
		struct target_run *t = &m->targets[i];

		if (session_close(take(t->session), rc == 0 ? e : NULL) == 0)
			continue;
		if (rc == 0)
			err_wrap(e, "test files stay, clyde clean '%s' may remove them",
				t->result->target.path);
		rc = -1;
	}
	return rc;
}

/* That files stay is said as well, in the same line. */
static void add_left(struct err *e, const struct err *left)
{
	struct err first = *e;

	if (left->kind == ERR_NONE)
		return;
	if (first.kind == ERR_NONE) {
		*e = *left;
		return;
	}
	err_set(e, first.kind, 0, "%s; %s", first.msg, left->msg);
	e->sys = first.sys;
}

static int refuse(struct measurement *m, struct err *e)
{
	struct err left = { 0 };

	close_sessions(m, &left);
	add_left(e, &left);
	return err_exit_status(e->kind);
}

static int end_records(struct measurement *m, const struct err *fatal)
{
	int sig = stop_signal(m);

	for (size_t i = 0; i < m->n_targets; i++) {
		struct result *r = m->targets[i].result;

		if (!r->reason[0] && sig)
			snprintf(r->reason, sizeof(r->reason), "interrupted by SIG%s",
				sigabbrev_np(sig));
		if (!r->reason[0] && fatal->kind != ERR_NONE)
			snprintf(r->reason, sizeof(r->reason), "%s", fatal->msg);
		store_phases(m, &m->targets[i]);
		if (m->targets[i].n_stored < r->n_phases) {
			m->history_failed = true;
			if (!r->reason[0])
				snprintf(r->reason, sizeof(r->reason),
					"not all phases are in the history");
		}
		if (end_record(m, &m->targets[i], &m->history_err) != 0)
			m->history_failed = true;
	}
	return 0;
}

static int print_tables(struct measurement *m, struct err *e)
{
	struct report_style style = common_style(m->ctx, m->request->verbose);

	for (size_t i = 0; i < m->n_targets; i++) {
		const struct result *r = m->targets[i].result;

		if (m->n_targets > 1)
			printf("%s%s:\n", i ? "\n" : "", r->target.path);
		if (r->n_phases == 0)
			continue;
		if ((m->request->print ? m->request->print : report_table)(r, &style, stdout, e) !=
			0)
			return -1;
	}
	return 0;
}

static int print_json(struct measurement *m, const struct err *failed, struct err *e)
{
	const struct result *results[MEASURE_N_TARGETS_MAX];
	int rc;

	for (size_t i = 0; i < m->n_targets; i++)
		results[i] = m->targets[i].result;
	rc = report_run_json(results, m->n_targets, failed, stdout, e);
	m->ctx->json_printed = rc == 0;
	return rc;
}

/* Of the first target that ended early; where blocks were bad, of one of those. */
static const char *telling_reason(const struct measurement *m)
{
	const char *reason = "";

	for (size_t i = 0; i < m->n_targets; i++) {
		const struct result *r = m->targets[i].result;
		const struct phase_result *last = r->n_phases ? &r->phases[r->n_phases - 1] : NULL;

		if (m->n_mismatched && last && last->n_bad_units)
			return r->reason;
		if (!reason[0])
			reason = r->reason;
	}
	return reason;
}

/* What the run as a whole comes to; the most telling reason first. */
static void sum_up(const struct measurement *m, struct err *e)
{
	int sig = stop_signal(m);
	const char *reason = telling_reason(m);
	const char *kept =
		m->history_failed ? "" : "; what was measured before is kept, marked partial";

	if (sig)
		err_set(e, ERR_INTERRUPTED, 0, "interrupted by SIG%s%s", sigabbrev_np(sig), kept);
	else if (m->n_mismatched)
		err_set(e, ERR_MISMATCH, 0, "%s", reason);
	else if (m->n_failed)
		err_set(e, ERR_IO, 0, "%s%s", reason, kept);
	if (m->history_failed)
		add_left(e, &m->history_err);
}

static int finish(struct measurement *m, int rc, struct err *e)
{
	struct err left = { 0 };

	close_sessions(m, &left);
	live_free(take(m->live));
	end_records(m, e);
	if (rc == 0)
		sum_up(m, e);
	add_left(e, &left);

	struct err printing = { 0 };
	int printed =
		m->ctx->global.json ? print_json(m, e, &printing) : print_tables(m, &printing);

	if (printed != 0 && e->kind == ERR_NONE)
		*e = printing;
	return err_exit_status(e->kind);
}

int measure(struct context *ctx, const struct measure_request *request, struct err *e)
{
	struct measurement m cleanup(measurement_release) = { .ctx = ctx, .request = request };

	if (measurement_prepare(&m, e) != 0)
		return refuse(&m, e);
	for (size_t i = 0; i < m.n_targets; i++)
		if (start_record(&m, &m.targets[i], e) != 0)
			return refuse(&m, e);
	m.view.n_samples = request->n_samples;
	m.hook = (struct progress_hook){ m.live ? show_progress : NULL, &m };
	measurement_announce(&m);
	return finish(&m, run_samples(&m, e), e);
}

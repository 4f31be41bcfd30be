/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads, starting gate, flush, merging. The loop itself is in worker.c. */
#include "plan/runner.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/units.h"

enum { TICK_NS = 100 * 1000 * 1000 };

struct run {
	const struct block_job *job;
	struct worker *workers;	      /* [n_threads] */
	_Atomic int stop;	      /* all workers look at it: -1 an error, >0 the person */
	_Atomic uint32_t n_measuring; /* the last one to finish flushes */
	_Atomic uint64_t flush_ns;
	_Atomic uint64_t flush_end_ns;
	double user_s, system_s; /* of the process: at the gate, then when the last one is done */
	pthread_mutex_t lock;	 /* of what follows */
	pthread_cond_t changed;	 /* n_ready or n_running, for the watching thread */
	pthread_cond_t opened;	 /* gate_open, for the workers */
	uint32_t n_ready;
	uint32_t n_running;
	bool gate_open;
};

struct thread {
	struct run *run;
	uint32_t index;
	pthread_t id;
};

static double process_cpu_s(double *ret_system_s)
{
	struct rusage u;

	if (getrusage(RUSAGE_SELF, &u) != 0)
		memset(&u, 0, sizeof(u));
	*ret_system_s = (double)u.ru_stime.tv_sec + 1e-6 * (double)u.ru_stime.tv_usec;
	return (double)u.ru_utime.tv_sec + 1e-6 * (double)u.ru_utime.tv_usec;
}

/* The last worker to finish flushes for all, inside the clock, and reads the CPU time spent. */
static void finish_last(struct run *run, struct worker *w)
{
	double system_s;

	if (atomic_fetch_sub(&run->n_measuring, 1) != 1)
		return;
	if (run->job->sync_end && !w->error.sys) {
		uint64_t before_ns = clock_now_ns(run->job->clock);

		worker_sync(w);

		uint64_t after_ns = clock_now_ns(run->job->clock);

		atomic_store(&run->flush_ns, after_ns - before_ns);
		atomic_store(&run->flush_end_ns, after_ns);
	}
	run->user_s = process_cpu_s(&system_s) - run->user_s;
	run->system_s = system_s - run->system_s;
}

static void wait_at_gate(struct run *run)
{
	pthread_mutex_lock(&run->lock);
	run->n_ready++;
	pthread_cond_signal(&run->changed);
	while (!run->gate_open)
		pthread_cond_wait(&run->opened, &run->lock);
	pthread_mutex_unlock(&run->lock);
}

static void *thread_main(void *arg)
{
	struct thread *t = arg;
	struct run *run = t->run;
	struct worker *w = &run->workers[t->index];
	bool opened = worker_open(w, w->err) == 0;

	if (!opened)
		atomic_store(&run->stop, -1);
	wait_at_gate(run);
	if (opened) {
		worker_run(w);
		finish_last(run, w);
	}
	worker_close(w);
	pthread_mutex_lock(&run->lock);
	run->n_running--;
	pthread_cond_signal(&run->changed);
	pthread_mutex_unlock(&run->lock);
	return NULL;
}

/* Lets the workers go once all of them have buffers and an engine. */
static void open_gate(struct run *run, uint32_t n_started)
{
	pthread_mutex_lock(&run->lock);
	while (run->n_ready < n_started)
		pthread_cond_wait(&run->changed, &run->lock);
	run->n_running = n_started;
	run->user_s = process_cpu_s(&run->system_s);
	run->gate_open = true;
	pthread_cond_broadcast(&run->opened);
	pthread_mutex_unlock(&run->lock);
}

static void tell(const struct run *run, const struct runner_params *params, uint64_t elapsed_ns)
{
	struct progress p = {
		.phase = params->phase,
		.stage = params->stage,
		.elapsed_ns = elapsed_ns,
		.planned_ns = run->job->time_ns,
	};

	if (!run->job->time_ns)
		p.planned_bytes = run->job->n_blocks * run->job->block_bytes;
	for (uint32_t i = 0; i < run->job->n_threads; i++) {
		struct worker_live *live = &run->workers[i].live;

		p.n_ops += atomic_load_explicit(&live->n_ops, memory_order_relaxed);
		p.n_bytes += atomic_load_explicit(&live->n_bytes, memory_order_relaxed);
	}
	params->hook->fn(params->hook->ctx, &p);
}

static bool all_ended(struct run *run)
{
	struct timespec when;
	bool ended;

	clock_gettime(CLOCK_MONOTONIC, &when);
	when.tv_nsec += TICK_NS;
	if (when.tv_nsec >= 1000000000) {
		when.tv_nsec -= 1000000000;
		when.tv_sec++;
	}
	pthread_mutex_lock(&run->lock);
	while (run->n_running)
		if (pthread_cond_timedwait(&run->changed, &run->lock, &when) == ETIMEDOUT)
			break;
	ended = run->n_running == 0;
	pthread_mutex_unlock(&run->lock);
	return ended;
}

/* Until every worker has ended: passes the person's stop on and tells the progress. */
static void watch(struct run *run, const struct runner_params *params)
{
	uint64_t started_ns = clock_now_ns(&clock_monotonic);

	while (!all_ended(run)) {
		int stop = params->stop ? atomic_load(params->stop) : 0;
		int none = 0;

		if (stop)
			atomic_compare_exchange_strong(&run->stop, &none, stop);
		if (params->hook && params->hook->fn)
			tell(run, params, clock_now_ns(&clock_monotonic) - started_ns);
	}
}

static uint32_t start_threads(struct run *run, struct thread *threads)
{
	uint32_t n = 0;

	for (; n < run->job->n_threads; n++) {
		threads[n] = (struct thread){ .run = run, .index = n };
		if (pthread_create(&threads[n].id, NULL, thread_main, &threads[n]) != 0)
			break;
	}
	return n;
}

static void merge_times(const struct run *run, struct phase_result *out)
{
	uint64_t start_ns = UINT64_MAX;
	uint64_t end_ns = atomic_load(&run->flush_end_ns);
	double worker_cpu_ratio = -1;

	for (uint32_t i = 0; i < run->job->n_threads; i++) {
		const struct worker *w = &run->workers[i];
		double ratio = w->end_ns > w->start_ns
				       ? w->cpu_s / (1e-9 * (double)(w->end_ns - w->start_ns))
				       : 0;

		if (w->start_ns < start_ns)
			start_ns = w->start_ns;
		if (w->end_ns > end_ns)
			end_ns = w->end_ns;
		if (ratio > worker_cpu_ratio)
			worker_cpu_ratio = ratio > 1 ? 1 : ratio;
	}
	out->elapsed_ns = end_ns > start_ns ? end_ns - start_ns : 0;
	out->flush_ns = atomic_load(&run->flush_ns);
	out->evidence.worker_cpu_ratio = worker_cpu_ratio;
}

static void merge_counts(const struct run *run, const struct runner_params *params,
	struct phase_result *out, struct pattern_bad *ret_bad)
{
	bool seen_bad = false;

	for (uint32_t i = 0; i < run->job->n_threads; i++) {
		const struct worker *w = &run->workers[i];

		out->n_ops += w->n_ops;
		out->read_bytes += w->read_bytes;
		out->written_bytes += w->written_bytes;
		out->n_short += w->n_short;
		out->n_retries += w->n_retries;
		out->n_verified_units += w->n_verified_units;
		out->n_bad_units += w->n_bad_units;
		hist_merge(out->latency, &w->latency);
		if (w->error.sys && !out->error.sys)
			out->error = w->error;
		if (w->n_bad_units && (!seen_bad || w->bad.offset_bytes < ret_bad->offset_bytes)) {
			*ret_bad = w->bad;
			seen_bad = true;
		}
		if (params->ret_blocks_passed)
			params->ret_blocks_passed[i] = w->n_blocks_passed;
	}
	out->evidence.asked_read_bytes = out->read_bytes;
	out->evidence.asked_write_bytes = out->written_bytes;
	snprintf(out->settings.engine_detail, sizeof(out->settings.engine_detail), "%s",
		run->workers[0].engine_detail);
}

static void say_bad_data(const struct pattern_bad *bad, struct phase_result *out)
{
	char more[80] = "";

	if (bad->held == PATTERN_HELD_OTHER_OFFSET)
		snprintf(more, sizeof(more), " %llu", (unsigned long long)bad->stamp_offset_bytes);
	if (bad->held == PATTERN_HELD_OLDER || bad->held == PATTERN_HELD_NEWER)
		snprintf(more, sizeof(more), " %u where %u was written", bad->stamp_generation,
			bad->expected_generation);
	out->status = PHASE_FAILED;
	snprintf(out->reason, sizeof(out->reason),
		"verification failed at offset %llu: the block holds %s%s (%llu bad units of %llu)",
		(unsigned long long)bad->offset_bytes, pattern_held_text(bad->held), more,
		(unsigned long long)out->n_bad_units, (unsigned long long)out->n_verified_units);
}

static void judge(const struct run *run, const struct pattern_bad *bad, struct phase_result *out)
{
	int stop = atomic_load(&run->stop);
	char size[UNITS_TEXT_MAX];

	out->status = PHASE_DONE;
	if (out->error.sys) {
		out->status = out->n_ops ? PHASE_PARTIAL : PHASE_FAILED;
		const char *why = out->error.sys == ENODATA ? "the file ended early"
							    : strerrordesc_np(out->error.sys);

		if (out->error.n_bytes)
			snprintf(out->reason, sizeof(out->reason), "%s of %s at offset %llu: %s",
				out->error.op, units_bytes_iec(out->error.n_bytes, size),
				(unsigned long long)out->error.offset_bytes, why);
		else
			snprintf(out->reason, sizeof(out->reason), "%s of the file: %s",
				out->error.op, why);
	} else if (stop > 0) {
		out->status = out->n_ops ? PHASE_PARTIAL : PHASE_FAILED;
		snprintf(out->reason, sizeof(out->reason), "interrupted by SIG%s",
			sigabbrev_np(stop));
	}
	if (out->n_bad_units)
		say_bad_data(bad, out);
}

static void prepare_run(struct run *run, struct err *errs)
{
	pthread_condattr_t monotonic;

	for (uint32_t i = 0; i < run->job->n_threads; i++) {
		run->workers[i].job = run->job;
		run->workers[i].stop = &run->stop;
		run->workers[i].index = i;
		run->workers[i].err = &errs[i];
	}
	atomic_store(&run->n_measuring, run->job->n_threads);
	pthread_mutex_init(&run->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&run->changed, &monotonic);
	pthread_cond_init(&run->opened, NULL);
	pthread_condattr_destroy(&monotonic);
}

static void free_workers(struct worker **workers)
{
	free(*workers);
}

static int run_threads(
	struct run *run, const struct runner_params *params, struct thread *threads, struct err *e)
{
	uint32_t n_started = start_threads(run, threads);

	if (n_started < run->job->n_threads)
		atomic_store(&run->stop, -1);
	open_gate(run, n_started);
	watch(run, params);
	for (uint32_t i = 0; i < n_started; i++)
		pthread_join(threads[i].id, NULL);
	if (n_started < run->job->n_threads)
		return err_set(e, ERR_NOMEM, 0, "cannot start %u threads; only %u fit",
			run->job->n_threads, n_started);
	for (uint32_t i = 0; i < n_started; i++)
		if (run->workers[i].err->kind != ERR_NONE) {
			if (e)
				*e = *run->workers[i].err;
			return -1;
		}
	return 0;
}

int runner_run(const struct block_job *job, const struct runner_params *params,
	struct phase_result *out, struct err *e)
{
	struct err *errs cleanup(free_p) = calloc(job->n_threads, sizeof(*errs));
	struct thread *threads cleanup(free_p) = calloc(job->n_threads, sizeof(*threads));
	struct worker *workers cleanup(free_workers) =
		aligned_alloc(64, job->n_threads * sizeof(struct worker));
	struct run run = { .job = job, .workers = workers };
	struct pattern_bad bad = { 0 };

	if (!errs || !threads || !workers)
		return err_set(e, ERR_NOMEM, 0, "no memory for %u workers", job->n_threads);
	memset(workers, 0, job->n_threads * sizeof(*workers));
	if (!out->latency)
		out->latency = hist_new();
	if (!out->latency)
		return err_set(e, ERR_NOMEM, 0, "no memory for a phase");
	prepare_run(&run, errs);

	int rc = run_threads(&run, params, threads, e);

	pthread_cond_destroy(&run.opened);
	pthread_cond_destroy(&run.changed);
	pthread_mutex_destroy(&run.lock);
	if (rc != 0)
		return -1;
	out->cpu_user_s = run.user_s;
	out->cpu_system_s = run.system_s;
	merge_times(&run, out);
	merge_counts(&run, params, out, &bad);
	judge(&run, &bad, out);
	return 0;
}

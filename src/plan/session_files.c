/* SPDX-License-Identifier: GPL-3.0-or-later */
/* File operations of a session: sees to it that there are files where a phase needs them. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "plan/session_private.h"

enum { TICK_NS = 100 * 1000 * 1000 };

static int make_filework(struct session *s, uint32_t n_threads, struct err *e)
{
	const struct session_params *p = &s->params;
	struct filework_params params = {
		.dir_fd = s->workdir->fd,
		.n_files = p->n_files,
		.n_dirs = p->n_dirs,
		.min_bytes = p->file_bytes,
		.max_bytes = p->file_bytes,
		.seed = p->seed,
		.n_threads = n_threads,
		.clock = p->clock,
		.stop = p->stop,
		.n_done = &s->n_files_done,
	};

	return s->files ? 0 : filework_new(&params, &s->files, e);
}

/* Creates files untimed for a phase that needs them, or removes them for one that makes them. */
static int prepare_files(struct session *s, const struct phase_spec *spec, struct err *e)
{
	bool creates = spec->file_op == FILEWORK_CREATE;

	if (creates && s->files) {
		struct filework *old = take(s->files);
		int rc = filework_remove(old, e);

		filework_free(old);
		s->files_exist = false;
		if (rc != 0)
			return -1;
	}
	if (make_filework(s, spec->n_threads, e) != 0)
		return -1;
	if (!creates && !s->files_exist) {
		struct phase_result scratch cleanup(phase_release_p) = { 0 };

		if (filework_run(s->files, FILEWORK_CREATE, false, &scratch, e) != 0)
			return -1;
		if (scratch.status != PHASE_DONE)
			return err_set(e, ERR_IO, 0, "creating files for %s: %s", spec->name,
				scratch.reason);
		s->files_exist = true;
	}
	syncfs(s->workdir->fd); /* the write-back of one phase is not the next one's time */
	return 0;
}

/* The operations run in a thread of their own, so that this one can tell how far they are. */
struct watched {
	struct session *s;
	const struct phase_spec *spec;
	struct phase_result *out;
	struct err *e;
	int rc;
};

static void *watched_main(void *arg)
{
	struct watched *w = arg;

	w->rc = filework_run(w->s->files, w->spec->file_op, w->spec->random_order, w->out, w->e);
	return NULL;
}

static bool joined_within_tick(pthread_t thread)
{
	struct timespec when;

	clock_gettime(CLOCK_MONOTONIC, &when);
	when.tv_nsec += TICK_NS;
	if (when.tv_nsec >= 1000000000) {
		when.tv_nsec -= 1000000000;
		when.tv_sec++;
	}
	return pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &when) == 0;
}

static int run_watched(
	struct session *s, const struct phase_spec *spec, struct phase_result *out, struct err *e)
{
	const struct progress_hook *hook = s->params.hook;
	struct watched w = { .s = s, .spec = spec, .out = out, .e = e };
	uint64_t started_ns = clock_now_ns(&clock_monotonic);
	pthread_t thread;

	atomic_store(&s->n_files_done, 0);
	if (!hook || !hook->fn || pthread_create(&thread, NULL, watched_main, &w) != 0) {
		watched_main(&w);
		return w.rc;
	}
	while (!joined_within_tick(thread)) {
		struct progress p = {
			.phase = spec->name,
			.stage = "measuring",
			.n_ops = atomic_load_explicit(&s->n_files_done, memory_order_relaxed),
			.elapsed_ns = clock_now_ns(&clock_monotonic) - started_ns,
		};

		hook->fn(hook->ctx, &p);
	}
	return w.rc;
}

int session_run_files(
	struct session *s, const struct phase_spec *spec, struct phase_result *out, struct err *e)
{
	struct evidence_start *start cleanup(free_p) = calloc(1, sizeof(*start));
	uint64_t before_ns = clock_now_ns(s->params.clock);

	if (!start)
		return err_set(e, ERR_NOMEM, 0, "no memory for a phase");
	if (prepare_files(s, spec, e) != 0)
		return -1;
	out->prepare_ns = clock_now_ns(s->params.clock) - before_ns;
	session_evidence_begin(s, start);

	int rc = run_watched(s, spec, out, e);

	session_evidence_end(s, start, &out->evidence);
	out->evidence.asked_read_bytes = out->read_bytes;
	out->evidence.asked_write_bytes = out->written_bytes;
	s->files_exist = spec->file_op != FILEWORK_DELETE;
	return rc;
}

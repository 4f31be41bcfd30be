/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads, clock and bookkeeping of file operations; the operations are in filework_ops.c. Which
 * names the files have at the moment is a few flags, not a table: memory is that of the threads.
 */
#include "plan/filework.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/perm.h"
#include "base/rng.h"
#include "engine/pattern.h"
#include "plan/filework_name.h"
#include "plan/filework_private.h"
#include "plan/filework_tree.h"

enum {
	N_THREADS_MAX = 1024,
	N_DIR_FDS_MAX = 128,	     /* kept open; the soft limit of descriptors is often 1024 */
	BUFFER_BYTES_MAX = 1 << 20,  /* larger files are written in pieces */
	BUFFERS_BYTES_MAX = 1 << 26, /* of all threads */
	PUBLISH_NS = 50 * 1000 * 1000,
};

static const uint64_t file_bytes_max = UINT64_C(1) << 62;

/* clang-format off */
const struct filework_op_def filework_ops[FILEWORK_N_OPS] = {
	[FILEWORK_CREATE]  = { "create",  "make a file, write its bytes, close it" },
	[FILEWORK_STAT]    = { "stat",    "look up a file's size and times" },
	[FILEWORK_READ]    = { "read",    "open a file, read all of it, close it" },
	[FILEWORK_READDIR] = { "readdir", "list a directory to its end" },
	[FILEWORK_RENAME]  = { "rename",  "give a file another name in its directory" },
	[FILEWORK_LINK]    = { "link",    "give a file a second name in its directory" },
	[FILEWORK_DELETE]  = { "delete",  "remove a name of a file" },
};
/* clang-format on */

/* ---- making and removing ---- */

static int check_params(const struct filework_params *p, struct err *e)
{
	if (p->n_files < 1 || p->n_files > FILEWORK_N_FILES_MAX)
		return err_set(e, ERR_USAGE, 0, "%llu files: there can be 1 to %d",
			(unsigned long long)p->n_files, FILEWORK_N_FILES_MAX);
	if (p->n_dirs < 1 || p->n_dirs > FILEWORK_N_DIRS_MAX)
		return err_set(e, ERR_USAGE, 0, "%llu directories: there can be 1 to %d",
			(unsigned long long)p->n_dirs, FILEWORK_N_DIRS_MAX);
	if (p->min_bytes > p->max_bytes || p->max_bytes > file_bytes_max)
		return err_set(e, ERR_USAGE, 0,
			"files of %llu to %llu bytes: the first must not be larger, nor the second "
			"than 2^62",
			(unsigned long long)p->min_bytes, (unsigned long long)p->max_bytes);
	if (p->n_threads < 1 || p->n_threads > N_THREADS_MAX)
		return err_set(e, ERR_USAGE, 0, "%u threads for files: there can be 1 to %d",
			p->n_threads, N_THREADS_MAX);
	return 0;
}

static int open_dir(int dir_fd, const char *name)
{
	return openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void close_dirs(struct filework *w)
{
	if (!w->dir_fds)
		return;
	for (uint64_t i = 0; i < w->params.n_dirs; i++)
		if (w->dir_fds[i] >= 0)
			close(w->dir_fds[i]);
	free(take(w->dir_fds));
}

static int make_dirs(struct filework *w, struct err *e)
{
	char name[FILEWORK_PATH_MAX];

	for (uint64_t i = 0; i < w->params.n_dirs; i++) {
		filework_name(name, 'd', i, FILEWORK_DIR_DIGITS);
		if (mkdirat(w->tree_fd, name, 0700) != 0)
			return err_set(e, ERR_IO, errno, "cannot make the directory '%s/%s'",
				FILEWORK_TREE, name);
		if (!w->dir_fds)
			continue;
		w->dir_fds[i] = open_dir(w->tree_fd, name);
		if (w->dir_fds[i] < 0 && (errno == EMFILE || errno == ENFILE))
			close_dirs(w); /* then by path */
		else if (w->dir_fds[i] < 0)
			return err_set(e, ERR_IO, errno, "cannot open the directory '%s/%s'",
				FILEWORK_TREE, name);
	}
	return 0;
}

static int make_tree(struct filework *w, struct err *e)
{
	int dir_fd = w->params.dir_fd;

	if (w->params.n_dirs <= N_DIR_FDS_MAX) {
		w->dir_fds = calloc(w->params.n_dirs, sizeof(*w->dir_fds));
		if (!w->dir_fds)
			return err_set(e, ERR_NOMEM, 0, "no memory for file operations");
		for (uint64_t i = 0; i < w->params.n_dirs; i++)
			w->dir_fds[i] = -1;
	}
	if (mkdirat(dir_fd, FILEWORK_TREE, 0700) != 0)
		return err_set(e, ERR_IO, errno, "cannot make the directory '%s'", FILEWORK_TREE);
	w->tree_fd = open_dir(dir_fd, FILEWORK_TREE);
	if (w->tree_fd < 0)
		err_set(e, ERR_IO, errno, "cannot open the directory '%s'", FILEWORK_TREE);
	if (w->tree_fd < 0 || make_dirs(w, e) != 0) {
		filework_remove(w, NULL);
		return -1;
	}
	return 0;
}

int filework_new(const struct filework_params *params, struct filework **ret, struct err *e)
{
	struct filework *w cleanup(filework_free_p) = NULL;

	if (check_params(params, e) != 0)
		return -1;
	w = calloc(1, sizeof(*w));
	if (!w)
		return err_set(e, ERR_NOMEM, 0, "no memory for file operations");
	w->params = *params;
	w->tree_fd = -1;
	if (make_tree(w, e) != 0)
		return -1;
	*ret = take(w);
	return 0;
}

int filework_remove(struct filework *w, struct err *e)
{
	struct filework_tree t = { 0 };

	close_dirs(w);
	if (w->tree_fd >= 0)
		close(take_fd(&w->tree_fd));
	filework_tree_walk(w->params.dir_fd, true, &t);
	return filework_tree_error(&t, "", e);
}

void filework_free(struct filework *w)
{
	if (!w)
		return;
	close_dirs(w);
	if (w->tree_fd >= 0)
		close(w->tree_fd);
	free(w);
}

/* ---- the loop ---- */

/* One phase: what all threads share. */
struct filework_run {
	const struct filework *work;
	filework_fn *fn;
	const struct perm *order; /* NULL: ascending */
	uint64_t n_items;	  /* files or directories */
	unsigned n_steps;	  /* operations of an item */
	uint32_t n_threads;
	struct filework_thread *threads;
	_Atomic int stop;
	pthread_mutex_t lock; /* of gate_open */
	pthread_cond_t opened;
	bool gate_open;
};

struct starter {
	struct filework_run *run;
	uint32_t index;
	pthread_t id;
};

static double rusage_cpu_s(int who, double *ret_system_s)
{
	struct rusage u;

	if (getrusage(who, &u) != 0)
		memset(&u, 0, sizeof(u));
	*ret_system_s = (double)u.ru_stime.tv_sec + 1e-6 * (double)u.ru_stime.tv_usec;
	return (double)u.ru_utime.tv_sec + 1e-6 * (double)u.ru_utime.tv_usec;
}

static double thread_cpu_s(void)
{
	double system_s;
	double user_s = rusage_cpu_s(RUSAGE_THREAD, &system_s);

	return user_s + system_s;
}

/* Counts for the live line, now and then: it is shared by all threads. */
struct publisher {
	_Atomic uint64_t *n_done; /* may be NULL */
	uint64_t n_told;
	uint64_t due_ns;
};

static void publish(struct publisher *p, uint64_t n_ops, uint64_t now_ns)
{
	if (p->n_done)
		atomic_fetch_add_explicit(p->n_done, n_ops - p->n_told, memory_order_relaxed);
	p->n_told = n_ops;
	p->due_ns = now_ns + PUBLISH_NS;
}

static void note_error(struct filework_thread *t, int sys, uint64_t item)
{
	t->error.sys = sys;
	t->error_item = item;
	atomic_store(t->stop, -1);
}

static void run_share(struct filework_run *run, struct filework_thread *t, uint32_t index)
{
	const struct clock *clock = run->work->params.clock;
	struct publisher live = { .n_done = run->work->params.n_done };
	uint64_t first = run->n_items * index / run->n_threads;
	uint64_t end = run->n_items * (index + 1) / run->n_threads;
	uint64_t now_ns = clock_now_ns(clock);

	t->start_ns = now_ns;
	live.due_ns = now_ns + PUBLISH_NS;
	for (uint64_t i = first * run->n_steps; i < end * run->n_steps; i++) {
		if (filework_should_stop(t)) {
			t->stopped = true;
			break;
		}

		uint64_t item = run->n_steps == 1 ? i : i / run->n_steps;

		if (run->order)
			item = perm_at(run->order, item);

		int rc = run->fn(t, item, run->n_steps == 1 ? 0 : (unsigned)(i % run->n_steps));
		uint64_t done_ns = clock_now_ns(clock);

		if (rc == FILEWORK_OK) {
			hist_add(&t->latency, done_ns > now_ns ? done_ns - now_ns : 0);
			t->n_ops++;
		} else if (rc != FILEWORK_NOTHING) {
			t->stopped = true;
			if (rc < 0)
				note_error(t, -rc, item);
			break;
		}
		now_ns = done_ns;
		if (now_ns >= live.due_ns)
			publish(&live, t->n_ops, now_ns);
	}
	t->end_ns = now_ns;
	publish(&live, t->n_ops, now_ns);
}

static void *thread_main(void *arg)
{
	struct starter *s = arg;
	struct filework_run *run = s->run;
	struct filework_thread *t = &run->threads[s->index];

	pthread_mutex_lock(&run->lock);
	while (!run->gate_open)
		pthread_cond_wait(&run->opened, &run->lock);
	pthread_mutex_unlock(&run->lock);

	double before_s = thread_cpu_s();

	run_share(run, t, s->index);
	t->cpu_s = thread_cpu_s() - before_s;
	return NULL;
}

/* ---- threads ---- */

static void free_threads(struct filework_thread *threads, uint32_t n_threads)
{
	if (!threads)
		return;
	for (uint32_t i = 0; i < n_threads; i++) {
		free(threads[i].buffer);
		free(threads[i].entries);
	}
	free(threads);
}

static void run_release(struct filework_run *run)
{
	free_threads(run->threads, run->n_threads);
	pthread_cond_destroy(&run->opened);
	pthread_mutex_destroy(&run->lock);
}

static size_t buffer_bytes_of(const struct filework_params *p)
{
	uint64_t share_bytes = BUFFERS_BYTES_MAX / p->n_threads;
	uint64_t n_bytes = p->max_bytes;

	if (n_bytes > share_bytes)
		n_bytes = share_bytes;
	if (n_bytes > BUFFER_BYTES_MAX)
		n_bytes = BUFFER_BYTES_MAX;
	if (n_bytes == 0)
		n_bytes = 1;
	return (size_t)(n_bytes + 4095) / 4096 * 4096;
}

static int prepare_thread(
	struct filework_run *run, struct filework_thread *t, enum filework_op op, uint32_t index)
{
	const struct filework_params *p = &run->work->params;
	struct pattern pattern = { .kind = PATTERN_RANDOM, .seed = p->seed, .unit_bytes = 4096 };
	void *buffer = NULL;

	t->work = run->work;
	t->person_stop = p->stop;
	t->stop = &run->stop;
	t->buffer_bytes = buffer_bytes_of(p);
	if (op == FILEWORK_CREATE || op == FILEWORK_READ) {
		if (posix_memalign(&buffer, 4096, t->buffer_bytes) != 0)
			return -1;
		t->buffer = buffer;
		pattern_fill(&pattern, buffer, t->buffer_bytes, (uint64_t)index * BUFFERS_BYTES_MAX,
			(uint32_t)run->work->n_runs + 1);
	}
	if (op == FILEWORK_READDIR) {
		if (posix_memalign(&buffer, 4096, FILEWORK_ENTRIES_BYTES) != 0)
			return -1;
		t->entries = buffer;
	}
	return 0;
}

static int prepare_run(struct filework_run *run, enum filework_op op, struct err *e)
{
	size_t n_bytes = run->n_threads * sizeof(*run->threads);
	bool failed = false;

	pthread_mutex_init(&run->lock, NULL);
	pthread_cond_init(&run->opened, NULL);
	run->threads = aligned_alloc(64, n_bytes);
	if (run->threads)
		memset(run->threads, 0, n_bytes);
	for (uint32_t i = 0; run->threads && !failed && i < run->n_threads; i++)
		failed = prepare_thread(run, &run->threads[i], op, i) != 0;
	if (!run->threads || failed)
		return err_set(e, ERR_NOMEM, 0, "no memory for %u threads", run->n_threads);
	return 0;
}

static void open_gate(struct filework_run *run)
{
	pthread_mutex_lock(&run->lock);
	run->gate_open = true;
	pthread_cond_broadcast(&run->opened);
	pthread_mutex_unlock(&run->lock);
}

static int run_threads(struct filework_run *run, struct phase_result *phase, struct err *e)
{
	struct starter *starters cleanup(free_p) = calloc(run->n_threads, sizeof(*starters));
	double before_user_s, before_system_s, system_s;
	uint32_t n = 0;

	if (!starters)
		return err_set(e, ERR_NOMEM, 0, "no memory for %u threads", run->n_threads);
	for (; n < run->n_threads; n++) {
		starters[n] = (struct starter){ .run = run, .index = n };
		if (pthread_create(&starters[n].id, NULL, thread_main, &starters[n]) != 0)
			break;
	}
	if (n < run->n_threads)
		atomic_store(&run->stop, -1);
	before_user_s = rusage_cpu_s(RUSAGE_SELF, &before_system_s);
	open_gate(run);
	for (uint32_t i = 0; i < n; i++)
		pthread_join(starters[i].id, NULL);
	phase->cpu_user_s = rusage_cpu_s(RUSAGE_SELF, &system_s) - before_user_s;
	phase->cpu_system_s = system_s - before_system_s;
	if (n < run->n_threads)
		return err_set(
			e, ERR_NOMEM, 0, "cannot start %u threads; only %u fit", run->n_threads, n);
	return 0;
}

/* ---- the outcome ---- */

static void fill_settings(
	const struct filework *w, enum filework_op op, bool random, struct phase_settings *s)
{
	const struct filework_params *p = &w->params;
	uint64_t mean_bytes = p->min_bytes + (p->max_bytes - p->min_bytes) / 2;

	snprintf(s->access, sizeof(s->access), "file_%s", filework_ops[op].name);
	s->block_bytes = p->max_bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)p->max_bytes;
	s->depth_asked = s->depth = 1;
	s->n_threads_asked = s->n_threads = p->n_threads;
	s->read_pct = op == FILEWORK_CREATE || op > FILEWORK_READDIR ? 0 : 100;
	if (__builtin_mul_overflow(p->n_files, mean_bytes, &s->size_bytes))
		s->size_bytes = UINT64_MAX;
	s->n_files = p->n_files;
	s->n_dirs = p->n_dirs;
	s->seed = p->seed;
	snprintf(s->engine, sizeof(s->engine), "sync");
	snprintf(s->engine_detail, sizeof(s->engine_detail),
		"system calls on files of %llu to %llu bytes, %s order",
		(unsigned long long)p->min_bytes, (unsigned long long)p->max_bytes,
		random ? "random" : "name");
	s->direct = DIRECT_OFF;
	s->flush = op == FILEWORK_CREATE && p->fsync_each ? FLUSH_EACH : FLUSH_NONE;
	s->data = DATA_RANDOM;
}

static double cpu_ratio_of(const struct filework_thread *t)
{
	double elapsed_s = 1e-9 * (double)(t->end_ns - t->start_ns);
	double ratio = elapsed_s > 0 ? t->cpu_s / elapsed_s : 0;

	return ratio > 1 ? 1 : ratio;
}

/* Returns the thread that failed first, or NULL. */
static const struct filework_thread *merge(
	const struct filework_run *run, struct phase_result *phase)
{
	const struct filework_thread *failed = NULL;
	uint64_t start_ns = UINT64_MAX, end_ns = 0;

	phase->evidence.worker_cpu_ratio = -1;
	for (uint32_t i = 0; i < run->n_threads; i++) {
		const struct filework_thread *t = &run->threads[i];
		double ratio = cpu_ratio_of(t);

		phase->n_ops += t->n_ops;
		phase->read_bytes += t->read_bytes;
		phase->written_bytes += t->written_bytes;
		phase->n_short += t->n_short;
		phase->n_retries += t->n_retries;
		hist_merge(phase->latency, &t->latency);
		if (t->start_ns < start_ns)
			start_ns = t->start_ns;
		if (t->end_ns > end_ns)
			end_ns = t->end_ns;
		if (ratio > phase->evidence.worker_cpu_ratio)
			phase->evidence.worker_cpu_ratio = ratio;
		if (t->error.sys && (!failed || t->end_ns < failed->end_ns))
			failed = t;
	}
	phase->elapsed_ns = end_ns > start_ns ? end_ns - start_ns : 0;
	phase->evidence.asked_read_bytes = phase->read_bytes;
	phase->evidence.asked_write_bytes = phase->written_bytes;
	return failed;
}

/* "d000003/f000000123", for a person. */
static void item_text(
	const struct filework *w, enum filework_op op, uint64_t item, char text[FILEWORK_PATH_MAX])
{
	uint64_t dir = op == FILEWORK_READDIR ? item : item % w->params.n_dirs;
	char *at = filework_name(text, 'd', dir, FILEWORK_DIR_DIGITS);

	if (op == FILEWORK_READDIR)
		return;
	*at++ = '/';
	filework_name(at, w->renamed ? 'r' : 'f', item, FILEWORK_FILE_DIGITS);
}

static void judge(const struct filework_run *run, enum filework_op op,
	const struct filework_thread *failed, struct phase_result *phase)
{
	const struct filework_params *p = &run->work->params;
	int stop = p->stop ? atomic_load(p->stop) : 0;
	bool cut = failed != NULL;
	char item[FILEWORK_PATH_MAX];

	for (uint32_t i = 0; i < run->n_threads; i++)
		cut |= run->threads[i].stopped;
	phase->reason[0] = '\0';
	phase->status = !cut ? PHASE_DONE : phase->n_ops ? PHASE_PARTIAL : PHASE_FAILED;
	if (failed) {
		phase->error = failed->error;
		snprintf(phase->error.op, sizeof(phase->error.op), "%s", filework_ops[op].name);
		phase->error.n_bytes = filework_size(p, failed->error_item);
		item_text(run->work, op, failed->error_item, item);
		snprintf(phase->reason, sizeof(phase->reason), "%s of '%s': %s",
			filework_ops[op].name, item,
			phase->error.sys == ENODATA ? "the file ended early"
						    : strerrordesc_np(phase->error.sys));
	} else if (cut) {
		const char *name = sigabbrev_np(stop);

		snprintf(phase->reason, sizeof(phase->reason), "interrupted by %s%s",
			name ? "SIG" : "request", name ? name : "");
	}
}

/* Which names the files have now. */
static void keep_state(struct filework *w, enum filework_op op, bool done)
{
	switch (op) {
	case FILEWORK_RENAME:
		if (!w->mixed)
			w->renamed = !w->renamed;
		w->mixed = !done;
		break;
	case FILEWORK_LINK:
		w->linked = true;
		w->partly |= !done;
		break;
	case FILEWORK_DELETE:
		w->partly = !done;
		if (done)
			w->linked = w->renamed = w->mixed = false;
		break;
	case FILEWORK_CREATE:
		w->partly |= !done;
		break;
	case FILEWORK_STAT:
	case FILEWORK_READ:
	case FILEWORK_READDIR:
	case FILEWORK_N_OPS:
		break;
	}
}

int filework_run(struct filework *w, enum filework_op op, bool random, struct phase_result *phase,
	struct err *e)
{
	struct filework_run run cleanup(run_release) = {
		.work = w,
		.fn = filework_fns[op],
		.n_items = op == FILEWORK_READDIR ? w->params.n_dirs : w->params.n_files,
		.n_steps = op == FILEWORK_DELETE && w->linked ? 2 : 1,
		.n_threads = w->params.n_threads,
	};
	struct perm order;

	if (prepare_run(&run, op, e) != 0)
		return -1;
	if (!phase->latency)
		phase->latency = hist_new();
	if (!phase->latency)
		return err_set(e, ERR_NOMEM, 0, "no memory for a phase");
	if (random) {
		perm_init(&order, run.n_items, rng_mix(w->params.seed) + w->n_runs);
		run.order = &order;
	}
	if (run_threads(&run, phase, e) != 0)
		return -1;
	fill_settings(w, op, random, &phase->settings);
	judge(&run, op, merge(&run, phase), phase);
	keep_state(w, op, phase->status == PHASE_DONE);
	w->n_runs++;
	return 0;
}

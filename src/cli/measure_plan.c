/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settling a measurement before it starts. See measure_plan.h. */
#include "cli/measure_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/units.h"
#include "cli/common.h"

static const uint64_t MIB = 1024 * 1024;

enum { UNIT_BYTES_MIN = 512, UNIT_BYTES_MAX = 4096 };

/* ---- targets ---- */

static int check_target(const struct measurement *m, const struct target_facts *t, struct err *e)
{
	const struct measure_request *q = m->request;

	if (t->kind != TARGET_BLOCK_DEVICE && t->fs_class == FS_MEMORY && !q->allow_memory)
		return err_set(e, ERR_UNSUPPORTED, 0,
			"'%s' is on %s: that is memory, not storage; --allow-memory measures it all the same",
			t->path, t->fs_type);
	if (t->kind == TARGET_DIRECTORY && t->read_only)
		return err_set(e, ERR_UNSUPPORTED, 0,
			"'%s' is on a read-only file system; name an existing file on it to read that",
			t->path);
	if (q->write_device && t->kind != TARGET_BLOCK_DEVICE)
		return err_set(e, ERR_USAGE, 0,
			"--write-device=%s: '%s' is not a block device; leave the option out",
			q->write_device, t->path);
	if (q->pattern.stamps && t->kind != TARGET_DIRECTORY && !q->write_device)
		return err_set(e, ERR_USAGE, 0,
			"--verify: '%s' is only read, and what others wrote there cannot be checked",
			t->path);
	if (q->write_device)
		return probe_device_writable(NULL, t->path, q->write_device, e);
	if (t->kind != TARGET_DIRECTORY && t->size_bytes == 0)
		return err_set(e, ERR_USAGE, 0, "'%s' is empty: there is nothing to read", t->path);
	return 0;
}

/* Phases that a target which is only read leaves out; it is an error when none is left. */
static int check_phases(const struct measurement *m, const struct target_run *t, struct err *e)
{
	const struct measure_request *q = m->request;
	size_t n = 0;

	for (size_t i = 0; i < q->n_phases; i++) {
		if (!session_can_run(t->session, &q->phases[i]))
			continue;
		n++;
		if (session_check(t->session, &q->phases[i], e) != 0)
			return -1;
	}
	if (n)
		return 0;
	if (t->result->target.kind == TARGET_DIRECTORY)
		return err_set(e, ERR_USAGE, 0,
			"--engine %s: a mapping cannot be appended to; use --engine uring or sync",
			m->engine->name);
	if (t->result->target.kind == TARGET_BLOCK_DEVICE)
		return err_set(e, ERR_USAGE, 0,
			"'%s' is a block device and is only read; to write to it, and destroy what it holds, "
			"add --write-device=%s",
			t->result->target.path,
			t->result->target.n_disks ? t->result->target.disks[0].name : "NAME");
	return err_set(e, ERR_USAGE, 0,
		"'%s' is never written to, and every phase asked for writes; name a directory instead",
		t->result->target.path);
}

/* ---- engine ---- */

static int check_depth(const struct measurement *m, struct err *e)
{
	const struct measure_request *q = m->request;

	if (m->depth_by_threads || q->force)
		return 0;
	for (size_t i = 0; i < q->n_phases; i++) {
		const struct phase_spec *p = &q->phases[i];

		if (p->work == WORK_BLOCK && p->depth > m->engine->max_depth)
			return err_set(e, ERR_USAGE, 0,
				"--engine %s: depth %u asked in %s, %u possible; use --engine uring, or "
				"--depth 1 --threads %u, or --force to measure at %u",
				m->engine->name, p->depth, p->name, m->engine->max_depth, p->depth,
				m->engine->max_depth);
	}
	return 0;
}

static int choose_engine(struct measurement *m, struct err *e)
{
	const char *name = m->request->engine;
	bool automatic = strcmp(name, "auto") == 0;
	struct err why = { 0 };

	m->engine = automatic ? &engine_uring : engine_find(name);
	if (!m->engine)
		return err_set(e, ERR_USAGE, 0,
			"--engine: there is no engine '%s'; clyde engines lists them", name);
	if (m->engine->probe(&why) != 0) {
		if (!automatic)
			return err_set(e, ERR_UNSUPPORTED, 0, "--engine %s: %s; use --engine auto",
				name, why.msg);
		m->engine = &engine_sync;
		m->depth_by_threads = true;
		snprintf(m->engine_note, sizeof(m->engine_note), "not uring: %.100s", why.msg);
	}
	return check_depth(m, e);
}

/* ---- data ---- */

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* The stamp unit divides every block of the run, so that phases can check one another's data. */
static int choose_pattern(struct measurement *m, struct err *e)
{
	const struct measure_request *q = m->request;
	uint64_t unit_bytes = UNIT_BYTES_MAX;
	bool blocks = false;

	for (size_t i = 0; i < q->n_phases; i++) {
		const struct phase_spec *p = &q->phases[i];

		if (p->work != WORK_BLOCK)
			continue;
		if (p->block_bytes % UNIT_BYTES_MIN)
			return err_set(e, ERR_USAGE, 0, "--block: %u is not a multiple of %d",
				p->block_bytes, UNIT_BYTES_MIN);
		unit_bytes = gcd(unit_bytes, p->block_bytes);
		blocks = true;
	}
	if (q->pattern.stamps && !blocks)
		return err_set(e, ERR_USAGE, 0,
			"--verify checks blocks, and no phase asked for transfers any; leave it out");
	m->seed = q->seed ? q->seed : (rng_seed_from_system() >> 1) | 1;
	m->pattern = q->pattern;
	m->pattern.seed = rng_mix(m->seed);
	m->pattern.unit_bytes = (uint32_t)unit_bytes;
	return 0;
}

static int check_memory(const struct measurement *m, struct err *e)
{
	for (size_t i = 0; i < m->request->n_phases; i++) {
		const struct phase_spec *p = &m->request->phases[i];
		uint64_t n_bytes = (uint64_t)p->block_bytes * p->depth * p->n_threads;
		char a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX];

		if (p->work == WORK_BLOCK && m->host.memory_limit_bytes &&
			n_bytes > m->host.memory_limit_bytes / 2)
			return err_set(e, ERR_USAGE, 0,
				"--block, --depth, --threads: %s needs %s of buffers, more than half of the %s of "
				"memory; lower one of them",
				p->name, units_bytes_iec(n_bytes, a),
				units_bytes_iec(m->host.memory_limit_bytes, b));
	}
	return 0;
}

/* ---- size ---- */

static uint64_t largest_block_bytes(const struct measure_request *q)
{
	uint64_t largest = UNIT_BYTES_MAX;

	for (size_t i = 0; i < q->n_phases; i++)
		if (q->phases[i].work == WORK_BLOCK && q->phases[i].block_bytes > largest)
			largest = q->phases[i].block_bytes;
	return largest;
}

/* Down to whole blocks of the largest kind, where it holds one. */
static uint64_t whole_blocks(const struct measure_request *q, uint64_t size_bytes)
{
	uint64_t largest = largest_block_bytes(q);

	return size_bytes >= largest ? size_bytes / largest * largest
				     : size_bytes / UNIT_BYTES_MIN * UNIT_BYTES_MIN;
}

/*
 * The rule of the man page: with direct I/O the default size; buffered, twice the memory this
 * process may use, so that the page cache cannot hold the file; never more than half of what is
 * free, and a memory file system gets a quarter at most.
 */
static uint64_t wanted_bytes(const struct measurement *m, const struct target_run *t)
{
	const struct target_facts *facts = &t->result->target;
	uint64_t wish = m->request->default_size_bytes;
	uint64_t most = facts->fs_free_bytes / 2 / m->request->n_targets; /* maybe of one disk */

	if (facts->fs_class == FS_MEMORY)
		most /= 2;
	else if (session_direct(t->session) != DIRECT_ON && m->request->size_by_memory)
		wish = 2 * m->host.memory_limit_bytes;
	if (wish > most)
		wish = most;
	return wish > MIB ? wish / MIB * MIB : wish;
}

static int no_space(const struct target_facts *facts, uint64_t size_bytes, struct err *e)
{
	char want[UNITS_TEXT_MAX], has[UNITS_TEXT_MAX];

	return err_set(e, ERR_UNSUPPORTED, 0,
		"--size: no space for a test file of %s in '%s', %s are free; use a smaller --size or free "
		"some",
		units_bytes_iec(size_bytes, want), facts->path,
		units_bytes_iec(facts->fs_free_bytes, has));
}

/* The small files live beside the large one. */
static int check_files_space(const struct measurement *m, const struct target_run *t, struct err *e)
{
	const struct measure_request *q = m->request;
	const struct target_facts *facts = &t->result->target;
	uint64_t n_bytes;
	char want[UNITS_TEXT_MAX], has[UNITS_TEXT_MAX];

	for (size_t i = 0; i < q->n_phases; i++) {
		if (q->phases[i].work != WORK_FILES)
			continue;
		if (!__builtin_mul_overflow(q->n_files, q->file_bytes, &n_bytes) &&
			n_bytes <= facts->fs_free_bytes)
			return 0;
		return err_set(e, ERR_UNSUPPORTED, 0,
			"--files, --file-size: no space for %llu files of %s in '%s', %s are free; use "
			"fewer or smaller ones",
			(unsigned long long)q->n_files, units_bytes_iec(q->file_bytes, want),
			facts->path, units_bytes_iec(facts->fs_free_bytes, has));
	}
	return 0;
}

static int size_of_directory(const struct measurement *m, struct target_run *t, struct err *e)
{
	const struct target_facts *facts = &t->result->target;
	uint64_t least = largest_block_bytes(m->request);

	if (m->request->size_bytes) {
		t->size_bytes = m->request->size_bytes;
		if (t->size_bytes > facts->fs_free_bytes)
			return no_space(facts, t->size_bytes, e);
	} else {
		t->size_bytes = wanted_bytes(m, t);
		if (t->size_bytes < least)
			return no_space(facts, least, e);
	}
	return check_files_space(m, t, e);
}

static int choose_size(const struct measurement *m, struct target_run *t, struct err *e)
{
	const struct measure_request *q = m->request;
	const struct target_facts *facts = &t->result->target;
	char want[UNITS_TEXT_MAX], has[UNITS_TEXT_MAX];

	if (facts->kind == TARGET_DIRECTORY) {
		if (size_of_directory(m, t, e) != 0)
			return -1;
	} else {
		t->size_bytes = q->size_bytes ? q->size_bytes : facts->size_bytes;
		if (!q->size_bytes && q->write_device && t->size_bytes > q->default_size_bytes)
			t->size_bytes = q->default_size_bytes;
		if (t->size_bytes > facts->size_bytes)
			return err_set(e, ERR_USAGE, 0, "--size: %s asked, but '%s' has %s",
				units_bytes_iec(t->size_bytes, want), facts->path,
				units_bytes_iec(facts->size_bytes, has));
	}
	if (t->size_bytes < UNIT_BYTES_MIN)
		return err_set(e, ERR_USAGE, 0,
			"'%s' holds %s: less than the smallest block of %d B", facts->path,
			units_bytes_iec(t->size_bytes, has), UNIT_BYTES_MIN);
	t->size_bytes = whole_blocks(q, t->size_bytes);
	return session_set_size(t->session, t->size_bytes, e);
}

/* ---- all together ---- */

static int check_polling(const struct measurement *m, const struct target_run *t, struct err *e)
{
	if (!(m->request->engine_flags & ENGINE_IOPOLL) || session_direct(t->session) == DIRECT_ON)
		return 0;
	return err_set(e, ERR_UNSUPPORTED, 0,
		"--iopoll needs direct I/O, which '%s' refuses; leave it out",
		t->result->target.path);
}

static int open_session(struct measurement *m, struct target_run *t, struct err *e)
{
	const struct measure_request *q = m->request;
	struct session_params params = {
		.target = &t->result->target,
		.host = &m->host,
		.run_id = t->result->id,
		.engine = m->engine,
		.engine_flags = q->engine_flags,
		.depth_by_threads = m->depth_by_threads,
		.engine_note = m->engine_note[0] ? m->engine_note : NULL,
		.direct = m->engine->maps_file ? DIRECT_WISH_OFF : q->direct,
		.pattern = m->pattern,
		.write_device = q->write_device != NULL,
		.pin = q->pin,
		.warm = q->warm,
		.time_ns = q->time_ns,
		.n_files = q->n_files,
		.n_dirs = q->n_dirs < q->n_files ? q->n_dirs : q->n_files,
		.file_bytes = q->file_bytes,
		.seed = m->seed,
		.clock = &clock_monotonic,
		.stop = m->ctx->stop,
		.hook = &m->hook,
	};

	if (session_open(&params, &t->session, e) == 0)
		return check_polling(m, t, e);
	/* Nothing was measured yet: this target cannot be, here and now. A broken one is broken. */
	if (e->kind == ERR_IO && e->sys != EIO && e->sys != EMFILE && e->sys != ENFILE)
		e->kind = ERR_UNSUPPORTED;
	return -1;
}

static int prepare_target(struct measurement *m, const char *path, struct err *e)
{
	struct target_run *t = &m->targets[m->n_targets];

	t->result = result_new();
	if (!t->result)
		return err_set(e, ERR_NOMEM, 0, "no memory for a result");
	m->n_targets++;
	if (probe_target(NULL, path, &t->result->target, e) != 0 ||
		check_target(m, &t->result->target, e) != 0 || open_session(m, t, e) != 0 ||
		choose_size(m, t, e) != 0)
		return -1;
	return check_phases(m, t, e);
}

int measurement_prepare(struct measurement *m, struct err *e)
{
	const struct measure_request *q = m->request;

	if (q->n_targets > MEASURE_N_TARGETS_MAX)
		return err_set(e, ERR_USAGE, 0, "%zu targets, at most %d go into one run",
			q->n_targets, MEASURE_N_TARGETS_MAX);
	if (q->write_device && q->n_targets > 1)
		return err_set(e, ERR_USAGE, 0, "--write-device names one device; give one target");
	probe_host(NULL, &m->host);
	if (choose_engine(m, e) != 0 || choose_pattern(m, e) != 0 || check_memory(m, e) != 0)
		return -1;
	for (size_t i = 0; i < q->n_targets; i++)
		if (prepare_target(m, q->targets[i], e) != 0)
			return -1;
	if (common_open_history(m->ctx, HISTORY_WRITE, &m->history, e) != 0)
		return -1;
	m->live = live_new(m->ctx);
	return 0;
}

void measurement_release(struct measurement *m)
{
	for (size_t i = 0; i < m->n_targets; i++) {
		session_close(m->targets[i].session, NULL);
		result_free(m->targets[i].result);
	}
	live_free(m->live);
	history_close(m->history);
}

/* ---- the two lines ---- */

struct estimate {
	double seconds;	       /* of the whole run on this target */
	uint64_t layout_bytes; /* written outside the clock */
	double write_s;	       /* of timed write phases */
	size_t n_phases;
};

enum {
	GUESS_LAYOUT_BPS = 300 * 1000 * 1000, /* a middling disk */
	GUESS_FILES_PER_S = 10000,
};

/* How often the file is laid out: once, or for each sample where a phase starts a fresh one. */
static uint32_t n_layouts(const struct measurement *m, const struct target_run *t)
{
	const struct measure_request *q = m->request;
	bool fresh = false;
	bool used = false;

	if (t->result->target.kind != TARGET_DIRECTORY && !q->write_device)
		return 0;
	for (size_t i = 0; i < q->n_phases; i++) {
		const struct phase_spec *p = &q->phases[i];

		if (p->work != WORK_BLOCK || p->access == ACCESS_APPEND)
			continue;
		fresh = fresh || p->fresh;
		used = used || !p->fresh;
	}
	return !used ? 0 : fresh ? q->n_samples : 1;
}

static const double REST_S = 0.25; /* before each phase, see settle() in session_block.c */

double measurement_phase_s(const struct measurement *m, const struct phase_spec *spec)
{
	if (spec->work == WORK_FILES)
		return (double)m->request->n_files / GUESS_FILES_PER_S;
	return REST_S + 1e-9 * (double)(spec->time_ns ? spec->time_ns : m->request->time_ns);
}

static struct estimate estimate_run(const struct measurement *m, const struct target_run *t)
{
	const struct measure_request *q = m->request;
	struct estimate est = { 0 };

	for (size_t i = 0; i < q->n_phases; i++) {
		const struct phase_spec *p = &q->phases[i];
		double phase_s = measurement_phase_s(m, p);

		if (!session_can_run(t->session, p))
			continue;
		est.n_phases++;
		if (p->work == WORK_BLOCK && access_defs[p->access].writes)
			est.write_s += (phase_s - REST_S) * q->n_samples;
		est.seconds += phase_s * q->n_samples;
	}
	est.layout_bytes = t->size_bytes * n_layouts(m, t);
	est.seconds += (double)est.layout_bytes / GUESS_LAYOUT_BPS;
	return est;
}

static const char *direct_text(
	const struct measurement *m, const struct target_run *t, char text[80])
{
	enum direct_mode direct = session_direct(t->session);

	if (direct == DIRECT_REFUSED)
		snprintf(text, 80, "buffered: direct refused by %.40s", t->result->target.fs_type);
	else
		snprintf(text, 80, "%s",
			direct == DIRECT_ON    ? "direct"
			: m->engine->maps_file ? "mapped"
					       : "buffered");
	return text;
}

/* "/mnt/data (ext4 on sda, 80 GiB free)" */
static void say_target(const struct target_facts *f, struct buf *line)
{
	char text[UNITS_TEXT_MAX];

	buf_add_escaped(line, f->path);
	if (f->kind == TARGET_BLOCK_DEVICE) {
		buf_addf(line, " (block device, %s)", units_bytes_iec(f->size_bytes, text));
		return;
	}
	buf_add(line, " (");
	buf_add_escaped(line, f->fs_type[0] ? f->fs_type : "unknown file system");
	for (unsigned i = 0; i < f->n_disks; i++) {
		buf_add(line, i ? ", " : " on ");
		buf_add_escaped(line, f->disks[i].name);
	}
	buf_addf(line, ", %s free)", units_bytes_iec(f->fs_free_bytes, text));
}

static void say_cost(const struct estimate *est, bool removes, struct buf *line)
{
	char bytes[UNITS_TEXT_MAX], wait[UNITS_TEXT_MAX];

	buf_addf(line, "takes about %s; ", units_wait(est->seconds, wait));
	if (est->layout_bytes)
		buf_addf(line, "writes %s to lay out the file",
			units_bytes_iec(est->layout_bytes, bytes));
	if (est->write_s > 0)
		buf_addf(line, "%swhat %s of write phases move",
			est->layout_bytes ? " and " : "writes ", units_wait(est->write_s, wait));
	if (!est->layout_bytes && est->write_s <= 0)
		buf_add(line, removes ? "writes small files only" : "writes nothing");
	if (removes)
		buf_add(line, "; removes it at the end");
	buf_add(line, "\n");
}

/* "a file of 1 GiB, uring, direct", or the small files where there are no others. */
static void say_load(const struct measurement *m, const struct target_run *t, struct buf *line)
{
	const struct measure_request *q = m->request;
	char size[UNITS_TEXT_MAX], direct[80];
	bool blocks = false;

	for (size_t i = 0; i < q->n_phases; i++)
		blocks = blocks || q->phases[i].work == WORK_BLOCK;
	if (!blocks) {
		buf_addf(line, "%llu files of %s in %llu directories",
			(unsigned long long)q->n_files, units_bytes_iec(q->file_bytes, size),
			(unsigned long long)(q->n_dirs < q->n_files ? q->n_dirs : q->n_files));
		return;
	}
	buf_addf(line, "%s %s, %s%s%s, %s",
		t->result->target.kind == TARGET_DIRECTORY ? "a file of" : "the first",
		units_bytes_iec(t->size_bytes, size), m->engine->name,
		m->engine_note[0] ? " with threads for depth, " : "", m->engine_note,
		direct_text(m, t, direct));
}

static void announce_target(const struct measurement *m, const struct target_run *t)
{
	const struct measure_request *q = m->request;
	const struct target_facts *f = &t->result->target;
	struct estimate est = estimate_run(m, t);
	struct buf line cleanup(buf_release_p) = { 0 };

	say_target(f, &line);
	buf_addf(&line, ": %s, %zu phase%s x %u sample%s, ", q->plan, est.n_phases,
		est.n_phases == 1 ? "" : "s", q->n_samples, q->n_samples == 1 ? "" : "s");
	say_load(m, t, &line);
	buf_add(&line, "\n");
	say_cost(&est, f->kind == TARGET_DIRECTORY, &line);
	fputs(buf_text(&line), stderr);
}

void measurement_announce(struct measurement *m)
{
	for (size_t i = 0; i < m->n_targets; i++) {
		announce_target(m, &m->targets[i]);
		m->left_s += estimate_run(m, &m->targets[i]).seconds;
	}
}

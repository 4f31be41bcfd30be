/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Transfers inside the data file: laying it out, dropping it from the cache, the timed job with
 * its counters, and reading back what was written.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/rng.h"
#include "plan/session_private.h"

enum {
	LAYOUT_BLOCK_BYTES = 1024 * 1024,
	LAYOUT_DEPTH = 8,
	SETTLE_NS = 250 * 1000 * 1000,
};

void session_evidence_begin(const struct session *s, struct evidence_start *start)
{
	probe_cpu_counters(NULL, &start->cpu);
	probe_disk_counters(NULL, s->params.target, &start->disk);
}

void session_evidence_end(
	const struct session *s, const struct evidence_start *start, struct phase_evidence *out)
{
	struct disk_counters disk;
	struct cpu_counters *cpu cleanup(free_p) = calloc(1, sizeof(*cpu));

	probe_disk_counters(NULL, s->params.target, &disk);
	out->device = disk_counters_since(&start->disk, &disk);
	out->busiest_cpu_ratio = -1;
	if (!cpu)
		return;
	probe_cpu_counters(NULL, cpu);
	out->busiest_cpu_ratio = cpu_busiest_ratio(&start->cpu, cpu);
}

/* ---- jobs ---- */

/* Data that no earlier phase wrote at the same place; with stamps the seed must stay. */
static struct pattern phase_pattern(const struct session *s)
{
	struct pattern p = s->params.pattern;

	if (!p.stamps)
		p.seed = rng_mix(p.seed + s->n_phases_run);
	return p;
}

static struct block_job base_job(const struct session *s, const struct pattern *pattern)
{
	const struct session_params *p = &s->params;

	return (struct block_job){
		.ops = p->engine,
		.engine_flags = p->engine_flags | (session_writable(s) ? 0 : ENGINE_READ_ONLY),
		.fd = s->fd,
		.file_bytes = s->size_bytes,
		.align_bytes = s->align_bytes,
		.n_threads = 1,
		.pin = p->pin,
		.seed = rng_mix(p->seed ^ rng_mix(s->n_phases_run)),
		.pattern = pattern,
		.generations = s->generations,
		.clock = p->clock,
	};
}

static int run_job(struct session *s, const struct block_job *job, const char *phase,
	const char *stage, uint64_t *ret_blocks_passed, struct phase_result *out, struct err *e)
{
	struct runner_params params = {
		.phase = phase,
		.stage = stage,
		.stop = s->params.stop,
		.hook = s->params.hook,
		.ret_blocks_passed = ret_blocks_passed,
	};

	return runner_run(job, &params, out, e);
}

/* A job that is no figure must be done or it is an error. */
static int must_be_done(const struct phase_result *r, const char *what, struct err *e)
{
	if (r->status == PHASE_DONE)
		return 0;
	err_set(e, ERR_IO, 0, "%s: %s", what, r->reason);
	if (e)
		e->sys = r->error.sys;
	return -1;
}

/* Largest block up to 1 MiB that cuts the range and keeps the alignment. */
static uint32_t range_block_bytes(const struct session *s, uint64_t first_byte, uint64_t n_bytes)
{
	uint32_t block_bytes = LAYOUT_BLOCK_BYTES;
	uint32_t least_bytes = s->params.pattern.unit_bytes;

	while (block_bytes > least_bytes && (first_byte % block_bytes || n_bytes % block_bytes))
		block_bytes /= 2;
	return block_bytes;
}

static struct block_job range_job(const struct session *s, const struct pattern *pattern,
	enum access_kind access, uint64_t first_byte, uint64_t n_bytes)
{
	struct block_job job = base_job(s, pattern);

	job.access = access;
	job.block_bytes = range_block_bytes(s, first_byte, n_bytes);
	job.first_byte = first_byte;
	job.n_blocks = n_bytes / job.block_bytes;
	job.depth = LAYOUT_DEPTH < s->params.engine->max_depth ? LAYOUT_DEPTH
							       : s->params.engine->max_depth;
	if (job.depth > job.n_blocks)
		job.depth = (uint32_t)job.n_blocks;
	return job;
}

/* Writes what is not written yet, so that no read meets a hole. */
static int fill_holes(struct session *s, const char *phase, struct err *e)
{
	struct pattern pattern = phase_pattern(s);

	while (s->n_holes) {
		const struct hole *h = &s->holes[s->n_holes - 1];
		struct block_job job =
			range_job(s, &pattern, ACCESS_WRITE, h->first_byte, h->n_bytes);
		struct phase_result scratch cleanup(phase_release_p) = { 0 };

		job.sync_end = true;
		if (run_job(s, &job, phase, "laying out", NULL, &scratch, e) != 0 ||
			must_be_done(&scratch, "laying out the test file", e) != 0)
			return -1;
		s->n_holes--;
	}
	return 0;
}

/* Reads the whole file, so that the phase after it finds it in the page cache. */
static int read_through(struct session *s, const char *phase, struct err *e)
{
	struct block_job job = range_job(s, &s->params.pattern, ACCESS_READ, 0, s->size_bytes);
	struct phase_result scratch cleanup(phase_release_p) = { 0 };

	if (run_job(s, &job, phase, "reading ahead", NULL, &scratch, e) != 0)
		return -1;
	return must_be_done(&scratch, "reading the file into the page cache", e);
}

/* ---- the timed job ---- */

static struct block_job timed_job(const struct session *s, const struct phase_spec *spec,
	const struct phase_settings *set, const struct pattern *pattern)
{
	struct block_job job = base_job(s, pattern);
	bool grows = spec->access == ACCESS_APPEND && s->workdir;

	job.access = spec->access;
	job.block_bytes = spec->block_bytes;
	job.depth = set->depth;
	job.n_threads = set->n_threads;
	job.n_blocks = s->size_bytes / spec->block_bytes;
	job.time_ns = set->time_ns;
	job.read_pct = set->read_pct;
	job.rate_iops = spec->rate_iops;
	job.sync_each = set->flush == FLUSH_EACH;
	job.sync_end = set->flush == FLUSH_DATASYNC;
	job.append = grows;
	job.check = s->generations && access_defs[spec->access].reads;
	if (grows)
		job.generations = NULL;
	return job;
}

/*
 * What came before still echoes: discards of a removed file, the drive's own write-back, the credit
 * that a throttle gives for a moment of idleness. A moment of rest makes phases independent.
 */
static void settle(const struct session *s)
{
	clock_sleep_until_ns(s->params.clock, clock_now_ns(s->params.clock) + SETTLE_NS);
}

static int prepare(struct session *s, const struct phase_spec *spec, struct err *e)
{
	uint64_t left_bytes;

	if (spec->fresh) {
		if (session_renew_data(s, e) != 0)
			return -1;
	} else if (spec->access != ACCESS_APPEND && fill_holes(s, spec->name, e) != 0) {
		return -1;
	}
	if (access_defs[spec->access].reads && s->params.warm) {
		if (read_through(s, spec->name, e) != 0)
			return -1;
	} else if (access_defs[spec->access].reads) {
		probe_drop_cache(s->fd, s->size_bytes, &left_bytes);
	}
	settle(s);
	return 0;
}

/* After a fresh write that ran out of time: what each worker did not reach is a hole. */
static void note_holes(struct session *s, const struct block_job *job, const uint64_t *passed)
{
	s->n_holes = 0;
	for (uint32_t i = 0; i < job->n_threads && s->n_holes < HOLES_MAX; i++) {
		uint64_t first = worker_first_block(job, i) + passed[i];
		uint64_t n = worker_n_blocks(job, i) - passed[i];

		if (n)
			s->holes[s->n_holes++] = (struct hole){
				.first_byte = first * job->block_bytes,
				.n_bytes = n * job->block_bytes,
			};
	}
	/* The rest that is no whole block. */
	uint64_t end_byte = job->n_blocks * job->block_bytes;

	if (end_byte < s->size_bytes && s->n_holes < HOLES_MAX)
		s->holes[s->n_holes++] = (struct hole){
			.first_byte = end_byte,
			.n_bytes = s->size_bytes - end_byte,
		};
}

static void note_engine(const struct session *s, struct phase_settings *set)
{
	size_t n = strlen(set->engine_detail);

	if (s->params.engine_note && n < sizeof(set->engine_detail))
		snprintf(set->engine_detail + n, sizeof(set->engine_detail) - n, "; %s",
			s->params.engine_note);
}

static int measure(struct session *s, const struct block_job *job, const struct phase_spec *spec,
	struct phase_result *out, struct err *e)
{
	uint64_t *passed cleanup(free_p) = calloc(job->n_threads, sizeof(*passed));
	struct evidence_start *start cleanup(free_p) = calloc(1, sizeof(*start));
	struct phase_evidence *ev = &out->evidence;
	uint64_t file_bytes = s->size_bytes;

	if (!passed || !start)
		return err_set(e, ERR_NOMEM, 0, "no memory for a phase");
	ev->cached_known = probe_cached_bytes(job->fd, file_bytes, &ev->cached_before_bytes) == 0;
	session_evidence_begin(s, start);

	int rc = run_job(s, job, spec->name, "measuring", passed, out, e);

	session_evidence_end(s, start, ev);
	note_engine(s, &out->settings);
	if (ev->cached_known)
		ev->cached_known =
			probe_cached_bytes(job->fd, file_bytes, &ev->cached_after_bytes) == 0;
	if (spec->fresh && access_defs[spec->access].writes && !access_defs[spec->access].random)
		note_holes(s, job, passed);
	return rc;
}

/* ---- reading back ---- */

static int check_range(struct session *s, const struct block_job *job, const char *phase,
	struct phase_result *out, struct err *e)
{
	uint64_t left_bytes;

	probe_drop_cache(job->fd, job->n_blocks * job->block_bytes, &left_bytes);
	return run_job(s, job, phase, "verifying", NULL, out, e);
}

/* The appended file is removed after its phase, so it is checked at once. */
static int check_appended(
	struct session *s, const struct block_job *done, struct phase_result *out, struct err *e)
{
	uint64_t n_units = out->written_bytes / done->pattern->unit_bytes;
	uint32_t *ones cleanup(free_p) = calloc(n_units ? n_units : 1, sizeof(*ones));
	struct phase_result scratch cleanup(phase_release_p) = { 0 };
	struct block_job job = *done;

	if (!ones)
		return err_set(e, ERR_NOMEM, 0, "no memory to verify the appended file");
	for (uint64_t i = 0; i < n_units; i++)
		ones[i] = 1;
	job.access = ACCESS_READ;
	job.n_blocks = out->written_bytes / job.block_bytes;
	job.append = job.sync_each = false;
	job.time_ns = job.rate_iops = 0;
	job.generations = ones;
	job.check = true;
	if (!job.n_blocks)
		return 0;
	if (check_range(s, &job, out->name, &scratch, e) != 0)
		return -1;
	out->n_verified_units += scratch.n_verified_units;
	out->n_bad_units += scratch.n_bad_units;
	if (scratch.status != PHASE_DONE && out->status == PHASE_DONE) {
		out->status = scratch.status;
		memcpy(out->reason, scratch.reason, sizeof(out->reason));
	}
	return 0;
}

int session_verify(struct session *s, uint32_t sample, struct phase_result *out, struct err *e)
{
	struct phase_spec spec = {
		.name = "verify",
		.access = ACCESS_READ,
	};

	if (!s->generations || s->fd < 0)
		return 1;
	if (fill_holes(s, spec.name, e) != 0)
		return -1;

	struct block_job job = range_job(s, &s->params.pattern, ACCESS_READ, 0, s->size_bytes);

	struct evidence_start *start cleanup(free_p) = calloc(1, sizeof(*start));

	if (!start)
		return err_set(e, ERR_NOMEM, 0, "no memory for a phase");
	job.check = true;
	snprintf(out->name, sizeof(out->name), "%s", spec.name);
	out->sample = sample;
	out->started_wall_ns = clock_wall_ns();
	out->settings = (struct phase_settings){
		.access = "read",
		.block_bytes = job.block_bytes,
		.depth_asked = job.depth,
		.depth = job.depth,
		.n_threads_asked = 1,
		.n_threads = 1,
		.read_pct = 100,
		.size_bytes = s->size_bytes,
		.seed = s->params.seed,
		.direct = s->direct,
		.verify = true,
	};
	snprintf(out->settings.engine, sizeof(out->settings.engine), "%s", s->params.engine->name);
	session_evidence_begin(s, start);
	if (check_range(s, &job, spec.name, out, e) != 0)
		return -1;
	session_evidence_end(s, start, &out->evidence);
	return phase_make_metrics(out, e);
}

/* ---- one phase ---- */

static int run_appending(
	struct session *s, const struct phase_spec *spec, struct phase_result *out, struct err *e)
{
	int flags = O_RDWR | O_CLOEXEC | (s->direct == DIRECT_ON ? O_DIRECT : 0);
	int fd cleanup(close_p) = workdir_create_file(s->workdir, "append", flags, e);
	struct pattern pattern = phase_pattern(s);
	struct block_job job = timed_job(s, spec, &out->settings, &pattern);

	/* Checked right after, so it may differ from what earlier samples appended. */
	pattern.seed = rng_mix(pattern.seed ^ s->n_phases_run);
	if (fd < 0)
		return -1;
	job.fd = fd;

	int rc = measure(s, &job, spec, out, e);

	if (rc == 0 && s->generations && out->status == PHASE_DONE)
		rc = check_appended(s, &job, out, e);
	close(take_fd(&fd));
	if (workdir_remove_file(s->workdir, "append", rc == 0 ? e : NULL) != 0)
		rc = -1;
	return rc;
}

int session_run_block(
	struct session *s, const struct phase_spec *spec, struct phase_result *out, struct err *e)
{
	uint64_t before_ns = clock_now_ns(s->params.clock);

	if (prepare(s, spec, e) != 0)
		return -1;
	out->prepare_ns = clock_now_ns(s->params.clock) - before_ns;
	if (spec->access == ACCESS_APPEND && s->workdir)
		return run_appending(s, spec, out, e);

	struct pattern pattern = phase_pattern(s);
	struct block_job job = timed_job(s, spec, &out->settings, &pattern);

	return measure(s, &job, spec, out, e);
}

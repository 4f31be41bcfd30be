/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opening and closing a target, and choosing how a phase is run on it. The phases themselves are
 * in session_block.c and session_files.c.
 */
#include "plan/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/rng.h"
#include "base/units.h"
#include "plan/session_private.h"

enum direct_mode session_direct(const struct session *s)
{
	return s->direct;
}

bool session_writable(const struct session *s)
{
	return s->workdir || s->params.write_device;
}

bool session_can_run(const struct session *s, const struct phase_spec *spec)
{
	if (spec->work == WORK_FILES)
		return s->workdir != NULL;
	if (spec->access == ACCESS_APPEND && s->workdir && s->params.engine->maps_file)
		return false; /* a mapping does not grow */
	return !phase_spec_writes(spec) || session_writable(s);
}

/* ---- the data file ---- */

static int open_flags(const struct session *s, bool direct)
{
	bool writable = s->params.target->kind == TARGET_DIRECTORY || s->params.write_device;
	int flags = writable ? O_RDWR : O_RDONLY;

	if (s->params.target->kind == TARGET_BLOCK_DEVICE && writable)
		flags |= O_EXCL; /* refuses what became mounted since it was checked */
	return flags | O_CLOEXEC | (direct ? O_DIRECT : 0);
}

/* The data file or the named target; -1 and *e. */
static int open_data(struct session *s, bool direct, struct err *e)
{
	if (s->workdir)
		return workdir_create_file(s->workdir, "data", open_flags(s, direct), e);

	int flags = open_flags(s, direct) | O_NONBLOCK;
	/* Reading must not write access times; only the owner may ask for that. */
	int fd = open(s->params.target->path, flags | O_NOATIME);

	if (fd < 0 && errno == EPERM)
		fd = open(s->params.target->path, flags);

	if (fd < 0)
		err_set(e, ERR_IO, errno, "cannot open '%s' for %s", s->params.target->path,
			s->params.write_device ? "writing" : "reading");
	return fd;
}

/* One transfer tells more than a flag: some file systems take O_DIRECT and refuse it then. */
static bool direct_works(struct session *s, int fd)
{
	size_t n_bytes = s->align_bytes > 4096 ? s->align_bytes : 4096;
	void *buffer cleanup(free_p) = NULL;

	if (posix_memalign(&buffer, n_bytes, n_bytes) != 0)
		return false;
	memset(buffer, 0, n_bytes);

	ssize_t n = s->workdir ? pwrite(fd, buffer, n_bytes, 0) : pread(fd, buffer, n_bytes, 0);

	return n >= 0 || errno != EINVAL;
}

static int refuse_direct(struct session *s, struct err *e)
{
	const struct target_facts *t = s->params.target;

	if (s->params.direct == DIRECT_WISH_ON)
		return err_set(e, ERR_UNSUPPORTED, 0,
			"--direct=on: direct I/O is refused by %s on '%s'; use --direct=auto to measure "
			"buffered",
			t->fs_type[0] ? t->fs_type : "the device", t->path);
	s->direct = DIRECT_REFUSED;
	s->align_bytes = 1;
	return 0;
}

static int settle_direct(struct session *s, struct err *e)
{
	struct err first = { 0 };
	int fd cleanup(close_p) = open_data(s, true, &first);
	uint32_t memory_bytes = 1;

	if (fd < 0 && first.sys != EINVAL && first.sys != EOPNOTSUPP) {
		if (e)
			*e = first;
		return -1;
	}
	if (fd < 0)
		return refuse_direct(s, e);
	s->direct = DIRECT_ON;
	if (probe_direct(fd, &s->align_bytes, &memory_bytes) == 1 || !direct_works(s, fd))
		return refuse_direct(s, e);
	return 0;
}

int session_renew_data(struct session *s, struct err *e)
{
	if (s->fd >= 0 && s->workdir) {
		close(take_fd(&s->fd));
		if (workdir_remove_file(s->workdir, "data", e) != 0)
			return -1;
	}
	if (s->fd < 0)
		s->fd = open_data(s, s->direct == DIRECT_ON, e);
	if (s->fd < 0)
		return -1;
	if (s->workdir && s->params.engine->maps_file &&
		ftruncate(s->fd, (off_t)s->size_bytes) != 0)
		return err_set(e, ERR_IO, errno, "cannot make a test file of %llu bytes",
			(unsigned long long)s->size_bytes);
	s->n_holes = 0;
	if (session_writable(s)) {
		s->holes[0] = (struct hole){ .first_byte = 0, .n_bytes = s->size_bytes };
		s->n_holes = 1;
	}
	/* What an earlier sample left at the same place is not what this one writes. */
	if (s->params.pattern.stamps)
		s->params.pattern.seed = rng_mix(s->params.pattern.seed);
	if (s->generations)
		memset(s->generations, 0, s->n_units * sizeof(*s->generations));
	return 0;
}

/* ---- open, close ---- */

static int open_target(struct session *s, struct err *e)
{
	const struct session_params *p = &s->params;

	if (p->target->kind == TARGET_DIRECTORY &&
		workdir_new(p->target->path, p->run_id, p->host, &s->workdir, e) != 0)
		return -1;
	if (p->direct == DIRECT_WISH_OFF) {
		s->direct = DIRECT_OFF;
	} else {
		if (settle_direct(s, e) != 0)
			return -1;
		if (s->workdir && workdir_remove_file(s->workdir, "data", e) != 0)
			return -1;
	}
	return 0;
}

int session_set_size(struct session *s, uint64_t size_bytes, struct err *e)
{
	s->size_bytes = size_bytes;
	if (s->params.pattern.stamps && session_writable(s)) {
		s->n_units = size_bytes / s->params.pattern.unit_bytes;
		s->generations = calloc(s->n_units, sizeof(*s->generations));
		if (!s->generations)
			return err_set(e, ERR_NOMEM, 0,
				"--verify needs %zu MiB of memory for this size; use a smaller --size",
				s->n_units * sizeof(*s->generations) >> 20);
	}
	return session_renew_data(s, e);
}

int session_open(const struct session_params *params, struct session **ret, struct err *e)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(e, ERR_NOMEM, 0, "no memory for a session");
	s->params = *params;
	s->fd = -1;
	s->align_bytes = 1;
	if (open_target(s, e) != 0) {
		session_close(s, NULL);
		return -1;
	}
	*ret = s;
	return 0;
}

int session_close(struct session *s, struct err *e)
{
	int rc = 0;

	if (!s)
		return 0;
	if (s->fd >= 0)
		close(s->fd);
	filework_free(s->files);
	if (s->workdir) {
		rc = workdir_remove(s->workdir, e);
		workdir_free(s->workdir);
	}
	free(s->generations);
	free(s);
	return rc;
}

/* ---- one phase ---- */

enum { THREADS_MAX = 1024 };

uint32_t session_depth(const struct session *s, const struct phase_spec *spec)
{
	uint32_t max = s->params.engine->max_depth;

	return spec->depth > max ? max : spec->depth;
}

uint32_t session_threads(const struct session *s, const struct phase_spec *spec)
{
	bool spread = s->params.depth_by_threads && spec->depth > s->params.engine->max_depth &&
		      spec->access != ACCESS_APPEND;

	return spread ? spec->n_threads * spec->depth : spec->n_threads;
}

/* Everything in flight must have a block of its own; with stamps, of this pass and the last. */
static int check_size(const struct session *s, const struct phase_spec *spec, struct err *e)
{
	bool grows = s->params.target->kind == TARGET_DIRECTORY;
	uint64_t n_blocks = s->size_bytes / spec->block_bytes;
	uint64_t n_needed = (uint64_t)session_depth(s, spec) * session_threads(s, spec);
	char block[UNITS_TEXT_MAX], size[UNITS_TEXT_MAX];

	if (s->params.pattern.stamps)
		n_needed *= 2;
	if (n_blocks >= n_needed)
		return 0;
	return err_set(e, ERR_USAGE, 0,
		"%s%s%s: %s holds %llu block%s of %s, fewer than the %llu in flight in %s; %slower --depth "
		"or --block",
		grows ? "--size" : "'", grows ? "" : s->params.target->path, grows ? "" : "'",
		units_bytes_iec(s->size_bytes, size), (unsigned long long)n_blocks,
		n_blocks == 1 ? "" : "s", units_bytes_iec(spec->block_bytes, block),
		(unsigned long long)n_needed, spec->name, grows ? "raise --size, or " : "");
}

int session_check(const struct session *s, const struct phase_spec *spec, struct err *e)
{
	char block[UNITS_TEXT_MAX], other[UNITS_TEXT_MAX];

	if (spec->work != WORK_BLOCK)
		return 0;
	units_bytes_iec(spec->block_bytes, block);
	if (spec->block_bytes % s->align_bytes)
		return err_set(e, ERR_USAGE, 0,
			"--block: %s is not a multiple of the %s that direct I/O needs here; change it or "
			"use --direct=off",
			block, units_bytes_iec(s->align_bytes, other));
	if (s->params.pattern.stamps && spec->block_bytes % s->params.pattern.unit_bytes)
		return err_set(e, ERR_USAGE, 0,
			"--block: %s is not a multiple of %s, the unit that --verify checks", block,
			units_bytes_iec(s->params.pattern.unit_bytes, other));
	if (session_threads(s, spec) > THREADS_MAX)
		return err_set(e, ERR_USAGE, 0,
			"--threads, --depth: %u workers of depth %u are %u threads without io_uring, at most %d "
			"go; lower one of them",
			spec->n_threads, spec->depth, session_threads(s, spec), THREADS_MAX);
	if (spec->access == ACCESS_APPEND && spec->n_threads > 1 && s->workdir)
		return err_set(e, ERR_USAGE, 0,
			"--threads: appending to one file takes one worker, not %u",
			spec->n_threads);
	return check_size(s, spec, e);
}

static void fill_settings(
	const struct session *s, const struct phase_spec *spec, struct phase_settings *out)
{
	const struct session_params *p = &s->params;

	snprintf(out->access, sizeof(out->access), "%s", access_defs[spec->access].name);
	out->block_bytes = spec->block_bytes;
	out->depth_asked = spec->depth;
	out->depth = session_depth(s, spec);
	out->n_threads_asked = spec->n_threads;
	out->n_threads = session_threads(s, spec);
	if (p->depth_by_threads && out->n_threads != spec->n_threads)
		out->depth_asked = out->depth; /* the depth is there, as threads */
	out->read_pct = access_defs[spec->access].reads ? 100 : 0;
	if (access_defs[spec->access].reads && access_defs[spec->access].writes)
		out->read_pct = spec->read_pct;
	out->size_bytes = s->size_bytes;
	out->time_ns = spec->time_ns ? spec->time_ns : p->time_ns;
	out->rate_iops = spec->rate_iops;
	snprintf(out->engine, sizeof(out->engine), "%s", p->engine->name);
	out->direct = s->direct;
	out->flush = access_defs[spec->access].writes ? spec->flush : FLUSH_NONE;
	out->data = (enum pattern_word)p->pattern.kind;
	out->compress_pct = p->pattern.compress_pct;
	out->verify = p->pattern.stamps;
	out->pinned = p->pin;
	out->warm = p->warm && access_defs[spec->access].reads;
}

int session_run(struct session *s, const struct phase_spec *spec, uint32_t sample,
	struct phase_result *out, struct err *e)
{
	struct err failed = { 0 };
	int rc;

	snprintf(out->name, sizeof(out->name), "%s", spec->name);
	out->sample = sample;
	out->started_wall_ns = clock_wall_ns();
	out->settings.seed = s->params.seed;
	out->evidence.worker_cpu_ratio = -1;
	out->evidence.busiest_cpu_ratio = -1;
	s->n_phases_run++;
	if (spec->work == WORK_FILES) {
		rc = session_run_files(s, spec, out, &failed);
	} else {
		fill_settings(s, spec, &out->settings);
		rc = session_run_block(s, spec, out, &failed);
	}
	if (rc != 0 && failed.kind != ERR_NOMEM && failed.kind != ERR_BUG) {
		/* It could not be prepared or started: a failed phase, not a failed program. */
		out->status = PHASE_FAILED;
		out->error.sys = out->error.sys ? out->error.sys : failed.sys;
		snprintf(out->reason, sizeof(out->reason), "%s", failed.msg);
		rc = 0;
	}
	if (rc != 0) {
		if (e)
			*e = failed;
		return -1;
	}
	return phase_make_metrics(out, e);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The checks, one row each (verdict.h). A text is one sentence with its numbers and what to do;
 * a mark is what fits beside a figure.
 * Source of the thresholds: design.md section 1 ("proof in the same line").
 */
#include "verdict/verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/units.h"
#include "result/result.h"
#include "verdict/checks.h"

/* Below it a rate was not kept; the last transfers due may still be under way. */
static const double RATE_REACHED_RATIO = 0.98;

static int fire(struct finding *ret, enum severity severity, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Fills severity and text; 1, so that a check ends with it. */
static int fire(struct finding *ret, enum severity severity, const char *fmt, ...)
{
	va_list args;

	ret->severity = severity;
	va_start(args, fmt);
	vsnprintf(ret->text, sizeof(ret->text), fmt, args);
	va_end(args);
	return 1;
}

static void set_mark(struct finding *ret, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void set_mark(struct finding *ret, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(ret->mark, sizeof(ret->mark), fmt, args);
	va_end(args);
}

/* [%] what the device did not move; 100 only when it moved nothing. */
static unsigned missing_pct(uint64_t device_bytes, uint64_t asked_bytes)
{
	double pct = round(100 * (1 - verdict_share(device_bytes, asked_bytes)));

	return device_bytes > 0 && pct > 99 ? 99 : (unsigned)pct;
}

static bool of_files(const struct phase_result *phase)
{
	return phase->settings.n_files > 0;
}

/* Whether the device's counters can say something about bytes that were asked. */
static bool comparable(
	const struct result *r, const struct phase_result *phase, uint64_t asked_bytes)
{
	return phase->status != PHASE_FAILED && phase->evidence.device.known && asked_bytes > 0 &&
	       r->target.fs_class != FS_MEMORY;
}

/* ---- bytes ---- */

static int check_cached_reads(const struct result *r, const struct phase_result *phase,
	struct finding *ret, double *ret_badness)
{
	uint64_t asked = phase->evidence.asked_read_bytes;
	uint64_t moved = phase->evidence.device.read_bytes;
	char asked_text[UNITS_TEXT_MAX], moved_text[UNITS_TEXT_MAX];

	if (!comparable(r, phase, asked) || verdict_share(moved, asked) >= VERDICT_DEVICE_RATIO)
		return 0;
	units_bytes_si((double)asked, asked_text);
	units_bytes_si((double)moved, moved_text);
	*ret_badness = 1 - verdict_share(moved, asked);
	set_mark(ret, "cache %u %%", missing_pct(moved, asked));
	if (of_files(phase))
		return fire(ret, SEVERITY_WARNING,
			"the device read %s of %s asked: files written just before were still in memory, so this is a figure of the page cache",
			moved_text, asked_text);
	if (phase->settings.direct == DIRECT_ON)
		return fire(ret, SEVERITY_WARNING,
			"the device read %s of %s asked although direct I/O was on: holes, compression or a cache of the file system's own served the rest; write the file with --data random, or use a larger --size",
			moved_text, asked_text);
	return fire(ret, SEVERITY_WARNING,
		"the device read %s of %s asked: the rest came from memory, so this is not the speed of the device; use --direct=on, or a --size larger than memory",
		moved_text, asked_text);
}

static int check_writes(const struct phase_result *phase, struct finding *ret, double *ret_badness,
	const char *mark, enum severity severity, const char *why)
{
	uint64_t asked = phase->evidence.asked_write_bytes;
	uint64_t moved = phase->evidence.device.written_bytes;
	char asked_text[UNITS_TEXT_MAX], moved_text[UNITS_TEXT_MAX];

	*ret_badness = 1 - verdict_share(moved, asked);
	set_mark(ret, "%s %u %%", mark, missing_pct(moved, asked));
	return fire(ret, severity, "the device wrote %s of %s asked%s",
		units_bytes_si((double)moved, moved_text),
		units_bytes_si((double)asked, asked_text), why);
}

static bool writes_are_missing(const struct result *r, const struct phase_result *phase)
{
	uint64_t asked = phase->evidence.asked_write_bytes;

	return comparable(r, phase, asked) &&
	       verdict_share(phase->evidence.device.written_bytes, asked) < VERDICT_DEVICE_RATIO;
}

static int check_write_not_on_device(const struct result *r, const struct phase_result *phase,
	struct finding *ret, double *ret_badness)
{
	if (phase->settings.flush == FLUSH_NONE || !writes_are_missing(r, phase))
		return 0;
	return check_writes(phase, ret, ret_badness, "not on disk", SEVERITY_WARNING,
		" although the flush was inside the clock: the file system compresses or deduplicates, the same blocks were written more than once, or the flush is not honoured; compare with --data random and --direct=on");
}

static int check_unflushed_writes(const struct result *r, const struct phase_result *phase,
	struct finding *ret, double *ret_badness)
{
	if (phase->settings.flush != FLUSH_NONE || !writes_are_missing(r, phase))
		return 0;
	return check_writes(phase, ret, ret_badness, "unwritten", SEVERITY_NOTE,
		of_files(phase)
			? " before the clock stopped: this phase times the calls without a flush, as programs that do not ask for durability see them"
			: " before the clock stopped: the rest was still in memory; use --direct=on, or a phase with a flush, for the speed of the device");
}

static int check_small_file(const struct result *r, const struct phase_result *phase,
	struct finding *ret, double *ret_badness)
{
	uint64_t size_bytes = phase->settings.size_bytes;
	uint64_t memory_bytes = r->host.memory_limit_bytes;
	char size_text[UNITS_TEXT_MAX], memory_text[UNITS_TEXT_MAX];

	/* Where the device's counters are known, they settle it. */
	if (phase->settings.direct == DIRECT_ON || of_files(phase) || size_bytes == 0 ||
		size_bytes >= memory_bytes || phase->evidence.asked_read_bytes == 0 ||
		phase->evidence.device.known || phase->status == PHASE_FAILED ||
		r->target.fs_class == FS_MEMORY)
		return 0;
	*ret_badness = -(double)size_bytes;
	set_mark(ret, "fits memory");
	return fire(ret, SEVERITY_NOTE,
		"%s were read through the page cache and fit in the memory of %s, and no device is in sight to tell where they came from; use --direct=on, or a --size larger than memory",
		units_bytes_iec(size_bytes, size_text), units_bytes_iec(memory_bytes, memory_text));
}

/* ---- how it was done ---- */

static int check_cpu_bound(const struct result *r, const struct phase_result *phase,
	struct finding *ret, double *ret_badness)
{
	double worker = phase->evidence.worker_cpu_ratio;
	double busiest = phase->evidence.busiest_cpu_ratio;

	(void)r;
	if (phase->status == PHASE_FAILED || !(fmax(worker, busiest) >= VERDICT_CPU_RATIO))
		return 0;
	*ret_badness = fmax(worker, busiest);
	set_mark(ret, "cpu %.0f %%", 100 * fmin(*ret_badness, 1));
	if (worker >= VERDICT_CPU_RATIO)
		return fire(ret, SEVERITY_WARNING,
			"a worker kept its CPU %.0f %% busy, so the device may be faster than this; use more --threads or a larger --block",
			100 * fmin(worker, 1));
	return fire(ret, SEVERITY_WARNING,
		"one CPU was %.0f %% busy, but not with a worker of this program: the kernel, an interrupt or another program may have set the pace",
		100 * fmin(busiest, 1));
}

static int check_buffered(const struct result *r, const struct phase_result *phase,
	struct finding *ret, double *ret_badness)
{
	const char *by = r->target.fs_type[0] ? r->target.fs_type : "the device";

	*ret_badness = 0;
	if (phase->settings.direct != DIRECT_REFUSED)
		return 0;
	set_mark(ret, "buffered");
	return fire(ret, SEVERITY_WARNING,
		"buffered: direct refused by %.60s; the page cache took part in this figure", by);
}

static int check_memory_fs(const struct result *r, const struct phase_result *phase,
	struct finding *ret, double *ret_badness)
{
	(void)phase;
	*ret_badness = 0;
	if (r->target.fs_class != FS_MEMORY)
		return 0;
	set_mark(ret, "memory");
	return fire(ret, SEVERITY_WARNING,
		"%.60s is memory, not storage: this is the speed of memory and of the kernel",
		r->target.fs_type);
}

static int check_depth(const struct result *r, const struct phase_result *phase,
	struct finding *ret, double *ret_badness)
{
	const struct phase_settings *s = &phase->settings;

	(void)r;
	if (s->depth >= s->depth_asked)
		return 0;
	*ret_badness = (double)(s->depth_asked - s->depth);
	set_mark(ret, "depth %" PRIu32 "/%" PRIu32, s->depth, s->depth_asked);
	return fire(ret, SEVERITY_WARNING,
		"engine '%.20s' kept %" PRIu32 " of the %" PRIu32
		" requests in flight that were asked; use --engine uring, or more --threads",
		s->engine, s->depth, s->depth_asked);
}

static int check_rate(const struct result *r, const struct phase_result *phase, struct finding *ret,
	double *ret_badness)
{
	double wanted_iops = (double)phase->settings.rate_iops;
	uint64_t busy_ns = phase->elapsed_ns - phase->flush_ns; /* the flush is not at a rate */
	double iops;
	char reached[UNITS_TEXT_MAX];

	(void)r;
	if (phase->settings.rate_iops == 0 || phase->elapsed_ns <= phase->flush_ns)
		return 0;
	iops = (double)phase->n_ops / (1e-9 * (double)busy_ns);
	if (iops >= RATE_REACHED_RATIO * wanted_iops)
		return 0;
	*ret_badness = wanted_iops - iops;
	set_mark(ret, "rate %.0f %%", floor(100 * iops / wanted_iops));
	return fire(ret, SEVERITY_WARNING,
		"%s of the %" PRIu64
		" transfers due per second were made, so latencies grow as long as the run lasts; use a lower --rate, or more --depth or --threads",
		units_sig3(iops, reached), phase->settings.rate_iops);
}

static int check_verify(const struct result *r, const struct phase_result *phase,
	struct finding *ret, double *ret_badness)
{
	(void)r;
	if (phase->n_bad_units == 0)
		return 0;
	*ret_badness = (double)phase->n_bad_units;
	set_mark(ret, "BAD DATA");
	return fire(ret, SEVERITY_ERROR,
		"%" PRIu64 " of %" PRIu64
		" verified blocks did not hold what was written%s%.160s; do not trust this storage",
		phase->n_bad_units, phase->n_verified_units, phase->reason[0] ? ": " : "",
		phase->reason);
}

/* ---- the whole run ---- */

static bool any_device_known(const struct result *r)
{
	for (size_t i = 0; i < r->n_phases; i++)
		if (r->phases[i].evidence.device.known)
			return true;
	return false;
}

static int check_no_device(const struct result *r, struct finding *ret)
{
	if (r->n_phases == 0 || r->target.fs_class == FS_MEMORY || any_device_known(r))
		return 0;
	if (r->target.n_disks > 0)
		return fire(ret, SEVERITY_NOTE,
			"the counters of device '%.60s' are off, so nothing shows whether bytes came from it or from a cache; write 1 to its queue/iostats in sysfs",
			r->target.disks[0].name);
	return fire(ret, SEVERITY_NOTE,
		"no device is in sight below '%.80s' (%.60s), so nothing shows whether bytes came from storage or from a cache",
		r->target.path, r->target.fs_type[0] ? r->target.fs_type : "no file system");
}

/* The counters of a loop device say nothing of what lies below its file. */
static int check_loop(const struct result *r, struct finding *ret)
{
	for (unsigned i = 0; i < r->target.n_disks && r->n_phases > 0; i++)
		if (r->target.disks[i].backing[0])
			return fire(ret, SEVERITY_NOTE,
				"'%.40s' is the file '%.100s': 'device' here is the loop device, and what it moved may have come from this machine's page cache; measure the file system that holds the file, too",
				r->target.disks[i].name, r->target.disks[i].backing);
	return 0;
}

/* clang-format off */
const struct check verdict_checks[] = {
	{ "verify-mismatch",     "verified blocks that did not hold what was written", check_verify, NULL },
	{ "memory-fs",           "the target is memory (tmpfs, ramfs)", check_memory_fs, NULL },
	{ "buffered",            "direct I/O was asked for and refused", check_buffered, NULL },
	{ "cached-reads",        "the device read less than 95 % of the bytes asked", check_cached_reads, NULL },
	{ "write-not-on-device", "the device wrote less than 95 % of the bytes of a flushed phase", check_write_not_on_device, NULL },
	{ "unflushed-writes",    "the device wrote less than 95 % of the bytes, and nothing asked for more", check_unflushed_writes, NULL },
	{ "small-file",          "buffered reads of a file that fits in memory, with no device in sight", check_small_file, NULL },
	{ "cpu-bound",           "a worker or a CPU of the machine was at least 95 % busy", check_cpu_bound, NULL },
	{ "depth-not-reached",   "fewer requests in flight than asked", check_depth, NULL },
	{ "rate-not-reached",    "fewer transfers made than --rate made due", check_rate, NULL },
	{ "loop-device",         "the device is a file of this machine, behind a loop device", NULL, check_loop },
	{ "no-device",           "no device, or one without counters, below the target", NULL, check_no_device },
};
/* clang-format on */
const size_t verdict_n_checks = sizeof(verdict_checks) / sizeof(verdict_checks[0]);

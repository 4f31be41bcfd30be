/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The one record everybody shares, floor 2: a run made now, an import and a row of the history are
 * all a struct result. Plain data; SI base units inside (bytes/s, ops/s, seconds). JSON form:
 * docs/formats.md, written and read by result_json.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "probe/probe.h"
#include "stats/hist.h"

struct err;

/* ---- metrics: rows; the id of a figure is "<phase name>.<key>" ---- */

enum metric_kind {
	METRIC_THROUGHPUT,
	METRIC_IOPS,
	METRIC_RATE, /* file operations */
	METRIC_LATENCY_MEAN,
	METRIC_LATENCY_P50,
	METRIC_LATENCY_P99,
	METRIC_LATENCY_P999,
	METRIC_LATENCY_MAX,
	METRIC_CPU_PER_OP,
	METRIC_N_KINDS
};

struct metric_def {
	const char *key;  /* "throughput" */
	const char *unit; /* "B/s", "1/s", "s" */
	bool higher_is_better;
	const char *summary;
};

extern const struct metric_def metric_defs[METRIC_N_KINDS];

/* The kind with that key, or -1. */
int metric_find(const char *key);

struct metric {
	enum metric_kind kind;
	double value;
};

/* ---- one phase of one sample ---- */

enum { RESULT_NAME_MAX = 64, RESULT_REASON_MAX = 400 };

enum phase_status {
	PHASE_DONE,
	PHASE_PARTIAL, /* ended early: what was measured until then is kept */
	PHASE_FAILED,  /* no figure can be made of it */
	PHASE_N_STATUS
};

enum flush_kind {
	FLUSH_NONE,
	FLUSH_DATASYNC, /* one fdatasync at the end, inside the clock */
	FLUSH_FSYNC,
	FLUSH_EACH, /* fdatasync after every write */
	FLUSH_N_KINDS
};

enum direct_mode {
	DIRECT_OFF,
	DIRECT_ON,
	DIRECT_REFUSED, /* asked for, refused, buffered instead: always shown */
	DIRECT_N_MODES
};

enum pattern_word { DATA_RANDOM, DATA_ZEROS, DATA_COMPRESS, DATA_N_WORDS };

/* What was asked and what was in effect: figures are compared only where these are equal. */
struct phase_settings {
	char access[24]; /* "read", "write", "randread", "randwrite", "randrw", "file_create" */
	uint32_t block_bytes; /* of one operation; file size for file operations */
	uint32_t depth_asked; /* per worker */
	uint32_t depth;	      /* achieved */
	uint32_t n_threads_asked;
	uint32_t n_threads;
	uint32_t read_pct;   /* of a mix; 100 or 0 else */
	uint64_t size_bytes; /* working set */
	uint64_t time_ns;    /* asked; 0: until the work is done */
	uint64_t rate_iops;  /* open loop; 0: closed loop */
	uint64_t n_files;    /* file operations only */
	uint64_t n_dirs;
	uint64_t seed;
	char engine[24];
	char engine_detail[160]; /* what was really in use, from describe() */
	enum direct_mode direct;
	enum flush_kind flush;
	enum pattern_word data;
	uint32_t compress_pct;
	bool verify;
	bool pinned; /* workers to CPUs */
	bool warm;   /* the file was read into the page cache first */
};

/* Proof beside the figure. Differences over the phase. */
struct phase_evidence {
	uint64_t asked_read_bytes;
	uint64_t asked_write_bytes;
	struct disk_counters device; /* .known false: no device in sight */
	bool cached_known;
	uint64_t cached_before_bytes; /* of the file, in the page cache */
	uint64_t cached_after_bytes;
	double worker_cpu_ratio;  /* busiest worker thread, 0..1; -1 not known */
	double busiest_cpu_ratio; /* busiest CPU of the machine, 0..1; -1 not known */
};

struct phase_error {
	int sys;     /* errno; 0: no error */
	char op[16]; /* "read", "write", "fdatasync", "create", ... */
	uint64_t offset_bytes;
	uint64_t n_bytes;
};

struct phase_result {
	char name[RESULT_NAME_MAX]; /* "rand_read_qd32" */
	uint32_t sample;	    /* from 1 */
	enum phase_status status;
	char reason[RESULT_REASON_MAX]; /* why not DONE; else "" */
	struct phase_settings settings;
	uint64_t started_wall_ns; /* since 1970 */
	uint64_t elapsed_ns;	  /* first submit to last completion, flush included */
	uint64_t flush_ns;	  /* of which the flush at the end */
	uint64_t prepare_ns;	  /* laying out and dropping caches before, outside the clock */
	uint64_t n_ops;
	uint64_t read_bytes;
	uint64_t written_bytes;
	uint64_t n_short;   /* short transfers continued */
	uint64_t n_retries; /* EINTR and EAGAIN */
	uint64_t n_verified_units;
	uint64_t n_bad_units;
	double cpu_user_s; /* every thread of the process, io_uring's workers too */
	double cpu_system_s;
	struct hist *latency; /* owned; NULL: not measured */
	struct phase_evidence evidence;
	struct phase_error error; /* the first one */
	struct metric *metrics;	  /* [n_metrics] owned */
	size_t n_metrics;
};

/* ---- findings: made by verdict/ or by an importer ---- */

enum severity { SEVERITY_NOTE, SEVERITY_WARNING, SEVERITY_ERROR, SEVERITY_N };

struct finding {
	char check[32]; /* id of the check: "cached-reads" */
	enum severity severity;
	char phase[RESULT_NAME_MAX]; /* "": the whole run */
	uint32_t sample;	     /* 0: all samples */
	char mark[24];		     /* a few letters for the row: "cache 98 %" */
	char text[300];		     /* one sentence with its numbers and the advice */
};

/* ---- the run ---- */

enum run_status {
	RUN_RUNNING, /* in the history while it runs; with a dead process it was killed */
	RUN_DONE,
	RUN_PARTIAL,
	RUN_N_STATUS
};

struct result {
	char id[40]; /* UUIDv7, text form */
	uint64_t started_wall_ns;
	uint64_t ended_wall_ns; /* 0: not ended */
	char tool[24];		/* "clyde" */
	char version[24];
	char *command_line; /* owned, shell-quoted; may be NULL */
	char *label;	    /* owned; may be NULL */
	char plan[32];	    /* "overview", "custom" */
	uint32_t n_samples_asked;
	enum run_status status;
	char reason[RESULT_REASON_MAX];
	long pid;		  /* of the run */
	uint64_t pid_start_ticks; /* with host.boot_id tells whether it still runs */
	struct host_facts host;
	struct target_facts target;
	struct phase_result *phases; /* [n_phases] owned, in the order they ended */
	size_t n_phases;
	struct finding *findings; /* [n_findings] owned */
	size_t n_findings;
};

/* Zeroed, with a new id. NULL when memory is out. */
struct result *result_new(void);
void result_free(struct result *r);
DEFINE_CLEANUP(struct result *, result_free)

/**
 * result_take_phase() - moves *phase to the end of @r; *phase is left zeroed
 *
 * Return: 0, or -1 with ERR_NOMEM (*phase still the caller's)
 */
int result_take_phase(struct result *r, struct phase_result *phase, struct err *e);

/* Return: 0, or -1 with ERR_NOMEM. */
int result_add_finding(struct result *r, const struct finding *finding, struct err *e);

/* Drops all findings. */
void result_clear_findings(struct result *r);

/* Frees what a phase owns. */
void phase_release(struct phase_result *phase);
static inline void phase_release_p(struct phase_result *phase)
{
	phase_release(phase);
}

/**
 * phase_make_metrics() - figures from counts, once the phase has ended
 *
 * Throughput and IOPS (or rate, for file operations) over elapsed_ns; latencies where the
 * histogram has the samples a quantile needs; CPU per operation. Nothing is made of a FAILED
 * phase, or when the sanity rule 0 < elapsed and operations > 0 does not hold: it then becomes
 * FAILED with the reason.
 *
 * Return: 0, or -1 with ERR_NOMEM
 */
int phase_make_metrics(struct phase_result *phase, struct err *e);

/* The figure of that kind; false if the phase has none (@ret untouched). */
bool phase_metric(const struct phase_result *phase, enum metric_kind kind, double *ret);

/* Words for enums, for JSON, the history and people; static. And back: value, or -1. */
const char *phase_status_name(enum phase_status s);
const char *flush_kind_name(enum flush_kind f);
const char *direct_mode_name(enum direct_mode d);
const char *data_word_name(enum pattern_word d);
const char *run_status_name(enum run_status s);
const char *severity_name(enum severity s);
int phase_status_find(const char *name);
int flush_kind_find(const char *name);
int direct_mode_find(const char *name);
int data_word_find(const char *name);
int run_status_find(const char *name);
int severity_find(const char *name);

/* UUIDv7 (RFC 9562) of now; sorts by time. */
void result_new_id(char id[40]);

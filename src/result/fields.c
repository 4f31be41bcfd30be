/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rows of fields.h. A new field is one row here, one column in a new migration of
 * history/history_schema.c where it belongs to a run or a phase, and one line in docs/formats.md.
 */
#include "result/fields.h"

#include <assert.h>
#include <string.h>

#include "result/result.h"

/* Enums are read and written as int. */
static_assert(sizeof(enum phase_status) == sizeof(int), "an enum is an int");
static_assert(sizeof(enum fs_class) == sizeof(int), "an enum is an int");
static_assert(sizeof(unsigned) == sizeof(uint32_t), "unsigned has 32 bits");

const char *const phase_status_words[] = { "done", "partial", "failed" };
const char *const flush_kind_words[] = { "none", "fdatasync", "fsync", "each" };
const char *const direct_mode_words[] = { "off", "on", "refused" };
const char *const data_words[] = { "random", "zeros", "compress" };
const char *const run_status_words[] = { "running", "done", "partial" };
const char *const severity_words[] = { "note", "warning", "error" };
const char *const target_kind_words[] = { "directory", "file", "block_device" };
const char *const fs_class_words[] = { "local", "memory", "network" };

static_assert(sizeof(phase_status_words) / sizeof(char *) == PHASE_N_STATUS, "a word each");
static_assert(sizeof(flush_kind_words) / sizeof(char *) == FLUSH_N_KINDS, "a word each");
static_assert(sizeof(direct_mode_words) / sizeof(char *) == DIRECT_N_MODES, "a word each");
static_assert(sizeof(data_words) / sizeof(char *) == DATA_N_WORDS, "a word each");
static_assert(sizeof(run_status_words) / sizeof(char *) == RUN_N_STATUS, "a word each");
static_assert(sizeof(severity_words) / sizeof(char *) == SEVERITY_N, "a word each");
static_assert(sizeof(target_kind_words) / sizeof(char *) == TARGET_N_KINDS, "a word each");
static_assert(sizeof(fs_class_words) / sizeof(char *) == FS_N_CLASSES, "a word each");

#define SIZE_OF(type, member) sizeof(((type *)0)->member)
#define ROW_AS(type, key, member, kind)                                                            \
	{                                                                                          \
		key, kind, offsetof(type, member), SIZE_OF(type, member)                           \
	}
#define ROW(type, member, kind) ROW_AS(type, #member, member, kind)
#define WORD(type, member, words)                                                                  \
	{                                                                                          \
#member, FIELD_WORD, offsetof(type, member), SIZE_OF(type, member), words,         \
			sizeof(words) / sizeof(char *)                                             \
	}
#define SET(name)                                                                                  \
	const struct field_set name##_fields = { name##_rows,                                      \
		sizeof(name##_rows) / sizeof(name##_rows[0]) }

/* clang-format off */
static const struct field host_rows[] = {
	ROW(struct host_facts, hostname,           FIELD_TEXT),
	ROW(struct host_facts, kernel,             FIELD_TEXT),
	ROW(struct host_facts, machine,            FIELD_TEXT),
	ROW(struct host_facts, cpu_model,          FIELD_TEXT),
	ROW(struct host_facts, n_cpus,             FIELD_U32),
	ROW(struct host_facts, memory_bytes,       FIELD_U64),
	ROW(struct host_facts, memory_limit_bytes, FIELD_U64),
	ROW(struct host_facts, virtualization,     FIELD_TEXT),
	ROW(struct host_facts, boot_id,            FIELD_TEXT),
};

static const struct field target_rows[] = {
	WORD(struct target_facts, kind,            target_kind_words),
	ROW(struct target_facts, path,             FIELD_TEXT),
	ROW(struct target_facts, real_path,        FIELD_TEXT),
	ROW(struct target_facts, fs_type,          FIELD_TEXT),
	WORD(struct target_facts, fs_class,        fs_class_words),
	ROW(struct target_facts, fs_source,        FIELD_TEXT),
	ROW(struct target_facts, fs_options,       FIELD_TEXT),
	ROW(struct target_facts, mount_point,      FIELD_TEXT),
	ROW(struct target_facts, fs_size_bytes,    FIELD_U64),
	ROW(struct target_facts, fs_free_bytes,    FIELD_U64),
	ROW(struct target_facts, size_bytes,       FIELD_U64),
	ROW(struct target_facts, read_only,        FIELD_BOOL),
};

static const struct field disk_rows[] = {
	ROW(struct disk_facts, name,                 FIELD_TEXT),
	ROW(struct disk_facts, major,                FIELD_U32),
	ROW(struct disk_facts, minor,                FIELD_U32),
	ROW(struct disk_facts, size_bytes,           FIELD_U64),
	ROW(struct disk_facts, model,                FIELD_TEXT),
	ROW(struct disk_facts, scheduler,            FIELD_TEXT),
	ROW(struct disk_facts, write_cache,          FIELD_TEXT),
	ROW(struct disk_facts, backing,              FIELD_TEXT),
	ROW(struct disk_facts, rotational,           FIELD_TRISTATE),
	ROW(struct disk_facts, logical_block_bytes,  FIELD_U32),
	ROW(struct disk_facts, physical_block_bytes, FIELD_U32),
	ROW(struct disk_facts, max_request_bytes,    FIELD_U32),
	ROW(struct disk_facts, iostats,              FIELD_BOOL),
};

static const struct field settings_rows[] = {
	ROW(struct phase_settings, access,          FIELD_TEXT),
	ROW(struct phase_settings, block_bytes,     FIELD_U32),
	ROW(struct phase_settings, depth_asked,     FIELD_U32),
	ROW(struct phase_settings, depth,           FIELD_U32),
	ROW(struct phase_settings, n_threads_asked, FIELD_U32),
	ROW(struct phase_settings, n_threads,       FIELD_U32),
	ROW(struct phase_settings, read_pct,        FIELD_U32),
	ROW(struct phase_settings, size_bytes,      FIELD_U64),
	ROW(struct phase_settings, time_ns,         FIELD_U64),
	ROW(struct phase_settings, rate_iops,       FIELD_U64),
	ROW(struct phase_settings, n_files,         FIELD_U64),
	ROW(struct phase_settings, n_dirs,          FIELD_U64),
	ROW(struct phase_settings, seed,            FIELD_SEED),
	ROW(struct phase_settings, engine,          FIELD_TEXT),
	ROW(struct phase_settings, engine_detail,   FIELD_TEXT),
	WORD(struct phase_settings, direct,         direct_mode_words),
	WORD(struct phase_settings, flush,          flush_kind_words),
	WORD(struct phase_settings, data,           data_words),
	ROW(struct phase_settings, compress_pct,    FIELD_U32),
	ROW(struct phase_settings, verify,          FIELD_BOOL),
	ROW(struct phase_settings, pinned,          FIELD_BOOL),
	ROW(struct phase_settings, warm,            FIELD_BOOL),
};

static const struct field evidence_rows[] = {
	ROW(struct phase_evidence, asked_read_bytes,  FIELD_U64),
	ROW(struct phase_evidence, asked_write_bytes, FIELD_U64),
	ROW(struct phase_evidence, worker_cpu_ratio,  FIELD_RATIO),
	ROW(struct phase_evidence, busiest_cpu_ratio, FIELD_RATIO),
};

static const struct field cached_rows[] = {
	ROW(struct phase_evidence, cached_before_bytes, FIELD_U64),
	ROW(struct phase_evidence, cached_after_bytes,  FIELD_U64),
};

static const struct field counters_rows[] = {
	ROW(struct disk_counters, read_bytes,    FIELD_U64),
	ROW(struct disk_counters, written_bytes, FIELD_U64),
	ROW(struct disk_counters, n_reads,       FIELD_U64),
	ROW(struct disk_counters, n_writes,      FIELD_U64),
	ROW(struct disk_counters, n_flushes,     FIELD_U64),
	ROW(struct disk_counters, busy_ns,       FIELD_U64),
};

static const struct field error_rows[] = {
	ROW_AS(struct phase_error, "errno", sys, FIELD_ERRNO),
	ROW(struct phase_error, op,              FIELD_TEXT),
	ROW(struct phase_error, offset_bytes,    FIELD_U64),
	ROW(struct phase_error, n_bytes,         FIELD_U64),
};

static const struct field phase_rows[] = {
	ROW(struct phase_result, name,             FIELD_TEXT),
	ROW(struct phase_result, sample,           FIELD_U32),
	WORD(struct phase_result, status,          phase_status_words),
	ROW(struct phase_result, reason,           FIELD_TEXT),
	ROW(struct phase_result, started_wall_ns,  FIELD_U64),
	ROW(struct phase_result, elapsed_ns,       FIELD_U64),
	ROW(struct phase_result, flush_ns,         FIELD_U64),
	ROW(struct phase_result, prepare_ns,       FIELD_U64),
	ROW(struct phase_result, n_ops,            FIELD_U64),
	ROW(struct phase_result, read_bytes,       FIELD_U64),
	ROW(struct phase_result, written_bytes,    FIELD_U64),
	ROW(struct phase_result, n_short,          FIELD_U64),
	ROW(struct phase_result, n_retries,        FIELD_U64),
	ROW(struct phase_result, n_verified_units, FIELD_U64),
	ROW(struct phase_result, n_bad_units,      FIELD_U64),
	ROW(struct phase_result, cpu_user_s,       FIELD_REAL),
	ROW(struct phase_result, cpu_system_s,     FIELD_REAL),
};

static const struct field run_rows[] = {
	ROW(struct result, id,              FIELD_TEXT),
	ROW(struct result, started_wall_ns, FIELD_U64),
	ROW(struct result, ended_wall_ns,   FIELD_U64),
	ROW(struct result, tool,            FIELD_TEXT),
	ROW(struct result, version,         FIELD_TEXT),
	ROW(struct result, command_line,    FIELD_OWNED),
	ROW(struct result, label,           FIELD_OWNED),
	ROW(struct result, plan,            FIELD_TEXT),
	ROW(struct result, n_samples_asked, FIELD_U32),
	WORD(struct result, status,         run_status_words),
	ROW(struct result, reason,          FIELD_TEXT),
	ROW(struct result, pid,             FIELD_LONG),
	ROW(struct result, pid_start_ticks, FIELD_U64),
};

static const struct field finding_rows[] = {
	ROW(struct finding, check,     FIELD_TEXT),
	WORD(struct finding, severity, severity_words),
	ROW(struct finding, phase,     FIELD_TEXT),
	ROW(struct finding, sample,    FIELD_U32),
	ROW(struct finding, mark,      FIELD_TEXT),
	ROW(struct finding, text,      FIELD_TEXT),
};
/* clang-format on */

SET(host);
SET(target);
SET(disk);
SET(settings);
SET(evidence);
SET(cached);
SET(counters);
SET(error);
SET(phase);
SET(run);
SET(finding);

const char *field_word(const struct field *f, int value)
{
	return value >= 0 && (size_t)value < f->n_words ? f->words[value] : "";
}

int word_find(const char *const *words, size_t n_words, const char *word)
{
	for (size_t i = 0; i < n_words; i++)
		if (strcmp(words[i], word) == 0)
			return (int)i;
	return -1;
}

void field_set_text(char *text, size_t size_bytes, const char *from, size_t n_bytes)
{
	size_t n = strnlen(from, n_bytes);

	if (n >= size_bytes) {
		n = size_bytes - 1;
		/* Not in the middle of a character: back over its continuation bytes. */
		while (n > 0 && ((unsigned char)from[n] & 0xc0) == 0x80)
			n--;
	}
	memcpy(text, from, n);
	memset(text + n, 0, size_bytes - n);
}

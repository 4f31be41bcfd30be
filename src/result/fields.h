/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The fields of the record as rows, floor 2: a key, a kind and an offset. JSON keys and database
 * columns are both made from these rows, so they carry the same names, and what one can write the
 * other can read. Rows hold offsets, not pointers; nothing here allocates.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum field_kind {
	FIELD_TEXT,	/* char[size] */
	FIELD_OWNED,	/* char *, may be NULL */
	FIELD_U32,	/* uint32_t or unsigned */
	FIELD_U64,	/* uint64_t */
	FIELD_SEED,	/* uint64_t of which every bit counts: a string in JSON */
	FIELD_LONG,	/* long, >= 0 */
	FIELD_BOOL,	/* bool */
	FIELD_TRISTATE, /* int: 1, 0, -1 not known */
	FIELD_ERRNO,	/* int, >= 0 */
	FIELD_REAL,	/* double */
	FIELD_RATIO,	/* double, 0..1; -1 not known */
	FIELD_WORD,	/* enum, by its word */
	FIELD_N_KINDS
};

struct field {
	const char *key;
	enum field_kind kind;
	size_t offset;
	size_t size_bytes;
	const char *const *words; /* [n_words] FIELD_WORD only */
	size_t n_words;
};

struct field_set {
	const struct field *rows; /* [n] */
	size_t n;
};

extern const struct field_set host_fields;     /* struct host_facts */
extern const struct field_set target_fields;   /* struct target_facts, without its disks */
extern const struct field_set disk_fields;     /* struct disk_facts */
extern const struct field_set settings_fields; /* struct phase_settings */
extern const struct field_set evidence_fields; /* struct phase_evidence: asked bytes and CPU */
extern const struct field_set cached_fields;   /* struct phase_evidence: page cache */
extern const struct field_set counters_fields; /* struct disk_counters */
extern const struct field_set error_fields;    /* struct phase_error */
extern const struct field_set phase_fields;    /* struct phase_result: name, status and counts */
extern const struct field_set run_fields;      /* struct result, without the lists */
extern const struct field_set finding_fields;  /* struct finding */

/* Where the field lives in @record. */
static inline void *field_at(void *record, const struct field *f)
{
	return (char *)record + f->offset;
}

static inline const void *field_at_const(const void *record, const struct field *f)
{
	return (const char *)record + f->offset;
}

/* The word of an enum's value; "" when out of range. Borrowed, static. */
const char *field_word(const struct field *f, int value);

/* The value of that word, or -1. */
int word_find(const char *const *words, size_t n_words, const char *word);

/**
 * field_set_text() - copies text from outside into a char[] field
 *
 * Longer text is cut at a character boundary: a name is shortened, the record stays readable.
 */
void field_set_text(char *text, size_t size_bytes, const char *from, size_t n_bytes);

/* Words of the enums, in the order of their values. */
extern const char *const phase_status_words[];
extern const char *const flush_kind_words[];
extern const char *const direct_mode_words[];
extern const char *const data_words[];
extern const char *const run_status_words[];
extern const char *const severity_words[];
extern const char *const target_kind_words[];
extern const char *const fs_class_words[];

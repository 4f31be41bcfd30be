/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rows of fields as columns (db.h). A uint64_t above 2^63-1 is stored as its two's complement, so
 * that it comes back as it was.
 */
#include "history/db.h"

#include <limits.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

void db_add_columns(struct buf *sql, const struct field_set *set, const char *prefix)
{
	for (size_t i = 0; i < set->n; i++)
		buf_addf(sql, ", \"%s%s\"", prefix, set->rows[i].key);
}

void db_add_marks(struct buf *sql, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_add(sql, ", ?");
}

int db_bind_text(sqlite3_stmt *stmt, int index, const char *text)
{
	int rc = text ? sqlite3_bind_text(stmt, index, text, -1, SQLITE_TRANSIENT)
		      : sqlite3_bind_null(stmt, index);

	return rc != SQLITE_OK;
}

static int bind_field(sqlite3_stmt *stmt, int index, const struct field *f, const void *at)
{
	switch (f->kind) {
	case FIELD_TEXT:
		return db_bind_text(stmt, index, at);
	case FIELD_OWNED:
		return db_bind_text(stmt, index, *(char *const *)at);
	case FIELD_U32:
		return sqlite3_bind_int64(stmt, index, *(const uint32_t *)at);
	case FIELD_U64:
	case FIELD_SEED:
		return sqlite3_bind_int64(stmt, index, (sqlite3_int64) * (const uint64_t *)at);
	case FIELD_LONG:
		return sqlite3_bind_int64(stmt, index, *(const long *)at);
	case FIELD_BOOL:
		return sqlite3_bind_int(stmt, index, *(const bool *)at);
	case FIELD_TRISTATE:
		return *(const int *)at < 0 ? sqlite3_bind_null(stmt, index)
					    : sqlite3_bind_int(stmt, index, *(const int *)at);
	case FIELD_ERRNO:
		return sqlite3_bind_int(stmt, index, *(const int *)at);
	case FIELD_REAL:
		return sqlite3_bind_double(stmt, index, *(const double *)at);
	case FIELD_RATIO:
		return *(const double *)at < 0
			       ? sqlite3_bind_null(stmt, index)
			       : sqlite3_bind_double(stmt, index, *(const double *)at);
	case FIELD_WORD:
		return db_bind_text(stmt, index, field_word(f, *(const int *)at));
	case FIELD_N_KINDS:
		break;
	}
	return SQLITE_MISUSE;
}

int db_bind_fields(sqlite3_stmt *stmt, int *index, const struct field_set *set, const void *record)
{
	for (size_t i = 0; i < set->n; i++) {
		const struct field *f = &set->rows[i];
		int rc = record ? bind_field(stmt, *index, f, field_at_const(record, f))
				: sqlite3_bind_null(stmt, *index);

		if (rc != SQLITE_OK)
			return 1;
		(*index)++;
	}
	return 0;
}

/* ---- and back; the file may be damaged or made by somebody else ---- */

static int wrong(const struct field *f, struct err *e)
{
	return err_set(
		e, ERR_FORMAT, 0, "damaged history: '%s' has a value that cannot be", f->key);
}

static void set_unknown(const struct field *f, void *at)
{
	if (f->kind == FIELD_TRISTATE)
		*(int *)at = -1;
	else if (f->kind == FIELD_RATIO)
		*(double *)at = -1;
}

static int read_whole(sqlite3_int64 value, const struct field *f, void *at, struct err *e)
{
	sqlite3_int64 max = f->kind == FIELD_U32     ? UINT32_MAX
			    : f->kind == FIELD_LONG  ? LONG_MAX
			    : f->kind == FIELD_ERRNO ? INT_MAX
						     : 1;

	if (value < 0 || value > max)
		return wrong(f, e);
	if (f->kind == FIELD_U32)
		*(uint32_t *)at = (uint32_t)value;
	else if (f->kind == FIELD_LONG)
		*(long *)at = (long)value;
	else if (f->kind == FIELD_BOOL)
		*(bool *)at = value == 1;
	else
		*(int *)at = (int)value;
	return 0;
}

static int read_word(sqlite3_stmt *stmt, int column, const struct field *f, int *at, struct err *e)
{
	const char *word;

	if (db_text(stmt, column, &word, e))
		return -1;

	int found = word_find(f->words, f->n_words, word);

	if (found < 0)
		return wrong(f, e);
	*at = found;
	return 0;
}

static int read_field(
	sqlite3_stmt *stmt, int column, const struct field *f, void *at, struct err *e)
{
	switch (f->kind) {
	case FIELD_TEXT:
		return db_copy_text(stmt, column, at, f->size_bytes, e);
	case FIELD_OWNED:
		return db_dup_text(stmt, column, at, e);
	case FIELD_U64:
	case FIELD_SEED:
		*(uint64_t *)at = (uint64_t)sqlite3_column_int64(stmt, column);
		return 0;
	case FIELD_U32:
	case FIELD_LONG:
	case FIELD_BOOL:
	case FIELD_TRISTATE:
	case FIELD_ERRNO:
		return read_whole(sqlite3_column_int64(stmt, column), f, at, e);
	case FIELD_REAL:
	case FIELD_RATIO:
		*(double *)at = sqlite3_column_double(stmt, column);
		return 0;
	case FIELD_WORD:
		return read_word(stmt, column, f, at, e);
	case FIELD_N_KINDS:
		break;
	}
	return err_set(e, ERR_BUG, 0, "field '%s' has no kind", f->key);
}

int db_read_fields(
	sqlite3_stmt *stmt, int *column, const struct field_set *set, void *record, struct err *e)
{
	for (size_t i = 0; i < set->n; i++, (*column)++) {
		const struct field *f = &set->rows[i];

		if (sqlite3_column_type(stmt, *column) == SQLITE_NULL)
			set_unknown(f, field_at(record, f));
		else if (read_field(stmt, *column, f, field_at(record, f), e))
			return -1;
	}
	return 0;
}

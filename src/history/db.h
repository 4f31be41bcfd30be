/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * SQLite with our errors, inside history/. Every value is bound, no text from outside is ever part
 * of a statement. Errors name the file.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "result/fields.h"

struct buf;
struct err;

struct db {
	sqlite3 *sqlite; /* NULL: not open */
	char *path;	 /* owned by whoever has the struct */
};

DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

/* The last error of the connection, with what was tried: "cannot @what". -1 */
int db_error(const struct db *db, const char *what, struct err *e);

/* One or more statements without parameters and rows. 0 or -1. */
int db_exec(const struct db *db, const char *sql, const char *what, struct err *e);

int db_prepare(const struct db *db, const char *sql, sqlite3_stmt **ret, struct err *e);

/* 1: a row; 0: done; -1 */
int db_step(const struct db *db, sqlite3_stmt *stmt, const char *what, struct err *e);

/* The whole number that a statement gives in its first row. 0 or -1. */
int db_number(const struct db *db, const char *sql, sqlite3_int64 *ret, struct err *e);

/* A transaction that rolls back unless db_commit() was reached. */
struct db_transaction {
	const struct db *db; /* NULL: none open */
};

/* @how: "BEGIN IMMEDIATE" to write, "BEGIN" for a snapshot to read. */
int db_begin(const struct db *db, const char *how, struct db_transaction *ret, struct err *e);
int db_commit(struct db_transaction *t, struct err *e);
void db_rollback_p(struct db_transaction *t);

/* ---- rows of fields as columns ---- */

/* , "prefix_key" for every row. */
void db_add_columns(struct buf *sql, const struct field_set *set, const char *prefix);

/* As many question marks, each with its comma. */
void db_add_marks(struct buf *sql, size_t n);

/**
 * db_bind_fields() - binds every row of @set from @*index on; NULLs if @record is NULL
 * @index: [1-based] moved behind the last one
 *
 * Return: 0; 1 when SQLite is out of memory
 */
int db_bind_fields(sqlite3_stmt *stmt, int *index, const struct field_set *set, const void *record);

/* Text of any length, NULL as NULL. 0; 1 when SQLite is out of memory. */
int db_bind_text(sqlite3_stmt *stmt, int index, const char *text);

/**
 * db_read_fields() - the columns from @*column on into the record
 * @column: [0-based] moved behind the last one
 *
 * NULL leaves a field as it is; ratios and facts that may be not known become -1.
 *
 * Return: 0, or -1 with ERR_FORMAT (wrong type, out of range, unknown word) or ERR_NOMEM
 */
int db_read_fields(
	sqlite3_stmt *stmt, int *column, const struct field_set *set, void *record, struct err *e);

/* Text of a column, "" for NULL; borrowed until the next step. 0, or -1 with ERR_NOMEM. */
int db_text(sqlite3_stmt *stmt, int column, const char **ret, struct err *e);

/* Copies it into a char[]; what is too long is cut. */
int db_copy_text(sqlite3_stmt *stmt, int column, char *ret, size_t size_bytes, struct err *e);

/* Copies text of a column; NULL stays NULL. 0, or -1 with ERR_NOMEM. */
int db_dup_text(sqlite3_stmt *stmt, int column, char **ret, struct err *e);

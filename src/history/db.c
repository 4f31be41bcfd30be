/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * SQLite with our errors (db.h): statements and transactions.
 */
#include "history/db.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

int db_error(const struct db *db, const char *what, struct err *e)
{
	int code = sqlite3_errcode(db->sqlite);

	if (code == SQLITE_IOERR_NOMEM)
		code = SQLITE_NOMEM;
	switch (code & 0xff) {
	case SQLITE_NOMEM:
		return err_set(e, ERR_NOMEM, 0, "out of memory: cannot %s", what);
	case SQLITE_NOTADB:
		return err_set(e, ERR_FORMAT, 0,
			"'%s' is not a clyde history; name another file with --db", db->path);
	case SQLITE_CORRUPT:
		return err_set(e, ERR_FORMAT, 0, "history '%s' is damaged: cannot %s: %s", db->path,
			what, sqlite3_errmsg(db->sqlite));
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return err_set(e, ERR_IO, 0,
			"cannot %s: history '%s' is held by another process for more than 10 s",
			what, db->path);
	case SQLITE_FULL:
		return err_set(e, ERR_IO, ENOSPC,
			"cannot %s: history '%s'; free some space or name another file with --db",
			what, db->path);
	default:
		return err_set(e, ERR_IO, sqlite3_system_errno(db->sqlite),
			"cannot %s: history '%s': %s", what, db->path, sqlite3_errmsg(db->sqlite));
	}
}

int db_exec(const struct db *db, const char *sql, const char *what, struct err *e)
{
	return sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL) == SQLITE_OK ? 0
									    : db_error(db, what, e);
}

int db_prepare(const struct db *db, const char *sql, sqlite3_stmt **ret, struct err *e)
{
	return sqlite3_prepare_v2(db->sqlite, sql, -1, ret, NULL) == SQLITE_OK
		       ? 0
		       : db_error(db, "read or write", e);
}

int db_step(const struct db *db, sqlite3_stmt *stmt, const char *what, struct err *e)
{
	int rc = sqlite3_step(stmt);

	if (rc == SQLITE_ROW)
		return 1;
	return rc == SQLITE_DONE ? 0 : db_error(db, what, e);
}

int db_number(const struct db *db, const char *sql, sqlite3_int64 *ret, struct err *e)
{
	sqlite3_stmt *stmt cleanup(sqlite3_finalize_p) = NULL;

	if (db_prepare(db, sql, &stmt, e))
		return -1;

	int rc = db_step(db, stmt, "read", e);

	if (rc < 0)
		return -1;
	*ret = rc ? sqlite3_column_int64(stmt, 0) : 0;
	return 0;
}

int db_begin(const struct db *db, const char *how, struct db_transaction *ret, struct err *e)
{
	if (db_exec(db, how, "begin", e))
		return -1;
	ret->db = db;
	return 0;
}

int db_commit(struct db_transaction *t, struct err *e)
{
	if (db_exec(t->db, "COMMIT", "commit", e))
		return -1;
	t->db = NULL;
	return 0;
}

void db_rollback_p(struct db_transaction *t)
{
	/* Some errors have rolled back already; then there is nothing to do. */
	if (t->db && !sqlite3_get_autocommit(t->db->sqlite))
		sqlite3_exec(t->db->sqlite, "ROLLBACK", NULL, NULL, NULL);
}

int db_text(sqlite3_stmt *stmt, int column, const char **ret, struct err *e)
{
	bool null = sqlite3_column_type(stmt, column) == SQLITE_NULL;
	const unsigned char *text = sqlite3_column_text(stmt, column);

	if (!text && !null)
		return err_set(e, ERR_NOMEM, 0, "out of memory for text of the history");
	*ret = text ? (const char *)text : "";
	return 0;
}

int db_copy_text(sqlite3_stmt *stmt, int column, char *ret, size_t size_bytes, struct err *e)
{
	const char *text = NULL;

	if (db_text(stmt, column, &text, e))
		return -1;
	field_set_text(ret, size_bytes, text, strlen(text));
	return 0;
}

int db_dup_text(sqlite3_stmt *stmt, int column, char **ret, struct err *e)
{
	const char *text = NULL;

	if (sqlite3_column_type(stmt, column) == SQLITE_NULL)
		return 0;
	if (db_text(stmt, column, &text, e))
		return -1;

	char *copy = strdup(text);

	if (!copy)
		return err_set(e, ERR_NOMEM, 0, "out of memory for text of the history");
	free(*ret);
	*ret = copy;
	return 0;
}

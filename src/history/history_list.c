/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is in the history (history.h): one row per run, newest first.
 */
#include "history/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "history/db.h"
#include "history/history_private.h"
#include "result/result.h"

void history_list_release(struct history_list *list)
{
	for (size_t i = 0; i < list->n_rows; i++) {
		free(list->rows[i].target_path);
		free(list->rows[i].label);
		free(list->rows[i].hostname);
	}
	free(list->rows);
	*list = (struct history_list){ 0 };
}

/* The target itself and what is below it: '0' follows '/' in every encoding we meet. */
static void list_sql(struct buf *sql, const struct history_filter *filter)
{
	buf_add(sql,
		"SELECT id, started_wall_ns, status, plan, target_path, label, hostname, boot_id,"
		" pid, pid_start_ticks, n_samples_asked,"
		" (SELECT count(*) FROM phase WHERE phase.run = run.number)"
		" FROM run WHERE 1");
	if (filter->target)
		buf_add(sql, " AND (target_path = ?1 OR"
			     " (target_path >= ?1 || '/' AND target_path < ?1 || '0'))");
	if (filter->label)
		buf_add(sql, " AND label = ?2");
	buf_add(sql, " ORDER BY started_wall_ns DESC, number DESC LIMIT ?3");
}

static int bind_filter(sqlite3_stmt *stmt, const struct history_filter *filter)
{
	if (filter->target) {
		size_t n = strlen(filter->target);

		while (n > 0 && filter->target[n - 1] == '/')
			n--;
		if (sqlite3_bind_text64(stmt, 1, filter->target, n, SQLITE_TRANSIENT, SQLITE_UTF8))
			return 1;
	}
	if (filter->label && db_bind_text(stmt, 2, filter->label))
		return 1;

	sqlite3_int64 n_max = filter->n_max ? (sqlite3_int64)filter->n_max : -1;

	return sqlite3_bind_int64(stmt, 3, n_max) != SQLITE_OK;
}

static int read_status(sqlite3_stmt *stmt, const struct probe_root *root, int *ret, struct err *e)
{
	struct history_process p = { .pid = (long)sqlite3_column_int64(stmt, 8),
		.start_ticks = (uint64_t)sqlite3_column_int64(stmt, 9) };
	char word[40];

	if (db_copy_text(stmt, 2, word, sizeof(word), e) ||
		db_copy_text(stmt, 6, p.hostname, sizeof(p.hostname), e) ||
		db_copy_text(stmt, 7, p.boot_id, sizeof(p.boot_id), e))
		return -1;

	int status = run_status_find(word);

	if (status < 0)
		return err_set(e, ERR_FORMAT, 0, "damaged history: a run has status '%s'", word);
	if (status == RUN_RUNNING && history_process_gone(root, &p))
		status = RUN_PARTIAL;
	*ret = status;
	return 0;
}

static int read_row(
	sqlite3_stmt *stmt, const struct probe_root *root, struct history_row *row, struct err *e)
{
	row->started_wall_ns = (uint64_t)sqlite3_column_int64(stmt, 1);
	row->n_samples = (uint32_t)sqlite3_column_int64(stmt, 10);
	row->n_phases = (uint32_t)sqlite3_column_int64(stmt, 11);
	if (db_copy_text(stmt, 0, row->id, sizeof(row->id), e) ||
		db_copy_text(stmt, 3, row->plan, sizeof(row->plan), e) ||
		db_dup_text(stmt, 4, &row->target_path, e) ||
		db_dup_text(stmt, 5, &row->label, e) || db_dup_text(stmt, 6, &row->hostname, e))
		return -1;
	if (!row->target_path || !row->hostname)
		return err_set(e, ERR_FORMAT, 0, "damaged history: a run has no target or host");
	return read_status(stmt, root, &row->status, e);
}

static int add_row(
	sqlite3_stmt *stmt, const struct probe_root *root, struct history_list *list, struct err *e)
{
	struct history_row *grown = list->rows;

	/* Room doubles whenever the number of rows is a power of two. */
	if ((list->n_rows & (list->n_rows - 1)) == 0) {
		grown = reallocarray(
			list->rows, list->n_rows ? list->n_rows * 2 : 1, sizeof(*grown));
		if (!grown)
			return err_set(e, ERR_NOMEM, 0, "out of memory for the list");
		list->rows = grown;
	}
	grown[list->n_rows] = (struct history_row){ 0 };
	/* Counted first: on failure the release frees what the row has. */
	list->n_rows++;
	return read_row(stmt, root, &grown[list->n_rows - 1], e);
}

static int list_once(struct history *h, const struct probe_root *root,
	const struct history_filter *filter, struct history_list *list, struct err *e)
{
	struct buf sql cleanup(buf_release_p) = { 0 };
	sqlite3_stmt *stmt cleanup(sqlite3_finalize_p) = NULL;
	int rc;

	list_sql(&sql, filter);
	if (sql.failed)
		return err_set(e, ERR_NOMEM, 0, "out of memory for the list");
	if (db_prepare(&h->db, sql.text, &stmt, e))
		return -1;
	if (bind_filter(stmt, filter))
		return err_set(e, ERR_NOMEM, 0, "out of memory for the list");
	while ((rc = db_step(&h->db, stmt, "list results", e)) == 1)
		if (add_row(stmt, root, list, e))
			return -1;
	return rc;
}

int history_list(struct history *h, const struct probe_root *root,
	const struct history_filter *filter, struct history_list *ret, struct err *e)
{
	static const struct history_filter any = { 0 };

	for (int i = 0; i < HISTORY_N_READS_MAX; i++) {
		struct history_list list cleanup(history_list_release) = { 0 };
		struct err why = { 0 };
		int rc = history_read_begin(h, &why);

		if (rc == 0)
			rc = list_once(h, root, filter ? filter : &any, &list, &why);
		if (!history_read_end(h))
			continue;
		if (rc < 0) {
			if (e)
				*e = why;
			return -1;
		}
		*ret = list;
		list = (struct history_list){ 0 };
		return 0;
	}
	return err_set(e, ERR_IO, 0, "history '%s' changes faster than it can be read; try again",
		h->db.path);
}

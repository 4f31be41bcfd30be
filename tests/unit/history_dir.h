/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A directory with a history in it and a false /proc beside it, for the tests of history/. */
#pragma once

#include <dirent.h>
#include <sqlite3.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "history/history.h"
#include "probe_tree.h"
#include "result/result_json.h"
#include "sample_result.h"

struct history_dir {
	struct tree tree;
	char dir[80];
	char path[100];
};

__attribute__((unused)) static int make_history_dir(void **state)
{
	struct history_dir *d = calloc(1, sizeof(*d));

	assert_non_null(d);
	tree_make(&d->tree);
	snprintf(d->dir, sizeof(d->dir), "%s/db", d->tree.dir);
	snprintf(d->path, sizeof(d->path), "%s/history.db", d->dir);
	assert_int_equal(mkdir(d->dir, 0700), 0);
	*state = d;
	return 0;
}

__attribute__((unused)) static int remove_history_dir(void **state)
{
	struct history_dir *d = *state;

	chmod(d->dir, 0700);
	tree_remove(&d->tree);
	free(d);
	return 0;
}

__attribute__((unused)) static struct history *open_history(
	const char *path, enum history_mode mode)
{
	struct err e = { 0 };
	struct history *h = NULL;

	if (history_open(path, mode, &h, &e))
		fail_msg("%s", e.msg);
	return h;
}

/* The kind of error that opening gives; ERR_NONE if it opens. */
__attribute__((unused)) static enum err_kind open_error(const char *path, enum history_mode mode)
{
	struct err e = { 0 };
	struct history *h = NULL;

	if (history_open(path, mode, &h, &e) == 0) {
		history_close(h);
		return ERR_NONE;
	}
	assert_null(h);
	assert_true(e.msg[0] != '\0');
	return e.kind;
}

/* The result as JSON text; caller frees. */
__attribute__((unused)) static char *result_text(const struct result *r)
{
	json_t *j = result_to_json(r);

	assert_non_null(j);
	char *text = json_dumps(j, JSON_INDENT(1));

	json_decref(j);
	assert_non_null(text);
	return text;
}

__attribute__((unused)) static struct result *load_result(
	struct history_dir *d, struct history *h, const char *which)
{
	struct err e = { 0 };
	struct result *r = NULL;

	if (history_load(h, &d->tree.root, which, &r, &e))
		fail_msg("%s: %s", which, e.msg);
	return r;
}

__attribute__((unused)) static void store_result(struct history *h, const struct result *r)
{
	struct err e = { 0 };

	if (history_add(h, r, &e))
		fail_msg("%s", e.msg);
}

/* Names in a directory, without . and .. */
__attribute__((unused)) static unsigned count_names(const char *path)
{
	unsigned n = 0;
	DIR *dir = opendir(path);

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

/* Runs SQL on a file as any program could; caller's expectations, not ours. */
__attribute__((unused)) static void run_sql(const char *path, const char *sql)
{
	sqlite3 *db = NULL;
	char *why = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s", why);
	sqlite3_close(db);
}

__attribute__((unused)) static int64_t sql_number(const char *path, const char *sql)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *stmt = NULL;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	int64_t value = sqlite3_column_int64(stmt, 0);

	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return value;
}

/* Waits for a child; its exit status, or 128 + the signal that ended it. */
__attribute__((unused)) static int wait_for(pid_t child)
{
	int status = 0;

	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

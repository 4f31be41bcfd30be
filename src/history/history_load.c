/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One result out of the history (history.h). The file may be damaged or made by somebody else:
 * every value is checked on its way into the record.
 */
#include "history/history.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/units.h"
#include "history/db.h"
#include "history/history_private.h"
#include "result/fields_json.h"
#include "result/result_json.h"

bool history_process_gone(const struct probe_root *root, const struct history_process *p)
{
	struct host_facts here = { 0 };
	uint64_t ticks;

	probe_host(root, &here);
	if (strcmp(here.hostname, p->hostname) != 0)
		return false;
	if (p->boot_id[0] && here.boot_id[0] && strcmp(here.boot_id, p->boot_id) != 0)
		return true;
	ticks = probe_process_start_ticks(root, p->pid);
	return ticks == 0 || (p->start_ticks != 0 && ticks != p->start_ticks);
}

/* ---- which run ---- */

static int no_result(const struct history *h, const char *which, struct err *e)
{
	return err_set(e, ERR_USAGE, 0, "no result '%.60s' in history '%s'; 'clyde list' shows all",
		which, h->db.path);
}

/* Runs that match, newest first; the first one in @ret_run. 0, 1 (no such), -1 */
static int find_last(struct history *h, const char *which, sqlite3_int64 *ret_run, struct err *e)
{
	sqlite3_stmt *stmt cleanup(sqlite3_finalize_p) = NULL;
	uint64_t n_back = 0;
	int rc;

	if (which[4] && (units_parse_count(which + 5, &n_back, NULL) || n_back > INT64_MAX))
		return err_set(e, ERR_USAGE, 0,
			"'%.60s' is no result: last~N counts back with a whole number", which);
	if (db_prepare(&h->db,
		    "SELECT number FROM run ORDER BY started_wall_ns DESC, number DESC"
		    " LIMIT 1 OFFSET ?",
		    &stmt, e))
		return -1;
	if (sqlite3_bind_int64(stmt, 1, (sqlite3_int64)n_back))
		return err_set(e, ERR_NOMEM, 0, "out of memory for the history");
	rc = db_step(&h->db, stmt, "find a result", e);
	if (rc < 0)
		return -1;
	if (rc == 1)
		*ret_run = sqlite3_column_int64(stmt, 0);
	return rc == 0;
}

/* Ids are hexadecimal digits and hyphens, so '~' is behind every id with that start. */
static int find_start_of_id(
	struct history *h, const char *start, sqlite3_int64 *ret_run, struct err *e)
{
	sqlite3_stmt *stmt cleanup(sqlite3_finalize_p) = NULL;
	int rc;

	if (db_prepare(&h->db,
		    "SELECT number FROM run WHERE id >= ?1 AND id < ?1 || '~'"
		    " ORDER BY id LIMIT 2",
		    &stmt, e))
		return -1;
	if (db_bind_text(stmt, 1, start))
		return err_set(e, ERR_NOMEM, 0, "out of memory for the history");
	rc = db_step(&h->db, stmt, "find a result", e);
	if (rc <= 0)
		return rc < 0 ? -1 : 1;
	*ret_run = sqlite3_column_int64(stmt, 0);
	rc = db_step(&h->db, stmt, "find a result", e);
	if (rc == 1)
		return err_set(e, ERR_USAGE, 0,
			"'%s' is the start of more than one result; give more of the id", start);
	return rc;
}

/* Lower case; false if it cannot be the start of an id. */
static bool plain_id(const char *which, char id[40])
{
	size_t n = strlen(which);

	if (n < 4 || n > 36)
		return false;
	for (size_t i = 0; i <= n; i++)
		id[i] = (char)tolower((unsigned char)which[i]);
	return strspn(id, "0123456789abcdef-") == n;
}

static int find_which(struct history *h, const char *which, sqlite3_int64 *ret_run, struct err *e)
{
	char id[40];
	int rc;

	if (strcmp(which, "last") == 0 || strncmp(which, "last~", 5) == 0)
		rc = find_last(h, which, ret_run, e);
	else if (plain_id(which, id))
		rc = find_start_of_id(h, id, ret_run, e);
	else
		return err_set(e, ERR_USAGE, 0,
			"'%.60s' is no result: give 'last', last~N or at least 4 characters of an id",
			which);
	return rc == 1 ? no_result(h, which, e) : rc;
}

/* ---- the run ---- */

static int parse_document(sqlite3_stmt *stmt, int column, json_t **ret, struct err *e)
{
	json_error_t why;
	const char *text;

	if (db_text(stmt, column, &text, e))
		return -1;
	*ret = json_loads(text, JSON_REJECT_DUPLICATES, &why);
	if (!*ret)
		return err_set(
			e, ERR_FORMAT, 0, "damaged history: a document is no JSON: %s", why.text);
	return 0;
}

static int read_host(sqlite3_stmt *stmt, int column, struct result *r, struct err *e)
{
	json_t *host cleanup(json_decref_p) = NULL;

	if (parse_document(stmt, column, &host, e) || host_from_json(host, &r->host, e))
		return -1;
	return 0;
}

/* The path's own column holds its exact bytes, the document an escaped form. */
static int read_target(sqlite3_stmt *stmt, int column, struct result *r, struct err *e)
{
	json_t *target cleanup(json_decref_p) = NULL;

	if (parse_document(stmt, column, &target, e) || target_from_json(target, &r->target, e) ||
		db_copy_text(stmt, column - 3, r->target.real_path, sizeof(r->target.real_path), e))
		return -1;
	r->target.fs_free_bytes = (uint64_t)sqlite3_column_int64(stmt, column - 2);
	return 0;
}

static void judge_process(const struct probe_root *root, struct result *r)
{
	struct history_process p = { .pid = r->pid, .start_ticks = r->pid_start_ticks };

	if (r->status != RUN_RUNNING)
		return;
	memcpy(p.hostname, r->host.hostname, sizeof(p.hostname));
	memcpy(p.boot_id, r->host.boot_id, sizeof(p.boot_id));
	if (history_process_gone(root, &p)) {
		r->status = RUN_PARTIAL;
		field_set_text(
			r->reason, sizeof(r->reason), HISTORY_KILLED, sizeof(HISTORY_KILLED));
	}
}

static int load_run(struct history *h, sqlite3_int64 run, struct result *r, struct err *e)
{
	struct buf sql cleanup(buf_release_p) = { 0 };
	sqlite3_stmt *stmt cleanup(sqlite3_finalize_p) = NULL;
	int column = 1;

	buf_add(&sql, "SELECT number");
	db_add_columns(&sql, &run_fields, "");
	buf_add(&sql, ", target_path, target_free_bytes,"
		      " (SELECT json FROM document WHERE number = run.host),"
		      " (SELECT json FROM document WHERE number = run.target)"
		      " FROM run WHERE number = ?");
	if (sql.failed)
		return err_set(e, ERR_NOMEM, 0, "out of memory for the history");
	if (db_prepare(&h->db, sql.text, &stmt, e))
		return -1;
	sqlite3_bind_int64(stmt, 1, run);

	int rc = db_step(&h->db, stmt, "read a run", e);

	if (rc == 0)
		return err_set(e, ERR_FORMAT, 0, "damaged history '%s': a run is gone", h->db.path);
	if (rc < 0 || db_read_fields(stmt, &column, &run_fields, r, e) ||
		read_host(stmt, column + 2, r, e) || read_target(stmt, column + 3, r, e))
		return -1;
	return 0;
}

/* ---- phases ---- */

static void mark_present(const struct history_part *part, struct phase_result *phase)
{
	if (part->presence == PART_CACHED)
		phase->evidence.cached_known = true;
	else if (part->presence == PART_DEVICE)
		phase->evidence.device.known = true;
}

static int read_part(sqlite3_stmt *stmt, int *column, const struct history_part *part,
	struct phase_result *phase, struct err *e)
{
	if (part->presence != PART_ALWAYS && sqlite3_column_type(stmt, *column) == SQLITE_NULL) {
		*column += (int)part->fields->n;
		return 0;
	}
	mark_present(part, phase);
	return db_read_fields(stmt, column, part->fields, (char *)phase + part->offset_bytes, e);
}

static int read_settings(sqlite3_stmt *stmt, int column, struct phase_result *phase, struct err *e)
{
	json_t *settings cleanup(json_decref_p) = NULL;

	if (parse_document(stmt, column, &settings, e) ||
		settings_from_json(settings, &phase->settings, e))
		return -1;
	return 0;
}

static int read_latency(sqlite3_stmt *stmt, int column, struct phase_result *phase, struct err *e)
{
	if (sqlite3_column_type(stmt, column) == SQLITE_NULL)
		return 0;
	phase->latency = hist_new();
	if (!phase->latency)
		return err_set(e, ERR_NOMEM, 0, "out of memory for a histogram");

	const uint8_t *bytes = sqlite3_column_blob(stmt, column);

	if (!bytes && sqlite3_errcode(sqlite3_db_handle(stmt)) == SQLITE_NOMEM)
		return err_set(e, ERR_NOMEM, 0, "out of memory for a histogram");
	return hist_unpack(bytes, (size_t)sqlite3_column_bytes(stmt, column), phase->latency, e);
}

static int load_metrics(
	struct history *h, sqlite3_int64 number, struct phase_result *phase, struct err *e)
{
	sqlite3_stmt *stmt cleanup(sqlite3_finalize_p) = NULL;
	int rc;

	if (db_prepare(&h->db,
		    "SELECT metric_name.key, metric.value FROM metric"
		    " JOIN metric_name ON metric_name.number = metric.name WHERE metric.phase = ?",
		    &stmt, e))
		return -1;
	sqlite3_bind_int64(stmt, 1, number);
	phase->metrics = calloc(METRIC_N_KINDS, sizeof(*phase->metrics));
	if (!phase->metrics)
		return err_set(e, ERR_NOMEM, 0, "out of memory for figures");
	while ((rc = db_step(&h->db, stmt, "read figures", e)) == 1) {
		const char *key;

		if (db_text(stmt, 0, &key, e))
			return -1;

		int kind = metric_find(key);

		/* A name that this program does not know is of a newer one. */
		if (kind >= 0 && phase->n_metrics < METRIC_N_KINDS)
			phase->metrics[phase->n_metrics++] =
				(struct metric){ (enum metric_kind)kind,
					sqlite3_column_double(stmt, 1) };
	}
	return rc;
}

static int read_phase(struct history *h, sqlite3_stmt *stmt, struct result *r, struct err *e)
{
	struct phase_result phase cleanup(phase_release_p) = { 0 };
	int column = 1;

	for (size_t k = 0; k < HISTORY_N_PHASE_PARTS; k++)
		if (read_part(stmt, &column, &history_phase_parts[k], &phase, e))
			return -1;
	if (read_settings(stmt, column + 1, &phase, e) ||
		read_latency(stmt, column + 2, &phase, e) ||
		load_metrics(h, sqlite3_column_int64(stmt, 0), &phase, e))
		return -1;
	phase.settings.seed = (uint64_t)sqlite3_column_int64(stmt, column);
	return result_take_phase(r, &phase, e);
}

static int load_phases(struct history *h, sqlite3_int64 run, struct result *r, struct err *e)
{
	struct buf sql cleanup(buf_release_p) = { 0 };
	sqlite3_stmt *stmt cleanup(sqlite3_finalize_p) = NULL;
	int rc;

	buf_add(&sql, "SELECT number");
	for (size_t k = 0; k < HISTORY_N_PHASE_PARTS; k++)
		db_add_columns(&sql, history_phase_parts[k].fields, history_phase_parts[k].prefix);
	buf_add(&sql, ", seed, (SELECT json FROM document WHERE number = phase.settings), latency"
		      " FROM phase WHERE run = ? ORDER BY number");
	if (sql.failed)
		return err_set(e, ERR_NOMEM, 0, "out of memory for the history");
	if (db_prepare(&h->db, sql.text, &stmt, e))
		return -1;
	sqlite3_bind_int64(stmt, 1, run);
	while ((rc = db_step(&h->db, stmt, "read phases", e)) == 1)
		if (read_phase(h, stmt, r, e))
			return -1;
	return rc;
}

/* ---- findings ---- */

static int load_findings(struct history *h, sqlite3_int64 run, struct result *r, struct err *e)
{
	struct buf sql cleanup(buf_release_p) = { 0 };
	sqlite3_stmt *stmt cleanup(sqlite3_finalize_p) = NULL;
	int rc;

	buf_add(&sql, "SELECT seq");
	db_add_columns(&sql, &finding_fields, "");
	buf_add(&sql, " FROM finding WHERE run = ? ORDER BY seq");
	if (sql.failed)
		return err_set(e, ERR_NOMEM, 0, "out of memory for the history");
	if (db_prepare(&h->db, sql.text, &stmt, e))
		return -1;
	sqlite3_bind_int64(stmt, 1, run);
	while ((rc = db_step(&h->db, stmt, "read findings", e)) == 1) {
		struct finding finding = { 0 };
		int column = 1;

		if (db_read_fields(stmt, &column, &finding_fields, &finding, e) ||
			result_add_finding(r, &finding, e))
			return -1;
	}
	return rc;
}

/* ---- the call ---- */

static int load_in_transaction(
	struct history *h, const char *which, struct result **ret, struct err *e)
{
	struct db_transaction t cleanup(db_rollback_p) = { 0 };
	struct result *r cleanup(result_free_p) = result_new();
	sqlite3_int64 run = 0;

	if (!r)
		return err_set(e, ERR_NOMEM, 0, "out of memory for a result");
	if (db_begin(&h->db, "BEGIN", &t, e) || find_which(h, which, &run, e) ||
		load_run(h, run, r, e) || load_phases(h, run, r, e) ||
		load_findings(h, run, r, e) || db_commit(&t, e))
		return -1;
	*ret = take(r);
	return 0;
}

int history_load(struct history *h, const struct probe_root *root, const char *which,
	struct result **ret, struct err *e)
{
	for (int i = 0; i < HISTORY_N_READS_MAX; i++) {
		struct result *r cleanup(result_free_p) = NULL;
		struct err why = { 0 };
		int rc = history_read_begin(h, &why);

		if (rc > 0)
			return no_result(h, which, e);
		if (rc == 0)
			rc = load_in_transaction(h, which, &r, &why);
		if (!history_read_end(h))
			continue;
		if (rc) {
			if (e)
				*e = why;
			return -1;
		}
		judge_process(root, r);
		*ret = take(r);
		return 0;
	}
	return err_set(e, ERR_IO, 0, "history '%s' changes faster than it can be read; try again",
		h->db.path);
}

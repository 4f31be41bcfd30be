/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writing runs, phases, figures and findings (history.h). Columns come from the rows of
 * result/fields.c; each public function is one transaction.
 */
#include "history/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "history/db.h"
#include "history/history_private.h"
#include "result/fields_json.h"
#include "result/result_json.h"

/* clang-format off */
const struct history_part history_phase_parts[HISTORY_N_PHASE_PARTS] = {
	{ &phase_fields,    "",        0,                                              PART_ALWAYS },
	{ &evidence_fields, "",        offsetof(struct phase_result, evidence),        PART_ALWAYS },
	{ &cached_fields,   "",        offsetof(struct phase_result, evidence),        PART_CACHED },
	{ &counters_fields, "device_", offsetof(struct phase_result, evidence.device), PART_DEVICE },
	{ &error_fields,    "error_",  offsetof(struct phase_result, error),           PART_ERROR },
};
/* clang-format on */

static bool part_present(const struct history_part *part, const struct phase_result *phase)
{
	switch (part->presence) {
	case PART_CACHED:
		return phase->evidence.cached_known;
	case PART_DEVICE:
		return phase->evidence.device.known;
	case PART_ERROR:
		return phase->error.sys != 0;
	case PART_ALWAYS:
		break;
	}
	return true;
}

static int out_of_memory(struct err *e)
{
	return err_set(e, ERR_NOMEM, 0, "out of memory for the history");
}

static int prepare_text(struct history *h, struct buf *sql, sqlite3_stmt **ret, struct err *e)
{
	return sql->failed ? out_of_memory(e) : db_prepare(&h->db, sql->text, ret, e);
}

/* ---- documents: JSON that is stored once however often it occurs ---- */

static int find_document(struct history *h, const char *text, sqlite3_int64 *ret, struct err *e)
{
	sqlite3_stmt *stmt cleanup(sqlite3_finalize_p) = NULL;

	if (db_prepare(&h->db, "SELECT number FROM document WHERE json = ?", &stmt, e))
		return -1;
	if (db_bind_text(stmt, 1, text))
		return out_of_memory(e);

	int rc = db_step(&h->db, stmt, "read a document", e);

	if (rc == 1)
		*ret = sqlite3_column_int64(stmt, 0);
	return rc;
}

/* Into memory that is there already: json_dumps() drops keys without a word when its growing
 * buffer cannot grow (jansson 2.14). NULL when memory is out; caller frees. */
static char *document_text(const json_t *j)
{
	size_t n_bytes = json_dumpb(j, NULL, 0, JSON_COMPACT);
	char *text cleanup(free_p) = n_bytes ? malloc(n_bytes + 1) : NULL;

	if (!text || json_dumpb(j, text, n_bytes, JSON_COMPACT) != n_bytes)
		return NULL;
	text[n_bytes] = '\0';
	return take(text);
}

/* Takes the reference to @j. */
static int store_document(struct history *h, json_t *j, sqlite3_int64 *ret, struct err *e)
{
	json_t *document cleanup(json_decref_p) = j;
	char *text cleanup(free_p) = document ? document_text(document) : NULL;
	sqlite3_stmt *stmt cleanup(sqlite3_finalize_p) = NULL;

	if (!text)
		return out_of_memory(e);

	int rc = find_document(h, text, ret, e);

	if (rc)
		return rc < 0 ? -1 : 0;
	if (db_prepare(&h->db, "INSERT INTO document(json) VALUES(?)", &stmt, e))
		return -1;
	if (db_bind_text(stmt, 1, text))
		return out_of_memory(e);
	if (db_step(&h->db, stmt, "add a document", e) < 0)
		return -1;
	*ret = sqlite3_last_insert_rowid(h->db.sqlite);
	return 0;
}

/* Free space differs from run to run: it has a column, and the document stays the same. */
static int store_target(
	struct history *h, const struct target_facts *target, sqlite3_int64 *ret, struct err *e)
{
	struct target_facts *same cleanup(free_p) = malloc(sizeof(*same));

	if (!same)
		return out_of_memory(e);
	*same = *target;
	same->fs_free_bytes = 0;
	return store_document(h, target_to_json(same), ret, e);
}

/* As above, for the seed. */
static int store_settings(
	struct history *h, const struct phase_settings *settings, sqlite3_int64 *ret, struct err *e)
{
	struct phase_settings same = *settings;

	same.seed = 0;
	return store_document(h, settings_to_json(&same), ret, e);
}

/* ---- runs ---- */

static int bind_run(
	sqlite3_stmt *stmt, const struct result *r, sqlite3_int64 host, sqlite3_int64 target)
{
	const char *path = r->target.real_path[0] ? r->target.real_path : r->target.path;
	int i = 1;

	return db_bind_fields(stmt, &i, &run_fields, r) || db_bind_text(stmt, i, r->host.boot_id) ||
	       db_bind_text(stmt, i + 1, r->host.hostname) || db_bind_text(stmt, i + 2, path) ||
	       sqlite3_bind_int64(stmt, i + 3, (sqlite3_int64)r->target.fs_free_bytes) ||
	       sqlite3_bind_int64(stmt, i + 4, host) || sqlite3_bind_int64(stmt, i + 5, target);
}

static int insert_run(
	struct history *h, const struct result *r, sqlite3_int64 *ret_run, struct err *e)
{
	struct buf sql cleanup(buf_release_p) = { 0 };
	sqlite3_stmt *stmt cleanup(sqlite3_finalize_p) = NULL;
	sqlite3_int64 host, target;

	if (store_document(h, host_to_json(&r->host), &host, e) ||
		store_target(h, &r->target, &target, e))
		return -1;
	buf_add(&sql, "INSERT INTO run(number");
	db_add_columns(&sql, &run_fields, "");
	buf_add(&sql, ", boot_id, hostname, target_path, target_free_bytes, host, target)"
		      " VALUES(NULL");
	db_add_marks(&sql, run_fields.n + 6);
	buf_add(&sql, ")");
	if (prepare_text(h, &sql, &stmt, e))
		return -1;
	if (bind_run(stmt, r, host, target))
		return out_of_memory(e);
	if (db_step(&h->db, stmt, "add a run", e) < 0)
		return -1;
	*ret_run = sqlite3_last_insert_rowid(h->db.sqlite);
	return 0;
}

static int find_run(struct history *h, const char *id, sqlite3_int64 *ret_run, struct err *e)
{
	sqlite3_stmt *stmt cleanup(sqlite3_finalize_p) = NULL;

	if (db_prepare(&h->db, "SELECT number FROM run WHERE id = ?", &stmt, e))
		return -1;
	if (db_bind_text(stmt, 1, id))
		return out_of_memory(e);

	int rc = db_step(&h->db, stmt, "find a run", e);

	if (rc == 0)
		return err_set(e, ERR_IO, 0,
			"run %s is not in history '%s' any more; was it removed meanwhile?", id,
			h->db.path);
	*ret_run = sqlite3_column_int64(stmt, 0);
	return rc < 0 ? -1 : 0;
}

/* ---- figures ---- */

static int name_metric(struct history *h, const struct metric_def *def, struct err *e)
{
	sqlite3_stmt *stmt cleanup(sqlite3_finalize_p) = NULL;

	if (db_prepare(&h->db,
		    "INSERT INTO metric_name(key, unit, better) VALUES(?, ?, ?)"
		    " ON CONFLICT(key) DO NOTHING",
		    &stmt, e))
		return -1;
	if (db_bind_text(stmt, 1, def->key) || db_bind_text(stmt, 2, def->unit) ||
		db_bind_text(stmt, 3, def->higher_is_better ? "higher" : "lower"))
		return out_of_memory(e);
	return db_step(&h->db, stmt, "name a figure", e);
}

static int insert_metric(
	struct history *h, sqlite3_int64 phase, const struct metric *m, struct err *e)
{
	sqlite3_stmt *stmt cleanup(sqlite3_finalize_p) = NULL;
	const struct metric_def *def = &metric_defs[m->kind];

	if (!isfinite(m->value))
		return 0;
	if (name_metric(h, def, e) ||
		db_prepare(&h->db,
			"INSERT INTO metric(phase, name, value)"
			" VALUES(?, (SELECT number FROM metric_name WHERE key = ?), ?)"
			" ON CONFLICT(phase, name) DO NOTHING",
			&stmt, e))
		return -1;
	if (sqlite3_bind_int64(stmt, 1, phase) || db_bind_text(stmt, 2, def->key) ||
		sqlite3_bind_double(stmt, 3, m->value))
		return out_of_memory(e);
	return db_step(&h->db, stmt, "add a figure", e);
}

/* ---- phases ---- */

static int bind_latency(sqlite3_stmt *stmt, int index, const struct hist *latency, struct err *e)
{
	uint8_t *bytes cleanup(free_p) = NULL;
	size_t n_bytes;

	if (!latency)
		return 0; /* an unbound parameter is NULL */
	if (hist_pack(latency, &bytes, &n_bytes, e))
		return -1;
	if (sqlite3_bind_blob64(stmt, index, bytes, n_bytes, SQLITE_TRANSIENT))
		return out_of_memory(e);
	return 0;
}

static int bind_phase(sqlite3_stmt *stmt, sqlite3_int64 run, sqlite3_int64 settings,
	const struct phase_result *phase, struct err *e)
{
	int i = 1;

	for (size_t k = 0; k < HISTORY_N_PHASE_PARTS; k++) {
		const struct history_part *part = &history_phase_parts[k];
		const char *record = (const char *)phase + part->offset_bytes;

		if (db_bind_fields(
			    stmt, &i, part->fields, part_present(part, phase) ? record : NULL))
			return out_of_memory(e);
	}
	if (sqlite3_bind_int64(stmt, i, run) ||
		sqlite3_bind_int64(stmt, i + 1, (sqlite3_int64)phase->settings.seed) ||
		sqlite3_bind_int64(stmt, i + 2, settings))
		return out_of_memory(e);
	return bind_latency(stmt, i + 3, phase->latency, e);
}

static void phase_sql(struct buf *sql)
{
	size_t n = 0;

	buf_add(sql, "INSERT INTO phase(number");
	for (size_t k = 0; k < HISTORY_N_PHASE_PARTS; k++) {
		db_add_columns(sql, history_phase_parts[k].fields, history_phase_parts[k].prefix);
		n += history_phase_parts[k].fields->n;
	}
	buf_add(sql, ", run, seed, settings, latency) VALUES(NULL");
	db_add_marks(sql, n + 4);
	buf_add(sql, ")");
}

static int insert_phase(
	struct history *h, sqlite3_int64 run, const struct phase_result *phase, struct err *e)
{
	struct buf sql cleanup(buf_release_p) = { 0 };
	sqlite3_stmt *stmt cleanup(sqlite3_finalize_p) = NULL;
	sqlite3_int64 settings;

	phase_sql(&sql);
	if (store_settings(h, &phase->settings, &settings, e) || prepare_text(h, &sql, &stmt, e) ||
		bind_phase(stmt, run, settings, phase, e) ||
		db_step(&h->db, stmt, "add a phase", e) < 0)
		return -1;

	sqlite3_int64 number = sqlite3_last_insert_rowid(h->db.sqlite);

	for (size_t i = 0; i < phase->n_metrics; i++)
		if (insert_metric(h, number, &phase->metrics[i], e))
			return -1;
	return 0;
}

/* ---- findings ---- */

static int insert_finding(struct history *h, sqlite3_int64 run, size_t seq,
	const struct finding *finding, struct err *e)
{
	struct buf sql cleanup(buf_release_p) = { 0 };
	sqlite3_stmt *stmt cleanup(sqlite3_finalize_p) = NULL;
	int i = 3;

	buf_add(&sql, "INSERT INTO finding(run, seq");
	db_add_columns(&sql, &finding_fields, "");
	buf_add(&sql, ") VALUES(?, ?");
	db_add_marks(&sql, finding_fields.n);
	buf_add(&sql, ")");
	if (prepare_text(h, &sql, &stmt, e))
		return -1;
	if (sqlite3_bind_int64(stmt, 1, run) || sqlite3_bind_int64(stmt, 2, (sqlite3_int64)seq) ||
		db_bind_fields(stmt, &i, &finding_fields, finding))
		return out_of_memory(e);
	return db_step(&h->db, stmt, "add a finding", e);
}

static int replace_findings(
	struct history *h, sqlite3_int64 run, const struct result *r, struct err *e)
{
	sqlite3_stmt *stmt cleanup(sqlite3_finalize_p) = NULL;

	if (db_prepare(&h->db, "DELETE FROM finding WHERE run = ?", &stmt, e))
		return -1;
	if (sqlite3_bind_int64(stmt, 1, run))
		return out_of_memory(e);
	if (db_step(&h->db, stmt, "replace findings", e) < 0)
		return -1;
	for (size_t i = 0; i < r->n_findings; i++)
		if (insert_finding(h, run, i, &r->findings[i], e))
			return -1;
	return 0;
}

static int end_run(struct history *h, sqlite3_int64 run, const struct result *r, struct err *e)
{
	sqlite3_stmt *stmt cleanup(sqlite3_finalize_p) = NULL;

	if (db_prepare(&h->db,
		    "UPDATE run SET ended_wall_ns = ?, status = ?, reason = ? WHERE number = ?",
		    &stmt, e))
		return -1;
	if (sqlite3_bind_int64(stmt, 1, (sqlite3_int64)r->ended_wall_ns) ||
		db_bind_text(stmt, 2, run_status_name(r->status)) ||
		db_bind_text(stmt, 3, r->reason) || sqlite3_bind_int64(stmt, 4, run))
		return out_of_memory(e);
	if (db_step(&h->db, stmt, "end a run", e) < 0)
		return -1;
	return replace_findings(h, run, r, e);
}

/* ---- the calls ---- */

static int begin_writing(struct history *h, struct db_transaction *t, struct err *e)
{
	if (h->mode != HISTORY_WRITE)
		return err_set(e, ERR_BUG, 0, "history '%s' was opened for reading", h->db.path);
	return db_begin(&h->db, "BEGIN IMMEDIATE", t, e);
}

static int mark_running(struct history *h, sqlite3_int64 run, struct err *e)
{
	sqlite3_stmt *stmt cleanup(sqlite3_finalize_p) = NULL;

	if (db_prepare(&h->db, "UPDATE run SET status = ?, ended_wall_ns = 0 WHERE number = ?",
		    &stmt, e))
		return -1;
	if (db_bind_text(stmt, 1, run_status_name(RUN_RUNNING)) || sqlite3_bind_int64(stmt, 2, run))
		return out_of_memory(e);
	return db_step(&h->db, stmt, "begin a run", e);
}

int history_begin(struct history *h, const struct result *r, struct err *e)
{
	struct db_transaction t cleanup(db_rollback_p) = { 0 };
	sqlite3_int64 run;

	if (begin_writing(h, &t, e) || insert_run(h, r, &run, e) || mark_running(h, run, e))
		return -1;
	return db_commit(&t, e);
}

int history_add_phase(
	struct history *h, const char *id, const struct phase_result *phase, struct err *e)
{
	struct db_transaction t cleanup(db_rollback_p) = { 0 };
	sqlite3_int64 run;

	if (begin_writing(h, &t, e) || find_run(h, id, &run, e) || insert_phase(h, run, phase, e))
		return -1;
	return db_commit(&t, e);
}

int history_end(struct history *h, const struct result *r, struct err *e)
{
	struct db_transaction t cleanup(db_rollback_p) = { 0 };
	sqlite3_int64 run;

	if (begin_writing(h, &t, e) || find_run(h, r->id, &run, e) || end_run(h, run, r, e))
		return -1;
	return db_commit(&t, e);
}

int history_add(struct history *h, const struct result *r, struct err *e)
{
	struct db_transaction t cleanup(db_rollback_p) = { 0 };
	sqlite3_int64 run;

	if (begin_writing(h, &t, e) || insert_run(h, r, &run, e))
		return -1;
	for (size_t i = 0; i < r->n_phases; i++)
		if (insert_phase(h, run, &r->phases[i], e))
			return -1;
	if (replace_findings(h, run, r, e))
		return -1;
	return db_commit(&t, e);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The schema of the history (history_schema.h). docs/formats.md explains tables and columns; the
 * columns of run, phase and finding are the rows of result/fields.c.
 */
#include "history/history_schema.h"

#include <stdio.h>

#include "base/err.h"
#include "history/db.h"

/* Settings, host and target repeat from phase to phase and from run to run: each distinct one is
 * stored once. Metrics are rows so that people can query them; the rest of a phase is counts.
 * AUTOINCREMENT: what somebody deleted by hand, without its phases, lends them to no later run. */
static const char version_1[] =
	"CREATE TABLE document(\n"
	"	number INTEGER PRIMARY KEY,\n"
	"	json TEXT NOT NULL UNIQUE\n"
	") STRICT;\n"
	"CREATE TABLE run(\n"
	"	number INTEGER PRIMARY KEY AUTOINCREMENT,\n"
	"	id TEXT NOT NULL UNIQUE,\n"
	"	started_wall_ns INTEGER NOT NULL,\n"
	"	ended_wall_ns INTEGER NOT NULL,\n"
	"	tool TEXT NOT NULL,\n"
	"	version TEXT NOT NULL,\n"
	"	command_line TEXT,\n"
	"	label TEXT,\n"
	"	plan TEXT NOT NULL,\n"
	"	n_samples_asked INTEGER NOT NULL,\n"
	"	status TEXT NOT NULL,\n"
	"	reason TEXT NOT NULL,\n"
	"	pid INTEGER NOT NULL,\n"
	"	pid_start_ticks INTEGER NOT NULL,\n"
	"	boot_id TEXT NOT NULL,\n"
	"	hostname TEXT NOT NULL,\n"
	"	target_path TEXT NOT NULL,\n"
	"	target_free_bytes INTEGER NOT NULL,\n"
	"	host INTEGER NOT NULL REFERENCES document(number),\n"
	"	target INTEGER NOT NULL REFERENCES document(number)\n"
	") STRICT;\n"
	"CREATE INDEX run_by_start ON run(started_wall_ns);\n"
	"CREATE INDEX run_by_target ON run(target_path);\n"
	"CREATE INDEX run_by_label ON run(label) WHERE label IS NOT NULL;\n"
	"CREATE TABLE phase(\n"
	"	number INTEGER PRIMARY KEY AUTOINCREMENT,\n"
	"	run INTEGER NOT NULL REFERENCES run(number) ON DELETE CASCADE,\n"
	"	name TEXT NOT NULL,\n"
	"	sample INTEGER NOT NULL,\n"
	"	status TEXT NOT NULL,\n"
	"	reason TEXT NOT NULL,\n"
	"	started_wall_ns INTEGER NOT NULL,\n"
	"	elapsed_ns INTEGER NOT NULL,\n"
	"	flush_ns INTEGER NOT NULL,\n"
	"	prepare_ns INTEGER NOT NULL,\n"
	"	n_ops INTEGER NOT NULL,\n"
	"	read_bytes INTEGER NOT NULL,\n"
	"	written_bytes INTEGER NOT NULL,\n"
	"	n_short INTEGER NOT NULL,\n"
	"	n_retries INTEGER NOT NULL,\n"
	"	n_verified_units INTEGER NOT NULL,\n"
	"	n_bad_units INTEGER NOT NULL,\n"
	"	cpu_user_s REAL,\n"
	"	cpu_system_s REAL,\n"
	"	asked_read_bytes INTEGER NOT NULL,\n"
	"	asked_write_bytes INTEGER NOT NULL,\n"
	"	worker_cpu_ratio REAL,\n"
	"	busiest_cpu_ratio REAL,\n"
	"	cached_before_bytes INTEGER,\n"
	"	cached_after_bytes INTEGER,\n"
	"	device_read_bytes INTEGER,\n"
	"	device_written_bytes INTEGER,\n"
	"	device_n_reads INTEGER,\n"
	"	device_n_writes INTEGER,\n"
	"	device_n_flushes INTEGER,\n"
	"	device_busy_ns INTEGER,\n"
	"	error_errno INTEGER,\n"
	"	error_op TEXT,\n"
	"	error_offset_bytes INTEGER,\n"
	"	error_n_bytes INTEGER,\n"
	"	seed INTEGER NOT NULL,\n"
	"	settings INTEGER NOT NULL REFERENCES document(number),\n"
	"	latency BLOB\n"
	") STRICT;\n"
	"CREATE INDEX phase_by_run ON phase(run);\n"
	"CREATE TABLE metric_name(\n"
	"	number INTEGER PRIMARY KEY,\n"
	"	key TEXT NOT NULL UNIQUE,\n"
	"	unit TEXT NOT NULL,\n"
	"	better TEXT NOT NULL\n"
	") STRICT;\n"
	"CREATE TABLE metric(\n"
	"	phase INTEGER NOT NULL REFERENCES phase(number) ON DELETE CASCADE,\n"
	"	name INTEGER NOT NULL REFERENCES metric_name(number),\n"
	"	value REAL NOT NULL,\n"
	"	PRIMARY KEY(phase, name)\n"
	") STRICT, WITHOUT ROWID;\n"
	"CREATE TABLE finding(\n"
	"	run INTEGER NOT NULL REFERENCES run(number) ON DELETE CASCADE,\n"
	"	seq INTEGER NOT NULL,\n"
	"	\"check\" TEXT NOT NULL,\n"
	"	severity TEXT NOT NULL,\n"
	"	phase TEXT NOT NULL,\n"
	"	sample INTEGER NOT NULL,\n"
	"	mark TEXT NOT NULL,\n"
	"	text TEXT NOT NULL,\n"
	"	PRIMARY KEY(run, seq)\n"
	") STRICT, WITHOUT ROWID;\n"
	"CREATE VIEW figure AS\n"
	"	SELECT run.id AS run, run.label AS label, run.target_path AS target_path,\n"
	"		run.started_wall_ns AS started_wall_ns,\n"
	"		phase.name || '.' || metric_name.key AS metric, phase.sample AS sample,\n"
	"		metric.value AS value, metric_name.unit AS unit,\n"
	"		metric_name.better AS better\n"
	"	FROM metric JOIN metric_name ON metric_name.number = metric.name\n"
	"		JOIN phase ON phase.number = metric.phase\n"
	"		JOIN run ON run.number = phase.run;\n";

const char *const history_migrations[] = {
	version_1,
};
const size_t history_n_migrations = sizeof(history_migrations) / sizeof(history_migrations[0]);

/* Inside a transaction, so that the three answers belong together. */
static int read_identity(const struct db *db, sqlite3_int64 *application, sqlite3_int64 *version,
	sqlite3_int64 *n_objects, struct err *e)
{
	if (db_number(db, "SELECT count(*) FROM sqlite_schema", n_objects, e) ||
		db_number(db, "PRAGMA application_id", application, e) ||
		db_number(db, "PRAGMA user_version", version, e))
		return -1;
	return 0;
}

static int version_in_transaction(
	const struct db *db, size_t n_known, size_t *ret_version, struct err *e)
{
	sqlite3_int64 application = 0, version = 0, n_objects = 0;

	if (read_identity(db, &application, &version, &n_objects, e))
		return -1;
	if (application == 0 && version == 0 && n_objects == 0) {
		*ret_version = 0;
		return 0;
	}
	if (application != HISTORY_APPLICATION_ID || version < 1)
		return err_set(e, ERR_FORMAT, 0,
			"'%s' is a database of another program, not a clyde history; name another file with --db",
			db->path);
	if ((size_t)version > n_known)
		return err_set(e, ERR_UNSUPPORTED, 0,
			"history '%s' has schema %lld, this program knows up to %zu; use a newer clyde or another --db",
			db->path, (long long)version, n_known);
	*ret_version = (size_t)version;
	return 0;
}

int history_schema_version(const struct db *db, size_t n_known, size_t *ret_version, struct err *e)
{
	struct db_transaction t cleanup(db_rollback_p) = { 0 };
	size_t version;

	if (db_begin(db, "BEGIN", &t, e) || version_in_transaction(db, n_known, &version, e) ||
		db_commit(&t, e))
		return -1;
	*ret_version = version;
	return 0;
}

static int set_version(const struct db *db, size_t version, struct err *e)
{
	char sql[100];

	snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %zu",
		HISTORY_APPLICATION_ID, version);
	return db_exec(db, sql, "set the schema version", e);
}

int history_schema_migrate(
	const struct db *db, const char *const *migrations, size_t n, struct err *e)
{
	struct db_transaction t cleanup(db_rollback_p) = { 0 };
	size_t version = 0;

	/* Looked at again under the write lock: another process may have done it meanwhile. */
	if (db_begin(db, "BEGIN IMMEDIATE", &t, e) || version_in_transaction(db, n, &version, e))
		return -1;
	for (size_t i = version; i < n; i++)
		if (db_exec(db, migrations[i], "migrate", e))
			return -1;
	if (version < n && set_version(db, n, e))
		return -1;
	return db_commit(&t, e);
}

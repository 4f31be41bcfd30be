/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opening the history (history.h).
 *
 * Writing uses WAL with synchronous=FULL: a commit is on stable storage when it returns, and
 * readers never wait. Reading must leave no trace, but a plain read-only connection to a WAL file
 * makes -wal and -shm files. So: no log beside the file, and it is opened as immutable, without
 * locks, and what was read is thrown away if the file has changed meanwhile; with a log, its
 * shared memory is opened read-only.
 * Source: sqlite.org/wal.html "Read-Only Databases", sqlite.org/c3ref/open.html.
 */
#include "history/history.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "history/history_private.h"
#include "history/history_schema.h"

enum { BUSY_MS = 10000 };

/* ---- the path ---- */

static const char *environment(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] ? value : NULL;
}

/* $HOME, else what the user database says. Caller frees. */
static char *home_directory(void)
{
	const char *home = environment("HOME");
	struct passwd entry, *found = NULL;
	char text[4096];

	if (home)
		return strdup(home);
	if (getpwuid_r(getuid(), &entry, text, sizeof(text), &found) || !found)
		return NULL;
	return strdup(found->pw_dir);
}

char *history_default_path(struct err *e)
{
	struct buf path cleanup(buf_release_p) = { 0 };
	const char *file = environment("CLYDE_DB");
	const char *data = environment("XDG_DATA_HOME");
	char *home cleanup(free_p) = NULL;

	if (file) {
		buf_add(&path, file);
	} else if (data && data[0] == '/') { /* XDG: a relative path is to be ignored */
		buf_addf(&path, "%s/clyde/history.db", data);
	} else {
		home = home_directory();
		if (!home || home[0] != '/') {
			err_set(e, ERR_USAGE, 0,
				"no home directory for the history; name a file with --db or CLYDE_DB");
			return NULL;
		}
		buf_addf(&path, "%s/.local/share/clyde/history.db", home);
	}

	char *text = buf_take(&path);

	if (!text)
		err_set(e, ERR_NOMEM, 0, "out of memory for the path of the history");
	return text;
}

static int sync_directory(const char *path, struct err *e)
{
	int fd cleanup(close_p) = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	/* EINVAL: a file system that cannot, and where nothing better can be done. */
	if (fd < 0 || (fsync(fd) && errno != EINVAL))
		return err_set(e, ERR_IO, errno, "cannot sync directory '%s' of the history", path);
	return 0;
}

/* Makes the directories above @path that are missing, for this user only. */
static int make_parents(char *path, struct err *e)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		int failed = mkdir(path, 0700) && errno != EEXIST && errno != EISDIR;
		struct stat st;

		/* A parent that cannot be written to but is there is fine. */
		if (failed && stat(path, &st)) {
			return err_set(e, ERR_IO, errno,
				"cannot make directory '%s' for the history; name another file with --db",
				path);
		}
		*slash = '/';
	}
	return 0;
}

/* SQLite would make the file readable for all; its -wal and -shm take the mode of the file. Not
 * opened when it is there: closing it would drop the locks of this process on it. */
static int make_file(const char *path, struct err *e)
{
	struct buf parents cleanup(buf_release_p) = { 0 };
	struct stat st;

	if (stat(path, &st) == 0)
		return 0;
	buf_add(&parents, path);
	if (parents.failed)
		return err_set(e, ERR_NOMEM, 0, "out of memory for the path of the history");
	if (make_parents(parents.text, e))
		return -1;

	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 && errno == EEXIST)
		return 0;
	if (fd < 0)
		return err_set(e, ERR_IO, errno,
			"cannot make history '%s'; name another file with --db", path);
	close(fd);

	char *slash = strrchr(parents.text, '/');

	slash[slash == parents.text ? 1 : 0] = '\0';
	return sync_directory(parents.text, e);
}

/* ---- connections ---- */

static bool has_bytes(const char *path, const char *suffix)
{
	struct buf name cleanup(buf_release_p) = { 0 };
	struct stat st;

	buf_addf(&name, "%s%s", path, suffix);
	return !name.failed && stat(name.text, &st) == 0 && st.st_size > 0;
}

static struct history_stamp stamp_of(const char *path)
{
	struct history_stamp stamp = { 0 };
	struct stat st;

	if (stat(path, &st))
		return stamp;
	stamp.changed = st.st_mtim;
	stamp.size_bytes = (uint64_t)st.st_size;
	stamp.inode = st.st_ino;
	stamp.has_log = has_bytes(path, "-wal") || has_bytes(path, "-journal");
	return stamp;
}

static bool same_stamp(const struct history_stamp *a, const struct history_stamp *b)
{
	return a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec &&
	       a->size_bytes == b->size_bytes && a->inode == b->inode && a->has_log == b->has_log;
}

static void close_database(struct history *h)
{
	sqlite3_close_v2(h->db.sqlite);
	h->db.sqlite = NULL;
}

/* A file from somebody else may hold triggers and views made to do harm: none of them runs. */
static void distrust(sqlite3 *sqlite)
{
	sqlite3_db_config(sqlite, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(sqlite, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(sqlite, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(sqlite, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
}

/* @query: parameters of the URI. The path is escaped: it may hold any byte. */
static int open_database(struct history *h, int flags, const char *query, struct err *e)
{
	struct buf uri cleanup(buf_release_p) = { 0 };
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789/._-";

	buf_add(&uri, "file:");
	for (const char *c = h->db.path; *c; c++) {
		if (strchr(plain, *c))
			buf_add_bytes(&uri, c, 1);
		else
			buf_addf(&uri, "%%%02X", (unsigned char)*c);
	}
	buf_add(&uri, query);
	if (uri.failed)
		return err_set(e, ERR_NOMEM, 0, "out of memory for the history");

	int rc = sqlite3_open_v2(uri.text, &h->db.sqlite,
		flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);

	if (!h->db.sqlite)
		return err_set(e, ERR_NOMEM, 0, "out of memory for the history");
	if (rc != SQLITE_OK) {
		db_error(&h->db, "open", e);
		close_database(h);
		return -1;
	}
	sqlite3_busy_timeout(h->db.sqlite, BUSY_MS);
	distrust(h->db.sqlite);
	return 0;
}

/* ---- writing ---- */

/* [text] the journal mode in use after asking for WAL; SQLITE_BUSY is not waited for by SQLite. */
static int ask_for_wal(struct history *h, bool *ret_wal)
{
	sqlite3_stmt *stmt cleanup(sqlite3_finalize_p) = NULL;
	int rc = sqlite3_prepare_v2(h->db.sqlite, "PRAGMA journal_mode=WAL", -1, &stmt, NULL);

	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite3_step(stmt);

	const char *mode = "";

	if (rc == SQLITE_ROW && db_text(stmt, 0, &mode, NULL) == 0)
		*ret_wal = strcmp(mode, "wal") == 0;
	return rc;
}

/* Where shared memory cannot be had (some network file systems) the old journal is kept, with the
 * one setting that makes its commits durable too. */
static int use_wal(struct history *h, struct err *e)
{
	uint64_t deadline_ns = clock_now_ns(&clock_monotonic) + BUSY_MS * 1000000ull;
	bool wal = false;
	int rc;

	while (((rc = ask_for_wal(h, &wal)) & 0xff) == SQLITE_BUSY &&
		clock_now_ns(&clock_monotonic) < deadline_ns)
		clock_sleep_until_ns(&clock_monotonic, clock_now_ns(&clock_monotonic) + 5000000);
	if (rc != SQLITE_ROW)
		return db_error(&h->db, "prepare", e);
	return db_exec(
		&h->db, wal ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=EXTRA", "prepare", e);
}

static int open_to_write(struct history *h, struct err *e)
{
	size_t version;

	if (make_file(h->db.path, e) || open_database(h, SQLITE_OPEN_READWRITE, "", e))
		return -1;
	/* Before anything is written: a file that is not ours stays as it is. */
	if (history_schema_version(&h->db, history_n_migrations, &version, e) || use_wal(h, e) ||
		db_exec(&h->db, "PRAGMA foreign_keys=ON", "prepare", e))
		return -1;
	if (version < history_n_migrations)
		return history_schema_migrate(&h->db, history_migrations, history_n_migrations, e);
	return 0;
}

/* ---- reading ---- */

static int try_to_read(struct history *h, const char *query, size_t *ret_version, struct err *e)
{
	if (open_database(h, SQLITE_OPEN_READONLY, query, e))
		return -1;
	if (history_schema_version(&h->db, history_n_migrations, ret_version, e)) {
		close_database(h);
		return -1;
	}
	return 0;
}

static bool unchanged(const struct history *h)
{
	struct history_stamp now = stamp_of(h->db.path);

	return same_stamp(&now, &h->stamp);
}

/* The shared memory of a log is a file beside it. A log that was copied without it can only be
 * read by making one; but if the log has gone just now, that is no reason to. */
static int open_beside_log(struct history *h, size_t *ret_version, struct err *e)
{
	struct err why = { 0 };

	if (try_to_read(h, "?readonly_shm=1", ret_version, &why) == 0)
		return 0;
	if (why.kind == ERR_IO && unchanged(h))
		return try_to_read(h, "", ret_version, e);
	if (e)
		*e = why;
	return -1;
}

/* 0; 1: nothing there yet; -1 */
static int open_to_read(struct history *h, struct err *e)
{
	size_t version = 0;

	h->stamp = stamp_of(h->db.path);
	if (h->stamp.inode == 0)
		return errno == ENOENT
			       ? 1
			       : err_set(e, ERR_IO, errno, "cannot read history '%s'", h->db.path);
	h->immutable = !h->stamp.has_log;
	if (h->immutable ? try_to_read(h, "?immutable=1", &version, e)
			 : open_beside_log(h, &version, e))
		return -1;
	if (version == 0)
		close_database(h);
	return version == 0;
}

int history_read_begin(struct history *h, struct err *e)
{
	if (h->mode == HISTORY_WRITE || (h->db.sqlite && unchanged(h)))
		return 0;
	close_database(h);
	return open_to_read(h, e);
}

bool history_read_end(struct history *h)
{
	if (h->mode == HISTORY_WRITE)
		return true;
	if (h->db.sqlite && !h->immutable) {
		close_database(h);
		return true;
	}
	return unchanged(h);
}

/* ---- the object ---- */

static int check_path(const char *path, struct err *e)
{
	struct stat st;

	if (path[0] == '\0')
		return err_set(e, ERR_USAGE, 0, "the history needs a file name; give one to --db");
	if (path[strlen(path) - 1] == '/')
		return err_set(e, ERR_USAGE, 0,
			"history '%s' is a directory; name a file with --db", path);
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return err_set(e, ERR_USAGE, 0,
			"history '%s' is not a regular file; name another with --db", path);
	return 0;
}

static struct history *new_history(const char *path, enum history_mode mode)
{
	struct history *h cleanup(history_close_p) = calloc(1, sizeof(*h));
	struct buf full cleanup(buf_release_p) = { 0 };

	if (!h)
		return NULL;
	/* "./": no name is special then, not even ":memory:". */
	buf_addf(&full, "%s%s", path[0] == '/' ? "" : "./", path);
	h->db.path = buf_take(&full);
	h->mode = mode;
	return h->db.path ? take(h) : NULL;
}

/* Refuses at once what can never be read. A file that changes under the look is looked at again. */
static int look(struct history *h, struct err *e)
{
	for (int i = 0; i < HISTORY_N_READS_MAX; i++) {
		struct err why = { 0 };
		int rc = history_read_begin(h, &why);

		if (!history_read_end(h))
			continue;
		if (rc < 0 && e)
			*e = why;
		return rc < 0 ? -1 : 0;
	}
	return err_set(e, ERR_IO, 0, "history '%s' changes faster than it can be read; try again",
		h->db.path);
}

int history_open(const char *path, enum history_mode mode, struct history **ret, struct err *e)
{
	if (check_path(path, e))
		return -1;

	struct history *h cleanup(history_close_p) = new_history(path, mode);

	if (!h)
		return err_set(e, ERR_NOMEM, 0, "out of memory for the history");
	if (mode == HISTORY_WRITE ? open_to_write(h, e) : look(h, e))
		return -1;
	*ret = take(h);
	return 0;
}

void history_close(struct history *h)
{
	if (!h)
		return;
	close_database(h);
	free(h->db.path);
	free(h);
}

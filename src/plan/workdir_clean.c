/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Leftovers of killed runs. A run is taken for gone when neither its process (id and start time,
 * in the same boot) nor the lock on its manifest is there. On a network file system a manifest of
 * another machine is left to that machine: its processes cannot be seen from here, and not every
 * network file system carries locks.
 */
#include "plan/workdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/err.h"
#include "plan/manifest.h"
#include "plan/workdir_private.h"
#include "probe/probe.h"

struct clean {
	const struct probe_root *root;
	bool dry_run;
	int parent_fd;
	bool on_network;
	struct host_facts host;
};

static void target_free(struct target_facts *t)
{
	free(t);
}
DEFINE_CLEANUP(struct target_facts *, target_free)

/* What cannot be told counts as shared: then less is removed. */
static bool is_on_network(const struct probe_root *root, const char *path)
{
	struct target_facts *t cleanup(target_free_p) = calloc(1, sizeof(*t));

	return !t || probe_target(root, path, t, NULL) != 0 || t->fs_class == FS_NETWORK;
}

static bool known_and_equal(const char *a, const char *b)
{
	return a[0] && strcmp(a, b) == 0;
}

/* Whether the run may still live, with the reason. @fd: its manifest */
static bool may_live(
	const struct clean *c, const struct manifest *m, int fd, struct workdir_leftover *row)
{
	bool same_boot = known_and_equal(m->boot_id, c->host.boot_id);
	bool same_name = known_and_equal(m->hostname, c->host.hostname);
	bool boot_known = m->boot_id[0] && c->host.boot_id[0];

	if (c->on_network && !same_boot && !same_name) {
		snprintf(row->reason, sizeof(row->reason),
			"belongs to host '%s': run clyde clean there", m->hostname);
		return true;
	}
	if (same_boot || !boot_known) {
		uint64_t start_ticks = probe_process_start_ticks(c->root, m->pid);

		if (start_ticks && (start_ticks == m->pid_start_ticks || !m->pid_start_ticks)) {
			snprintf(row->reason, sizeof(row->reason), "still in use by process %ld",
				m->pid);
			return true;
		}
	}
	if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
		snprintf(row->reason, sizeof(row->reason),
			"still in use: its manifest is locked (process %ld on host '%s')", m->pid,
			m->hostname);
		return true;
	}
	return false;
}

static void keep_for(struct workdir_leftover *row, const struct filework_tree *t)
{
	struct err why = { 0 };

	filework_tree_error(t, "", &why);
	snprintf(row->reason, sizeof(row->reason), "%.190s", why.msg);
}

/* The lock goes with *manifest_fd: a file that is removed while open is only renamed on NFS. */
static void remove_it(const struct clean *c, const char *name, int fd, int *manifest_fd,
	struct workdir_leftover *row)
{
	struct filework_tree t = { 0 };

	if (c->dry_run) {
		snprintf(row->reason, sizeof(row->reason), "would be removed");
		return;
	}
	workdir_empty(fd, true, &t);
	if (t.n_kept == 0) {
		if (*manifest_fd >= 0)
			close(take_fd(manifest_fd));
		workdir_finish(c->parent_fd, name, fd, &t);
	}
	row->removed = t.n_kept == 0;
	if (!row->removed)
		keep_for(row, &t);
}

/* Whether nothing is inside but a manifest that never became whole, and nobody writes it now. */
static bool is_bare(int fd)
{
	int own_fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream cleanup(closedir_p) = own_fd >= 0 ? fdopendir(own_fd) : NULL;
	int new_fd cleanup(close_p) = openat(
		fd, MANIFEST_NAME_NEW, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (!stream) {
		if (own_fd >= 0)
			close(own_fd);
		return false;
	}
	for (struct dirent *d = readdir(stream); d; d = readdir(stream))
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0 &&
			strcmp(d->d_name, MANIFEST_NAME_NEW) != 0)
			return false;
	return new_fd < 0 || flock(new_fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

static bool is_ours(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_uid == geteuid() || st.st_uid == 0);
}

static void look_at(const struct clean *c, const char *name, struct workdir_leftover *row)
{
	struct manifest m = { 0 };
	struct err why = { 0 };
	struct filework_tree t = { 0 };
	int sys = 0;
	int manifest_fd cleanup(close_p) = -1;
	int fd cleanup(close_p) = filework_tree_open(c->parent_fd, name, &sys);
	int rc;

	if (fd < 0) {
		snprintf(row->reason, sizeof(row->reason), "%s",
			sys ? strerrordesc_np(sys) : "not a directory of its own");
		return;
	}
	rc = manifest_read(fd, &m, &manifest_fd, &why);
	if (rc < 0) {
		snprintf(row->reason, sizeof(row->reason), "%.190s", why.msg);
		return;
	}
	if (rc > 0) {
		if (is_bare(fd) && is_ours(fd))
			remove_it(c, name, fd, &manifest_fd, row);
		else
			snprintf(row->reason, sizeof(row->reason),
				"it has no manifest and is not empty");
		return;
	}
	memcpy(row->run_id, m.run_id, sizeof(row->run_id));
	row->living = may_live(c, &m, manifest_fd, row);
	if (row->living)
		return;
	workdir_empty(fd, false, &t);
	row->n_bytes = t.n_bytes;
	if (t.n_kept)
		keep_for(row, &t);
	else
		remove_it(c, name, fd, &manifest_fd, row);
}

static struct workdir_leftover *add_row(
	struct workdir_leftovers *l, const char *parent_path, const char *name)
{
	struct workdir_leftover *rows = realloc(l->rows, (l->n_rows + 1) * sizeof(*rows));
	size_t n_parent = strlen(parent_path);
	bool slash = n_parent && parent_path[n_parent - 1] == '/';
	struct workdir_leftover *row;

	if (!rows)
		return NULL;
	l->rows = rows;
	row = &rows[l->n_rows];
	*row = (struct workdir_leftover){ 0 };
	if (asprintf(&row->path, "%s%s%s", parent_path, slash ? "" : "/", name) < 0)
		return NULL;
	l->n_rows++;
	return row;
}

static int scan(const struct clean *c, const char *parent_path, struct workdir_leftovers *ret,
	struct err *e)
{
	int own_fd = openat(c->parent_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream cleanup(closedir_p) = own_fd >= 0 ? fdopendir(own_fd) : NULL;

	if (!stream) {
		int sys = errno;

		if (own_fd >= 0)
			close(own_fd);
		return err_set(e, ERR_IO, sys, "cannot list '%.200s'", parent_path);
	}
	errno = 0;
	for (struct dirent *d = readdir(stream); d; d = readdir(stream)) {
		if (workdir_is_name(d->d_name)) {
			struct workdir_leftover *row = add_row(ret, parent_path, d->d_name);

			if (!row)
				return err_set(e, ERR_NOMEM, 0, "no memory for the leftovers");
			look_at(c, d->d_name, row);
		}
		errno = 0;
	}
	if (errno)
		return err_set(e, ERR_IO, errno, "cannot list '%.200s'", parent_path);
	return 0;
}

int workdir_clean(const char *parent_path, const struct probe_root *root, int dry_run,
	struct workdir_leftovers *ret, struct err *e)
{
	struct clean c = { .root = root, .dry_run = dry_run != 0 };
	int parent_fd cleanup(close_p) = open(parent_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (parent_fd < 0)
		return err_set(e, errno == EIO ? ERR_IO : ERR_USAGE, errno,
			"cannot look for leftovers in '%.200s'", parent_path);
	c.parent_fd = parent_fd;
	c.on_network = is_on_network(root, parent_path);
	probe_host(root, &c.host);
	return scan(&c, parent_path, ret, e);
}

void workdir_leftovers_release(struct workdir_leftovers *l)
{
	for (size_t i = 0; i < l->n_rows; i++)
		free(l->rows[i].path);
	free(l->rows);
	*l = (struct workdir_leftovers){ 0 };
}

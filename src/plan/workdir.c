/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Everything goes by the two descriptors that were opened at the start, never by a path again: a
 * directory that is moved or swapped for a link meanwhile changes nothing elsewhere.
 */
#include "plan/workdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/rng.h"
#include "plan/filework_name.h"
#include "plan/manifest.h"
#include "plan/workdir_private.h"
#include "probe/probe.h"

enum { N_LETTERS = 6, N_TRIES = 100 };

static const char prefix[] = ".clyde-";
static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567"; /* 5 bits each */

/* ---- making it ---- */

bool workdir_is_name(const char *name)
{
	size_t n_prefix = strlen(prefix);

	return strncmp(name, prefix, n_prefix) == 0 &&
	       strspn(name + n_prefix, letters) == N_LETTERS && name[n_prefix + N_LETTERS] == '\0';
}

static void make_name(char name[sizeof(((struct workdir *)0)->name)])
{
	uint64_t random = rng_seed_from_system();
	char *at = name + strlen(prefix);

	memcpy(name, prefix, sizeof(prefix));
	for (int i = 0; i < N_LETTERS; i++, random >>= 5)
		*at++ = letters[random & 31];
	*at = '\0';
}

static int open_parent(const char *path, struct err *e)
{
	int flags = O_DIRECTORY | O_CLOEXEC;
	int fd = open(path, O_RDONLY | flags);

	/* Writing into a directory does not need the right to list it. */
	if (fd < 0 && errno == EACCES)
		fd = open(path, O_PATH | flags);
	if (fd < 0)
		err_set(e, errno == EIO ? ERR_IO : ERR_USAGE, errno,
			"cannot use '%.200s' as the directory to measure", path);
	return fd;
}

static int refuse(const char *path, int sys, struct err *e)
{
	switch (sys) {
	case EROFS:
		return err_set(e, ERR_UNSUPPORTED, 0,
			"cannot make test files in '%.200s': the file system is read-only; name "
			"an existing file in it, which is only read",
			path);
	case EACCES:
	case EPERM:
		return err_set(e, ERR_USAGE, sys,
			"cannot make test files in '%.200s', choose a directory you can write to",
			path);
	case ENOSPC:
	case EDQUOT:
		return err_set(e, ERR_UNSUPPORTED, sys, "cannot make test files in '%.200s'", path);
	default:
		return err_set(e, ERR_IO, sys, "cannot make test files in '%.200s'", path);
	}
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(take_fd(fd));
}

/* The directory without its manifest. 0, or -errno. */
static int make_dir(struct workdir *w)
{
	struct stat st;
	int rc;

	for (int i = 0; i < N_TRIES; i++) {
		make_name(w->name);
		rc = mkdirat(w->parent_fd, w->name, 0700) == 0 ? 0 : -errno;
		if (rc != -EEXIST)
			break;
	}
	if (rc != 0) {
		w->name[0] = '\0';
		return rc;
	}
	w->fd = openat(w->parent_fd, w->name,
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (w->fd < 0 || fstat(w->fd, &st) != 0) {
		rc = -errno;
		unlinkat(w->parent_fd, w->name, AT_REMOVEDIR); /* as empty as it was made */
		w->name[0] = '\0';
	}
	return rc;
}

static int make_with_manifest(
	struct workdir *w, const struct manifest *m, const char *parent_path, struct err *e)
{
	for (int i = 0;; i++) {
		struct err failed = { 0 };
		int rc = make_dir(w);

		if (rc != 0)
			return refuse(parent_path, -rc, e);
		if (manifest_write(w->fd, m, &w->manifest_fd, &failed) == 0)
			break;
		workdir_remove(w, NULL);
		/* A clean at this very moment takes an empty directory for a leftover. */
		if (failed.sys != ENOENT || i == N_TRIES)
			return refuse(parent_path, failed.sys, e);
	}
	fsync(w->parent_fd); /* best effort: without it a power cut may lose the directory */
	return 0;
}

int workdir_new(const char *parent_path, const char *run_id, const struct host_facts *host,
	struct workdir **ret, struct err *e)
{
	struct workdir *w cleanup(workdir_free_p) = calloc(1, sizeof(*w));
	struct manifest m = { .pid = (long)getpid() };

	if (!w)
		return err_set(e, ERR_NOMEM, 0, "no memory for a test directory");
	w->fd = w->manifest_fd = -1;
	snprintf(m.run_id, sizeof(m.run_id), "%s", run_id);
	snprintf(m.boot_id, sizeof(m.boot_id), "%s", host->boot_id);
	snprintf(m.hostname, sizeof(m.hostname), "%s", host->hostname);
	m.pid_start_ticks = probe_process_start_ticks(NULL, m.pid);
	w->parent_fd = open_parent(parent_path, e);
	if (w->parent_fd < 0 || make_with_manifest(w, &m, parent_path, e) != 0)
		return -1;
	*ret = take(w);
	return 0;
}

/* ---- its files ---- */

static bool is_file_name(const char *name)
{
	return strcmp(name, "data") == 0 || strcmp(name, "append") == 0;
}

static int open_file(struct workdir *w, const char *name, int flags, struct err *e)
{
	int fd = -1;

	if (!is_file_name(name))
		return err_set(e, ERR_BUG, 0, "'%s' is not a name of a test file", name);
	do
		fd = openat(w->fd, name, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return err_set(e, ERR_IO, errno, "cannot %s the test file '%s/%s'",
			flags & O_CREAT ? "make" : "open", w->name, name);
	return fd;
}

int workdir_create_file(struct workdir *w, const char *name, int flags, struct err *e)
{
	return open_file(w, name, flags | O_CREAT | O_EXCL, e);
}

int workdir_open_file(struct workdir *w, const char *name, int flags, struct err *e)
{
	return open_file(w, name, flags & ~(O_CREAT | O_EXCL), e);
}

int workdir_remove_file(struct workdir *w, const char *name, struct err *e)
{
	if (!is_file_name(name))
		return err_set(e, ERR_BUG, 0, "'%s' is not a name of a test file", name);
	if (unlinkat(w->fd, name, 0) != 0 && errno != ENOENT)
		return err_set(
			e, ERR_IO, errno, "cannot remove the test file '%s/%s'", w->name, name);
	return 0;
}

/* ---- removing it ---- */

static bool is_manifest(const char *name)
{
	return strcmp(name, MANIFEST_NAME) == 0 || strcmp(name, MANIFEST_NAME_NEW) == 0;
}

/* Notes entries that clyde does not make. */
static void find_strangers(int fd, struct filework_tree *t)
{
	int own_fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream cleanup(closedir_p) = own_fd >= 0 ? fdopendir(own_fd) : NULL;

	if (!stream) {
		if (errno != ENOENT)
			filework_tree_keep(t, "", "", errno);
		if (own_fd >= 0)
			close(own_fd);
		return;
	}
	for (struct dirent *d = readdir(stream); d; d = readdir(stream)) {
		const char *name = d->d_name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || is_manifest(name) ||
			is_file_name(name) || strcmp(name, FILEWORK_TREE) == 0)
			continue;
		filework_tree_keep(t, "", name, 0);
	}
}

void workdir_empty(int fd, bool remove, struct filework_tree *t)
{
	filework_tree_file(fd, "", "data", remove, t);
	filework_tree_file(fd, "", "append", remove, t);
	filework_tree_walk(fd, remove, t);
	find_strangers(fd, t);
}

/* Whether @name in @parent_fd is still the directory open as @fd. */
static bool still_there(int parent_fd, const char *name, int fd)
{
	struct stat there, ours;

	return fstatat(parent_fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstat(fd, &ours) == 0 && there.st_dev == ours.st_dev && there.st_ino == ours.st_ino;
}

void workdir_finish(int parent_fd, const char *name, int fd, struct filework_tree *t)
{
	struct stat st;

	if (!still_there(parent_fd, name, fd)) {
		/* Without a link left, the directory was removed by someone else; else moved. */
		if (fstat(fd, &st) == 0 && st.st_nlink > 0)
			filework_tree_keep(t, "", "", ESTALE);
		return;
	}
	filework_tree_file(fd, "", MANIFEST_NAME_NEW, true, t);
	filework_tree_file(fd, "", MANIFEST_NAME, true, t);
	if (t->n_kept)
		return;
	if (unlinkat(parent_fd, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
		filework_tree_keep(t, "", "", errno);
}

int workdir_remove(struct workdir *w, struct err *e)
{
	struct filework_tree t = { 0 };
	char where[sizeof(w->name) + 1];

	if (w->fd < 0)
		return 0;
	workdir_empty(w->fd, true, &t);
	if (t.n_kept == 0) {
		/* NFS and FUSE rename what is open and removed, and the directory stays full. */
		close_fd(&w->manifest_fd);
		workdir_finish(w->parent_fd, w->name, w->fd, &t);
	}
	snprintf(where, sizeof(where), "%s/", w->name);
	if (filework_tree_error(&t, where, e) != 0)
		return -1;
	close_fd(&w->manifest_fd);
	close_fd(&w->fd);
	return 0;
}

void workdir_free(struct workdir *w)
{
	if (!w)
		return;
	workdir_remove(w, NULL);
	close_fd(&w->manifest_fd);
	close_fd(&w->fd);
	close_fd(&w->parent_fd);
	free(w);
}

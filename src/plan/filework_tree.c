/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A directory is emptied in passes: what readdir(3) returns for entries that come or go during a
 * pass is not specified by POSIX, so a pass is repeated as long as it removed something and the
 * directory is still not empty.
 */
#include "plan/filework_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "plan/filework_name.h"

enum { DIR_TEXT_MAX = sizeof(FILEWORK_TREE) + FILEWORK_DIR_DIGITS + 4 };

void filework_tree_keep(struct filework_tree *t, const char *dir, const char *name, int sys)
{
	if (t->n_kept++ > 0)
		return;
	/* A long name is cut: it is for a person to find the place. */
	if (snprintf(t->kept, sizeof(t->kept), "%s%.72s", dir, name) < 0)
		t->kept[0] = '\0';
	t->kept_sys = sys;
}

static void add(struct filework_tree *into, const struct filework_tree *from)
{
	uint64_t n_kept = into->n_kept + from->n_kept;

	into->n_bytes += from->n_bytes;
	into->n_removed += from->n_removed;
	if (into->n_kept == 0 && from->n_kept > 0) {
		memcpy(into->kept, from->kept, sizeof(into->kept));
		into->kept_sys = from->kept_sys;
	}
	into->n_kept = n_kept;
}

/* Bind mounts have the device number of their file system: the mount id (5.8) tells them apart. */
static bool same_mount(int a_fd, int b_fd)
{
	unsigned mask = STATX_BASIC_STATS | STATX_MNT_ID;
	struct statx a, b;

	if (statx(a_fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, mask, &a) != 0 ||
		statx(b_fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, mask, &b) != 0)
		return false;
	if (a.stx_mask & b.stx_mask & STATX_MNT_ID)
		return a.stx_mnt_id == b.stx_mnt_id;
	return a.stx_dev_major == b.stx_dev_major && a.stx_dev_minor == b.stx_dev_minor;
}

int filework_tree_open(int dir_fd, const char *name, int *ret_sys)
{
	int fd cleanup(close_p) =
		openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0) {
		/* Not a directory at all: not what clyde made. */
		*ret_sys = errno == ENOTDIR || errno == ELOOP ? 0 : errno;
		return -1;
	}
	if (!same_mount(dir_fd, fd)) {
		*ret_sys = 0;
		return -1;
	}
	return take_fd(&fd);
}

void filework_tree_file(
	int dir_fd, const char *dir, const char *name, bool remove, struct filework_tree *t)
{
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		if (errno != ENOENT)
			filework_tree_keep(t, dir, name, errno);
		return;
	}
	if (!S_ISREG(st.st_mode)) {
		filework_tree_keep(t, dir, name, 0);
		return;
	}
	if (!remove) {
		/* Two names share the blocks. */
		t->n_bytes += (uint64_t)st.st_blocks * 512 / (st.st_nlink ? st.st_nlink : 1);
		return;
	}
	if (unlinkat(dir_fd, name, 0) == 0)
		t->n_removed++;
	else if (errno != ENOENT)
		filework_tree_keep(t, dir, name, errno);
}

typedef void entry_fn(
	int dir_fd, const char *dir, const char *name, bool remove, struct filework_tree *t);

/* One pass over the entries of @fd. */
static void pass(int fd, const char *dir, entry_fn *fn, bool remove, struct filework_tree *t)
{
	int own_fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream cleanup(closedir_p) = own_fd >= 0 ? fdopendir(own_fd) : NULL;

	if (!stream) {
		filework_tree_keep(t, dir, "", errno);
		if (own_fd >= 0)
			close(own_fd);
		return;
	}
	errno = 0;
	for (struct dirent *d = readdir(stream); d; d = readdir(stream)) {
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			fn(fd, dir, d->d_name, remove, t);
		errno = 0;
	}
	if (errno)
		filework_tree_keep(t, dir, "", errno);
}

/* Empties the directory @fd and removes its name from @parent_fd, or counts. */
static void walk_dir(
	int parent_fd, const char *name, const char *dir, entry_fn *fn, struct filework_tree *t)
{
	int sys = 0;
	int fd cleanup(close_p) = filework_tree_open(parent_fd, name, &sys);

	if (fd < 0) {
		if (sys != ENOENT)
			filework_tree_keep(t, "", dir, sys);
		return;
	}
	for (;;) {
		struct filework_tree one = { 0 };

		pass(fd, dir, fn, true, &one);
		add(t, &one);
		if (one.n_kept)
			return;
		if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0) {
			t->n_removed++;
			return;
		}
		if (errno == ENOENT)
			return;
		if ((errno != ENOTEMPTY && errno != EEXIST) || one.n_removed == 0) {
			filework_tree_keep(t, "", dir, errno);
			return;
		}
	}
}

static void count_dir(
	int parent_fd, const char *name, const char *dir, entry_fn *fn, struct filework_tree *t)
{
	int sys = 0;
	int fd cleanup(close_p) = filework_tree_open(parent_fd, name, &sys);

	if (fd >= 0)
		pass(fd, dir, fn, false, t);
	else if (sys != ENOENT)
		filework_tree_keep(t, "", dir, sys);
}

static void file_entry(
	int dir_fd, const char *dir, const char *name, bool remove, struct filework_tree *t)
{
	if (filework_is_file_name(name))
		filework_tree_file(dir_fd, dir, name, remove, t);
	else
		filework_tree_keep(t, dir, name, 0);
}

static void dir_entry(
	int dir_fd, const char *dir, const char *name, bool remove, struct filework_tree *t)
{
	char inner[DIR_TEXT_MAX];

	if (!filework_is_dir_name(name)) {
		filework_tree_keep(t, dir, name, 0);
		return;
	}
	snprintf(inner, sizeof(inner), "%s%.*s/", FILEWORK_TREE "/", FILEWORK_DIR_DIGITS + 1, name);
	(remove ? walk_dir : count_dir)(dir_fd, name, inner, file_entry, t);
}

void filework_tree_walk(int dir_fd, bool remove, struct filework_tree *t)
{
	(remove ? walk_dir : count_dir)(dir_fd, FILEWORK_TREE, FILEWORK_TREE "/", dir_entry, t);
}

int filework_tree_error(const struct filework_tree *t, const char *where, struct err *e)
{
	char more[48] = "";

	if (t->n_kept == 0)
		return 0;
	if (t->n_kept > 1)
		snprintf(more, sizeof(more), " (and %llu more)", (unsigned long long)t->n_kept - 1);
	if (t->kept_sys)
		return err_set(
			e, ERR_IO, t->kept_sys, "cannot remove '%s%s'%s", where, t->kept, more);
	return err_set(e, ERR_IO, 0,
		"kept '%s%s'%s: clyde did not make it; move it away and run clyde clean", where,
		t->kept, more);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The test directory, floor 3: one directory of our own inside the target, ".clyde-XXXXXX", made
 * with mkdirat, everything in it opened with openat + O_NOFOLLOW, with a manifest that says whose
 * it is. Removed at the end, on error and on signals; what a SIGKILL leaves, workdir_clean()
 * finds: only with a manifest that matches, only of runs whose process is gone, and only entries
 * of names that clyde makes. Manifest form: docs/formats.md.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct err;
struct host_facts;
struct probe_root;

struct workdir {
	int parent_fd;	 /* the target directory */
	int fd;		 /* our directory; -1 once it is removed */
	int manifest_fd; /* locked as long as the run lives */
	char name[32];	 /* ".clyde-XXXXXX" */
};

/**
 * workdir_new() - makes the directory (0700) and its manifest
 * @parent_path: existing directory
 * @run_id:      of the result, kept in the manifest
 *
 * Return: 0; -1 with ERR_USAGE (not a directory, no permission), ERR_UNSUPPORTED (read-only, no
 *         space), ERR_IO or ERR_NOMEM; nothing is left behind
 */
int workdir_new(const char *parent_path, const char *run_id, const struct host_facts *host,
	struct workdir **ret, struct err *e);

/*
 * Removes everything of clyde's in it, the manifest last, and itself. What clyde did not make is
 * kept, and the manifest with it. 0, or -1 with ERR_IO naming what stayed. Idempotent.
 */
int workdir_remove(struct workdir *w, struct err *e);

/* workdir_remove() without a report, then frees. */
void workdir_free(struct workdir *w);
DEFINE_CLEANUP(struct workdir *, workdir_free)

/**
 * workdir_create_file() - a new regular file in it (O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
 * @name:  "data" or "append"; the only names there are
 * @flags: O_RDWR, O_DIRECT, ... for openat(2)
 *
 * Return: an fd; -1 with ERR_IO
 */
int workdir_create_file(struct workdir *w, const char *name, int flags, struct err *e);

/* Opens a file made before, same rules. */
int workdir_open_file(struct workdir *w, const char *name, int flags, struct err *e);

/* 0, also when there is none; -1 with ERR_IO. */
int workdir_remove_file(struct workdir *w, const char *name, struct err *e);

struct workdir_leftover {
	char *path; /* owned by the list */
	char run_id[40];
	uint64_t n_bytes; /* allocated */
	int removed;	  /* 1: removed; 0: kept, see reason */
	int living;	  /* 1: kept because its run may still live */
	char reason[200]; /* why kept: "still in use by process 4711", "manifest does not match" */
};

struct workdir_leftovers {
	struct workdir_leftover *rows;
	size_t n_rows;
};

/**
 * workdir_clean() - removes leftovers of dead runs directly inside @parent_path
 * @dry_run: only list; what would go has the reason "would be removed"
 * @ret:     { 0 } before; released by the caller, also after an error
 *
 * A directory of our kind of name without a manifest goes only when it is empty. A run of another
 * machine on a network file system is left to that machine.
 *
 * Return: 0, or -1 with ERR_USAGE/ERR_IO; *ret holds what was seen until then
 */
int workdir_clean(const char *parent_path, const struct probe_root *root, int dry_run,
	struct workdir_leftovers *ret, struct err *e);
void workdir_leftovers_release(struct workdir_leftovers *l);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Counting and removing what clyde made inside a test directory, floor 3. By file descriptor and
 * without following links: an entry swapped for a symbolic link or a mount while this runs leads
 * nowhere else. Names that clyde does not make, and entries of another kind than clyde makes under
 * a name, are kept and reported. Memory does not grow with the number of files.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct err;

/* What a walk saw. Starts as { 0 }; several walks may add to one. */
struct filework_tree {
	uint64_t n_bytes; /* allocated */
	uint64_t n_removed;
	uint64_t n_kept;
	char kept[96]; /* the first one, relative to the test directory; cut if longer */
	int kept_sys;  /* errno of its removal; 0: not clyde's */
};

/* Notes an entry that stays. @dir: "" or "files/d000001/"; @sys: 0: not made by clyde */
void filework_tree_keep(struct filework_tree *t, const char *dir, const char *name, int sys);

/**
 * filework_tree_file() - one regular file, under a name that the caller knows to be clyde's
 * @dir: of @name, for the report
 * @remove: false: only counts
 */
void filework_tree_file(
	int dir_fd, const char *dir, const char *name, bool remove, struct filework_tree *t);

/* The "files" tree inside @dir_fd; none there is fine. */
void filework_tree_walk(int dir_fd, bool remove, struct filework_tree *t);

/* An entry that is a directory on the same mount as @dir_fd, opened; -1: it is not, see *ret_sys.
 */
int filework_tree_open(int dir_fd, const char *name, int *ret_sys);

/**
 * filework_tree_error() - says what stayed
 * @where: what it is relative to, for the message; may be ""
 *
 * Return: 0 if nothing was kept; -1 with ERR_IO
 */
int filework_tree_error(const struct filework_tree *t, const char *where, struct err *e);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What workdir*.c share; nobody else includes it. */
#pragma once

#include <stdbool.h>

#include "plan/filework_tree.h"
#include "plan/workdir.h"

/* ".clyde-" and six of the letters that workdir_new() takes. */
bool workdir_is_name(const char *name);

/**
 * workdir_empty() - all of clyde's inside the directory @fd but the manifest
 * @remove: false: only counts. true: removes, then notes what is not clyde's in @t
 */
void workdir_empty(int fd, bool remove, struct filework_tree *t);

/**
 * workdir_finish() - the manifest and the directory itself, which is empty else
 *
 * Nothing but the directory open as @fd is removed, whatever @name has become. Gone already is
 * fine. What stays is noted in @t.
 */
void workdir_finish(int parent_fd, const char *name, int fd, struct filework_tree *t);

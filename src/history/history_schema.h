/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The schema of the history as numbered migrations, inside history/. The version of a file is its
 * PRAGMA user_version; the application id says that it is a clyde history at all.
 */
#pragma once

#include <stddef.h>

struct db;
struct err;

enum { HISTORY_APPLICATION_ID = 0x436c7964 }; /* "Clyd" */

/* SQL that takes a file from version i to i + 1. A row that was released never changes. */
extern const char *const history_migrations[];
extern const size_t history_n_migrations;

/**
 * history_schema_version() - what kind of file this is
 * @n_known:     newest version that can be read
 * @ret_version: 0: an empty file
 *
 * Return: 0; -1 with ERR_FORMAT (not a clyde history), ERR_UNSUPPORTED (newer than @n_known),
 * ERR_IO
 */
int history_schema_version(const struct db *db, size_t n_known, size_t *ret_version, struct err *e);

/**
 * history_schema_migrate() - brings the file to version @n, all steps in one transaction
 *
 * Any number of processes may try at once: one does it, the others see it done.
 *
 * Return: 0, or -1 (nothing has changed then)
 */
int history_schema_migrate(
	const struct db *db, const char *const *migrations, size_t n, struct err *e);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of the files tree, floor 3, shared by the one who makes them and the one who removes them:
 *
 *   files/dNNNNNN/fNNNNNNNNN   a file
 *   files/dNNNNNN/rNNNNNNNNN   the same file after an odd number of renames
 *   files/dNNNNNN/lNNNNNNNNN   its second name
 *
 * Fixed widths, so that the order of the index is the order of the names. Written by hand, not by
 * snprintf(): they are made inside the measuring loop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FILEWORK_DIR_DIGITS = 6,
	FILEWORK_FILE_DIGITS = 9,
	FILEWORK_N_DIRS_MAX = 1000000,
	FILEWORK_N_FILES_MAX = 1000000000,
	FILEWORK_PATH_MAX = 24, /* "dNNNNNN/fNNNNNNNNN" and its NUL */
};

#define FILEWORK_TREE "files"

/* Writes letter, digits and a NUL at @at; returns where the NUL is. */
static inline char *filework_name(char *at, char letter, uint64_t number, unsigned n_digits)
{
	uint32_t rest = (uint32_t)number;

	*at = letter;
	for (unsigned i = n_digits; i > 0; i--) {
		at[i] = (char)('0' + rest % 10);
		rest /= 10;
	}
	at += n_digits + 1;
	*at = '\0';
	return at;
}

static inline bool filework_name_is(const char *name, const char *letters, unsigned n_digits)
{
	bool known = false;

	for (const char *l = letters; *l; l++)
		known |= name[0] == *l;
	if (!known)
		return false;
	for (unsigned i = 1; i <= n_digits; i++)
		if (name[i] < '0' || name[i] > '9')
			return false;
	return name[n_digits + 1] == '\0';
}

static inline bool filework_is_dir_name(const char *name)
{
	return filework_name_is(name, "d", FILEWORK_DIR_DIGITS);
}

static inline bool filework_is_file_name(const char *name)
{
	return filework_name_is(name, "frl", FILEWORK_FILE_DIGITS);
}

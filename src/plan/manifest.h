/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The manifest of a test directory, floor 3: whose it is. A few lines of text with a magic first
 * line and a last line that only a whole manifest has (docs/formats.md). What is read is hostile:
 * anyone may have laid a directory with our kind of name.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct err;

enum {
	MANIFEST_BYTES_MAX = 512, /* a longer file is not one of ours */
	MANIFEST_WORD_MAX = 64,
};

#define MANIFEST_NAME	  "manifest"
#define MANIFEST_NAME_NEW "manifest.new" /* while it is written */

struct manifest {
	char run_id[40];
	long pid;			  /* > 0 */
	uint64_t pid_start_ticks;	  /* 0: not known */
	char boot_id[MANIFEST_WORD_MAX];  /* "": not known */
	char hostname[MANIFEST_WORD_MAX]; /* "": not known */
};

/**
 * manifest_format() - the text; bytes that the form has no room for become '?'
 *
 * Return: its length without the NUL
 */
size_t manifest_format(const struct manifest *m, char text[MANIFEST_BYTES_MAX]);

/**
 * manifest_parse() - reads the text
 * @text: [n_bytes] any bytes
 * @ret:  untouched on failure
 *
 * Strict: these lines in this order and nothing else, so that manifest_format() of what was read
 * is the text again.
 *
 * Return: 0, or -1 with ERR_FORMAT naming the line
 */
int manifest_parse(const char *text, size_t n_bytes, struct manifest *ret, struct err *e);

/**
 * manifest_write() - makes MANIFEST_NAME inside @dir_fd: whole and on the disk, or not at all
 * @ret_fd: stays open and locked (flock(2)) as long as the run lives; the caller closes
 *
 * Return: 0, or -1 with ERR_IO (e->sys is ENOENT when the directory went away)
 */
int manifest_write(int dir_fd, const struct manifest *m, int *ret_fd, struct err *e);

/**
 * manifest_read() - opens and checks MANIFEST_NAME inside @dir_fd
 * @ret_fd: open, for flock(2); the caller closes
 *
 * A regular file with one name, not a link, small, of this user or root, not writable by others.
 *
 * Return: 0; 1 if there is none; -1 with ERR_FORMAT or ERR_IO
 */
int manifest_read(int dir_fd, struct manifest *ret, int *ret_fd, struct err *e);

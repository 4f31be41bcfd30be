/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Small files of sysfs and procfs, floor 1, private to probe/. What is read is hostile: a file
 * that is missing, longer than expected or not of the form asked for is "not known" (-1), and
 * nothing here says why, because nobody can act on it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "probe/probe.h"

enum {
	SYSFILE_PATH_MAX = 4096,
	SYSFILE_TEXT_MAX = 4096, /* sysfs attributes are at most a page */
};

struct probe_dev {
	unsigned major, minor;
};

static inline bool probe_dev_equal(struct probe_dev a, struct probe_dev b)
{
	return a.major == b.major && a.minor == b.minor;
}

static inline const char *probe_root_sys(const struct probe_root *root)
{
	return root && root->sys ? root->sys : "/sys";
}

static inline const char *probe_root_proc(const struct probe_root *root)
{
	return root && root->proc ? root->proc : "/proc";
}

/* Whether /sys is the running kernel's: only then do device nodes and udev speak of the same. */
static inline bool probe_sys_is_real(const char *sys)
{
	return strcmp(sys, "/sys") == 0;
}

/**
 * sysfile_read() - a whole small file, without white space at its end
 * @text:       filled and NUL-terminated; untouched on failure
 * @room_bytes: [bytes] a longer file is refused, never cut
 *
 * Return: length; -1 if missing, unreadable or too long
 */
int sysfile_read(char *text, size_t room_bytes, const char *path_fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A file that is one unsigned decimal number. Return: 0; -1 (@ret_value untouched) */
int sysfile_u64(uint64_t *ret_value, const char *path_fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A file that is "MAJOR:MINOR". Return: 0; -1 (@ret_dev untouched) */
int sysfile_dev(struct probe_dev *ret_dev, const char *path_fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A line for a person, "" if not known: control and non-ASCII bytes become '?', ends trimmed. */
void sysfile_label(char *label, size_t room_bytes, const char *path_fmt, ...)
	__attribute__((format(printf, 3, 4)));

bool sysfile_exists(const char *path_fmt, ...) __attribute__((format(printf, 1, 2)));

/**
 * sysfile_parse_u64() - the decimal number at *@cursor, which moves behind it
 *
 * Return: 0; -1 without a digit there or on overflow (both untouched)
 */
int sysfile_parse_u64(const char **cursor, uint64_t *ret_value);

/* "MAJOR:MINOR" and nothing else. Return: 0; -1 */
int sysfile_parse_dev(const char *text, struct probe_dev *ret_dev);

/* Copies what fits, always terminated, cleaned as sysfile_label() does. */
void sysfile_clean(char *label, size_t room_bytes, const char *text);

/* Copies what fits of a path or option string, always terminated, bytes as they are. */
void sysfile_copy(char *copy, size_t room_bytes, const char *text);

/**
 * sysfile_dir_each() - calls @fn with every entry of a directory but those beginning with a dot
 * @fn: returns false to stop
 *
 * Return: entries seen; -1 if the directory cannot be read
 */
int sysfile_dir_each(const char *path, bool (*fn)(const char *name, void *ctx), void *ctx);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reading and parsing small files of sysfs and procfs strictly: the whole text must have the form
 * that the kernel writes (Documentation/ABI/stable/sysfs-block), or it is not known.
 */
#include "probe/sysfile.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int open_path(const char *path_fmt, va_list args) __attribute__((format(printf, 1, 0)));

/* O_NONBLOCK: a laid-out tree may hold a FIFO where a number is expected. */
static int open_path(const char *path_fmt, va_list args)
{
	char path[SYSFILE_PATH_MAX];
	int n = vsnprintf(path, sizeof(path), path_fmt, args);

	if (n < 0 || (size_t)n >= sizeof(path))
		return -1;
	return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static int read_all(char *text, size_t room_bytes, int fd)
{
	size_t n_bytes = 0;

	while (n_bytes < room_bytes) {
		ssize_t n = read(fd, text + n_bytes, room_bytes - n_bytes);

		if (n < 0)
			return -1;
		if (n == 0)
			break;
		n_bytes += (size_t)n;
	}
	if (n_bytes >= room_bytes || memchr(text, '\0', n_bytes))
		return -1;
	while (n_bytes > 0 && is_space(text[n_bytes - 1]))
		n_bytes--;
	text[n_bytes] = '\0';
	return (int)n_bytes;
}

static int vread(char *text, size_t room_bytes, const char *path_fmt, va_list args)
	__attribute__((format(printf, 3, 0)));

static int vread(char *text, size_t room_bytes, const char *path_fmt, va_list args)
{
	char whole[SYSFILE_TEXT_MAX + 1];
	int fd cleanup(close_p) = open_path(path_fmt, args);

	if (fd < 0)
		return -1;
	int n_bytes = read_all(whole, sizeof(whole), fd);
	if (n_bytes < 0 || (size_t)n_bytes >= room_bytes)
		return -1;
	memcpy(text, whole, (size_t)n_bytes + 1);
	return n_bytes;
}

int sysfile_read(char *text, size_t room_bytes, const char *path_fmt, ...)
{
	va_list args;

	va_start(args, path_fmt);
	int n_bytes = vread(text, room_bytes, path_fmt, args);
	va_end(args);
	return n_bytes;
}

int sysfile_parse_u64(const char **cursor, uint64_t *ret_value)
{
	const char *p = *cursor;
	uint64_t value = 0;

	if (*p < '0' || *p > '9')
		return -1;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(value, 10u, &value) ||
			__builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return -1;
	}
	*cursor = p;
	*ret_value = value;
	return 0;
}

int sysfile_parse_dev(const char *text, struct probe_dev *ret_dev)
{
	const char *p = text;
	uint64_t major_number;
	uint64_t minor_number;

	if (sysfile_parse_u64(&p, &major_number) < 0 || *p++ != ':')
		return -1;
	if (sysfile_parse_u64(&p, &minor_number) < 0 || *p != '\0')
		return -1;
	if (major_number > UINT_MAX || minor_number > UINT_MAX)
		return -1;
	*ret_dev = (struct probe_dev){ (unsigned)major_number, (unsigned)minor_number };
	return 0;
}

int sysfile_u64(uint64_t *ret_value, const char *path_fmt, ...)
{
	char text[32];
	const char *p = text;
	uint64_t value;
	va_list args;

	va_start(args, path_fmt);
	int n_bytes = vread(text, sizeof(text), path_fmt, args);
	va_end(args);
	if (n_bytes < 0 || sysfile_parse_u64(&p, &value) < 0 || *p != '\0')
		return -1;
	*ret_value = value;
	return 0;
}

int sysfile_dev(struct probe_dev *ret_dev, const char *path_fmt, ...)
{
	char text[32];
	va_list args;

	va_start(args, path_fmt);
	int n_bytes = vread(text, sizeof(text), path_fmt, args);
	va_end(args);
	return n_bytes < 0 ? -1 : sysfile_parse_dev(text, ret_dev);
}

void sysfile_clean(char *label, size_t room_bytes, const char *text)
{
	size_t n_bytes = 0;

	while (is_space(*text))
		text++;
	for (; *text && n_bytes + 1 < room_bytes; text++)
		label[n_bytes++] = *text < 0x20 || *text > 0x7e ? '?' : *text;
	while (n_bytes > 0 && label[n_bytes - 1] == ' ')
		n_bytes--;
	label[n_bytes] = '\0';
}

void sysfile_copy(char *copy, size_t room_bytes, const char *text)
{
	size_t n_bytes = strnlen(text ? text : "", room_bytes - 1);

	memcpy(copy, text ? text : "", n_bytes);
	copy[n_bytes] = '\0';
}

void sysfile_label(char *label, size_t room_bytes, const char *path_fmt, ...)
{
	char text[SYSFILE_TEXT_MAX + 1];
	va_list args;

	va_start(args, path_fmt);
	int n_bytes = vread(text, sizeof(text), path_fmt, args);
	va_end(args);
	sysfile_clean(label, room_bytes, n_bytes < 0 ? "" : text);
}

bool sysfile_exists(const char *path_fmt, ...)
{
	char path[SYSFILE_PATH_MAX];
	va_list args;

	va_start(args, path_fmt);
	int n = vsnprintf(path, sizeof(path), path_fmt, args);
	va_end(args);
	return n >= 0 && (size_t)n < sizeof(path) && access(path, F_OK) == 0;
}

int sysfile_dir_each(const char *path, bool (*fn)(const char *name, void *ctx), void *ctx)
{
	DIR *dir cleanup(closedir_p) = opendir(path);
	int n_entries = 0;

	if (!dir)
		return -1;
	for (struct dirent *entry; n_entries < INT_MAX && (entry = readdir(dir));) {
		if (entry->d_name[0] == '.')
			continue;
		n_entries++;
		if (!fn(entry->d_name, ctx))
			break;
	}
	return n_entries;
}

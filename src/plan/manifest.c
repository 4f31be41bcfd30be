/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Written under another name, brought to the disk and renamed: after a kill or a power cut there
 * is a whole manifest or none. The lock on it tells that the run lives even where its process id
 * means nothing (another pid namespace, another machine on a network file system with locks).
 */
#include "plan/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"

#define MAGIC "clyde workdir 1"

static bool is_word_byte(char c)
{
	return c > ' ' && c < 0x7f;
}

static const char *clean_word(const char *word, char clean[MANIFEST_WORD_MAX])
{
	size_t n = 0;

	for (; word[n] && n < MANIFEST_WORD_MAX - 1; n++)
		clean[n] = is_word_byte(word[n]) ? word[n] : '?';
	clean[n] = '\0';
	return clean;
}

size_t manifest_format(const struct manifest *m, char text[MANIFEST_BYTES_MAX])
{
	char run[MANIFEST_WORD_MAX], boot[MANIFEST_WORD_MAX], host[MANIFEST_WORD_MAX];
	int n = snprintf(text, MANIFEST_BYTES_MAX,
		MAGIC "\nrun=%s\npid=%ld\npid_start_ticks=%" PRIu64 "\nboot_id=%s\nhostname=%s\n"
		      "complete=1\n",
		clean_word(m->run_id, run), m->pid, m->pid_start_ticks,
		clean_word(m->boot_id, boot), clean_word(m->hostname, host));

	return n > 0 ? (size_t)n : 0;
}

/* ---- reading ---- */

struct reader {
	const char *at;
	const char *end;
	int n_lines;
};

static int bad_line(const struct reader *r, const char *what, struct err *e)
{
	return err_set(e, ERR_FORMAT, 0, "line %d of the manifest is not %s", r->n_lines, what);
}

/* The next line, NUL-terminated in @line, with "@key=" taken off. */
static int next_line(struct reader *r, const char *key, char line[MANIFEST_WORD_MAX], struct err *e)
{
	size_t n_key = strlen(key);
	const char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
	size_t n;

	r->n_lines++;
	if (!newline || (size_t)(newline - r->at) < n_key || memcmp(r->at, key, n_key) != 0)
		return bad_line(r, key, e);
	r->at += n_key;
	n = (size_t)(newline - r->at);
	if (n >= MANIFEST_WORD_MAX)
		return bad_line(r, "short enough", e);
	for (size_t i = 0; i < n; i++)
		if (!is_word_byte(r->at[i]))
			return bad_line(r, "plain text", e);
	memcpy(line, r->at, n);
	line[n] = '\0';
	r->at = newline + 1;
	return 0;
}

/* Digits as printf() writes them: no sign, no zero in front. */
static int next_number(
	struct reader *r, const char *key, uint64_t max, uint64_t *ret_value, struct err *e)
{
	char text[MANIFEST_WORD_MAX] = "";
	uint64_t value = 0;

	if (next_line(r, key, text, e) != 0)
		return -1;
	if (text[0] == '\0' || (text[0] == '0' && text[1] != '\0'))
		return bad_line(r, "a number", e);
	for (const char *p = text; *p; p++) {
		if (*p < '0' || *p > '9' || __builtin_mul_overflow(value, 10u, &value) ||
			__builtin_add_overflow(value, (unsigned)(*p - '0'), &value) || value > max)
			return bad_line(r, "a number in range", e);
	}
	*ret_value = value;
	return 0;
}

int manifest_parse(const char *text, size_t n_bytes, struct manifest *ret, struct err *e)
{
	struct reader r = { .at = text, .end = text + n_bytes };
	struct manifest m = { 0 };
	uint64_t pid = 0;
	size_t n_magic = strlen(MAGIC "\n");
	char run_id[MANIFEST_WORD_MAX] = "", last[MANIFEST_WORD_MAX] = "";

	if (n_bytes > MANIFEST_BYTES_MAX)
		return err_set(e, ERR_FORMAT, 0, "the manifest is too long");
	r.n_lines = 1;
	if (n_bytes < n_magic || memcmp(text, MAGIC "\n", n_magic) != 0)
		return bad_line(&r, "'" MAGIC "'", e);
	r.at += n_magic;
	if (next_line(&r, "run=", run_id, e) != 0)
		return -1;
	if (strlen(run_id) >= sizeof(m.run_id))
		return bad_line(&r, "a run id", e);
	memcpy(m.run_id, run_id, strlen(run_id) + 1);
	if (next_number(&r, "pid=", INT_MAX, &pid, e) != 0)
		return -1;
	if (pid == 0)
		return bad_line(&r, "a process id", e);
	m.pid = (long)pid;
	if (next_number(&r, "pid_start_ticks=", UINT64_MAX, &m.pid_start_ticks, e) != 0 ||
		next_line(&r, "boot_id=", m.boot_id, e) != 0 ||
		next_line(&r, "hostname=", m.hostname, e) != 0 ||
		next_line(&r, "complete=", last, e) != 0)
		return -1;
	if (strcmp(last, "1") != 0 || r.at != r.end)
		return bad_line(&r, "its end", e);
	*ret = m;
	return 0;
}

/* ---- files ---- */

static int write_all(int fd, const char *text, size_t n_bytes)
{
	while (n_bytes > 0) {
		ssize_t n = write(fd, text, n_bytes);

		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0) {
			text += n;
			n_bytes -= (size_t)n;
		}
	}
	return 0;
}

/* Some file systems have no fsync, of directories at least: then there is nothing to wait for. */
static int sync_file(int fd)
{
	int rc;

	do
		rc = fsync(fd);
	while (rc != 0 && errno == EINTR);
	return rc == 0 || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP ? 0 : -1;
}

int manifest_write(int dir_fd, const struct manifest *m, int *ret_fd, struct err *e)
{
	char text[MANIFEST_BYTES_MAX];
	size_t n_bytes = manifest_format(m, text);
	int fd cleanup(close_p) = openat(dir_fd, MANIFEST_NAME_NEW,
		O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	/* A file system without locks still has the process id. */
	if (fd < 0 || (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) ||
		write_all(fd, text, n_bytes) != 0 || sync_file(fd) != 0 ||
		renameat(dir_fd, MANIFEST_NAME_NEW, dir_fd, MANIFEST_NAME) != 0 ||
		sync_file(dir_fd) != 0)
		return err_set(e, ERR_IO, errno, "cannot write the manifest of the test directory");
	*ret_fd = take_fd(&fd);
	return 0;
}

static int check_file(int fd, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return err_set(e, ERR_IO, errno, "cannot look at the manifest");
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
		return err_set(e, ERR_FORMAT, 0, "the manifest is not a plain file");
	if (st.st_size > MANIFEST_BYTES_MAX)
		return err_set(e, ERR_FORMAT, 0, "the manifest is too long");
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return err_set(e, ERR_FORMAT, 0, "belongs to user %u; run clyde clean as that user",
			st.st_uid);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return err_set(e, ERR_FORMAT, 0, "others can write its manifest");
	return 0;
}

static ssize_t read_all(int fd, char *text, size_t room_bytes)
{
	size_t n_bytes = 0;

	while (n_bytes < room_bytes) {
		ssize_t n = pread(fd, text + n_bytes, room_bytes - n_bytes, (off_t)n_bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		n_bytes += (size_t)n;
	}
	return (ssize_t)n_bytes;
}

/* For writing where that works: a lock over NFS needs it. */
static int open_manifest(int dir_fd)
{
	int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	int fd = openat(dir_fd, MANIFEST_NAME, O_RDWR | flags);

	if (fd < 0 && (errno == EACCES || errno == EPERM || errno == EROFS))
		fd = openat(dir_fd, MANIFEST_NAME, O_RDONLY | flags);
	return fd;
}

int manifest_read(int dir_fd, struct manifest *ret, int *ret_fd, struct err *e)
{
	char text[MANIFEST_BYTES_MAX + 1];
	struct stat st;
	ssize_t n_bytes;

	/* A look before opening: opening a device can act. */
	if (fstatat(dir_fd, MANIFEST_NAME, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 1 : err_set(e, ERR_IO, errno, "cannot find the manifest");
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_FORMAT, 0, "the manifest is not a plain file");

	int fd cleanup(close_p) = open_manifest(dir_fd);

	if (fd < 0)
		return errno == ENOENT ? 1 : err_set(e, ERR_IO, errno, "cannot open the manifest");
	if (check_file(fd, e) != 0)
		return -1;
	n_bytes = read_all(fd, text, sizeof(text));
	if (n_bytes < 0)
		return err_set(e, ERR_IO, errno, "cannot read the manifest");
	if (manifest_parse(text, (size_t)n_bytes, ret, e) != 0)
		return -1;
	*ret_fd = take_fd(&fd);
	return 0;
}

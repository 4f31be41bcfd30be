/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One line per error, always: what does not fit is cut in the middle, in front of the system's
 * reason, because the reason is worth more than the end of a long path.
 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum { MSG_MAX = sizeof(((struct err *)0)->msg) };

static const struct {
	int exit_status;
	const char *name;
} kinds[ERR_N_KINDS] = {
	[ERR_NONE] = { 0, "none" },
	[ERR_USAGE] = { 2, "usage" },
	[ERR_IO] = { 1, "io" },
	[ERR_FORMAT] = { 1, "format" },
	[ERR_UNSUPPORTED] = { 4, "unsupported" },
	[ERR_NOMEM] = { 1, "nomem" },
	[ERR_MISMATCH] = { 3, "mismatch" },
	[ERR_INTERRUPTED] = { 130, "interrupted" },
	[ERR_BUG] = { 1, "bug" },
};

static void make_printable(char *text)
{
	while (*text) {
		size_t n = utf8_printable(text);

		if (n == 0)
			*text = '?';
		text += n ? n : 1;
	}
}

/* The longest part of at most n_max_bytes that does not end inside a character. */
static size_t cut(const char *text, size_t n_max_bytes)
{
	size_t n = strnlen(text, n_max_bytes + 1);

	if (n <= n_max_bytes)
		return n;
	n = n_max_bytes;
	while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	return n;
}

/* Puts head and tail into msg; cuts the head when both do not fit. */
static void join(char *msg, const char *head, const char *tail)
{
	size_t n_tail = cut(tail, MSG_MAX - 1);
	size_t n_room = MSG_MAX - 1 - n_tail;
	size_t n_head = cut(head, n_room);
	const char *dots = "";

	if (n_head < strlen(head) && n_room > 3) {
		n_head = cut(head, n_room - 3);
		dots = "...";
	}
	snprintf(msg, MSG_MAX, "%.*s%s%.*s", (int)n_head, head, dots, (int)n_tail, tail);
}

/* Longer than a message, so that join() sees that it has to cut. */
__attribute__((format(printf, 2, 0))) static void format(
	char text[2 * MSG_MAX], const char *fmt, va_list ap)
{
	if (vsnprintf(text, 2 * MSG_MAX, fmt, ap) < 0)
		snprintf(text, 2 * MSG_MAX, "%s", fmt);
	/* Before the parts are joined: a character that was cut in two counts as invalid. */
	make_printable(text);
}

int err_set(struct err *e, enum err_kind kind, int sys, const char *fmt, ...)
{
	int saved_errno = errno;
	char head[2 * MSG_MAX], reason[128], tail[160] = "";
	va_list ap;

	if (!e)
		return -1;
	va_start(ap, fmt);
	format(head, fmt, ap);
	va_end(ap);
	if (sys != 0) {
		snprintf(tail, sizeof(tail), ": %s", strerror_r(sys, reason, sizeof(reason)));
		make_printable(tail);
	}
	e->kind = kind;
	e->sys = sys;
	join(e->msg, head, tail);
	errno = saved_errno;
	return -1;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
	int saved_errno = errno;
	char head[2 * MSG_MAX], tail[MSG_MAX + 2];
	va_list ap;

	if (!e)
		return -1;
	va_start(ap, fmt);
	format(head, fmt, ap);
	va_end(ap);
	snprintf(tail, sizeof(tail), ": %s", e->msg);
	join(e->msg, head, tail);
	errno = saved_errno;
	return -1;
}

int err_exit_status(enum err_kind kind)
{
	return (unsigned)kind < ERR_N_KINDS ? kinds[kind].exit_status : 1;
}

const char *err_kind_name(enum err_kind kind)
{
	return (unsigned)kind < ERR_N_KINDS ? kinds[kind].name : "bug";
}

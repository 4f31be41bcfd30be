/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Grows by doubling. After a failed allocation the text so far stays readable, but buf_take()
 * gives NULL, so that half a document never looks like a whole one.
 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* Room for n_more_bytes and the NUL; false once an allocation has failed. */
static bool reserve(struct buf *b, size_t n_more_bytes)
{
	size_t want_bytes, room_bytes = b->room_bytes ? b->room_bytes : 64;

	if (b->failed)
		return false;
	if (__builtin_add_overflow(b->n_bytes, n_more_bytes, &want_bytes) ||
		want_bytes >= SIZE_MAX / 2) {
		b->failed = true;
		return false;
	}
	want_bytes++;
	if (want_bytes <= b->room_bytes)
		return true;
	while (room_bytes < want_bytes)
		room_bytes *= 2;

	char *text = realloc(b->text, room_bytes);

	if (!text) {
		b->failed = true;
		return false;
	}
	b->text = text;
	b->room_bytes = room_bytes;
	return true;
}

void buf_release(struct buf *b)
{
	free(b->text);
	*b = (struct buf){ 0 };
}

void buf_add_bytes(struct buf *b, const void *bytes, size_t n_bytes)
{
	if (!reserve(b, n_bytes))
		return;
	if (n_bytes > 0)
		memcpy(b->text + b->n_bytes, bytes, n_bytes);
	b->n_bytes += n_bytes;
	b->text[b->n_bytes] = '\0';
}

void buf_add(struct buf *b, const char *text)
{
	buf_add_bytes(b, text, strlen(text));
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0) {
		b->failed = true;
		return;
	}
	if (!reserve(b, (size_t)n))
		return;
	va_start(ap, fmt);
	vsnprintf(b->text + b->n_bytes, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->n_bytes += (size_t)n;
}

void buf_add_escaped(struct buf *b, const char *text)
{
	while (*text) {
		size_t n = utf8_printable(text);

		if (n > 0) {
			buf_add_bytes(b, text, n);
			text += n;
		} else {
			buf_addf(b, "\\x%02x", (unsigned)(unsigned char)*text++);
		}
	}
}

const char *buf_text(const struct buf *b)
{
	return b->text ? b->text : "";
}

char *buf_take(struct buf *b)
{
	char *text = NULL;

	if (reserve(b, 0)) {
		text = take(b->text);
		text[b->n_bytes] = '\0';
	}
	buf_release(b);
	return text;
}

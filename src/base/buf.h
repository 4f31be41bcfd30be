/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A growing string, floor 0. Always NUL-terminated. The first failed allocation is remembered and
 * makes every later call a no-op, so a caller checks once, at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct buf {
	char *text;	   /* NULL until something is added */
	size_t n_bytes;	   /* without the NUL */
	size_t room_bytes; /* allocated */
	bool failed;
};

void buf_release(struct buf *b);
void buf_add(struct buf *b, const char *text);
void buf_add_bytes(struct buf *b, const void *bytes, size_t n_bytes);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Adds text from outside for a terminal: control characters and invalid UTF-8 become \xNN. */
void buf_add_escaped(struct buf *b, const char *text);

/* The text; "" when empty. Borrowed: lives until the next call on @b. */
const char *buf_text(const struct buf *b);

/* Hands the text over (caller frees; NULL if an allocation failed) and empties @b. */
char *buf_take(struct buf *b);

static inline void buf_release_p(struct buf *b)
{
	buf_release(b);
}

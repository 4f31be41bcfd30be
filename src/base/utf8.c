/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Strict UTF-8: overlong forms, surrogates and values above U+10FFFF are invalid, so that no byte
 * string has two readings.
 */
#include "base/utf8.h"

#include <stdbool.h>
#include <stdint.h>

static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

size_t utf8_printable(const char *text)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const uint8_t *b = (const uint8_t *)text;
	uint32_t c = b[0];
	size_t n = c < 0x80 ? 1 : c < 0xc0 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf8 ? 4 : 0;

	if (n == 0)
		return 0;
	if (n > 1)
		c &= 0x7fu >> n;
	/* The NUL is no continuation byte, so this never reads past the end. */
	for (size_t i = 1; i < n; i++) {
		if ((b[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (b[i] & 0x3fu);
	}
	if (c < smallest[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) || is_control(c))
		return 0;
	return n;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What of a text from outside may reach a terminal, floor 0.
 */
#pragma once

#include <stddef.h>

/**
 * utf8_printable() - length of the character at @text, if a terminal may see it
 * @text: NUL-terminated
 *
 * Return: [bytes] 1..4; 0 at the end, for a control character (C0, C1, DEL, line separators, the
 *         invisible ones that reorder text) and for bytes that are not valid UTF-8
 * Source: RFC 3629 section 4; Unicode Standard Annex 9, table 1 (reordering)
 */
size_t utf8_printable(const char *text);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Numbers as people write them, floor 0. One strict grammar for every option and file: the whole
 * string is consumed, no sign, overflow is an error, the message names value and cure.
 *
 *   bytes:     DIGITS[.DIGITS][SUFFIX]  k K M G T P and KiB MiB ... = powers of 1024,
 *                                       kB KB MB GB TB PB = powers of 1000, B = 1
 *   durations: DIGITS[.DIGITS]UNIT      us ms s m min h; no unit: seconds
 *   counts:    DIGITS
 *   ratios:    DIGITS[.DIGITS][%]       a percentage, 0..100
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct err;

/**
 * units_parse_bytes() - "4k", "1.5g", "64MiB", "10GB" to bytes
 * @text:      NUL-terminated, from outside
 * @ret_bytes: [bytes] untouched on failure
 *
 * Return: 0, or -1 with ERR_USAGE
 */
int units_parse_bytes(const char *text, uint64_t *ret_bytes, struct err *e);

/* "5", "1.5s", "500ms", "2m", "1h" to [ns]. Return as above. */
int units_parse_duration(const char *text, uint64_t *ret_ns, struct err *e);

/* "32" to a count; no suffix. Return as above. */
int units_parse_count(const char *text, uint64_t *ret_count, struct err *e);

/* "70", "70%", "12.5%" to [pct] 0..100. Return as above. */
int units_parse_pct(const char *text, double *ret_pct, struct err *e);

enum { UNITS_TEXT_MAX = 32 }; /* room that every formatted number fits, with its NUL */

/* "4 KiB", "1.5 GiB", "4097 B": binary, exact when 5 digits can be, else "5.00 GiB". */
const char *units_bytes_iec(uint64_t n_bytes, char text[UNITS_TEXT_MAX]);

/* "512 MB", "1.02 GB", "1.5 GB": decimal, 3 significant digits, zeros at the end dropped. */
const char *units_bytes_si(double n_bytes, char text[UNITS_TEXT_MAX]);

/* "950 ns", "12.3 µs", "4.56 ms", "7.8 s": as units_bytes_si(). */
const char *units_duration(double seconds, char text[UNITS_TEXT_MAX]);

/* "2 min 5 s", "45 s", "1 h 3 min": for an estimate a person waits for. */
const char *units_wait(double seconds, char text[UNITS_TEXT_MAX]);

/* Three significant digits, no exponent below 1e15: 0.0123, 1.20, 12.3, 123, 1234, 12346. */
const char *units_sig3(double value, char text[UNITS_TEXT_MAX]);

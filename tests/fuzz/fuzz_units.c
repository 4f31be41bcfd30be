/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text is a number or a one-line error, and an error leaves the value alone. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "base/utf8.h"
#include "fuzz.h"

static void check_error(const struct err *e)
{
	assert(e->kind == ERR_USAGE && e->msg[0]);
	for (const char *c = e->msg; *c; c += utf8_printable(c))
		assert(utf8_printable(c) > 0);
}

/* What is printed is read back as the same number, up to its three digits. */
static void check_round_trip(uint64_t n_bytes)
{
	char text[UNITS_TEXT_MAX];
	uint64_t again, difference;

	units_bytes_iec(n_bytes, text);

	char *space = strchr(text, ' ');

	memmove(space, space + 1, strlen(space));
	/* "9.87KiB" is no whole number of bytes, "16.0EiB" has no unit that is read. */
	if (units_parse_bytes(text, &again, NULL) != 0)
		return;
	difference = again > n_bytes ? again - n_bytes : n_bytes - again;
	assert(difference <= n_bytes / 200);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	static int (*const parsers[])(const char *, uint64_t *, struct err *) = {
		units_parse_bytes,
		units_parse_duration,
		units_parse_count,
	};
	char *text cleanup(free_p) = strndup((const char *)bytes, n_bytes);
	double pct = -1;

	if (!text)
		return 0;
	for (size_t i = 0; i < sizeof(parsers) / sizeof(parsers[0]); i++) {
		uint64_t value = 4711;
		struct err e = { 0 };

		if (parsers[i](text, &value, &e) == 0) {
			assert(e.kind == ERR_NONE);
			check_round_trip(value);
		} else {
			assert(value == 4711);
			check_error(&e);
		}
	}
	struct err e = { 0 };

	if (units_parse_pct(text, &pct, &e) == 0)
		assert(pct >= 0 && pct <= 100);
	else
		check_error(&e);
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cmocka and the headers it needs first, in its order; and comparisons it lacks. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

/* cmocka 1.1.5 compares floats only: this is for doubles, relative to the larger one. */
#define assert_close(a, b, rel)                                                                    \
	do {                                                                                       \
		double close_a = (a), close_b = (b);                                               \
		double close_max = fmax(fabs(close_a), fabs(close_b));                             \
		if (!(fabs(close_a - close_b) <= (rel)*close_max))                                 \
			fail_msg("%s = %.17g is not %s = %.17g", #a, close_a, #b, close_b);        \
	} while (0)

#define assert_contains(text, part)                                                                \
	do {                                                                                       \
		if (!strstr((text), (part)))                                                       \
			fail_msg("'%s' is not in '%s'", (part), (text));                           \
	} while (0)

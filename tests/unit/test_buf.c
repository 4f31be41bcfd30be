/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"

static void an_empty_one_is_an_empty_text(void **state)
{
	struct buf b = { 0 };

	(void)state;
	assert_string_equal(buf_text(&b), "");
	buf_add(&b, "");
	buf_add_bytes(&b, NULL, 0);
	assert_string_equal(buf_text(&b), "");
	assert_int_equal(b.n_bytes, 0);
	buf_release(&b);
	assert_null(b.text);
}

static void pieces_follow_one_another(void **state)
{
	struct buf b cleanup(buf_release_p) = { 0 };

	(void)state;
	buf_add(&b, "a");
	buf_addf(&b, "%d-%s", 12, "x");
	buf_add_bytes(&b, "qrs", 2);
	assert_string_equal(buf_text(&b), "a12-xqr");
	assert_int_equal(b.n_bytes, 7);
}

static void it_grows_over_many_pieces(void **state)
{
	struct buf b cleanup(buf_release_p) = { 0 };
	char piece[16];

	(void)state;
	for (int i = 0; i < 10000; i++)
		buf_addf(&b, "%d,", i);
	assert_int_equal(b.n_bytes, 10 * 2 + 90 * 3 + 900 * 4 + 9000 * 5);
	assert_int_equal(strlen(buf_text(&b)), b.n_bytes);
	snprintf(piece, sizeof(piece), ",9999,");
	assert_string_equal(buf_text(&b) + b.n_bytes - strlen(piece), piece);
}

static void bytes_may_hold_a_nul(void **state)
{
	struct buf b cleanup(buf_release_p) = { 0 };

	(void)state;
	buf_add_bytes(&b, "a\0b", 3);
	assert_int_equal(b.n_bytes, 3);
	assert_memory_equal(b.text, "a\0b", 4);
}

static void escapes_what_a_terminal_must_not_see(void **state)
{
	struct buf b cleanup(buf_release_p) = { 0 };

	(void)state;
	buf_add_escaped(&b, "ok µ \033[2J\n\xff\xc2\x9b end");
	assert_string_equal(buf_text(&b), "ok µ \\x1b[2J\\x0a\\xff\\xc2\\x9b end");
}

static void take_hands_over_and_empties(void **state)
{
	struct buf b = { 0 };
	char *text;

	(void)state;
	buf_add(&b, "abc");
	text = buf_take(&b);
	assert_string_equal(text, "abc");
	assert_null(b.text);
	assert_int_equal(b.n_bytes, 0);
	free(text);
	text = buf_take(&b);
	assert_string_equal(text, "");
	free(text);
}

static void after_a_failed_allocation_nothing_is_added_or_taken(void **state)
{
	struct buf b = { 0 };

	(void)state;
	buf_add(&b, "abc");
	buf_add_bytes(&b, "x", SIZE_MAX - 1);
	assert_true(b.failed);
	buf_add(&b, "d");
	buf_addf(&b, "%d", 1);
	buf_add_escaped(&b, "\n");
	assert_string_equal(buf_text(&b), "abc");
	assert_null(buf_take(&b));
	assert_false(b.failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_one_is_an_empty_text),
		cmocka_unit_test(pieces_follow_one_another),
		cmocka_unit_test(it_grows_over_many_pieces),
		cmocka_unit_test(bytes_may_hold_a_nul),
		cmocka_unit_test(escapes_what_a_terminal_must_not_see),
		cmocka_unit_test(take_hands_over_and_empties),
		cmocka_unit_test(after_a_failed_allocation_nothing_is_added_or_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

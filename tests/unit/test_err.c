/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <errno.h>

#include "base/err.h"
#include "base/utf8.h"

static void set_fills_kind_errno_and_reason(void **state)
{
	struct err e = { 0 };

	(void)state;
	errno = EBADF;
	assert_int_equal(err_set(&e, ERR_IO, ENOSPC, "cannot write '%s'", "/x"), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(e.kind, ERR_IO);
	assert_int_equal(e.sys, ENOSPC);
	assert_string_equal(e.msg, "cannot write '/x': No space left on device");
}

static void set_without_errno_appends_nothing(void **state)
{
	struct err e = { 0 };

	(void)state;
	err_set(&e, ERR_USAGE, 0, "no %d", 7);
	assert_string_equal(e.msg, "no 7");
	assert_int_equal(e.sys, 0);
}

static void null_takes_everything(void **state)
{
	(void)state;
	assert_int_equal(err_set(NULL, ERR_IO, EIO, "x"), -1);
	assert_int_equal(err_wrap(NULL, "x"), -1);
}

static void wrap_puts_context_in_front_and_keeps_the_rest(void **state)
{
	struct err e = { 0 };

	(void)state;
	err_set(&e, ERR_FORMAT, EIO, "b");
	assert_int_equal(err_wrap(&e, "%s", "a"), -1);
	assert_string_equal(e.msg, "a: b: Input/output error");
	assert_int_equal(e.kind, ERR_FORMAT);
	assert_int_equal(e.sys, EIO);
}

static void controls_and_invalid_bytes_become_question_marks(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "a\nb\033[31m\x7f", "a?b?[31m?" },
		{ "µs \xe2\x82\xac \xf0\x9f\x98\x80", "µs \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "c1 \xc2\x9b", "c1 ??" },
		{ "overlong \xc0\xaf", "overlong ??" },
		{ "surrogate \xed\xa0\x80", "surrogate ???" },
		{ "cut \xe2\x82", "cut ??" },
		{ "above \xf4\x90\x80\x80", "above ????" },
		{ "reorder \xe2\x80\xae", "reorder ???" },
	};
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		err_set(&e, ERR_IO, 0, "%s", cases[i].in);
		assert_string_equal(e.msg, cases[i].out);
		err_set(&e, ERR_IO, 0, "x");
		err_wrap(&e, "%s", cases[i].in);
		assert_memory_equal(e.msg, cases[i].out, strlen(cases[i].out));
	}
}

static void a_long_message_keeps_the_reason(void **state)
{
	char path[2000];
	struct err e = { 0 };

	(void)state;
	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	err_set(&e, ERR_IO, EACCES, "cannot open '%s'", path);
	assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
	assert_contains(e.msg, "cannot open 'ppp");
	assert_contains(e.msg, "ppp...: Permission denied");
	err_wrap(&e, "%s", path);
	assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
}

static void a_cut_never_splits_a_character(void **state)
{
	char text[1000];
	struct err e = { 0 };

	(void)state;
	for (size_t n_before = 0; n_before < 4; n_before++) {
		memset(text, 'x', n_before);
		for (size_t i = n_before; i + 2 < sizeof(text); i += 2)
			memcpy(text + i, "µ", 2);
		text[n_before + (sizeof(text) - 2 - n_before) / 2 * 2] = '\0';
		err_set(&e, ERR_IO, 0, "%s", text);
		assert_true(strlen(e.msg) >= sizeof(e.msg) - 3);
		for (const char *c = e.msg; *c; c += utf8_printable(c))
			assert_true(utf8_printable(c) > 0);
	}
}

static void every_kind_has_a_name_and_a_status(void **state)
{
	static const int statuses[ERR_N_KINDS] = { 0, 2, 1, 1, 4, 1, 3, 130, 1 };

	(void)state;
	for (int k = 0; k < ERR_N_KINDS; k++) {
		assert_int_equal(err_exit_status((enum err_kind)k), statuses[k]);
		assert_non_null(err_kind_name((enum err_kind)k));
		for (int other = 0; other < k; other++)
			assert_string_not_equal(err_kind_name((enum err_kind)k),
				err_kind_name((enum err_kind)other));
	}
	assert_int_equal(err_exit_status(ERR_N_KINDS), 1);
	assert_string_equal(err_kind_name(ERR_N_KINDS), "bug");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_fills_kind_errno_and_reason),
		cmocka_unit_test(set_without_errno_appends_nothing),
		cmocka_unit_test(null_takes_everything),
		cmocka_unit_test(wrap_puts_context_in_front_and_keeps_the_rest),
		cmocka_unit_test(controls_and_invalid_bytes_become_question_marks),
		cmocka_unit_test(a_long_message_keeps_the_reason),
		cmocka_unit_test(a_cut_never_splits_a_character),
		cmocka_unit_test(every_kind_has_a_name_and_a_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of a manifest: strict, and the same again when written. */
#include "test.h"

#include <stdlib.h>

#include "base/err.h"
#include "plan/manifest.h"

#define HEAD "clyde workdir 1\nrun=a-1\npid=7\npid_start_ticks=9\nboot_id=b\nhostname=h\n"

static void the_manifest_parser_takes_nothing_but_its_form(void **state)
{
	static const char *const bad[] = {
		"",
		"\n",
		"clyde workdir 2\nrun=a\npid=7\npid_start_ticks=9\nboot_id=b\nhostname=h\ncomplete=1\n",
		HEAD,
		HEAD "complete=1",
		HEAD "complete=0\n",
		HEAD "complete=11\n",
		HEAD "complete=1\n\n",
		HEAD "complete=1\nmore=1\n",
		"clyde workdir 1\r\nrun=a\npid=7\npid_start_ticks=9\nboot_id=b\nhostname=h\ncomplete=1\n",
		"clyde workdir 1\npid=7\nrun=a\npid_start_ticks=9\nboot_id=b\nhostname=h\ncomplete=1\n",
		"clyde workdir 1\nrun=a\npid=0\npid_start_ticks=9\nboot_id=b\nhostname=h\ncomplete=1\n",
		"clyde workdir 1\nrun=a\npid=-7\npid_start_ticks=9\nboot_id=b\nhostname=h\ncomplete=1\n",
		"clyde workdir 1\nrun=a\npid=07\npid_start_ticks=9\nboot_id=b\nhostname=h\ncomplete=1\n",
		"clyde workdir 1\nrun=a\npid= 7\npid_start_ticks=9\nboot_id=b\nhostname=h\ncomplete=1\n",
		"clyde workdir 1\nrun=a\npid=\npid_start_ticks=9\nboot_id=b\nhostname=h\ncomplete=1\n",
		"clyde workdir 1\nrun=a\npid=2147483648\npid_start_ticks=9\nboot_id=b\nhostname=h\n"
		"complete=1\n",
		"clyde workdir 1\nrun=a\npid=7\npid_start_ticks=18446744073709551616\nboot_id=b\n"
		"hostname=h\ncomplete=1\n",
		"clyde workdir 1\nrun=a\npid=7\npid_start_ticks=9\nboot_id=b\nhostname=h h\ncomplete=1\n",
		"clyde workdir 1\nrun=a\npid=7\npid_start_ticks=9\nboot_id=b\nhostname=\033[2J\n"
		"complete=1\n",
		"clyde workdir 1\nrun=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\npid=7\n"
		"pid_start_ticks=9\nboot_id=b\nhostname=h\ncomplete=1\n",
		"clyde workdir 1\nrun=a\npid=7\npid_start_ticks=9\n"
		"boot_id=bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\nhostname=h\n"
		"complete=1\n",
	};
	struct manifest m = { .pid = 1 };
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		e = (struct err){ 0 };
		if (manifest_parse(bad[i], strlen(bad[i]), &m, &e) != -1)
			fail_msg("row %zu was taken", i);
		assert_int_equal(e.kind, ERR_FORMAT);
		assert_int_equal(m.pid, 1); /* untouched */
	}
	assert_int_equal(manifest_parse(HEAD "complete=1\n", strlen(HEAD) + 11, &m, &e), 0);
	assert_string_equal(m.run_id, "a-1");
	assert_int_equal(m.pid, 7);
	assert_int_equal(m.pid_start_ticks, 9);
	assert_string_equal(m.boot_id, "b");
	assert_string_equal(m.hostname, "h");
}

static void every_cut_of_a_manifest_is_refused(void **state)
{
	const char *whole = HEAD "complete=1\n";
	struct manifest m;

	(void)state;
	for (size_t n = 0; n < strlen(whole); n++) {
		char *exact = malloc(n ? n : 1); /* a read beyond it shows under ASan */

		memcpy(exact, whole, n);
		assert_int_equal(manifest_parse(exact, n, &m, NULL), -1);
		free(exact);
	}
}

static void what_is_written_is_read_back(void **state)
{
	static const struct manifest rows[] = {
		{ "01890a5d-ac96-774b-bcce-b302099a8057", 4711, UINT64_MAX, "b-b-b",
			"host.example" },
		{ "x", 1, 0, "", "" },
		{ "x", 2147483647, 1, "?", "h" },
	};
	char text[MANIFEST_BYTES_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct manifest m;
		size_t n = manifest_format(&rows[i], text);

		assert_int_equal(n, strlen(text));
		assert_int_equal(manifest_parse(text, n, &m, NULL), 0);
		assert_string_equal(m.run_id, rows[i].run_id);
		assert_int_equal(m.pid, rows[i].pid);
		assert_int_equal(m.pid_start_ticks, rows[i].pid_start_ticks);
		assert_string_equal(m.boot_id, rows[i].boot_id);
		assert_string_equal(m.hostname, rows[i].hostname);
	}

	struct manifest odd = { .run_id = "a b", .pid = 3, .hostname = "h\nrun=evil" };
	struct manifest back;

	assert_int_equal(manifest_parse(text, manifest_format(&odd, text), &back, NULL), 0);
	assert_string_equal(back.run_id, "a?b");
	assert_string_equal(back.hostname, "h?run=evil");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_manifest_parser_takes_nothing_but_its_form),
		cmocka_unit_test(every_cut_of_a_manifest_is_refused),
		cmocka_unit_test(what_is_written_is_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

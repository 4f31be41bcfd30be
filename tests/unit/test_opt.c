/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/opt.h"

struct args {
	bool force, quiet;
	uint64_t size_bytes, n_samples, time_ns, seed;
	double read_pct;
	const char *plan;
	int direct;
	struct opt_list phases;
};

struct globals {
	bool json;
	const char *db;
};

/* clang-format off */
static const struct opt rows[] = {
	OPT_GROUP("What"),
	OPT_BYTES   (struct args, size_bytes, 's', "size", 4096, UINT64_MAX, "size of the test file, or how much of a file or device is used (default by free space)"),
	OPT_COUNT   (struct args, n_samples,  'n', "samples", 1, 1000, "times the plan is repeated (default 3)"),
	OPT_DURATION(struct args, time_ns,    't', "time", 1000000, 86400000000000, "length of a phase (default 5s)"),
	OPT_COUNT   (struct args, seed,       0,   "seed", 0, UINT64_MAX, "of data (default 0)"),
	OPT_GROUP("How"),
	OPT_FLAG    (struct args, force,      'f', "force", "do it all the same"),
	OPT_FLAG    (struct args, quiet,      'q', "quiet", "say less"),
	OPT_PCT     (struct args, read_pct,   0,   "read-pct", "share of reads (default 70)"),
	OPT_STR     (struct args, plan,       'p', "plan", "NAME", "what to run (default overview)"),
	OPT_CHOICE  (struct args, direct,     0,   "direct", "auto|on|off", "bypass the *page* cache (default auto)"),
	OPT_LIST    (struct args, phases,     0,   "phase", "NAME", "only this phase"),
	OPT_END,
};

static const struct opt global_rows[] = {
	OPT_FLAG    (struct globals, json,    0,   "json", "print JSON"),
	OPT_STR     (struct globals, db,      0,   "db", "FILE", "history to use"),
	OPT_END,
};
/* clang-format on */

enum { N_WORDS_MAX = 40 };

struct line {
	struct args args;
	struct globals globals;
	const char *words[N_WORDS_MAX];
	const char *operands[N_WORDS_MAX];
	size_t n_operands;
	struct err e;
};

/* Parses words that end with NULL. */
static int parse(struct line *l, const char *const *words)
{
	const struct opt_table tables[] = { { global_rows, &l->globals }, { rows, &l->args } };
	int n = 0;

	*l = (struct line){ .n_operands = 99 };
	while (words[n])
		n++;
	return opt_parse(tables, 2, n, words, l->operands, &l->n_operands, &l->e);
}

#define PARSE(l, ...) parse(l, (const char *const[]){ __VA_ARGS__, NULL })

static void reads_every_kind(void **state)
{
	struct line l;

	(void)state;
	assert_int_equal(PARSE(&l, "--size=1.5g", "--samples", "5", "--time=500ms", "--force",
				 "--read-pct=12.5%", "--plan", "x", "--direct=off", "--phase=a",
				 "--phase", "b", "--json", "--db", "f"),
		0);
	assert_true(l.args.size_bytes == UINT64_C(3) << 29);
	assert_int_equal(l.args.n_samples, 5);
	assert_int_equal(l.args.time_ns, 500000000);
	assert_true(l.args.force && !l.args.quiet && l.globals.json);
	assert_close(l.args.read_pct, 12.5, 0.0);
	assert_string_equal(l.args.plan, "x");
	assert_int_equal(l.args.direct, 2);
	assert_int_equal(l.args.phases.n, 2);
	assert_string_equal(l.args.phases.values[0], "a");
	assert_string_equal(l.args.phases.values[1], "b");
	assert_string_equal(l.globals.db, "f");
	assert_int_equal(l.n_operands, 0);
}

static void letters_stand_alone_joined_or_with_their_value(void **state)
{
	struct line l;

	(void)state;
	assert_int_equal(PARSE(&l, "-fqs8k", "-n", "7", "-px=y"), 0);
	assert_true(l.args.force && l.args.quiet);
	assert_int_equal(l.args.size_bytes, 8192);
	assert_int_equal(l.args.n_samples, 7);
	assert_string_equal(l.args.plan, "x=y");
}

static void operands_mix_with_options_and_two_dashes_end_them(void **state)
{
	struct line l;

	(void)state;
	assert_int_equal(PARSE(&l, "a", "-f", "-", "b", "--", "--size=0", "-z", "--"), 0);
	assert_true(l.args.force);
	assert_int_equal(l.n_operands, 6);
	assert_string_equal(l.operands[0], "a");
	assert_string_equal(l.operands[1], "-");
	assert_string_equal(l.operands[2], "b");
	assert_string_equal(l.operands[3], "--size=0");
	assert_string_equal(l.operands[4], "-z");
	assert_string_equal(l.operands[5], "--");
}

static void the_last_of_a_repeated_option_wins(void **state)
{
	struct line l;

	(void)state;
	assert_int_equal(PARSE(&l, "--samples=2", "-n3", "--plan=a", "--plan=b=c"), 0);
	assert_int_equal(l.args.n_samples, 3);
	assert_string_equal(l.args.plan, "b=c");
}

static void the_limits_themselves_are_allowed(void **state)
{
	struct line l;

	(void)state;
	assert_int_equal(PARSE(&l, "--size=4096", "--samples=1000", "--time=24h"), 0);
	assert_int_equal(PARSE(&l, "--size=18446744073709551615", "--samples=1", "--time=1ms"), 0);
}

static void refuses_with_name_value_and_cure(void **state)
{
	static const struct {
		const char *words[4];
		const char *message;
	} cases[] = {
		{ { "--size", "0" }, "--size: '0' is too small; allowed is 4 KiB or more" },
		{ { "-s0" }, "-s: '0' is too small; allowed is 4 KiB or more" },
		{ { "--samples=1001" }, "--samples: '1001' is too large; allowed is 1 to 1000" },
		{ { "--time=25h" }, "--time: '25h' is too large; allowed is 1 ms to 24 h" },
		{ { "--time", "-1" },
			"--time: '-1' is negative; a duration must be positive, such as 500ms, "
			"10s, 2min or 1h" },
		{ { "--size=1e30" }, "--size: '1e30' is not a size: exponents are not read; write "
				     "one as 4k, 64MiB or 10GB" },
		{ { "--samples=" }, "--samples: '' is not a count: it is empty; write one as 1 or "
				    "32" },
		{ { "--read-pct=101" },
			"--read-pct: '101' is too large for a percentage; allowed is 0 to 100" },
		{ { "--direct=yes" },
			"--direct: 'yes' is not a choice; allowed is auto, on or off" },
		{ { "--direct=o" }, "--direct: 'o' is not a choice; allowed is auto, on or off" },
		{ { "--direct=" }, "--direct: '' is not a choice; allowed is auto, on or off" },
		{ { "--direct=on|off" },
			"--direct: 'on|off' is not a choice; allowed is auto, on or off" },
		{ { "--force=1" }, "--force: '1' is too much; it takes no value" },
		{ { "--force=" }, "--force: '' is too much; it takes no value" },
		{ { "--plan=" }, "--plan: '' is empty; it needs a NAME" },
		{ { "-f", "--plan" }, "--plan needs a value: NAME" },
		{ { "-fp" }, "-p needs a value: NAME" },
		{ { "-z" }, "unknown option '-z'; --help lists them" },
		{ { "-fz" }, "unknown option '-z' in '-fz'; --help lists them" },
		{ { "--"
		    "\n" },
			"unknown option '--?'; --help lists them" },
		{ { "--=3" }, "unknown option '--'; --help lists them" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct line l;

		if (parse(&l, cases[i].words) != -1)
			fail_msg("'%s' was taken", cases[i].words[0]);
		assert_int_equal(l.e.kind, ERR_USAGE);
		assert_string_equal(l.e.msg, cases[i].message);
		assert_int_equal(l.n_operands, 99);
	}
}

static void an_unknown_name_gets_the_nearest_as_a_hint(void **state)
{
	static const struct {
		const char *typed;
		const char *hint; /* NULL: none */
	} cases[] = {
		{ "--sise", "'--size'" },
		{ "--szie", "'--size'" },
		{ "--sizes=4k", "'--size'" },
		{ "--sampels", "'--samples'" },
		{ "--samp", "'--samples'" },
		{ "--pahse", "'--phase'" },
		{ "--readpct", "'--read-pct'" },
		{ "--jsno", "'--json'" },
		{ "--bd", "'--db'" },
		{ "--Size", "'--size'" },
		{ "--xyzzy", NULL },
		{ "--zz", NULL },
		{ "--aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
			NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct line l;

		assert_int_equal(PARSE(&l, cases[i].typed), -1);
		if (cases[i].hint) {
			assert_contains(l.e.msg, "; did you mean ");
			assert_contains(l.e.msg, cases[i].hint);
		} else if (strstr(l.e.msg, "did you mean")) {
			fail_msg("%s", l.e.msg);
		}
	}
}

static void a_full_list_refuses_one_more(void **state)
{
	const char *words[OPT_LIST_MAX + 2] = { 0 };
	struct line l;

	(void)state;
	for (int i = 0; i < OPT_LIST_MAX; i++)
		words[i] = "--phase=x";
	assert_int_equal(parse(&l, words), 0);
	assert_int_equal(l.args.phases.n, OPT_LIST_MAX);
	words[OPT_LIST_MAX] = "--phase=y";
	assert_int_equal(parse(&l, words), -1);
	assert_string_equal(l.e.msg, "--phase: 'y' is one too many; allowed is 32");
}

static void set_takes_one_by_name(void **state)
{
	struct args a = { 0 };
	const struct opt_table table = { rows, &a };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(opt_set(&table, "size", "8k", &e), 0);
	assert_int_equal(a.size_bytes, 8192);
	assert_int_equal(opt_set(&table, "force", NULL, &e), 0);
	assert_true(a.force);
	assert_int_equal(opt_set(&table, "size", "1", &e), -1);
	assert_string_equal(e.msg, "size: '1' is too small; allowed is 4 KiB or more");
	assert_int_equal(opt_set(&table, "size", NULL, &e), -1);
	assert_string_equal(e.msg, "size needs a value: SIZE");
	assert_int_equal(opt_set(&table, "force", "yes", &e), -1);
	assert_int_equal(opt_set(&table, "sise", "8k", &e), -1);
	assert_string_equal(e.msg, "unknown option 'sise'; did you mean 'size'?");
	assert_int_equal(opt_set(&table, "", "8k", &e), -1);
	assert_int_equal(a.size_bytes, 8192);
}

static void help_names_every_option_within_80_columns(void **state)
{
	static const char want[] =
		"What:\n"
		"  -s, --size=SIZE           size of the test file, or how much of a file or\n"
		"                            device is used (default by free space)\n"
		"  -n, --samples=N           times the plan is repeated (default 3)\n";
	struct buf b cleanup(buf_release_p) = { 0 };
	const char *line;

	(void)state;
	opt_help(rows, &b);
	assert_memory_equal(buf_text(&b), want, strlen(want));
	assert_contains(buf_text(&b), "\n\nHow:\n  -f, --force               do it");
	assert_contains(buf_text(&b), "\n      --direct=auto|on|off  bypass the *page*");
	assert_contains(buf_text(&b), "\nSIZE: k, M");
	assert_contains(buf_text(&b), "\nTIME: ");
	for (line = buf_text(&b); *line; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") < 80);
	buf_release(&b);
	opt_help(global_rows, &b);
	assert_string_equal(buf_text(&b), "Options:\n      --json     print JSON\n"
					  "      --db=FILE  history to use\n");
}

static void a_long_option_stands_on_its_own_line(void **state)
{
	static const struct opt long_rows[] = {
		OPT_CHOICE(struct args, direct, 0, "rw", "read|write|randread|randwrite", "access"),
		OPT_FLAG(struct args, force, 'f', "force", "do it"),
		OPT_END,
	};
	struct buf b cleanup(buf_release_p) = { 0 };

	(void)state;
	opt_help(long_rows, &b);
	assert_string_equal(buf_text(&b), "Options:\n"
					  "      --rw=read|write|randread|randwrite\n"
					  "               access\n"
					  "  -f, --force  do it\n");
}

#define A10 "aaaaaaaaaa"

static void lines_and_columns_are_used_to_their_end(void **state)
{
	static const struct opt tight_rows[] = {
		OPT_STR(struct args, plan, 0, "plan", A10 "bbbbb", A10 A10 A10 A10 "abcdefg 9"),
		OPT_STR(struct args, plan, 0, "plan", A10 "bbbbbb", A10 A10 A10 A10 "abcdefgh 0"),
		OPT_END,
	};
	struct buf b cleanup(buf_release_p) = { 0 };

	(void)state;
	opt_help(tight_rows, &b);
	assert_string_equal(buf_text(&b),
		"Options:\n"
		"      --plan=" A10 "bbbbb  " A10 A10 A10 A10 "abcdefg 9\n"
		"      --plan=" A10 "bbbbbb\n"
		"                              " A10 A10 A10 A10 "abcdefgh\n"
		"                              0\n");
}

static void man_page_and_words_have_every_option(void **state)
{
	struct buf man cleanup(buf_release_p) = { 0 }, words cleanup(buf_release_p) = { 0 };
	char piece[64];

	(void)state;
	opt_scdoc(rows, &man);
	opt_words(rows, &words);
	for (const struct opt *row = rows; !opt_is_end(row); row++) {
		if (!opt_is_option(row))
			continue;
		snprintf(piece, sizeof(piece), "*--%s*", row->name);
		assert_contains(buf_text(&man), piece);
		snprintf(piece, sizeof(piece), "--%s\n", row->name);
		assert_contains(buf_text(&words), piece);
	}
	assert_contains(buf_text(&man), "## What\n\n*-s*, *--size*=_SIZE_\n\tsize of");
	assert_contains(buf_text(&man), "Allowed: 4 KiB or more.");
	assert_contains(buf_text(&man), "bypass the \\*page\\* cache");
}

static void says_what_a_row_allows(void **state)
{
	char text[OPT_ALLOWED_MAX];

	(void)state;
	assert_string_equal(opt_allowed(&rows[1], text), "4 KiB or more");
	assert_string_equal(opt_allowed(&rows[2], text), "1 to 1000");
	assert_string_equal(opt_allowed(&rows[3], text), "1 ms to 24 h");
	assert_string_equal(opt_allowed(&rows[4], text), "any");
	assert_string_equal(opt_allowed(&rows[8], text), "0 to 100");
	assert_string_equal(opt_allowed(&rows[10], text), "auto, on or off");
}

static void check_finds_every_fault(void **state)
{
	/* clang-format off */
	static const struct {
		struct opt rows[4];
		const char *why;
	} cases[] = {
		{ { OPT_FLAG(struct args, force, 'f', "force", "x"), OPT_FLAG(struct args, quiet, 'q', "force", "x") }, "'force' is there twice" },
		{ { OPT_FLAG(struct args, force, 'f', "force", "x"), OPT_GROUP("G"), OPT_FLAG(struct args, quiet, 'f', "quiet", "x") }, "letter 'f' is there twice" },
		{ { OPT_FLAG(struct args, force, 'f', "force", "") }, "help" },
		{ { OPT_FLAG(struct args, force, 'f', "force", "two\nlines") }, "help" },
		{ { OPT_FLAG(struct args, force, 'f', "force", "A sentence.") }, "full stop" },
		{ { { .name = "force", .kind = OPT_KIND_FLAG } }, "help" },
		{ { OPT_FLAG(struct args, force, 'f', "For ce", "x") }, "name" },
		{ { OPT_FLAG(struct args, force, 'f', "-force", "x") }, "name" },
		{ { OPT_FLAG(struct args, force, 'f', "a-name-that-is-far-too-long", "x") }, "name" },
		{ { { .kind = OPT_KIND_FLAG, .help = "x" } }, "name" },
		{ { OPT_FLAG(struct args, force, '-', "force", "x") }, "letter" },
		{ { OPT_COUNT(struct args, seed, 0, "seed", 2, 1, "x") }, "smallest" },
		{ { OPT_CHOICE(struct args, direct, 0, "direct", "on", "x") }, "choices" },
		{ { OPT_CHOICE(struct args, direct, 0, "direct", "on||off", "x") }, "choices" },
		{ { OPT_CHOICE(struct args, direct, 0, "direct", "on|off|on", "x") }, "choices" },
		{ { OPT_CHOICE(struct args, direct, 0, "direct", NULL, "x") }, "value" },
		{ { OPT_STR(struct args, plan, 0, "plan", NULL, "x") }, "value" },
		{ { { .name = "odd", .kind = OPT_N_KINDS, .help = "x", .value = "X" } }, "kind" },
		{ { OPT_GROUP("") }, "heading" },
	};
	/* clang-format on */
	struct err e = { 0 };

	(void)state;
	assert_int_equal(opt_check(rows, &e), 0);
	assert_int_equal(opt_check(global_rows, &e), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (opt_check(cases[i].rows, &e) != -1)
			fail_msg("case %zu (%s) was taken", i, cases[i].why);
		assert_int_equal(e.kind, ERR_BUG);
		assert_contains(e.msg, cases[i].why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_kind),
		cmocka_unit_test(letters_stand_alone_joined_or_with_their_value),
		cmocka_unit_test(operands_mix_with_options_and_two_dashes_end_them),
		cmocka_unit_test(the_last_of_a_repeated_option_wins),
		cmocka_unit_test(the_limits_themselves_are_allowed),
		cmocka_unit_test(refuses_with_name_value_and_cure),
		cmocka_unit_test(an_unknown_name_gets_the_nearest_as_a_hint),
		cmocka_unit_test(a_full_list_refuses_one_more),
		cmocka_unit_test(set_takes_one_by_name),
		cmocka_unit_test(help_names_every_option_within_80_columns),
		cmocka_unit_test(a_long_option_stands_on_its_own_line),
		cmocka_unit_test(lines_and_columns_are_used_to_their_end),
		cmocka_unit_test(man_page_and_words_have_every_option),
		cmocka_unit_test(says_what_a_row_allows),
		cmocka_unit_test(check_finds_every_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

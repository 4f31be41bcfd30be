/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables of commands and options are sound, and help is made of all of them. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/cmd.h"
#include "cli/common.h"

static bool is_option(const struct opt *row)
{
	return row->kind != OPT_KIND_END;
}

static void every_option_table_is_sound(void **state)
{
	struct err e = { 0 };

	(void)state;
	if (opt_check(global_opts, &e) != 0)
		fail_msg("global: %s", e.msg);
	for (size_t i = 0; cmd_list[i]; i++) {
		assert_non_null(cmd_list[i]->opts);
		if (opt_check(cmd_list[i]->opts, &e) != 0)
			fail_msg("%s: %s", cmd_list[i]->name, e.msg);
	}
}

static void no_command_option_hides_a_global_one(void **state)
{
	(void)state;
	for (size_t i = 0; cmd_list[i]; i++)
		for (const struct opt *row = cmd_list[i]->opts; row->name; row++)
			for (const struct opt *g = global_opts; g->name; g++) {
				if (!is_option(row) || !is_option(g))
					continue;
				if (strcmp(row->name, g->name) == 0 ||
					(row->letter && row->letter == g->letter))
					fail_msg("%s: --%s hides a global option",
						cmd_list[i]->name, row->name);
			}
}

static void every_command_is_complete_and_unique(void **state)
{
	static const char *const groups[] = { "measure", "classic", "understand", "exchange",
		"care" };

	(void)state;
	assert_non_null(cmd_list[0]);
	for (size_t i = 0; cmd_list[i]; i++) {
		const struct cmd *c = cmd_list[i];
		bool known_group = false;

		for (size_t k = 0; k < sizeof(groups) / sizeof(groups[0]); k++)
			known_group |= strcmp(c->group, groups[k]) == 0;
		if (!known_group)
			fail_msg("%s: group '%s' is not shown in help", c->name, c->group);
		assert_non_null(c->run);
		assert_non_null(c->operands);
		assert_true(strlen(c->summary) > 10 && strlen(c->summary) < 70);
		assert_non_null(c->examples);
		assert_ptr_equal(cmd_find(c->name), c);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(cmd_list[k]->name, c->name);
		/* Options need somewhere to go. */
		for (const struct opt *row = c->opts; row->name; row++)
			if (is_option(row))
				assert_true(row->offset < c->args_size);
	}
}

static void help_mentions_every_option(void **state)
{
	(void)state;
	for (size_t i = 0; cmd_list[i]; i++) {
		const struct opt *const tables[] = { cmd_list[i]->opts, global_opts };
		cleanup(buf_release_p) struct buf help = { 0 };

		help_command(cmd_list[i], &help);
		assert_false(help.failed);
		for (size_t k = 0; k < 2; k++)
			for (const struct opt *row = tables[k]; row->name; row++) {
				char name[80];

				snprintf(name, sizeof(name), "--%s", row->name);
				if (is_option(row))
					assert_contains(buf_text(&help), name);
			}
		assert_contains(buf_text(&help), cmd_list[i]->summary);
	}
}

static void overview_mentions_every_command(void **state)
{
	cleanup(buf_release_p) struct buf help = { 0 };

	(void)state;
	help_overview(&help);
	for (size_t i = 0; cmd_list[i]; i++) {
		char line[160];

		snprintf(line, sizeof(line), "\n  %-12s %s\n", cmd_list[i]->name,
			cmd_list[i]->summary);
		assert_contains(buf_text(&help), line);
	}
}

static void help_lines_fit_a_terminal(void **state)
{
	cleanup(buf_release_p) struct buf help = { 0 };
	size_t n = 0;

	(void)state;
	help_overview(&help);
	for (const char *at = buf_text(&help); *at; at++) {
		n = *at == '\n' ? 0 : n + 1;
		assert_true(n <= 100);
	}
}

static void mistyped_commands_are_recognised(void **state)
{
	static const struct {
		const char *typed, *meant;
	} cases[] = {
		{ "rnu", "run" },
		{ "lst", "list" },
		{ "shwo", "show" },
		{ "engine", "engines" },
		{ "xy", NULL },
		{ "", NULL },
		{ "a-name-far-longer-than-any-command-has", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct cmd *c = cmd_nearest(cases[i].typed);

		if (cases[i].meant) {
			assert_non_null(c);
			assert_string_equal(c->name, cases[i].meant);
		} else {
			assert_null(c);
		}
	}
}

static void quoting_is_what_the_shell_reads_back(void **state)
{
	static const struct {
		const char *text, *quoted;
	} cases[] = {
		{ "run", "run" },
		{ "--size=4k", "--size=4k" },
		{ "", "''" },
		{ "a b", "'a b'" },
		{ "it's", "'it'\\''s'" },
		{ "$(x)", "'$(x)'" },
		{ "~", "'~'" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cleanup(buf_release_p) struct buf b = { 0 };

		common_add_quoted(&b, cases[i].text);
		assert_string_equal(buf_text(&b), cases[i].quoted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_option_table_is_sound),
		cmocka_unit_test(no_command_option_hides_a_global_one),
		cmocka_unit_test(every_command_is_complete_and_unique),
		cmocka_unit_test(help_mentions_every_option),
		cmocka_unit_test(overview_mentions_every_command),
		cmocka_unit_test(help_lines_fit_a_terminal),
		cmocka_unit_test(mistyped_commands_are_recognised),
		cmocka_unit_test(quoting_is_what_the_shell_reads_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

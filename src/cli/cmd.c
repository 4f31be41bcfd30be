/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands, in the order that help shows them. */
#include "cli/cmd.h"

#include <stdint.h>
#include <string.h>

#include "cli/common.h"

const struct cmd *const cmd_list[] = {
	&cmd_run,
	&cmd_list_results,
	&cmd_show,
	&cmd_clean,
	&cmd_plans,
	&cmd_engines,
	&cmd_checks,
	&cmd_completion,
	&cmd_help,
	NULL,
};

/* clang-format off */
const struct opt global_opts[] = {
	OPT_GROUP("Everywhere"),
	OPT_STR (struct global_args, db,       0,   "db", "FILE", "history to use (default CLYDE_DB, or clyde/history.db in XDG_DATA_HOME or ~/.local/share)"),
	OPT_FLAG(struct global_args, json,     0,   "json", "print one JSON document instead of text (default text)"),
	OPT_FLAG(struct global_args, no_color, 0,   "no-color", "no colours (default colours on a terminal, unless NO_COLOR is set)"),
	OPT_FLAG(struct global_args, help,     'h', "help", "print help and leave"),
	OPT_FLAG(struct global_args, version,  'V', "version", "print the version and leave"),
	OPT_END,
};
/* clang-format on */

const struct cmd *cmd_find(const char *name)
{
	for (size_t i = 0; cmd_list[i]; i++)
		if (strcmp(cmd_list[i]->name, name) == 0)
			return cmd_list[i];
	return NULL;
}

enum { NAME_MAX_COMPARED = 24, DISTANCE_NEAR = 2 };

static unsigned smaller(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Edits between two short words (Wagner, Fischer 1974), one row at a time. */
static unsigned edit_distance(const char *a, const char *b)
{
	unsigned row[NAME_MAX_COMPARED + 1];
	size_t n_a = strlen(a), n_b = strlen(b);

	if (n_a > NAME_MAX_COMPARED || n_b > NAME_MAX_COMPARED)
		return UINT32_MAX;
	for (unsigned k = 0; k <= n_b; k++)
		row[k] = k;
	for (unsigned i = 1; i <= n_a; i++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (unsigned k = 1; k <= n_b; k++) {
			unsigned change = diagonal + (a[i - 1] != b[k - 1]);

			diagonal = row[k];
			row[k] = smaller(change, smaller(row[k], row[k - 1]) + 1);
		}
	}
	return row[n_b];
}

const struct cmd *cmd_nearest(const char *name)
{
	const struct cmd *nearest = NULL;
	unsigned best = DISTANCE_NEAR + 1;

	for (size_t i = 0; cmd_list[i]; i++) {
		unsigned distance = edit_distance(name, cmd_list[i]->name);

		/* Two edits turn any two letters into any other: not a hint. */
		if (distance < best && distance < strlen(name)) {
			best = distance;
			nearest = cmd_list[i];
		}
	}
	return nearest;
}

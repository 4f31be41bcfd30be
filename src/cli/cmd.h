/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Commands as rows, floor 4: one cmd_<name>.c each, one line in cmd.c.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/opt.h"

struct err;

/* Options every command takes, before or after its name. */
struct global_args {
	const char *db; /* NULL: history_default_path() */
	bool json;
	bool no_color;
	bool help;
	bool version;
};

struct context {
	struct global_args global;
	const char *const *argv; /* the whole command line, for the record */
	int argc;
	const _Atomic int *stop;  /* number of the signal that asked to stop; 0: none */
	const char *command_line; /* shell-quoted; borrowed */
	bool json_printed; /* set by a command that put its JSON document (errors included) on
			      stdout; else main prints {"error": ...} when a command with --json
			      fails */
};

struct cmd {
	const char *name;
	const char *summary;  /* one line */
	const char *operands; /* "[TARGET...]" in usage */
	const char *group;    /* "measure", "classic", "understand", "exchange", "care" */
	const struct opt *opts;
	size_t args_size;     /* of the argument struct, zeroed before parsing */
	const char *examples; /* a few lines for --help and the man page */
	/* Returns the exit status; 0 needs no *e; else *e may say why (printed by main). */
	int (*run)(struct context *ctx, void *args, const char *const *operands, size_t n_operands,
		struct err *e);
};

/* The rows; cmd.c has them in the order of help. */
extern const struct cmd cmd_run;
extern const struct cmd cmd_list_results;
extern const struct cmd cmd_show;
extern const struct cmd cmd_clean;
extern const struct cmd cmd_plans;
extern const struct cmd cmd_engines;
extern const struct cmd cmd_checks;
extern const struct cmd cmd_completion;
extern const struct cmd cmd_help;

extern const struct cmd *const cmd_list[]; /* NULL-terminated */
extern const struct opt global_opts[];

const struct cmd *cmd_find(const char *name);

/* The command whose name is nearest to a mistyped one, or NULL when none is near. */
const struct cmd *cmd_nearest(const char *name);

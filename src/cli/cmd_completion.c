/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * clyde completion: scripts for the shell, made from the tables, so that they never miss an option.
 * Sources: bash(1) "Programmable Completion"; zshcompsys(1) "_arguments".
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/cmd.h"
#include "cli/common.h"
#include "plan/plan.h"

static void add_command_names(struct buf *out)
{
	for (size_t i = 0; cmd_list[i]; i++)
		buf_addf(out, "%s%s", i ? " " : "", cmd_list[i]->name);
}

/* Words that an operand can be, where they are known; files else. */
static void add_operand_words(const struct cmd *cmd, struct buf *out)
{
	if (strcmp(cmd->operands, "[COMMAND]") == 0)
		add_command_names(out);
	else if (strcmp(cmd->operands, "[PLAN]") == 0)
		for (size_t i = 0; i < plan_n; i++)
			buf_addf(out, "%s%s", i ? " " : "", plan_list[i].name);
	else if (strcmp(cmd->operands, "bash|zsh") == 0)
		buf_add(out, "bash zsh");
}

/* "a|b" as "a b" */
static void add_choices(struct buf *out, const char *choices)
{
	for (; *choices; choices++)
		buf_add_bytes(out, *choices == '|' ? " " : choices, 1);
}

/* One row's choices; true if there was something to add. */
static bool is_option(const struct opt *row)
{
	return row->kind != OPT_KIND_END;
}

/* ---- bash ---- */

static void add_bash_choices(const struct opt *rows, struct buf *out)
{
	for (; rows->name; rows++) {
		if (!is_option(rows) || rows->kind != OPT_KIND_CHOICE)
			continue;
		buf_addf(out, "\t\t--%s) words='", rows->name);
		add_choices(out, rows->choices);
		buf_add(out, "' ;;\n");
	}
}

static void add_bash_words(const struct opt *rows, struct buf *out)
{
	for (; rows->name; rows++)
		if (is_option(rows))
			buf_addf(out, " --%s", rows->name);
}

static void add_bash_command(const struct cmd *cmd, struct buf *out)
{
	buf_addf(out, "\t%s)\n\t\toperands='", cmd->name);
	add_operand_words(cmd, out);
	buf_add(out, "'\n\t\toptions='");
	add_bash_words(cmd->opts, out);
	buf_add(out, "'\n\t\tcase $prev in\n");
	add_bash_choices(cmd->opts, out);
	buf_add(out, "\t\tesac ;;\n");
}

static void make_bash(struct buf *out)
{
	buf_add(out, "# bash completion of clyde; made by: clyde completion bash\n"
		     "_clyde()\n{\n"
		     "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
		     "\tlocal cmd='' options='' operands='' words='' i\n"
		     "\t[[ $prev == '=' ]] && prev=${COMP_WORDS[COMP_CWORD-2]}\n"
		     "\t[[ $cur == '=' ]] && cur='' && prev=${COMP_WORDS[COMP_CWORD-1]}\n"
		     "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
		     "\t\tcase ${COMP_WORDS[i]} in\n"
		     "\t\t--db) ((i++)) ;;\n"
		     "\t\t-*) ;;\n"
		     "\t\t*) cmd=${COMP_WORDS[i]}; break ;;\n"
		     "\t\tesac\n"
		     "\tdone\n"
		     "\tcase $cmd in\n"
		     "\t'') operands='");
	add_command_names(out);
	buf_add(out, "' ;;\n");
	for (size_t i = 0; cmd_list[i]; i++)
		add_bash_command(cmd_list[i], out);
	buf_add(out, "\tesac\n"
		     "\tif [[ -z $words ]]; then\n"
		     "\t\t[[ $cur == -* ]] && words=\"$options");
	add_bash_words(global_opts, out);
	buf_add(out, "\" || words=$operands\n"
		     "\tfi\n"
		     "\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
		     "}\n"
		     "complete -o default -F _clyde clyde\n");
}

/* ---- zsh ---- */

/* Inside single quotes and the brackets of an _arguments spec. */
static void add_zsh_text(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			buf_add(out, "'\\''");
		else if (strchr("[]:\\", *text))
			buf_addf(out, "\\%c", *text);
		else
			buf_add_bytes(out, text, 1);
	}
}

static void add_zsh_options(const struct opt *rows, struct buf *out)
{
	for (; rows->name; rows++) {
		if (!is_option(rows))
			continue;
		buf_addf(out, " \\\n\t\t\t'%s--%s%s[", rows->kind == OPT_KIND_LIST ? "*" : "",
			rows->name, rows->kind == OPT_KIND_FLAG ? "" : "=");
		add_zsh_text(out, rows->help);
		buf_add(out, "]");
		if (rows->kind == OPT_KIND_CHOICE) {
			buf_addf(out, ":%s:(", rows->name);
			add_choices(out, rows->choices);
			buf_add(out, ")");
		} else if (rows->kind != OPT_KIND_FLAG) {
			buf_addf(out, ":%s:%s", rows->name,
				rows->value && strcmp(rows->value, "FILE") == 0 ? "_files" : "");
		}
		buf_add(out, "'");
	}
}

static void add_zsh_command(const struct cmd *cmd, struct buf *out)
{
	cleanup(buf_release_p) struct buf words = { 0 };

	add_operand_words(cmd, &words);
	buf_addf(out, "\t%s)\n\t\t_arguments", cmd->name);
	add_zsh_options(cmd->opts, out);
	add_zsh_options(global_opts, out);
	if (words.n_bytes > 0)
		buf_addf(out, " \\\n\t\t\t'*:operand:(%s)' ;;\n", buf_text(&words));
	else
		buf_add(out, " \\\n\t\t\t'*:file:_files' ;;\n");
}

static void make_zsh(struct buf *out)
{
	buf_add(out, "#compdef clyde\n"
		     "# zsh completion of clyde; made by: clyde completion zsh\n"
		     "_clyde()\n{\n"
		     "\tlocal -a commands\n"
		     "\tcommands=(\n");
	for (size_t i = 0; cmd_list[i]; i++) {
		buf_addf(out, "\t\t'%s:", cmd_list[i]->name);
		add_zsh_text(out, cmd_list[i]->summary);
		buf_add(out, "'\n");
	}
	buf_add(out, "\t)\n"
		     "\tif (( CURRENT == 2 )); then\n"
		     "\t\t_describe command commands\n"
		     "\t\treturn\n"
		     "\tfi\n"
		     "\tlocal cmd=$words[2]\n"
		     "\tshift words\n"
		     "\t(( CURRENT-- ))\n"
		     "\tcase $cmd in\n");
	for (size_t i = 0; cmd_list[i]; i++)
		add_zsh_command(cmd_list[i], out);
	buf_add(out, "\tesac\n"
		     "}\n"
		     /* Loaded by name it is to complete at once; sourced, only to be known. */
		     "if [[ $funcstack[1] == _clyde ]]; then\n"
		     "\t_clyde \"$@\"\n"
		     "else\n"
		     "\tcompdef _clyde clyde\n"
		     "fi\n");
}

static int cmd_completion_main(struct context *ctx, void *args, const char *const *operands,
	size_t n_operands, struct err *e)
{
	cleanup(buf_release_p) struct buf text = { 0 };
	const char *shell = n_operands == 1 ? operands[0] : "";

	(void)args;
	if (strcmp(shell, "bash") == 0) {
		make_bash(&text);
	} else if (strcmp(shell, "zsh") == 0) {
		make_zsh(&text);
	} else {
		err_set(e, ERR_USAGE, 0, "completion takes one shell, bash or zsh, not '%s'",
			n_operands > 1 ? operands[1] : shell);
		return err_exit_status(e->kind);
	}
	return common_print_text(ctx, "script", &text, e);
}

static const struct opt completion_opts[] = { OPT_END };

const struct cmd cmd_completion = {
	.name = "completion",
	.summary = "script that completes options in a shell",
	.operands = "bash|zsh",
	.group = "care",
	.opts = completion_opts,
	.examples = "source <(clyde completion bash)\n"
		    "clyde completion zsh > ~/.zfunc/_clyde",
	.run = cmd_completion_main,
};

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Texts made from option rows, and the check that rows are fit for it.
 */
#include "cli/opt.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/units.h"

enum {
	LINE_COLUMNS = 80,
	HELP_COLUMN_MAX = 30,	/* a longer option stands on its own line */
	CHOICES_MAX_BYTES = 120 /* room in OPT_ALLOWED_MAX */
};

static bool is_number(const struct opt *row)
{
	return row->kind == OPT_KIND_BYTES || row->kind == OPT_KIND_COUNT ||
	       row->kind == OPT_KIND_DURATION;
}

/* ---- what a row allows ---- */

static const char *number_text(const struct opt *row, uint64_t number, char text[UNITS_TEXT_MAX])
{
	if (row->kind == OPT_KIND_BYTES)
		return units_bytes_iec(number, text);
	if (row->kind == OPT_KIND_DURATION && number >= UINT64_C(60000000000))
		return units_wait((double)number / 1e9, text);
	if (row->kind == OPT_KIND_DURATION)
		return units_duration((double)number / 1e9, text);
	snprintf(text, UNITS_TEXT_MAX, "%" PRIu64, number);
	return text;
}

/* "a|b|c" as "a, b or c" */
static void choices_text(const char *choices, char text[OPT_ALLOWED_MAX])
{
	size_t n = 0;

	for (const char *word = choices;;) {
		int n_word_bytes = (int)strcspn(word, "|");
		const char *next = word[n_word_bytes] ? word + n_word_bytes + 1 : NULL;
		const char *join = !next ? "" : strchr(next, '|') ? ", " : " or ";
		int n_more =
			snprintf(text + n, OPT_ALLOWED_MAX - n, "%.*s%s", n_word_bytes, word, join);

		n += (size_t)n_more;
		if (!next || n >= OPT_ALLOWED_MAX)
			return;
		word = next;
	}
}

const char *opt_allowed(const struct opt *row, char text[OPT_ALLOWED_MAX])
{
	char min[UNITS_TEXT_MAX], max[UNITS_TEXT_MAX];

	if (row->kind == OPT_KIND_CHOICE)
		choices_text(row->choices, text);
	else if (row->kind == OPT_KIND_PCT)
		snprintf(text, OPT_ALLOWED_MAX, "0 to 100");
	else if (!is_number(row) || (row->min == 0 && row->max == UINT64_MAX))
		snprintf(text, OPT_ALLOWED_MAX, "any");
	else if (row->max == UINT64_MAX)
		snprintf(text, OPT_ALLOWED_MAX, "%s or more", number_text(row, row->min, min));
	else
		snprintf(text, OPT_ALLOWED_MAX, "%s to %s", number_text(row, row->min, min),
			number_text(row, row->max, max));
	return text;
}

/* ---- help ---- */

/* Columns on a terminal: every character of our texts takes one. */
static size_t n_columns(const char *text, size_t n_bytes)
{
	size_t n = 0;

	for (size_t i = 0; i < n_bytes; i++)
		n += ((unsigned char)text[i] & 0xc0) != 0x80;
	return n;
}

static void add_spaces(struct buf *out, size_t n)
{
	while (n-- > 0)
		buf_add(out, " ");
}

/* Words of @text from @column on; every line starts at @indent and ends within the terminal. */
static void add_wrapped(struct buf *out, const char *text, size_t column, size_t indent)
{
	bool first = true;

	for (;;) {
		text += strspn(text, " ");
		size_t n_bytes = strcspn(text, " ");
		size_t n = n_columns(text, n_bytes);

		if (n_bytes == 0)
			break;
		if (!first && column + 1 + n >= LINE_COLUMNS) {
			buf_add(out, "\n");
			add_spaces(out, indent);
			column = indent;
		} else if (!first) {
			buf_add(out, " ");
			column++;
		}
		buf_add_bytes(out, text, n_bytes);
		column += n;
		text += n_bytes;
		first = false;
	}
	buf_add(out, "\n");
}

/* "  -s, --size=SIZE" */
static void add_spelled(const struct opt *row, struct buf *out)
{
	if (row->letter)
		buf_addf(out, "  -%c, --%s", row->letter, row->name);
	else
		buf_addf(out, "      --%s", row->name);
	if (row->value)
		buf_addf(out, "=%s", row->value);
}

static size_t spelled_columns(const struct opt *row)
{
	return 8 + strlen(row->name) +
	       (row->value ? 1 + n_columns(row->value, strlen(row->value)) : 0);
}

/* Where the help texts start: two columns behind the widest option that fits. */
static size_t help_column(const struct opt *rows)
{
	size_t widest = 0;

	for (const struct opt *row = rows; !opt_is_end(row); row++) {
		size_t n = opt_is_option(row) ? spelled_columns(row) : 0;

		if (n + 2 <= HELP_COLUMN_MAX && n > widest)
			widest = n;
	}
	return widest ? widest + 2 : HELP_COLUMN_MAX;
}

static void add_help_row(const struct opt *row, size_t column, struct buf *out)
{
	size_t n = spelled_columns(row);

	add_spelled(row, out);
	if (n + 2 > column) {
		buf_add(out, "\n");
		n = 0;
	}
	add_spaces(out, column - n);
	add_wrapped(out, row->help, column, column);
}

static bool has_kind(const struct opt *rows, enum opt_kind kind)
{
	for (const struct opt *row = rows; !opt_is_end(row); row++)
		if (row->kind == kind)
			return true;
	return false;
}

void opt_help(const struct opt *rows, struct buf *out)
{
	size_t column = help_column(rows);
	bool any = false, headed = false;

	for (const struct opt *row = rows; !opt_is_end(row); row++) {
		if (row->group || !headed)
			buf_addf(out, "%s%s:\n", any ? "\n" : "",
				row->group ? row->group : "Options");
		headed = any = true;
		if (opt_is_option(row))
			add_help_row(row, column, out);
	}
	if (has_kind(rows, OPT_KIND_BYTES))
		buf_add(out, "\nSIZE: k, M, G, T, P are powers of 1024; kB, MB, GB, TB, PB of "
			     "1000.\n");
	if (has_kind(rows, OPT_KIND_DURATION))
		buf_addf(out, "%sTIME: us, ms, s, min or h; seconds when there is no unit.\n",
			has_kind(rows, OPT_KIND_BYTES) ? "" : "\n");
}

/* ---- man page ---- */

/* scdoc(5) takes *, _, \ and, at the start of a line, more for markup. */
static void add_scdoc(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("*_\\#[]|.<>`~", *text))
			buf_add(out, "\\");
		buf_add_bytes(out, text, 1);
	}
}

static void add_scdoc_row(const struct opt *row, struct buf *out)
{
	char allowed[OPT_ALLOWED_MAX];

	if (row->letter)
		buf_addf(out, "*-%c*, ", row->letter);
	buf_addf(out, "*--%s*", row->name);
	if (row->value) {
		buf_add(out, "=_");
		add_scdoc(out, row->value);
		buf_add(out, "_");
	}
	buf_add(out, "\n\t");
	add_scdoc(out, row->help);
	buf_add(out, ".");
	if (is_number(row) && !(row->min == 0 && row->max == UINT64_MAX)) {
		buf_add(out, " Allowed: ");
		add_scdoc(out, opt_allowed(row, allowed));
		buf_add(out, ".");
	}
	buf_add(out, "\n\n");
}

void opt_scdoc(const struct opt *rows, struct buf *out)
{
	for (const struct opt *row = rows; !opt_is_end(row); row++) {
		if (row->group) {
			buf_add(out, "## ");
			add_scdoc(out, row->group);
			buf_add(out, "\n\n");
		}
		if (opt_is_option(row))
			add_scdoc_row(row, out);
	}
}

void opt_words(const struct opt *rows, struct buf *out)
{
	for (const struct opt *row = rows; !opt_is_end(row); row++)
		if (opt_is_option(row))
			buf_addf(out, "--%s\n", row->name);
}

/* ---- check ---- */

static bool is_good_name(const char *name)
{
	size_t n = strlen(name);

	if (n < 2 || n > OPT_NAME_MAX_BYTES || name[0] == '-' || name[n - 1] == '-')
		return false;
	return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

/* Two words or more, none empty, none twice. */
static bool are_good_choices(const char *choices)
{
	size_t n_words = 0;

	if (!choices || strlen(choices) > CHOICES_MAX_BYTES)
		return false;
	for (const char *word = choices;;) {
		size_t n = strcspn(word, "|");

		if (n == 0)
			return false;
		for (const char *old = choices; old < word; old += strcspn(old, "|") + 1)
			if (strcspn(old, "|") == n && memcmp(old, word, n) == 0)
				return false;
		n_words++;
		if (!word[n])
			return n_words >= 2;
		word += n + 1;
	}
}

/* What is wrong with a row by itself; NULL: nothing. */
static const char *row_fault(const struct opt *row)
{
	if (!row->name || !is_good_name(row->name))
		return "the name is not 2 to 24 of a-z, 0-9 and '-'";
	if ((unsigned)row->kind >= OPT_N_KINDS)
		return "there is no such kind";
	if (row->letter && !isalnum((unsigned char)row->letter))
		return "the letter is neither a letter nor a digit";
	if (!row->help || !*row->help || strchr(row->help, '\n'))
		return "the help is not one line";
	if (row->help[strlen(row->help) - 1] == '.')
		return "the help ends with a full stop";
	if ((row->kind == OPT_KIND_FLAG) != !row->value)
		return "a flag has a value, or another kind has none";
	if (is_number(row) && row->min > row->max)
		return "the smallest value is above the largest";
	if (row->kind == OPT_KIND_CHOICE && !are_good_choices(row->choices))
		return "the choices are not two or more different words";
	return NULL;
}

int opt_check(const struct opt *rows, struct err *e)
{
	for (const struct opt *row = rows; !opt_is_end(row); row++) {
		if (!opt_is_option(row)) {
			if (!row->group || !*row->group)
				return err_set(e, ERR_BUG, 0, "a heading has no text");
			continue;
		}
		const char *why = row_fault(row);

		if (why)
			return err_set(e, ERR_BUG, 0, "option '%s': %s",
				row->name ? row->name : "(none)", why);
		for (const struct opt *other = rows; other < row; other++) {
			if (!opt_is_option(other))
				continue;
			if (strcmp(other->name, row->name) == 0)
				return err_set(
					e, ERR_BUG, 0, "option '%s' is there twice", row->name);
			if (row->letter && other->letter == row->letter)
				return err_set(
					e, ERR_BUG, 0, "letter '%c' is there twice", row->letter);
		}
	}
	return 0;
}

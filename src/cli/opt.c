/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The parser of option rows. getopt_long(3) is not used: it abbreviates, prints by itself, keeps
 * its state in globals and knows neither types nor ranges. Texts made from rows: opt_text.c.
 */
#include "cli/opt.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "base/utf8.h"

enum { TYPED_MAX_BYTES = 40 }; /* longer ones get no hint */

/* An option as the person wrote it, for messages: "--size", "-s", or "size" in a list. */
struct spelling {
	const char *dashes;
	const char *name;
	int n_name_bytes;
};

/* Where the parser stands. */
struct parser {
	const struct opt_table *tables;
	size_t n_tables;
	const char *const *argv;
	int argc;
	int next; /* index of the first string that was not looked at */
	struct err *e;
};

/* ---- values ---- */

static int refuse_range(const struct opt *row, const struct spelling *s, const char *value,
	const char *why, struct err *e)
{
	char allowed[OPT_ALLOWED_MAX];

	return err_set(e, ERR_USAGE, 0, "%s%.*s: '%.60s' is too %s; allowed is %s", s->dashes,
		s->n_name_bytes, s->name, value, why, opt_allowed(row, allowed));
}

static int set_number(const struct opt *row, void *field, const struct spelling *s,
	const char *value, struct err *e)
{
	uint64_t number = 0;
	int rc;

	if (row->kind == OPT_KIND_BYTES)
		rc = units_parse_bytes(value, &number, e);
	else if (row->kind == OPT_KIND_DURATION)
		rc = units_parse_duration(value, &number, e);
	else
		rc = units_parse_count(value, &number, e);
	if (rc < 0)
		return err_wrap(e, "%s%.*s", s->dashes, s->n_name_bytes, s->name);
	if (number < row->min)
		return refuse_range(row, s, value, "small", e);
	if (number > row->max)
		return refuse_range(row, s, value, "large", e);
	*(uint64_t *)field = number;
	return 0;
}

static int set_choice(const struct opt *row, void *field, const struct spelling *s,
	const char *value, struct err *e)
{
	char allowed[OPT_ALLOWED_MAX];
	size_t n_value_bytes = strlen(value);
	const char *word = row->choices;

	for (int index = 0;; index++) {
		size_t n_word_bytes = strcspn(word, "|");

		if (n_word_bytes == n_value_bytes && memcmp(word, value, n_word_bytes) == 0) {
			*(int *)field = index;
			return 0;
		}
		if (!word[n_word_bytes])
			break;
		word += n_word_bytes + 1;
	}
	return err_set(e, ERR_USAGE, 0, "%s%.*s: '%.60s' is not a choice; allowed is %s", s->dashes,
		s->n_name_bytes, s->name, value, opt_allowed(row, allowed));
}

static int add_to_list(void *field, const struct spelling *s, const char *value, struct err *e)
{
	struct opt_list *list = field;

	if (list->n >= OPT_LIST_MAX)
		return err_set(e, ERR_USAGE, 0, "%s%.*s: '%.60s' is one too many; allowed is %d",
			s->dashes, s->n_name_bytes, s->name, value, OPT_LIST_MAX);
	list->values[list->n++] = value;
	return 0;
}

static int set_text(const struct opt *row, void *field, const struct spelling *s, const char *value,
	struct err *e)
{
	if (!*value)
		return err_set(e, ERR_USAGE, 0, "%s%.*s: '' is empty; it needs a %s", s->dashes,
			s->n_name_bytes, s->name, row->value);
	if (row->kind == OPT_KIND_LIST)
		return add_to_list(field, s, value, e);
	*(const char **)field = value;
	return 0;
}

static int set_pct(void *field, const struct spelling *s, const char *value, struct err *e)
{
	double pct;

	if (units_parse_pct(value, &pct, e) < 0)
		return err_wrap(e, "%s%.*s", s->dashes, s->n_name_bytes, s->name);
	*(double *)field = pct;
	return 0;
}

/* @value: not NULL, except for flags */
static int set_value(const struct opt *row, void *args, const struct spelling *s, const char *value,
	struct err *e)
{
	void *field = (char *)args + row->offset;

	switch (row->kind) {
	case OPT_KIND_FLAG:
		*(bool *)field = true;
		return 0;
	case OPT_KIND_BYTES:
	case OPT_KIND_COUNT:
	case OPT_KIND_DURATION:
		return set_number(row, field, s, value, e);
	case OPT_KIND_PCT:
		return set_pct(field, s, value, e);
	case OPT_KIND_STR:
	case OPT_KIND_LIST:
		return set_text(row, field, s, value, e);
	case OPT_KIND_CHOICE:
		return set_choice(row, field, s, value, e);
	case OPT_KIND_END:
	case OPT_N_KINDS:
		break;
	}
	return err_set(e, ERR_BUG, 0, "option '%s' has no kind", row->name);
}

/* Says no to a value that is there or missing against the kind of the row. */
static int check_presence(
	const struct opt *row, const struct spelling *s, const char *value, struct err *e)
{
	if (row->kind == OPT_KIND_FLAG && value)
		return err_set(e, ERR_USAGE, 0, "%s%.*s: '%.60s' is too much; it takes no value",
			s->dashes, s->n_name_bytes, s->name, value);
	if (row->kind != OPT_KIND_FLAG && !value)
		return err_set(e, ERR_USAGE, 0, "%s%.*s needs a value: %s", s->dashes,
			s->n_name_bytes, s->name, row->value);
	return 0;
}

/* ---- names ---- */

/* A row and the struct that its offset points into. */
struct found {
	const struct opt *row;
	void *args;
};

static bool find_name(const struct opt_table *tables, size_t n_tables, const char *name,
	size_t n_name_bytes, struct found *ret)
{
	for (size_t t = 0; t < n_tables; t++) {
		for (const struct opt *row = tables[t].rows; !opt_is_end(row); row++) {
			if (opt_is_option(row) && strlen(row->name) == n_name_bytes &&
				memcmp(row->name, name, n_name_bytes) == 0) {
				*ret = (struct found){ row, tables[t].args };
				return true;
			}
		}
	}
	return false;
}

static bool find_letter(const struct parser *p, char letter, struct found *ret)
{
	for (size_t t = 0; t < p->n_tables; t++) {
		for (const struct opt *row = p->tables[t].rows; !opt_is_end(row); row++) {
			if (opt_is_option(row) && row->letter == letter && letter) {
				*ret = (struct found){ row, p->tables[t].args };
				return true;
			}
		}
	}
	return false;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Insertions, deletions, substitutions and swaps of neighbours that turn a into b (the optimal
 * string alignment distance, Damerau 1964). Three rows of the table are enough.
 */
static size_t edit_distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
	size_t rows[3][OPT_NAME_MAX_BYTES + 1];

	assert(n_b <= OPT_NAME_MAX_BYTES);
	for (size_t j = 0; j <= n_b; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= n_a; i++) {
		size_t *now = rows[i % 3];
		const size_t *before = rows[(i - 1) % 3], *before2 = rows[(i + 1) % 3];

		now[0] = i;
		for (size_t j = 1; j <= n_b; j++) {
			now[j] = smaller(before[j], now[j - 1]) + 1;
			now[j] = smaller(now[j], before[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = smaller(now[j], before2[j - 2] + 1);
		}
	}
	return rows[n_a % 3][n_b];
}

/* How far a typed name is from a row's; an abbreviation, which other tools take, is near. */
static size_t distance(const char *typed, size_t n_typed, const char *name)
{
	size_t n_name = strlen(name);

	if (n_name > OPT_NAME_MAX_BYTES)
		return SIZE_MAX;
	if (n_typed >= 2 && n_typed < n_name && memcmp(typed, name, n_typed) == 0)
		return 1;
	return edit_distance(typed, n_typed, name, n_name);
}

/* The nearest name, NULL if none is near enough to be what was meant. */
static const char *nearest(
	const struct opt_table *tables, size_t n_tables, const char *typed, size_t n_typed)
{
	/* Of a short name most letters must be right: -s is not nearly --db. */
	size_t best = n_typed <= 3 ? 1 : n_typed <= 6 ? 2 : 3;
	const char *best_name = NULL;

	if (n_typed > TYPED_MAX_BYTES)
		return NULL;
	for (size_t t = 0; t < n_tables; t++) {
		for (const struct opt *row = tables[t].rows; !opt_is_end(row); row++) {
			if (!opt_is_option(row))
				continue;
			size_t d = distance(typed, n_typed, row->name);

			if (d < best || (d == best && !best_name)) {
				best = d;
				best_name = row->name;
			}
		}
	}
	return best_name;
}

static int refuse_unknown(
	const struct opt_table *tables, size_t n_tables, const struct spelling *s, struct err *e)
{
	const char *name = nearest(tables, n_tables, s->name, (size_t)s->n_name_bytes);
	int n_shown_bytes = s->n_name_bytes < 60 ? s->n_name_bytes : 60;

	if (name)
		return err_set(e, ERR_USAGE, 0, "unknown option '%s%.*s'; did you mean '%s%s'?",
			s->dashes, n_shown_bytes, s->name, s->dashes, name);
	return err_set(e, ERR_USAGE, 0, "unknown option '%s%.*s'%s", s->dashes, n_shown_bytes,
		s->name, *s->dashes ? "; --help lists them" : "");
}

/* ---- the command line ---- */

/* The string behind an option that needs a value; NULL at the end. */
static const char *next_value(struct parser *p)
{
	return p->next < p->argc ? p->argv[p->next++] : NULL;
}

/* "--name", "--name=value" or "--name value"; @text is behind the dashes. */
static int parse_long(struct parser *p, const char *text)
{
	size_t n_name_bytes = strcspn(text, "=");
	const char *value = text[n_name_bytes] ? text + n_name_bytes + 1 : NULL;
	/* A string of more than INT_MAX bytes does not fit on a command line (execve(2)). */
	struct spelling s = { "--", text, (int)n_name_bytes };
	struct found f;

	if (!find_name(p->tables, p->n_tables, text, n_name_bytes, &f))
		return refuse_unknown(p->tables, p->n_tables, &s, p->e);
	if (!value && f.row->kind != OPT_KIND_FLAG)
		value = next_value(p);
	if (check_presence(f.row, &s, value, p->e) < 0)
		return -1;
	return set_value(f.row, f.args, &s, value, p->e);
}

static int refuse_letter(struct parser *p, const char *letter, const char *text)
{
	int n_bytes = utf8_printable(letter) ? (int)utf8_printable(letter) : 1;

	if (letter == text && !letter[n_bytes])
		return err_set(
			p->e, ERR_USAGE, 0, "unknown option '-%s'; --help lists them", letter);
	return err_set(p->e, ERR_USAGE, 0, "unknown option '-%.*s' in '-%.60s'; --help lists them",
		n_bytes, letter, text);
}

/* "-x", "-xyz" for flags, "-xVALUE" or "-x VALUE"; @text is behind the dash. */
static int parse_letters(struct parser *p, const char *text)
{
	for (const char *c = text; *c; c++) {
		struct spelling s = { "-", c, 1 };
		struct found f;

		if (!find_letter(p, *c, &f))
			return refuse_letter(p, c, text);
		if (f.row->kind != OPT_KIND_FLAG) {
			const char *value = c[1] ? c + 1 : next_value(p);

			if (check_presence(f.row, &s, value, p->e) < 0)
				return -1;
			return set_value(f.row, f.args, &s, value, p->e);
		}
		if (set_value(f.row, f.args, &s, NULL, p->e) < 0)
			return -1;
	}
	return 0;
}

int opt_parse(const struct opt_table *tables, size_t n_tables, int argc, const char *const *argv,
	const char **operands, size_t *ret_n_operands, struct err *e)
{
	struct parser p = {
		.tables = tables,
		.n_tables = n_tables,
		.argv = argv,
		.argc = argc,
		.e = e,
	};
	bool options_ended = false;
	size_t n_operands = 0;

	while (p.next < argc) {
		const char *text = argv[p.next++];
		int rc = 0;

		/* "-" alone is an operand: standard input or output. */
		if (options_ended || text[0] != '-' || !text[1])
			operands[n_operands++] = text;
		else if (text[1] != '-')
			rc = parse_letters(&p, text + 1);
		else if (text[2])
			rc = parse_long(&p, text + 2);
		else
			options_ended = true;
		if (rc < 0)
			return -1;
	}
	*ret_n_operands = n_operands;
	return 0;
}

int opt_set(const struct opt_table *table, const char *name, const char *value, struct err *e)
{
	size_t n_name_bytes = strnlen(name, INT32_MAX);
	struct spelling s = { "", name, (int)n_name_bytes };
	struct found f;

	if (!find_name(table, 1, name, n_name_bytes, &f))
		return refuse_unknown(table, 1, &s, e);
	if (check_presence(f.row, &s, value, e) < 0)
		return -1;
	return set_value(f.row, f.args, &s, value, e);
}

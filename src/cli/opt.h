/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Options as rows, floor 4. A row is const and holds an offset into the command's argument struct;
 * the macros check the field's type at compile time. Parser, --help, man page, completion and
 * tests all come from the same rows.
 *
 * Grammar: GNU long options, --x=v and --x v, -x v and -xv for letters, -- ends options, operands
 * and options may mix. No abbreviations, no options with optional values. A repeated option: the
 * last one wins, except OPT_LIST, which collects.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct buf;
struct err;

enum opt_kind {
	OPT_KIND_END,
	OPT_KIND_FLAG,
	OPT_KIND_BYTES,
	OPT_KIND_COUNT,
	OPT_KIND_DURATION,
	OPT_KIND_PCT,
	OPT_KIND_STR,
	OPT_KIND_CHOICE,
	OPT_KIND_LIST,
	OPT_N_KINDS
};

enum {
	OPT_LIST_MAX = 32,
	OPT_NAME_MAX_BYTES = 24, /* of a row's name, without the NUL */
	OPT_ALLOWED_MAX = 200,	 /* room that every text of opt_allowed() fits */
};

struct opt_list {
	const char *values[OPT_LIST_MAX]; /* point into argv */
	size_t n;
};

struct opt {
	const char *name; /* without the dashes */
	char letter;	  /* 0: none */
	enum opt_kind kind;
	size_t offset;	     /* of the field */
	uint64_t min, max;   /* inclusive, for numbers; the unit is the field's */
	const char *choices; /* OPT_KIND_CHOICE: "auto|on|off"; the field gets the index */
	const char *value;   /* "NAME", "SIZE" in help; NULL for flags */
	const char *group;   /* heading in help; NULL: that of the row before */
	const char *help;    /* one line, states the default */
};

/* False for headings and the end. */
static inline bool opt_is_option(const struct opt *row)
{
	return row->kind != OPT_KIND_END;
}

static inline bool opt_is_end(const struct opt *row)
{
	return row->kind == OPT_KIND_END && !row->name;
}

/* The field's type is checked: a wrong one does not compile. */
#define OPT_FIELD(type, field, want) _Generic(((type *)0)->field, want : offsetof(type, field))

/* clang-format off */
#define OPT_FLAG(t, f, l, n, h)             { .name = n, .letter = l, .kind = OPT_KIND_FLAG, .offset = OPT_FIELD(t, f, bool), .help = h }
#define OPT_BYTES(t, f, l, n, lo, hi, h)    { .name = n, .letter = l, .kind = OPT_KIND_BYTES, .offset = OPT_FIELD(t, f, uint64_t), .min = lo, .max = hi, .value = "SIZE", .help = h }
#define OPT_COUNT(t, f, l, n, lo, hi, h)    { .name = n, .letter = l, .kind = OPT_KIND_COUNT, .offset = OPT_FIELD(t, f, uint64_t), .min = lo, .max = hi, .value = "N", .help = h }
#define OPT_DURATION(t, f, l, n, lo, hi, h) { .name = n, .letter = l, .kind = OPT_KIND_DURATION, .offset = OPT_FIELD(t, f, uint64_t), .min = lo, .max = hi, .value = "TIME", .help = h }
#define OPT_PCT(t, f, l, n, h)              { .name = n, .letter = l, .kind = OPT_KIND_PCT, .offset = OPT_FIELD(t, f, double), .min = 0, .max = 100, .value = "PCT", .help = h }
#define OPT_STR(t, f, l, n, v, h)           { .name = n, .letter = l, .kind = OPT_KIND_STR, .offset = OPT_FIELD(t, f, const char *), .value = v, .help = h }
#define OPT_CHOICE(t, f, l, n, c, h)        { .name = n, .letter = l, .kind = OPT_KIND_CHOICE, .offset = OPT_FIELD(t, f, int), .choices = c, .value = c, .help = h }
#define OPT_LIST(t, f, l, n, v, h)          { .name = n, .letter = l, .kind = OPT_KIND_LIST, .offset = OPT_FIELD(t, f, struct opt_list), .value = v, .help = h }
#define OPT_GROUP(g)                        { .group = g, .kind = OPT_KIND_END, .name = "" }
#define OPT_END                             { .kind = OPT_KIND_END }
/* clang-format on */

/*
 * A table is a list of rows ended by OPT_END (name NULL). OPT_GROUP rows (name "") are headings
 * between options. Several tables (global, the command's) are searched in order.
 */
struct opt_table {
	const struct opt *rows;
	void *args; /* where offsets point to; NULL when only help is wanted */
};

/**
 * opt_parse() - fills the argument structs from a command line
 * @tables:    [n_tables]
 * @argc:      number of strings in @argv, all of them options or operands (no program name)
 * @operands:  [argc] filled with pointers into argv
 *
 * An unknown option is an error with the nearest name as a hint. Messages name option, value, what
 * is allowed.
 *
 * Return: 0; -1 with ERR_USAGE
 */
int opt_parse(const struct opt_table *tables, size_t n_tables, int argc, const char *const *argv,
	const char **operands, size_t *ret_n_operands, struct err *e);

/**
 * opt_set() - one option by name, as from --custom "key=value" lists
 * @value: NULL for a flag
 *
 * Return: 0; -1 with ERR_USAGE
 */
int opt_set(const struct opt_table *table, const char *name, const char *value, struct err *e);

/* What values a row takes: "4 KiB or more", "1 to 64", "auto, on or off", "any". */
const char *opt_allowed(const struct opt *row, char text[OPT_ALLOWED_MAX]);

/* Help text of a table: grouped, aligned, wrapped to 80 columns; ends with what a
 * SIZE and a TIME look like when there are such options. */
void opt_help(const struct opt *rows, struct buf *out);

/* Rows of an OPTIONS section in scdoc(5) form, groups as subsections, without its heading. */
void opt_scdoc(const struct opt *rows, struct buf *out);

/* Words for the shell: "--size --block ...", one per line. */
void opt_words(const struct opt *rows, struct buf *out);

/* Checks a table: no duplicate names or letters, help present, ranges sane. 0, or -1 ERR_BUG. */
int opt_check(const struct opt *rows, struct err *e);

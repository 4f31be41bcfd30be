/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Numbers are read exactly, in integers: a fraction is kept as digits over a power of ten until
 * the unit is known, and what is then not a whole number of bytes or nanoseconds is refused
 * instead of rounded. strtod() would take "nan", "0x10", " 4" and the locale's comma.
 */
#include "base/units.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

/* One word of a grammar. Words are matched whole. */
struct unit {
	const char *word;
	uint64_t factor;
};

/* What is read, for messages: "'x' is not a <what>: ...; write one as <examples>" */
struct grammar {
	const char *what;
	const char *smallest; /* what a value is a whole number of */
	const char *examples;
	const struct unit *units; /* ends with word NULL */
	uint64_t default_factor;  /* of a number without a word; 0: it takes no fraction either */
};

enum { FRACTION_DIGITS_MAX = 18 };

/* value = whole + fraction / scale */
struct decimal {
	uint64_t whole;
	uint64_t fraction;
	uint64_t scale;
	const char *rest; /* what follows the digits */
};

#define KI UINT64_C(1024)
#define K  UINT64_C(1000)

static const struct unit byte_units[] = {
	{ "B", 1 },
	{ "k", KI },
	{ "K", KI },
	{ "KiB", KI },
	{ "kiB", KI },
	{ "kB", K },
	{ "KB", K },
	{ "m", KI *KI },
	{ "M", KI *KI },
	{ "MiB", KI *KI },
	{ "MB", K *K },
	{ "g", KI *KI *KI },
	{ "G", KI *KI *KI },
	{ "GiB", KI *KI *KI },
	{ "GB", K *K *K },
	{ "t", KI *KI *KI *KI },
	{ "T", KI *KI *KI *KI },
	{ "TiB", KI *KI *KI *KI },
	{ "TB", K *K *K *K },
	{ "p", KI *KI *KI *KI *KI },
	{ "P", KI *KI *KI *KI *KI },
	{ "PiB", KI *KI *KI *KI *KI },
	{ "PB", K *K *K *K *K },
	{ 0 },
};

static const struct unit duration_units[] = {
	{ "us", K },
	{ "ms", K *K },
	{ "s", K *K *K },
	{ "m", 60 * K *K *K },
	{ "min", 60 * K *K *K },
	{ "h", 3600 * K *K *K },
	{ 0 },
};

static const struct unit no_units[] = { { 0 } };
static const struct unit pct_units[] = { { "%", 1 }, { 0 } };

static const struct grammar bytes_grammar = {
	.what = "size",
	.smallest = "bytes",
	.examples = "4k, 64MiB or 10GB",
	.units = byte_units,
	.default_factor = 1,
};

static const struct grammar duration_grammar = {
	.what = "duration",
	.smallest = "nanoseconds",
	.examples = "500ms, 10s, 2min or 1h",
	.units = duration_units,
	.default_factor = K * K * K,
};

static const struct grammar count_grammar = {
	.what = "count",
	.smallest = "units",
	.examples = "1 or 32",
	.units = no_units,
	.default_factor = 0,
};

static const struct grammar pct_grammar = {
	.what = "percentage",
	.smallest = "percent",
	.examples = "70, 70% or 12.5%",
	.units = pct_units,
	.default_factor = 1,
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int refuse(struct err *e, const struct grammar *g, const char *text, const char *why)
{
	return err_set(e, ERR_USAGE, 0, "'%.60s' is not a %s: %s; write one as %s", text, g->what,
		why, g->examples);
}

static int refuse_large(struct err *e, const struct grammar *g, const char *text)
{
	return err_set(e, ERR_USAGE, 0, "'%.60s' is too large for a %s; write one as %s", text,
		g->what, g->examples);
}

/* Why the text cannot even begin a number; NULL: it can. */
static const char *why_no_number(const char *text)
{
	if (!*text)
		return "it is empty";
	if (strpbrk(text, " \t\n\v\f\r"))
		return "it contains a space";
	if (*text == '+')
		return "it has a sign";
	if (*text == '.')
		return "there is no digit before the point";
	if (!is_digit(*text))
		return "it does not start with a digit";
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		return "hexadecimal is not read";
	return NULL;
}

/* The digits behind the point, without the zeros at the end: they say nothing. */
static int read_fraction(
	const struct grammar *g, const char *text, struct decimal *d, struct err *e)
{
	const char *digits = d->rest + 1;
	size_t n_digits = strspn(digits, "0123456789");

	if (g->default_factor == 0)
		return refuse(e, g, text, "it is not a whole number");
	if (n_digits == 0)
		return refuse(e, g, text, "there is no digit behind the point");
	d->rest = digits + n_digits;
	while (n_digits > 0 && digits[n_digits - 1] == '0')
		n_digits--;
	if (n_digits > FRACTION_DIGITS_MAX)
		return refuse(e, g, text, "there are more than 18 digits behind the point");
	for (size_t i = 0; i < n_digits; i++) {
		d->fraction = d->fraction * 10 + (uint64_t)(digits[i] - '0');
		d->scale *= 10;
	}
	return 0;
}

static int read_decimal(
	const struct grammar *g, const char *text, struct decimal *ret, struct err *e)
{
	struct decimal d = { .scale = 1, .rest = text };
	const char *why;

	if (text[0] == '-' && (is_digit(text[1]) || text[1] == '.'))
		return err_set(e, ERR_USAGE, 0,
			"'%.60s' is negative; a %s must be positive, such as %s", text, g->what,
			g->examples);
	why = why_no_number(text);
	if (why)
		return refuse(e, g, text, why);
	for (; is_digit(*d.rest); d.rest++) {
		if (__builtin_mul_overflow(d.whole, 10, &d.whole) ||
			__builtin_add_overflow(d.whole, (uint64_t)(*d.rest - '0'), &d.whole))
			return refuse_large(e, g, text);
	}
	if (*d.rest == '.' && read_fraction(g, text, &d, e) < 0)
		return -1;
	*ret = d;
	return 0;
}

/* The factor of the word behind the digits. */
static int find_factor(const struct grammar *g, const char *text, const char *word,
	uint64_t *ret_factor, struct err *e)
{
	if (!*word) {
		*ret_factor = g->default_factor ? g->default_factor : 1;
		return 0;
	}
	for (const struct unit *u = g->units; u->word; u++) {
		if (strcmp(u->word, word) == 0) {
			*ret_factor = u->factor;
			return 0;
		}
	}
	if ((*word == 'e' || *word == 'E') &&
		(is_digit(word[1]) || ((word[1] == '+' || word[1] == '-') && is_digit(word[2]))))
		return refuse(e, g, text, "exponents are not read");
	if (*word == ',')
		return refuse(e, g, text, "the decimal sign is a point");
	if (g->units == no_units)
		return refuse(e, g, text, "it takes digits only");
	return err_set(e, ERR_USAGE, 0,
		"'%.60s' is not a %s: '%.20s' is not a unit; write one as %s", text, g->what, word,
		g->examples);
}

/* A number with its unit as a whole number of the smallest unit. */
static int parse_integer(
	const struct grammar *g, const char *text, uint64_t *ret_value, struct err *e)
{
	struct decimal d;
	uint64_t factor, value;
	unsigned __int128 part;

	if (read_decimal(g, text, &d, e) < 0 || find_factor(g, text, d.rest, &factor, e) < 0)
		return -1;
	part = (unsigned __int128)d.fraction * factor;
	if (part % d.scale != 0)
		return err_set(e, ERR_USAGE, 0,
			"'%.60s' is not a whole number of %s; write a %s as %s", text, g->smallest,
			g->what, g->examples);
	/* The fraction is below 1, so its part is below the factor and fits. */
	if (__builtin_mul_overflow(d.whole, factor, &value) ||
		__builtin_add_overflow(value, (uint64_t)(part / d.scale), &value))
		return refuse_large(e, g, text);
	*ret_value = value;
	return 0;
}

int units_parse_bytes(const char *text, uint64_t *ret_bytes, struct err *e)
{
	return parse_integer(&bytes_grammar, text, ret_bytes, e);
}

int units_parse_duration(const char *text, uint64_t *ret_ns, struct err *e)
{
	return parse_integer(&duration_grammar, text, ret_ns, e);
}

int units_parse_count(const char *text, uint64_t *ret_count, struct err *e)
{
	return parse_integer(&count_grammar, text, ret_count, e);
}

int units_parse_pct(const char *text, double *ret_pct, struct err *e)
{
	struct decimal d;
	uint64_t factor;

	if (read_decimal(&pct_grammar, text, &d, e) < 0 ||
		find_factor(&pct_grammar, text, d.rest, &factor, e) < 0)
		return -1;
	if (d.whole > 100 || (d.whole == 100 && d.fraction > 0))
		return err_set(e, ERR_USAGE, 0,
			"'%.60s' is too large for a percentage; allowed is 0 to 100", text);
	*ret_pct = (double)d.whole + (double)d.fraction / (double)d.scale;
	return 0;
}

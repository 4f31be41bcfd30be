/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The lines of the input are a command line; its first line is also a list "key=value,key,...".
 * What is taken keeps to the ranges of the rows, what is not is a one-line error.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/utf8.h"
#include "cli/opt.h"
#include "fuzz.h"

enum { N_WORDS_MAX = 64 };

struct args {
	bool force, quiet;
	uint64_t size_bytes, n_samples, time_ns;
	double read_pct;
	const char *plan;
	int direct;
	struct opt_list phases;
};

/* clang-format off */
static const struct opt rows[] = {
	OPT_GROUP("Options"),
	OPT_BYTES   (struct args, size_bytes, 's', "size", 4096, UINT64_MAX, "bytes"),
	OPT_COUNT   (struct args, n_samples,  'n', "samples", 1, 1000, "times"),
	OPT_DURATION(struct args, time_ns,    't', "time", 1000000, 86400000000000, "length"),
	OPT_FLAG    (struct args, force,      'f', "force", "do it"),
	OPT_FLAG    (struct args, quiet,      'q', "quiet", "say less"),
	OPT_PCT     (struct args, read_pct,   0,   "read-pct", "share"),
	OPT_STR     (struct args, plan,       'p', "plan", "NAME", "what"),
	OPT_CHOICE  (struct args, direct,     0,   "direct", "auto|on|off", "bypass"),
	OPT_LIST    (struct args, phases,     0,   "phase", "NAME", "only this"),
	OPT_END,
};
/* clang-format on */

static void check_error(const struct err *e)
{
	assert(e->kind == ERR_USAGE && e->msg[0]);
	for (const char *c = e->msg; *c; c += utf8_printable(c))
		assert(utf8_printable(c) > 0);
}

/* 0 is "not given" here. */
static void check_args(const struct args *a)
{
	assert(a->size_bytes == 0 || a->size_bytes >= 4096);
	assert(a->n_samples <= 1000);
	assert(a->time_ns == 0 || (a->time_ns >= 1000000 && a->time_ns <= 86400000000000));
	assert(a->read_pct >= 0 && a->read_pct <= 100);
	assert(!a->plan || *a->plan);
	assert(a->direct >= 0 && a->direct <= 2);
	assert(a->phases.n <= OPT_LIST_MAX);
	for (size_t i = 0; i < a->phases.n; i++)
		assert(*a->phases.values[i]);
}

static void try_parse(char *text)
{
	const char *words[N_WORDS_MAX], *operands[N_WORDS_MAX];
	struct args a = { 0 };
	const struct opt_table table = { rows, &a };
	struct err e = { 0 };
	size_t n_operands = 0;
	int n_words = 0;

	for (char *word = strsep(&text, "\n"); word && n_words < N_WORDS_MAX;
		word = strsep(&text, "\n"))
		words[n_words++] = word;
	if (opt_parse(&table, 1, n_words, words, operands, &n_operands, &e) != 0)
		check_error(&e);
	else
		assert(n_operands <= (size_t)n_words);
	check_args(&a);
}

static void try_set(char *text)
{
	struct args a = { 0 };
	const struct opt_table table = { rows, &a };

	text[strcspn(text, "\n")] = '\0';
	for (char *key = strsep(&text, ","); key; key = strsep(&text, ",")) {
		char *value = strchr(key, '=');
		struct err e = { 0 };

		if (value)
			*value++ = '\0';
		if (opt_set(&table, key, value, &e) != 0)
			check_error(&e);
	}
	check_args(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	char *line cleanup(free_p) = strndup((const char *)bytes, n_bytes);
	char *list cleanup(free_p) = strndup((const char *)bytes, n_bytes);

	if (!line || !list)
		return 0;
	try_parse(line);
	try_set(list);
	return 0;
}

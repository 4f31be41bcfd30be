/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Text for terminals and the cells of tables. Everything that is printed passes through
 * cells_add_text(), so a hostile label, path or device model cannot drive the terminal.
 */
#include "report/cells.h"

#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"

/* Signs that our own texts use, and how they are spelt without UTF-8. */
static const struct {
	const char *utf8;
	const char *ascii;
} spellings[] = {
	{ "\xc2\xb5", "u" },	   /* micro sign */
	{ "\xce\xbc", "u" },	   /* Greek mu */
	{ "\xc2\xb1", "+/-" },	   /* plus-minus */
	{ "\xc3\x97", "x" },	   /* times */
	{ "\xe2\x89\xa5", ">=" },  /* at least */
	{ "\xe2\x89\xa4", "<=" },  /* at most */
	{ "\xe2\x80\xa6", "..." }, /* ellipsis */
	{ "\xe2\x86\x92", "->" },  /* arrow */
	{ "\xe2\x80\x93", "-" },   /* en dash */
};

static size_t add_spelt(struct buf *b, const char *text)
{
	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
		size_t n = strlen(spellings[i].utf8);

		if (strncmp(text, spellings[i].utf8, n) == 0) {
			buf_add(b, spellings[i].ascii);
			return n;
		}
	}
	buf_addf(b, "\\x%02x", (unsigned char)*text);
	return 1;
}

void cells_add_text(struct buf *b, const char *text, bool ascii)
{
	if (!ascii) {
		buf_add_escaped(b, text);
		return;
	}

	cleanup(buf_release_p) struct buf clean = { 0 };

	buf_add_escaped(&clean, text);
	for (const char *at = buf_text(&clean); *at;) {
		if ((unsigned char)*at < 0x80) {
			buf_add_bytes(b, at, 1);
			at++;
		} else {
			at += add_spelt(b, at);
		}
	}
	b->failed |= clean.failed;
}

void cells_add_time(struct buf *b, uint64_t wall_ns, enum cells_time form)
{
	time_t seconds = (time_t)(wall_ns / 1000000000u);
	struct tm tm;
	char text[64] = "?";

	if (!(form == CELLS_TIME_UTC ? gmtime_r(&seconds, &tm) : localtime_r(&seconds, &tm))) {
		buf_add(b, text);
		return;
	}
	switch (form) {
	case CELLS_TIME_LOCAL:
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", &tm);
		break;
	case CELLS_TIME_BRIEF:
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &tm);
		break;
	case CELLS_TIME_UTC:
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
		break;
	}
	buf_add(b, text);
}

int cells_init(struct cells *c, size_t n_rows, size_t n_columns, struct err *e)
{
	size_t n;

	*c = (struct cells){ .n_rows = n_rows, .n_columns = n_columns };
	if (__builtin_mul_overflow(n_rows, n_columns, &n) ||
		!(c->text = calloc(n ? n : 1, sizeof(c->text[0])))) {
		*c = (struct cells){ 0 };
		return err_set(e, ERR_NOMEM, 0, "memory is out for a table of %zu rows", n_rows);
	}
	return 0;
}

void cells_release(struct cells *c)
{
	for (size_t i = 0; i < c->n_rows * c->n_columns; i++)
		free(c->text[i]);
	free(c->text);
	*c = (struct cells){ 0 };
}

int cells_take(struct cells *c, size_t row, size_t column, struct buf *b, struct err *e)
{
	char **cell = &c->text[row * c->n_columns + column];

	free(*cell);
	*cell = NULL;
	if (b->failed)
		return err_set(e, ERR_NOMEM, 0, "memory is out for the text of a table");
	if (b->n_bytes > 0)
		*cell = buf_take(b);
	return 0;
}

int cells_set(
	struct cells *c, size_t row, size_t column, const char *text, bool ascii, struct err *e)
{
	cleanup(buf_release_p) struct buf b = { 0 };

	cells_add_text(&b, text ? text : "", ascii);
	return cells_take(c, row, column, &b, e);
}

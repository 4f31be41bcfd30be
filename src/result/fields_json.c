/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rows of fields as JSON and back (fields_json.h).
 */
#include "result/fields_json.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"

/* [bytes] length of the valid UTF-8 sequence at @s, 0 if there is none (RFC 3629: no overlong
 * forms, no surrogates, nothing above U+10FFFF). @s ends with a NUL, which is no continuation. */
static size_t utf8_length(const unsigned char *s)
{
	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;

	size_t n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	unsigned char low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
	unsigned char high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;

	if (s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++)
		if (s[i] < 0x80 || s[i] > 0xbf)
			return 0;
	return n;
}

json_t *json_text(const char *text)
{
	struct buf b cleanup(buf_release_p) = { 0 };
	const unsigned char *s = (const unsigned char *)text;

	while (*s) {
		size_t n = utf8_length(s);

		if (n > 0)
			buf_add_bytes(&b, s, n);
		else
			buf_addf(&b, "\\x%02x", *s);
		s += n > 0 ? n : 1;
	}
	return b.failed ? NULL : json_string(buf_text(&b));
}

static json_t *decimal_string(uint64_t value)
{
	return json_sprintf("%llu", (unsigned long long)value);
}

json_t *json_u64(uint64_t value)
{
	return value <= INT64_MAX ? json_integer((json_int_t)value) : decimal_string(value);
}

json_t *json_number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *json_of_field(const struct field *f, const void *record)
{
	const void *at = field_at_const(record, f);
	const char *owned;

	switch (f->kind) {
	case FIELD_TEXT:
		return json_text(at);
	case FIELD_OWNED:
		owned = *(char *const *)at;
		return owned ? json_text(owned) : json_null();
	case FIELD_U32:
		return json_integer(*(const uint32_t *)at);
	case FIELD_U64:
		return json_u64(*(const uint64_t *)at);
	case FIELD_SEED:
		return decimal_string(*(const uint64_t *)at);
	case FIELD_LONG:
		return json_integer(*(const long *)at);
	case FIELD_BOOL:
		return json_boolean(*(const bool *)at);
	case FIELD_TRISTATE:
		return *(const int *)at < 0 ? json_null() : json_boolean(*(const int *)at);
	case FIELD_ERRNO:
		return json_integer(*(const int *)at);
	case FIELD_REAL:
		return json_number(*(const double *)at);
	case FIELD_RATIO:
		return *(const double *)at < 0 ? json_null() : json_number(*(const double *)at);
	case FIELD_WORD:
		return json_string(field_word(f, *(const int *)at));
	case FIELD_N_KINDS:
		break;
	}
	return NULL;
}

int json_add_fields(json_t *object, const struct field_set *set, const void *record)
{
	for (size_t i = 0; i < set->n; i++)
		if (json_object_set_new(
			    object, set->rows[i].key, json_of_field(&set->rows[i], record)))
			return -1;
	return 0;
}

json_t *json_of_fields(const struct field_set *set, const void *record)
{
	json_t *object cleanup(json_decref_p) = json_object();

	if (!object || json_add_fields(object, set, record))
		return NULL;
	return take(object);
}

/* ---- and back ---- */

static int wrong(const char *key, const char *what, struct err *e)
{
	return err_set(e, ERR_FORMAT, 0, "damaged result: '%s' is not %s", key, what);
}

/* Digits only: strtoull() alone would take a sign and blanks. */
static int read_decimal(const char *text, uint64_t *ret)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return -1;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (errno || *end)
		return -1;
	*ret = value;
	return 0;
}

int json_read_u64(const json_t *value, const char *key, uint64_t *ret, struct err *e)
{
	if (json_is_integer(value) && json_integer_value(value) >= 0) {
		*ret = (uint64_t)json_integer_value(value);
		return 0;
	}
	if (json_is_string(value) && read_decimal(json_string_value(value), ret) == 0)
		return 0;
	return wrong(key, "a whole number", e);
}

static int read_limited(
	const json_t *value, const char *key, uint64_t max, uint64_t *ret, struct err *e)
{
	uint64_t number = 0;

	if (json_read_u64(value, key, &number, e))
		return -1;
	if (number > max)
		return wrong(key, "in range", e);
	*ret = number;
	return 0;
}

static int read_owned(const json_t *value, const char *key, char **at, struct err *e)
{
	if (!json_is_string(value))
		return wrong(key, "text", e);

	char *copy = strdup(json_string_value(value));

	if (!copy)
		return err_set(e, ERR_NOMEM, 0, "out of memory for '%s'", key);
	free(*at);
	*at = copy;
	return 0;
}

static int read_text(const json_t *value, const struct field *f, char *at, struct err *e)
{
	if (!json_is_string(value))
		return wrong(f->key, "text", e);
	field_set_text(at, f->size_bytes, json_string_value(value), json_string_length(value));
	return 0;
}

static int read_whole(const json_t *value, const struct field *f, void *at, struct err *e)
{
	uint64_t number = 0;
	uint64_t max = f->kind == FIELD_U32	? UINT32_MAX
		       : f->kind == FIELD_LONG	? LONG_MAX
		       : f->kind == FIELD_ERRNO ? INT_MAX
						: UINT64_MAX;

	if (read_limited(value, f->key, max, &number, e))
		return -1;
	if (f->kind == FIELD_U32)
		*(uint32_t *)at = (uint32_t)number;
	else if (f->kind == FIELD_LONG)
		*(long *)at = (long)number;
	else if (f->kind == FIELD_ERRNO)
		*(int *)at = (int)number;
	else
		*(uint64_t *)at = number;
	return 0;
}

static int read_real(const json_t *value, const struct field *f, double *at, struct err *e)
{
	double number = json_number_value(value);

	if (!json_is_number(value))
		return wrong(f->key, "a number", e);
	if (f->kind == FIELD_RATIO && (number < 0 || number > 1))
		return wrong(f->key, "a ratio from 0 to 1", e);
	*at = number;
	return 0;
}

static int read_word(const json_t *value, const struct field *f, int *at, struct err *e)
{
	int found = json_is_string(value)
			    ? word_find(f->words, f->n_words, json_string_value(value))
			    : -1;

	if (found < 0)
		return wrong(f->key, "one of its words", e);
	*at = found;
	return 0;
}

static int read_field(const json_t *value, const struct field *f, void *at, struct err *e)
{
	switch (f->kind) {
	case FIELD_TEXT:
		return read_text(value, f, at, e);
	case FIELD_OWNED:
		return read_owned(value, f->key, at, e);
	case FIELD_U32:
	case FIELD_U64:
	case FIELD_SEED:
	case FIELD_LONG:
	case FIELD_ERRNO:
		return read_whole(value, f, at, e);
	case FIELD_BOOL:
		if (!json_is_boolean(value))
			return wrong(f->key, "true or false", e);
		*(bool *)at = json_is_true(value);
		return 0;
	case FIELD_TRISTATE:
		if (!json_is_boolean(value))
			return wrong(f->key, "true or false", e);
		*(int *)at = json_is_true(value);
		return 0;
	case FIELD_REAL:
	case FIELD_RATIO:
		return read_real(value, f, at, e);
	case FIELD_WORD:
		return read_word(value, f, at, e);
	case FIELD_N_KINDS:
		break;
	}
	return err_set(e, ERR_BUG, 0, "field '%s' has no kind", f->key);
}

static void set_unknown(const struct field *f, void *at)
{
	if (f->kind == FIELD_TRISTATE)
		*(int *)at = -1;
	else if (f->kind == FIELD_RATIO)
		*(double *)at = -1;
}

int json_read_fields(const json_t *object, const struct field_set *set, void *record, struct err *e)
{
	if (!json_is_object(object))
		return err_set(e, ERR_FORMAT, 0, "damaged result: an object is missing");
	for (size_t i = 0; i < set->n; i++) {
		const struct field *f = &set->rows[i];
		const json_t *value = json_object_get(object, f->key);

		if (!value || json_is_null(value))
			set_unknown(f, field_at(record, f));
		else if (read_field(value, f, field_at(record, f), e))
			return -1;
	}
	return 0;
}

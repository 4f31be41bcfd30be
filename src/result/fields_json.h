/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rows of fields as JSON and back, floor 2. Numbers that are not finite and facts that are not
 * known are null; whole numbers above 2^63-1 and seeds are decimal strings; text is valid UTF-8,
 * other bytes are written as \xNN.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "result/fields.h"

struct err;

DEFINE_CLEANUP(json_t *, json_decref)

/* Text from anywhere as a JSON string: new reference, NULL when memory is out. */
json_t *json_text(const char *text);

/* Whole number: new reference, NULL when memory is out. */
json_t *json_u64(uint64_t value);

/* Number, null if it is not finite: new reference, NULL when memory is out. */
json_t *json_number(double value);

/* An object with a key for each row: new reference, NULL when memory is out. */
json_t *json_of_fields(const struct field_set *set, const void *record);

/* Adds the rows to @object. 0, or -1 when memory is out. */
int json_add_fields(json_t *object, const struct field_set *set, const void *record);

/* Reads a whole number as json_u64() writes it. 0, or -1 with ERR_FORMAT that names @key. */
int json_read_u64(const json_t *value, const char *key, uint64_t *ret, struct err *e);

/**
 * json_read_fields() - the rows of @set from an object
 *
 * A key that is missing or null leaves its field as it is (ratios and facts that may be not known:
 * -1); keys without a row are ignored.
 *
 * Return: 0, or -1 with ERR_FORMAT (no object, wrong type, out of range, unknown word) or
 *         ERR_NOMEM; the record may then be half filled
 */
int json_read_fields(
	const json_t *object, const struct field_set *set, void *record, struct err *e);

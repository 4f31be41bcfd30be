/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * JSON documents for programs: the whole record, any table, an error. Text from outside that is not
 * UTF-8 is escaped rather than lost, so the document is always valid.
 */
#include "report/report.h"

#include <jansson.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "result/result_json.h"

static void json_free(json_t *j)
{
	json_decref(j);
}
DEFINE_CLEANUP(json_t *, json_free)

/* New reference; never an invalid string. */
static json_t *text_to_json(const char *text)
{
	json_t *j = json_string(text);

	if (!j) {
		cleanup(buf_release_p) struct buf b = { 0 };

		buf_add_escaped(&b, text);
		j = json_string(buf_text(&b));
	}
	return j;
}

/* Takes the reference to @j. */
static int print_document(json_t *j, FILE *out, struct err *e)
{
	cleanup(json_free_p) json_t *document = j;
	cleanup(free_p) char *text = document ? json_dumps(document, JSON_INDENT(2)) : NULL;

	if (!text)
		return err_set(e, ERR_NOMEM, 0, "memory is out for a JSON document");
	/* What the stream refuses is seen by whoever closes it. */
	fputs(text, out);
	fputc('\n', out);
	return 0;
}

int report_json(const struct result *r, FILE *out, struct err *e)
{
	return print_document(result_to_json(r), out, e);
}

int report_run_json(const struct result *const *results, size_t n_results, const struct err *failed,
	FILE *out, struct err *e)
{
	cleanup(json_free_p) json_t *document = json_object();
	json_t *array = json_array();
	int rc = json_object_set_new(document, "results", array);

	for (size_t i = 0; i < n_results; i++)
		rc |= json_array_append_new(array, result_to_json(results[i]));
	if (failed->kind != ERR_NONE)
		rc |= json_object_update_new(document, err_to_json(failed));
	if (rc)
		return err_set(e, ERR_NOMEM, 0, "memory is out for a JSON document");
	return print_document(take(document), out, e);
}

static json_t *cell_to_json(const struct report_grid_column *column, const char *text)
{
	if (!text)
		return column->kind == REPORT_TEXT ? json_string("") : json_null();
	if (column->kind == REPORT_BOOL)
		return json_boolean(strcmp(text, "true") == 0);
	if (column->kind == REPORT_NUMBER)
		return json_loads(text, JSON_DECODE_ANY, NULL);
	return text_to_json(text);
}

static json_t *row_to_json(const struct report_grid *grid, size_t row)
{
	cleanup(json_free_p) json_t *object = json_object();

	for (size_t i = 0; i < grid->n_columns; i++) {
		const struct report_grid_column *c = &grid->columns[i];

		if (c->key && json_object_set_new(object, c->key,
				      cell_to_json(c, grid->cells[row * grid->n_columns + i])))
			return NULL;
	}
	return take(object);
}

int report_grid_json(const struct report_grid *grid, FILE *out, struct err *e)
{
	cleanup(json_free_p) json_t *document = json_object();
	json_t *array = json_array();

	if (json_object_set_new(document, grid->name, array))
		return err_set(e, ERR_NOMEM, 0, "memory is out for a JSON document");
	for (size_t row = 0; row < grid->n_rows; row++)
		if (json_array_append_new(array, row_to_json(grid, row)))
			return err_set(e, ERR_NOMEM, 0, "memory is out for a JSON document");
	return print_document(take(document), out, e);
}

int report_text_json(const char *key, const char *text, FILE *out, struct err *e)
{
	cleanup(json_free_p) json_t *document = json_object();

	if (json_object_set_new(document, key, text_to_json(text)))
		return err_set(e, ERR_NOMEM, 0, "memory is out for a JSON document");
	return print_document(take(document), out, e);
}

void report_err_json(const struct err *what, FILE *out)
{
	if (print_document(err_to_json(what), out, NULL))
		fputs("{\"error\": {\"kind\": \"nomem\", \"message\": \"memory is out\"}}\n", out);
}

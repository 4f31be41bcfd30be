/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Out of memory at every allocation in turn: an ordinary error, nothing lost, nothing half done.
 * Ours are caught by the linker (--wrap), those of jansson and SQLite by their own hooks. jansson
 * only while it writes: its parser (2.14) drops bytes of a text when memory is out, without a word.
 */
#include "test.h"

#include "history_dir.h"
#include "result/fields_json.h"

/* Allocations until one fails; < 0: none does. */
static long n_until_failure = -1;

static bool fails(void)
{
	return n_until_failure >= 0 && n_until_failure-- == 0;
}

void *__real_malloc(size_t n_bytes);
void *__real_calloc(size_t n, size_t n_bytes);
void *__real_realloc(void *old, size_t n_bytes);
void *__real_reallocarray(void *old, size_t n, size_t n_bytes);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t n_bytes);
void *__wrap_calloc(size_t n, size_t n_bytes);
void *__wrap_realloc(void *old, size_t n_bytes);
void *__wrap_reallocarray(void *old, size_t n, size_t n_bytes);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t n_bytes)
{
	return fails() ? NULL : __real_malloc(n_bytes);
}

void *__wrap_calloc(size_t n, size_t n_bytes)
{
	return fails() ? NULL : __real_calloc(n, n_bytes);
}

void *__wrap_realloc(void *old, size_t n_bytes)
{
	return fails() ? NULL : __real_realloc(old, n_bytes);
}

void *__wrap_reallocarray(void *old, size_t n, size_t n_bytes)
{
	return fails() ? NULL : __real_reallocarray(old, n, n_bytes);
}

char *__wrap_strdup(const char *text)
{
	return fails() ? NULL : __real_strdup(text);
}

/* Of jansson; the switch is for its parser. */
static bool json_may_fail;

static void *json_malloc(size_t n_bytes)
{
	return json_may_fail && fails() ? NULL : __real_malloc(n_bytes);
}

static sqlite3_mem_methods sqlite_memory;

static void *sqlite_malloc(int n_bytes)
{
	return fails() ? NULL : sqlite_memory.xMalloc(n_bytes);
}

static void *sqlite_realloc(void *old, int n_bytes)
{
	return fails() ? NULL : sqlite_memory.xRealloc(old, n_bytes);
}

static int hook_libraries(void **state)
{
	sqlite3_mem_methods hooked;

	(void)state;
	/* No memory set aside that would hide a failure; one thread. */
	assert_int_equal(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0), SQLITE_OK);
	assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &sqlite_memory), SQLITE_OK);
	hooked = sqlite_memory;
	hooked.xMalloc = sqlite_malloc;
	hooked.xRealloc = sqlite_realloc;
	assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &hooked), SQLITE_OK);
	json_set_alloc_funcs(json_malloc, free);
	return 0;
}

/* ---- operations; each allocates a lot and frees what it has made ---- */

struct bench {
	struct history_dir *d;
	struct result *r;
	char *text; /* of r as JSON */
};

static int write_json(struct bench *b, struct err *e)
{
	json_t *j = result_to_json(b->r);

	if (!j)
		return err_set(e, ERR_NOMEM, 0, "json");
	json_decref(j);
	return 0;
}

static int read_json(struct bench *b, struct err *e)
{
	struct result *back cleanup(result_free_p) = NULL;
	json_t *j cleanup(json_decref_p) = json_loads(b->text, 0, NULL); /* never fails here */

	return j ? result_from_json(j, &back, e) : err_set(e, ERR_NOMEM, 0, "json");
}

static int write_history(struct bench *b, struct err *e)
{
	struct history *h cleanup(history_close_p) = NULL;

	return history_open(b->d->path, HISTORY_WRITE, &h, e) || history_add(h, b->r, e) ? -1 : 0;
}

static int read_history(struct bench *b, struct err *e)
{
	struct history *h cleanup(history_close_p) = NULL;
	struct result *back cleanup(result_free_p) = NULL;
	struct history_list list cleanup(history_list_release) = { 0 };
	struct history_filter filter = { .target = "/srv" };

	if (history_open(b->d->path, HISTORY_READ, &h, e) ||
		history_load(h, &b->d->tree.root, "last", &back, e) ||
		history_list(h, &b->d->tree.root, &filter, &list, e))
		return -1;
	assert_int_equal(list.n_rows, 1);
	assert_int_equal(back->n_phases, b->r->n_phases);
	assert_int_equal(back->phases[3].n_metrics, b->r->phases[3].n_metrics);
	return 0;
}

/* Fails allocation 0, 1, 2, ... until one is past the end of what the operation needs. */
static long torture(struct bench *b, int (*operation)(struct bench *b, struct err *e), long step)
{
	for (long n = 0;; n += step) {
		struct err e = { 0 };

		json_may_fail = operation == write_json || operation == write_history;
		n_until_failure = n;
		int rc = operation(b, &e);
		bool reached = n_until_failure < 0;

		n_until_failure = -1;
		if (rc == 0)
			assert_int_equal(e.kind, ERR_NONE);
		else if (e.kind != ERR_NOMEM)
			fail_msg("allocation %ld: %s: %s", n, err_kind_name(e.kind), e.msg);
		if (!reached) {
			assert_int_equal(rc, 0);
			return n;
		}
		/* SQLite does without some of its memory; then the run is there. */
		if (operation == write_history && rc == 0)
			run_sql(b->d->path, "PRAGMA foreign_keys=ON; DELETE FROM run");
		else if (operation == write_history && access(b->d->path, F_OK) == 0 &&
			 sql_number(b->d->path, "SELECT count(*) FROM sqlite_schema") > 0)
			assert_int_equal(sql_number(b->d->path, "SELECT count(*) FROM run"), 0);
	}
}

static void every_allocation_may_fail(void **state)
{
	struct bench b = { .d = *state, .r = sample_result() };

	/* Fewer phases and buckets: the same code, sooner done. */
	for (size_t i = 0; i < b.r->n_phases; i++) {
		memset(b.r->phases[i].latency, 0, sizeof(*b.r->phases[i].latency));
		hist_add(b.r->phases[i].latency, 1000);
	}
	b.text = result_text(b.r);
	assert_true(torture(&b, write_json, 1) > 100);
	assert_true(torture(&b, read_json, 1) > 20);
	assert_true(torture(&b, write_history, 7) > 100);
	assert_true(torture(&b, read_history, 3) > 100);
	free(b.text);
	result_free(b.r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			every_allocation_may_fail, make_history_dir, remove_history_dir),
	};

	return cmocka_run_group_tests(tests, hook_libraries, NULL);
}

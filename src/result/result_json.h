/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A result as JSON and back, floor 2, through jansson. Schema and version: docs/formats.md.
 */
#pragma once

#include <jansson.h>

#include "result/result.h"

enum { RESULT_JSON_SCHEMA = 1 };

/* New reference, NULL when memory is out. Phases, metrics (with id, unit, better), findings. */
json_t *result_to_json(const struct result *r);

/* The parts, for the history: new references. */
json_t *host_to_json(const struct host_facts *h);
json_t *target_to_json(const struct target_facts *t);
json_t *settings_to_json(const struct phase_settings *s);
json_t *evidence_to_json(const struct phase_evidence *ev);

/* Back; missing keys stay zero, wrong types are ERR_FORMAT. 0 or -1. */
int host_from_json(const json_t *j, struct host_facts *ret, struct err *e);
int target_from_json(const json_t *j, struct target_facts *ret, struct err *e);
int settings_from_json(const json_t *j, struct phase_settings *ret, struct err *e);
int evidence_from_json(const json_t *j, struct phase_evidence *ret, struct err *e);
int result_from_json(const json_t *j, struct result **ret, struct err *e);

/* {"error": {"kind": "usage", "message": "..."}}: new reference. */
json_t *err_to_json(const struct err *e);

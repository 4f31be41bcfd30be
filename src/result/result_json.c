/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A result as JSON and back (result_json.h). The plain fields are rows (fields.h); here is what
 * has a shape of its own: lists, metrics, the histogram, facts that may be absent. Schema:
 * docs/formats.md.
 */
#include "result/result_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "result/fields.h"
#include "result/fields_json.h"

/* ---- out ---- */

json_t *host_to_json(const struct host_facts *h)
{
	return json_of_fields(&host_fields, h);
}

json_t *target_to_json(const struct target_facts *t)
{
	json_t *object cleanup(json_decref_p) = json_of_fields(&target_fields, t);

	if (!object || json_object_set_new(object, "disks", json_array()))
		return NULL;

	json_t *disks = json_object_get(object, "disks");

	for (unsigned i = 0; i < t->n_disks && i < PROBE_N_LEAVES_MAX; i++)
		if (json_array_append_new(disks, json_of_fields(&disk_fields, &t->disks[i])))
			return NULL;
	return take(object);
}

json_t *settings_to_json(const struct phase_settings *s)
{
	return json_of_fields(&settings_fields, s);
}

json_t *evidence_to_json(const struct phase_evidence *ev)
{
	json_t *object cleanup(json_decref_p) = json_of_fields(&evidence_fields, ev);

	if (!object)
		return NULL;
	if (json_object_set_new(object, "device",
		    ev->device.known ? json_of_fields(&counters_fields, &ev->device) : json_null()))
		return NULL;
	if (json_object_set_new(object, "cached",
		    ev->cached_known ? json_of_fields(&cached_fields, ev) : json_null()))
		return NULL;
	return take(object);
}

static json_t *bucket_to_json(const struct hist *h, unsigned index)
{
	json_t *triple cleanup(json_decref_p) = json_array();

	if (!triple || json_array_append_new(triple, json_u64(hist_bucket_low_ns(index))) ||
		json_array_append_new(triple, json_u64(hist_bucket_high_ns(index))) ||
		json_array_append_new(triple, json_u64(h->buckets[index])))
		return NULL;
	return take(triple);
}

static json_t *hist_to_json(const struct hist *h)
{
	json_t *object cleanup(json_decref_p) = json_object();

	if (json_object_set_new(object, "n", json_u64(h->n)) ||
		json_object_set_new(object, "min_ns", json_u64(h->n ? h->min_ns : 0)) ||
		json_object_set_new(object, "max_ns", json_u64(h->max_ns)) ||
		json_object_set_new(object, "mean_ns", json_number(hist_mean_ns(h))) ||
		json_object_set_new(object, "buckets", json_array()))
		return NULL;

	json_t *buckets = json_object_get(object, "buckets");

	for (unsigned i = 0; i < HIST_N_BUCKETS; i++)
		if (h->buckets[i] && json_array_append_new(buckets, bucket_to_json(h, i)))
			return NULL;
	return take(object);
}

static json_t *metric_to_json(const struct phase_result *phase, const struct metric *m)
{
	const struct metric_def *def = &metric_defs[m->kind];
	json_t *object cleanup(json_decref_p) = json_object();
	char id[RESULT_NAME_MAX + 32];

	snprintf(id, sizeof(id), "%s.%s", phase->name, def->key);
	if (json_object_set_new(object, "id", json_text(id)) ||
		json_object_set_new(object, "unit", json_string(def->unit)) ||
		json_object_set_new(object, "better",
			json_string(def->higher_is_better ? "higher" : "lower")) ||
		json_object_set_new(object, "value", json_number(m->value)))
		return NULL;
	return take(object);
}

static json_t *metrics_to_json(const struct phase_result *phase)
{
	json_t *list cleanup(json_decref_p) = json_array();

	if (!list)
		return NULL;
	for (size_t i = 0; i < phase->n_metrics; i++)
		if (json_array_append_new(list, metric_to_json(phase, &phase->metrics[i])))
			return NULL;
	return take(list);
}

static json_t *phase_to_json(const struct phase_result *phase)
{
	json_t *object cleanup(json_decref_p) = json_of_fields(&phase_fields, phase);

	if (!object)
		return NULL;
	if (json_object_set_new(object, "settings", settings_to_json(&phase->settings)) ||
		json_object_set_new(object, "metrics", metrics_to_json(phase)) ||
		json_object_set_new(object, "latency",
			phase->latency ? hist_to_json(phase->latency) : json_null()) ||
		json_object_set_new(object, "evidence", evidence_to_json(&phase->evidence)) ||
		json_object_set_new(object, "error",
			phase->error.sys ? json_of_fields(&error_fields, &phase->error)
					 : json_null()))
		return NULL;
	return take(object);
}

/* For people; the exact time is started_wall_ns. */
static json_t *iso_time(uint64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / 1000000000);
	struct tm tm;
	char text[40];

	if (wall_ns == 0 || !gmtime_r(&seconds, &tm) ||
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		return json_null();
	return json_string(text);
}

static int add_lists(json_t *object, const struct result *r)
{
	json_t *phases = json_array();

	if (json_object_set_new(object, "phases", phases))
		return -1;
	for (size_t i = 0; i < r->n_phases; i++)
		if (json_array_append_new(phases, phase_to_json(&r->phases[i])))
			return -1;

	json_t *findings = json_array();

	if (json_object_set_new(object, "findings", findings))
		return -1;
	for (size_t i = 0; i < r->n_findings; i++)
		if (json_array_append_new(
			    findings, json_of_fields(&finding_fields, &r->findings[i])))
			return -1;
	return 0;
}

json_t *result_to_json(const struct result *r)
{
	json_t *object cleanup(json_decref_p) = json_object();

	if (!object || json_object_set_new(object, "schema", json_integer(RESULT_JSON_SCHEMA)) ||
		json_add_fields(object, &run_fields, r) ||
		json_object_set_new(object, "started", iso_time(r->started_wall_ns)) ||
		json_object_set_new(object, "ended", iso_time(r->ended_wall_ns)) ||
		json_object_set_new(object, "host", host_to_json(&r->host)) ||
		json_object_set_new(object, "target", target_to_json(&r->target)) ||
		add_lists(object, r))
		return NULL;
	return take(object);
}

json_t *err_to_json(const struct err *e)
{
	json_t *document cleanup(json_decref_p) = json_object();
	json_t *error = json_object();

	if (json_object_set_new(document, "error", error) ||
		json_object_set_new(error, "kind", json_string(err_kind_name(e->kind))) ||
		json_object_set_new(error, "message", json_text(e->msg)))
		return NULL;
	return take(document);
}

/* ---- and back ---- */

int host_from_json(const json_t *j, struct host_facts *ret, struct err *e)
{
	struct host_facts facts = { 0 };

	if (json_read_fields(j, &host_fields, &facts, e))
		return err_wrap(e, "host");
	*ret = facts;
	return 0;
}

/* A list that may be missing: NULL then. */
static int get_list(const json_t *object, const char *key, const json_t **ret, struct err *e)
{
	const json_t *list = json_object_get(object, key);

	if (list && !json_is_null(list) && !json_is_array(list))
		return err_set(e, ERR_FORMAT, 0, "damaged result: '%s' is not a list", key);
	*ret = json_is_array(list) ? list : NULL;
	return 0;
}

/* An object that may be missing or null: NULL then. Its type is checked where it is read. */
static const json_t *get_object(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_null(value) ? NULL : value;
}

int target_from_json(const json_t *j, struct target_facts *ret, struct err *e)
{
	struct target_facts *facts cleanup(free_p) = calloc(1, sizeof(*facts));
	const json_t *disks = NULL;

	if (!facts)
		return err_set(e, ERR_NOMEM, 0, "out of memory for the target");
	if (json_read_fields(j, &target_fields, facts, e) || get_list(j, "disks", &disks, e))
		return err_wrap(e, "target");

	size_t n_disks = json_array_size(disks);

	if (n_disks > PROBE_N_LEAVES_MAX)
		return err_set(
			e, ERR_FORMAT, 0, "damaged result: more than %d disks", PROBE_N_LEAVES_MAX);
	for (size_t i = 0; i < n_disks; i++)
		if (json_read_fields(json_array_get(disks, i), &disk_fields, &facts->disks[i], e))
			return err_wrap(e, "target: disk %zu", i);
	facts->n_disks = (unsigned)n_disks;
	*ret = *facts;
	return 0;
}

int settings_from_json(const json_t *j, struct phase_settings *ret, struct err *e)
{
	struct phase_settings settings = { 0 };

	if (json_read_fields(j, &settings_fields, &settings, e))
		return err_wrap(e, "settings");
	*ret = settings;
	return 0;
}

int evidence_from_json(const json_t *j, struct phase_evidence *ret, struct err *e)
{
	struct phase_evidence ev = { 0 };
	const json_t *device = get_object(j, "device");
	const json_t *cached = get_object(j, "cached");

	if (json_read_fields(j, &evidence_fields, &ev, e) ||
		(device && json_read_fields(device, &counters_fields, &ev.device, e)) ||
		(cached && json_read_fields(cached, &cached_fields, &ev, e)))
		return err_wrap(e, "evidence");
	ev.device.known = device;
	ev.cached_known = cached;
	*ret = ev;
	return 0;
}

/* One [low, high, count]; the edges must be those of one of our buckets. */
static int read_bucket(const json_t *bucket, struct hist *h, uint64_t *n_seen, struct err *e)
{
	uint64_t low_ns, high_ns, count;

	if (json_array_size(bucket) != 3)
		return err_set(
			e, ERR_FORMAT, 0, "damaged result: a bucket is not [low, high, count]");
	if (json_read_u64(json_array_get(bucket, 0), "low", &low_ns, e) ||
		json_read_u64(json_array_get(bucket, 1), "high", &high_ns, e) ||
		json_read_u64(json_array_get(bucket, 2), "count", &count, e))
		return -1;

	unsigned index = hist_index(low_ns);

	if (hist_bucket_low_ns(index) != low_ns || hist_bucket_high_ns(index) != high_ns ||
		h->buckets[index] || __builtin_add_overflow(*n_seen, count, n_seen))
		return err_set(e, ERR_FORMAT, 0,
			"damaged result: bucket %llu..%llu ns is none of the histogram's",
			(unsigned long long)low_ns, (unsigned long long)high_ns);
	h->buckets[index] = count;
	return 0;
}

/* The exact ends must lie in the first and the last bucket that counted something. */
static bool ends_fit(const struct hist *h)
{
	unsigned first = 0, last = HIST_N_BUCKETS - 1;

	if (h->n == 0)
		return h->max_ns == 0;
	while (!h->buckets[first])
		first++;
	while (!h->buckets[last])
		last--;
	return hist_index(h->min_ns) == first && hist_index(h->max_ns) == last &&
	       h->min_ns <= h->max_ns;
}

static int read_hist(const json_t *j, struct hist *h, struct err *e)
{
	uint64_t n_seen = 0;
	const json_t *mean = json_object_get(j, "mean_ns");
	const json_t *buckets = NULL;

	if (json_read_u64(json_object_get(j, "n"), "n", &h->n, e) ||
		json_read_u64(json_object_get(j, "min_ns"), "min_ns", &h->min_ns, e) ||
		json_read_u64(json_object_get(j, "max_ns"), "max_ns", &h->max_ns, e) ||
		get_list(j, "buckets", &buckets, e))
		return -1;
	if (!json_is_number(mean) || json_number_value(mean) < 0)
		return err_set(e, ERR_FORMAT, 0, "damaged result: 'mean_ns' is not a number");
	for (size_t i = 0; i < json_array_size(buckets); i++)
		if (read_bucket(json_array_get(buckets, i), h, &n_seen, e))
			return -1;
	if (n_seen != h->n || !ends_fit(h))
		return err_set(e, ERR_FORMAT, 0,
			"damaged result: n, min_ns and max_ns do not fit the buckets");
	h->sum_ns = json_number_value(mean) * (double)h->n;
	return 0;
}

/* What can be read can be stored: the packed form has the strictest rules. */
static int check_hist(const struct hist *h, struct err *e)
{
	uint8_t *bytes cleanup(free_p) = NULL;
	struct hist *copy cleanup(hist_free_p) = hist_new();
	size_t n_bytes;

	if (!copy)
		return err_set(e, ERR_NOMEM, 0, "out of memory for a histogram");
	return hist_pack(h, &bytes, &n_bytes, e) || hist_unpack(bytes, n_bytes, copy, e) ? -1 : 0;
}

static int hist_from_json(const json_t *j, struct hist **ret, struct err *e)
{
	struct hist *h cleanup(hist_free_p) = hist_new();

	if (!h)
		return err_set(e, ERR_NOMEM, 0, "out of memory for a histogram");
	if (read_hist(j, h, e) || check_hist(h, e))
		return err_wrap(e, "latency");
	*ret = take(h);
	return 0;
}

/* 0; 1: a figure of a newer version, or without a value; -1 */
static int read_metric(const json_t *j, struct metric *ret, struct err *e)
{
	const char *id = json_string_value(json_object_get(j, "id"));
	const json_t *value = json_object_get(j, "value");
	const char *dot = id ? strrchr(id, '.') : NULL;

	if (!dot || (value && !json_is_null(value) && !json_is_number(value)))
		return err_set(e, ERR_FORMAT, 0, "damaged result: a metric has no id or number");

	int kind = metric_find(dot + 1);

	if (kind < 0 || !json_is_number(value))
		return 1;
	*ret = (struct metric){ (enum metric_kind)kind, json_number_value(value) };
	return 0;
}

static int read_metrics(const json_t *j, struct phase_result *phase, struct err *e)
{
	const json_t *list = NULL;

	if (get_list(j, "metrics", &list, e))
		return -1;
	if (json_array_size(list) == 0)
		return 0;
	phase->metrics = calloc(json_array_size(list), sizeof(*phase->metrics));
	if (!phase->metrics)
		return err_set(e, ERR_NOMEM, 0, "out of memory for metrics");
	for (size_t i = 0; i < json_array_size(list); i++) {
		int rc = read_metric(json_array_get(list, i), &phase->metrics[phase->n_metrics], e);

		if (rc < 0)
			return -1;
		phase->n_metrics += rc == 0;
	}
	return 0;
}

static int read_phase(const json_t *j, struct phase_result *phase, struct err *e)
{
	const json_t *settings = get_object(j, "settings");
	const json_t *latency = get_object(j, "latency");
	const json_t *evidence = get_object(j, "evidence");
	const json_t *error = get_object(j, "error");

	phase->evidence.worker_cpu_ratio = -1;
	phase->evidence.busiest_cpu_ratio = -1;
	if (json_read_fields(j, &phase_fields, phase, e) || read_metrics(j, phase, e))
		return -1;
	if (settings && settings_from_json(settings, &phase->settings, e))
		return -1;
	if (latency && hist_from_json(latency, &phase->latency, e))
		return -1;
	if (evidence && evidence_from_json(evidence, &phase->evidence, e))
		return -1;
	return error ? json_read_fields(error, &error_fields, &phase->error, e) : 0;
}

static int add_phase(const json_t *j, struct result *r, struct err *e)
{
	struct phase_result phase cleanup(phase_release_p) = { 0 };

	return read_phase(j, &phase, e) || result_take_phase(r, &phase, e) ? -1 : 0;
}

static int add_finding(const json_t *j, struct result *r, struct err *e)
{
	struct finding finding = { 0 };

	return json_read_fields(j, &finding_fields, &finding, e) ||
			       result_add_finding(r, &finding, e)
		       ? -1
		       : 0;
}

static int read_lists(const json_t *j, struct result *r, struct err *e)
{
	const json_t *phases = NULL, *findings = NULL;

	if (get_list(j, "phases", &phases, e) || get_list(j, "findings", &findings, e))
		return -1;
	for (size_t i = 0; i < json_array_size(phases); i++)
		if (add_phase(json_array_get(phases, i), r, e))
			return err_wrap(e, "phase %zu", i);
	for (size_t i = 0; i < json_array_size(findings); i++)
		if (add_finding(json_array_get(findings, i), r, e))
			return err_wrap(e, "finding %zu", i);
	return 0;
}

/* Ids are file-name and terminal safe: lower-case hexadecimal digits and hyphens, as a UUID. */
static bool id_is_plain(const char *id)
{
	return strlen(id) == 36 && strspn(id, "0123456789abcdef-") == 36;
}

static int read_head(const json_t *j, struct result *r, struct err *e)
{
	const json_t *schema = json_object_get(j, "schema");
	const json_t *host = get_object(j, "host");
	const json_t *target = get_object(j, "target");

	if (!json_is_integer(schema) || json_integer_value(schema) < 1)
		return err_set(e, ERR_FORMAT, 0, "not a clyde result: no 'schema'");
	if (json_integer_value(schema) > RESULT_JSON_SCHEMA)
		return err_set(e, ERR_UNSUPPORTED, 0,
			"result of schema %lld is newer than this program, which reads up to %d",
			(long long)json_integer_value(schema), RESULT_JSON_SCHEMA);
	if (json_read_fields(j, &run_fields, r, e))
		return -1;
	if (!id_is_plain(r->id))
		return err_set(e, ERR_FORMAT, 0, "damaged result: 'id' is not a UUID");
	if (host && host_from_json(host, &r->host, e))
		return -1;
	return target ? target_from_json(target, &r->target, e) : 0;
}

int result_from_json(const json_t *j, struct result **ret, struct err *e)
{
	struct result *r cleanup(result_free_p) = result_new();

	if (!r)
		return err_set(e, ERR_NOMEM, 0, "out of memory for a result");
	if (read_head(j, r, e) || read_lists(j, r, e))
		return -1;
	*ret = take(r);
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rules.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RULES_MAX = 32, NAME_MAX_BYTES = 64, TEXT_MAX_BYTES = 256 };

struct rule {
	enum fault_op op;
	char name[NAME_MAX_BYTES]; /* last part of the path; empty: any */
	uint64_t nth, every, after, at;
	bool has_at;
	struct fault fault;
	uint64_t n_seen;
};

struct rules {
	struct rule rules[RULES_MAX];
	size_t n;
};

static const char *const op_names[FAULT_N_OPS] = {
	[FAULT_OPEN] = "open",
	[FAULT_CREATE] = "create",
	[FAULT_READ] = "read",
	[FAULT_WRITE] = "write",
	[FAULT_FSYNC] = "fsync",
	[FAULT_UNLINK] = "unlink",
	[FAULT_MKDIR] = "mkdir",
	[FAULT_RMDIR] = "rmdir",
	[FAULT_RENAME] = "rename",
};

struct rules *rules_new(void)
{
	return calloc(1, sizeof(struct rules));
}

void rules_free(struct rules *r)
{
	free(r);
}

/* ---- reading a rule ---- */

static int parse_number(const char *text, uint64_t *ret)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return -1;
	errno = 0;
	*ret = strtoull(text, &end, 10);
	return errno || *end ? -1 : 0;
}

static int parse_errno(const char *text)
{
	for (int sys = 1; sys < 200; sys++) {
		const char *name = strerrorname_np(sys);

		if (name && strcmp(name, text) == 0)
			return sys;
	}
	return 0;
}

static int set_word(struct rule *rule, const char *key)
{
	if (strcmp(key, "corrupt") == 0)
		return rule->fault.corrupts = true, 0;
	if (strcmp(key, "lose") == 0)
		return rule->fault.loses = true, 0;
	if (strcmp(key, "zeros") == 0)
		return rule->fault.zeros = true, 0;
	return -1;
}

static int set_number(struct rule *rule, const char *key, uint64_t number)
{
	const struct {
		const char *key;
		uint64_t *value;
	} fields[] = {
		{ "nth", &rule->nth },
		{ "every", &rule->every },
		{ "after", &rule->after },
		{ "at", &rule->at },
		{ "short", &rule->fault.short_bytes },
		{ "delay", &rule->fault.delay_ms },
	};

	if (strcmp(key, "misplace") == 0) {
		rule->fault.misplace_bytes = (int64_t)number;
		return 0;
	}
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (strcmp(fields[i].key, key) == 0) {
			*fields[i].value = number;
			rule->has_at = rule->has_at || strcmp(key, "at") == 0;
			return 0;
		}
	return -1;
}

static int set_key(struct rule *rule, char *key, const char **ret_why)
{
	char *value = strchr(key, '=');
	uint64_t number;

	*ret_why = "a key that is not known, or with a wrong value";
	if (!value)
		return set_word(rule, key);
	*value++ = '\0';
	if (strcmp(key, "errno") == 0)
		return (rule->fault.sys = parse_errno(value)) ? 0 : -1;
	if (strcmp(key, "name") == 0) {
		if (!value[0] || strlen(value) >= sizeof(rule->name))
			return -1;
		memcpy(rule->name, value, strlen(value) + 1);
		return 0;
	}
	if (parse_number(value, &number) != 0)
		return -1;
	return set_number(rule, key, number);
}

int rules_add(struct rules *r, const char *text, const char **ret_why)
{
	char copy[TEXT_MAX_BYTES];
	char *rest = copy;
	struct rule rule = { .op = FAULT_N_OPS };
	const struct fault nothing = { 0 };

	*ret_why = "too many rules, or too long";
	if (r->n == RULES_MAX || strlen(text) >= sizeof(copy))
		return -1;
	memcpy(copy, text, strlen(text) + 1);

	const char *op = strsep(&rest, ":");

	*ret_why = "an operation that is not known";
	for (unsigned i = 0; i < FAULT_N_OPS; i++)
		if (strcmp(op, op_names[i]) == 0)
			rule.op = (enum fault_op)i;
	if (rule.op == FAULT_N_OPS)
		return -1;
	while (rest)
		if (set_key(&rule, strsep(&rest, ":"), ret_why) != 0)
			return -1;
	*ret_why = "nothing to do: errno, short, corrupt, lose, misplace, zeros or delay";
	if (memcmp(&rule.fault, &nothing, sizeof(nothing)) == 0)
		return -1;
	r->rules[r->n++] = rule;
	return 0;
}

/* ---- asking ---- */

static bool is_about(const struct rule *rule, const char *path, off_t offset_bytes, size_t n_bytes)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *name = slash ? slash + 1 : path ? path : "";
	uint64_t first = (uint64_t)offset_bytes;

	if (rule->name[0] && strcmp(rule->name, name) != 0)
		return false;
	return !rule->has_at || (rule->at >= first && rule->at - first < n_bytes);
}

static bool is_time(const struct rule *rule)
{
	if (rule->nth)
		return rule->n_seen == rule->nth;
	if (rule->every)
		return rule->n_seen % rule->every == 0;
	return rule->n_seen > rule->after;
}

static void add_fault(struct fault *to, const struct fault *f)
{
	to->sys = to->sys ? to->sys : f->sys;
	to->short_bytes = to->short_bytes ? to->short_bytes : f->short_bytes;
	to->corrupts |= f->corrupts;
	to->loses |= f->loses;
	to->zeros |= f->zeros;
	to->misplace_bytes += f->misplace_bytes;
	to->delay_ms += f->delay_ms;
}

struct fault rules_apply(
	struct rules *r, enum fault_op op, const char *path, off_t offset_bytes, size_t n_bytes)
{
	struct fault all = { 0 };

	for (size_t i = 0; i < r->n; i++) {
		struct rule *rule = &r->rules[i];

		if (rule->op != op || !is_about(rule, path, offset_bytes, n_bytes))
			continue;
		rule->n_seen++;
		if (is_time(rule))
			add_fault(&all, &rule->fault);
	}
	return all;
}

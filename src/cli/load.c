/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From options to phases; see load.h. */
#include "cli/load.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"

enum load_flush {
	CHOICE_FLUSH_PLAN,
	CHOICE_FLUSH_NONE,
	CHOICE_FLUSH_DATASYNC,
	CHOICE_FLUSH_EACH,
};

/* clang-format off */
static const struct opt custom_opts[] = {
	LOAD_ROWS(struct load_args, ),
	OPT_END,
};
/* clang-format on */

static void apply_depth_and_flush(const struct load_args *load, struct phase_spec *spec)
{
	static const enum flush_kind flushes[] = {
		[CHOICE_FLUSH_NONE] = FLUSH_NONE,
		[CHOICE_FLUSH_DATASYNC] = FLUSH_DATASYNC,
		[CHOICE_FLUSH_EACH] = FLUSH_EACH,
	};

	if (load->depth) {
		spec->depth = (uint32_t)load->depth;
		phase_spec_rename(spec);
	}
	if (load->flush != CHOICE_FLUSH_PLAN && access_defs[spec->access].writes)
		spec->flush = flushes[load->flush];
}

void load_apply(const struct load_args *load, struct phase_spec *spec)
{
	if (load->time_ns)
		spec->time_ns = load->time_ns;
	if (load->n_threads && spec->access != ACCESS_APPEND)
		spec->n_threads = (uint32_t)load->n_threads;
	if (spec->work != WORK_BLOCK)
		return;
	if (load->block_bytes)
		spec->block_bytes = (uint32_t)load->block_bytes;
	if (load->read_pct)
		spec->read_pct = (uint32_t)load->read_pct;
	if (load->rate_iops)
		spec->rate_iops = load->rate_iops;
	/* A commit is one write and its flush: that is what the name of the plan's phase says. */
	if (spec->access != ACCESS_APPEND || load->rw)
		apply_depth_and_flush(load, spec);
}

void load_make_phase(const struct load_args *load, struct phase_spec *spec)
{
	*spec = (struct phase_spec){
		.work = WORK_BLOCK,
		.access = (enum access_kind)(load->rw - 1),
		.block_bytes = 4096,
		.depth = 1,
		.n_threads = 1,
		.read_pct = 70,
	};
	spec->fresh = spec->access == ACCESS_WRITE;
	if (access_defs[spec->access].writes)
		spec->flush = spec->access == ACCESS_APPEND ? FLUSH_EACH : FLUSH_DATASYNC;
	load_apply(load, spec);
	if (load->n_threads)
		spec->n_threads = (uint32_t)load->n_threads;
	phase_spec_name_custom(spec);
}

bool phase_set_has(const struct phase_set *set, const char *name)
{
	for (size_t i = 0; i < set->n; i++)
		if (strcmp(set->specs[i].name, name) == 0)
			return true;
	return false;
}

int phase_set_add(struct phase_set *set, const struct phase_spec *spec, struct err *e)
{
	if (set->n == MEASURE_N_PHASES_MAX)
		return err_set(
			e, ERR_USAGE, 0, "more than %d phases in one run", MEASURE_N_PHASES_MAX);
	if (phase_set_has(set, spec->name))
		return err_set(e, ERR_USAGE, 0,
			"phase '%s' is there twice; give each custom phase other settings",
			spec->name);
	set->specs[set->n++] = *spec;
	return 0;
}

static bool is_custom_key(const char *key)
{
	for (const struct opt *o = custom_opts; opt_is_option(o); o++)
		if (strcmp(o->name, key) == 0)
			return true;
	return false;
}

static int unknown_key(const char *key, struct err *e)
{
	struct buf keys cleanup(buf_release_p) = { 0 };

	for (const struct opt *o = custom_opts; opt_is_option(o); o++)
		buf_addf(&keys, "%s%s", o == custom_opts ? "" : ", ", o->name);
	return err_set(e, ERR_USAGE, 0, "--custom: there is no key '%s'; keys are %s", key,
		buf_text(&keys));
}

/* "rw=randread,block=16k,..." */
int phase_set_add_custom(
	struct phase_set *set, const char *text, const struct load_args *base, struct err *e)
{
	char *copy cleanup(free_p) = strdup(text);
	struct load_args load = *base;
	const struct opt_table table = { custom_opts, &load };
	struct phase_spec spec;
	char *rest = copy;

	if (!copy)
		return err_set(e, ERR_NOMEM, 0, "no memory for '%s'", text);
	for (char *key = strsep(&rest, ","); key; key = strsep(&rest, ",")) {
		char *value = strchr(key, '=');

		if (!value)
			return err_set(e, ERR_USAGE, 0,
				"--custom: '%s' is not KEY=VALUE; example: rw=randread,block=16k,depth=64",
				key);
		*value++ = '\0';
		if (!is_custom_key(key))
			return unknown_key(key, e);
		if (opt_set(&table, key, value, e) != 0)
			return err_wrap(e, "--custom");
	}
	if (!load.rw)
		return err_set(e, ERR_USAGE, 0,
			"--custom: '%s' has no rw=; one of read, write, rw, randread, randwrite, randrw, append",
			text);
	load_make_phase(&load, &spec);
	return phase_set_add(set, &spec, e);
}

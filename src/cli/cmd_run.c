/* SPDX-License-Identifier: GPL-3.0-or-later */
/* clyde run: from options to a list of phases. Measuring is in measure.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "cli/cmd.h"
#include "cli/load.h"
#include "cli/measure.h"

struct run_args {
	const char *plan;
	struct opt_list phases;
	struct opt_list customs;
	bool quick;
	bool thorough;
	uint64_t n_samples;
	uint64_t size_bytes;
	uint64_t n_files;
	uint64_t n_dirs;
	uint64_t file_bytes;
	struct load_args load;
	int engine;
	int direct;
	int cache;
	const char *data;
	uint64_t seed;
	bool verify;
	bool iopoll;
	bool sqpoll;
	bool pin;
	bool force;
	const char *write_device;
	bool allow_memory;
	const char *label;
	bool verbose;
};

static const uint64_t KIB = 1024;
static const uint64_t MIB = 1024 * 1024;
static const uint64_t SECOND_NS = 1000000000;

#define ENGINE_CHOICES "auto|uring|sync|mmap"
static const char *const engine_names[] = { "auto", "uring", "sync", "mmap" };

/* clang-format off */
static const struct opt run_opts[] = {
	OPT_GROUP("What is measured"),
	OPT_STR     (struct run_args, plan,      'p', "plan", "NAME", "phases to run, see clyde plans (default overview)"),
	OPT_LIST    (struct run_args, phases,    0,   "phase", "NAME", "only this phase or group of the plan; may be repeated"),
	OPT_LIST    (struct run_args, customs,   0,   "custom", "KEY=VALUE,...", "a phase of your own; keys are the options of the next group; may be repeated"),
	OPT_FLAG    (struct run_args, quick,     'q', "quick", "1 sample, 2 s a phase, a file of 256 MiB"),
	OPT_FLAG    (struct run_args, thorough,  0,   "thorough", "10 samples, 20 s a phase, a file of 4 GiB"),
	OPT_COUNT   (struct run_args, n_samples, 'n', "samples", 1, 1000, "times the plan is repeated, round-robin (default 3)"),
	OPT_BYTES   (struct run_args, size_bytes, 's', "size", 4096, UINT64_C(1) << 60, "size of the test file, or how much of a file or device is used (default by free space and memory)"),
	OPT_COUNT   (struct run_args, n_files,   0,   "files", 1, 1000000000, "number of small files in file phases (default 2000)"),
	OPT_COUNT   (struct run_args, n_dirs,    0,   "dirs", 1, 1000000, "directories they are spread over (default 20)"),
	OPT_BYTES   (struct run_args, file_bytes, 0,  "file-size", 1, 1u << 30, "size of a small file (default 4k)"),
	OPT_GROUP("Make a phase of your own, or change the plan's"),
	LOAD_ROWS(struct run_args, load.),
	OPT_GROUP("How"),
	OPT_CHOICE  (struct run_args, engine,    'e', "engine", ENGINE_CHOICES, "how transfers are made (default auto: uring, else sync with as many threads as the depth asks)"),
	OPT_CHOICE  (struct run_args, direct,    0,   "direct", "auto|on|off", "bypass the page cache (default auto: where the file system can)"),
	OPT_CHOICE  (struct run_args, cache,     0,   "cache", "cold|warm", "what phases that read the test file find: it dropped from the page cache, or read into it; warm needs --direct=off (default cold)"),
	OPT_STR     (struct run_args, data,      0,   "data", "KIND", "what is written: random, zeros or compress=PCT (default random)"),
	OPT_COUNT   (struct run_args, seed,      0,   "seed", 1, UINT64_MAX, "of data and random orders (default a new one; kept in the record)"),
	OPT_FLAG    (struct run_args, verify,    0,   "verify", "stamp every block, check every read, read everything back; a bad block is exit status 3"),
	OPT_FLAG    (struct run_args, iopoll,    0,   "iopoll", "uring: poll for completions (direct only; the device needs poll queues)"),
	OPT_FLAG    (struct run_args, sqpoll,    0,   "sqpoll", "uring: a kernel thread submits"),
	OPT_FLAG    (struct run_args, pin,       0,   "pin", "pin worker i to the i-th CPU it may use"),
	OPT_FLAG    (struct run_args, force,     'f', "force", "measure at a lower depth where the engine cannot give the one asked"),
	OPT_GROUP("Safety"),
	OPT_STR     (struct run_args, write_device, 0, "write-device", "NAME", "allow writing to the block device of this kernel name or serial; destroys what is on it"),
	OPT_FLAG    (struct run_args, allow_memory, 0, "allow-memory", "measure tmpfs or ramfs all the same"),
	OPT_GROUP("Record"),
	OPT_STR     (struct run_args, label,     'l', "label", "TEXT", "kept with the result"),
	OPT_FLAG    (struct run_args, verbose,   'v', "verbose", "show every sample"),
	OPT_END,
};

/* clang-format on */

/* ---- options to phases ---- */

static bool picked(const struct opt_list *names, const struct phase_spec *row, bool *used)
{
	bool hit = names->n == 0;

	for (size_t i = 0; i < names->n; i++)
		if (strcmp(names->values[i], row->name) == 0 ||
			strcmp(names->values[i], row->group) == 0)
			hit = used[i] = true;
	return hit;
}

static int add_plan(
	struct phase_set *set, const struct run_args *a, const struct plan *plan, struct err *e)
{
	bool used[OPT_LIST_MAX] = { 0 };

	for (size_t i = 0; i < plan->n_phases; i++) {
		struct phase_spec spec = plan->phases[i];

		if (!picked(&a->phases, &plan->phases[i], used))
			continue;
		load_apply(&a->load, &spec);
		/* With one depth for all, what differed in depth alone is one phase. */
		if (phase_set_has(set, spec.name))
			continue;
		if (phase_set_add(set, &spec, e) != 0)
			return -1;
	}
	for (size_t i = 0; i < a->phases.n; i++)
		if (!used[i])
			return err_set(e, ERR_USAGE, 0,
				"--phase: plan '%s' has no phase '%s'; clyde plans lists them",
				plan->name, a->phases.values[i]);
	return 0;
}

static int choose_phases(
	const struct run_args *a, const char **ret_plan, struct phase_set *set, struct err *e)
{
	const char *name = a->plan ? a->plan : "overview";
	const struct plan *plan = plan_find(name);
	bool own = a->load.rw || a->customs.n;

	if (own && (a->plan || a->phases.n))
		return err_set(e, ERR_USAGE, 0,
			"--rw and --custom make phases of your own; leave out %s",
			a->plan ? "--plan" : "--phase");
	if (!plan)
		return err_set(e, ERR_USAGE, 0,
			"--plan: there is no plan '%s'; clyde plans lists them", name);
	*ret_plan = own ? "custom" : plan->name;
	if (!own)
		return add_plan(set, a, plan, e);
	if (a->load.rw) {
		struct phase_spec spec;

		load_make_phase(&a->load, &spec);
		if (phase_set_add(set, &spec, e) != 0)
			return -1;
	}

	struct load_args base = a->load;

	base.rw = 0;
	for (size_t i = 0; i < a->customs.n; i++)
		if (phase_set_add_custom(set, a->customs.values[i], &base, e) != 0)
			return -1;
	return 0;
}

static int parse_data(const char *text, struct pattern *p, struct err *e)
{
	static const char compress[] = "compress=";
	double pct;

	if (!text || strcmp(text, "random") == 0) {
		p->kind = PATTERN_RANDOM;
		return 0;
	}
	if (strcmp(text, "zeros") == 0) {
		p->kind = PATTERN_ZEROS;
		return 0;
	}
	if (strncmp(text, compress, strlen(compress)) != 0)
		return err_set(
			e, ERR_USAGE, 0, "--data: '%s' is not random, zeros or compress=PCT", text);
	if (units_parse_pct(text + strlen(compress), &pct, e) != 0)
		return err_wrap(e, "--data");
	p->kind = PATTERN_COMPRESS;
	p->compress_pct = (uint32_t)pct;
	return 0;
}

static uint64_t or_else(uint64_t given, uint64_t fallback)
{
	return given ? given : fallback;
}

static int check_together(const struct run_args *a, struct err *e)
{
	if (a->quick && a->thorough)
		return err_set(e, ERR_USAGE, 0, "--quick and --thorough: choose one");
	if ((a->iopoll || a->sqpoll) && strcmp(engine_names[a->engine], "uring") != 0)
		return err_set(e, ERR_USAGE, 0, "--%s needs --engine uring",
			a->iopoll ? "iopoll" : "sqpoll");
	if (a->iopoll && a->direct == (int)DIRECT_WISH_OFF)
		return err_set(
			e, ERR_USAGE, 0, "--iopoll needs direct I/O; leave out --direct=off");
	if (a->cache && a->direct != (int)DIRECT_WISH_OFF)
		return err_set(e, ERR_USAGE, 0,
			"--cache=warm: direct I/O passes the page cache by; add --direct=off");
	if (a->direct == (int)DIRECT_WISH_ON && strcmp(engine_names[a->engine], "mmap") == 0)
		return err_set(e, ERR_USAGE, 0,
			"--direct=on: a mapping goes through the page cache; use --engine uring or sync");
	return 0;
}

static int cmd_run_main(struct context *ctx, void *args, const char *const *operands,
	size_t n_operands, struct err *e)
{
	static const char *const here[] = { "." };
	const struct run_args *a = args;
	struct phase_set *set cleanup(free_p) = calloc(1, sizeof(*set));
	struct measure_request request = {
		.targets = n_operands ? operands : here,
		.n_targets = n_operands ? n_operands : 1,
		.n_samples = (uint32_t)or_else(a->n_samples, a->quick	   ? 1
							     : a->thorough ? 10
									   : 3),
		.time_ns = or_else(a->load.time_ns, (a->quick		  ? 2
							    : a->thorough ? 20
									  : 5) *
							    SECOND_NS),
		.size_bytes = a->size_bytes,
		.default_size_bytes = (a->quick		    ? 256
					      : a->thorough ? 4096
							    : 1024) *
				      MIB,
		.size_by_memory = !a->quick,
		.engine = engine_names[a->engine],
		.engine_flags = (a->iopoll ? ENGINE_IOPOLL : 0u) | (a->sqpoll ? ENGINE_SQPOLL : 0u),
		.direct = (enum direct_wish)a->direct,
		.pattern = { .stamps = a->verify },
		.seed = a->seed,
		.n_files = or_else(a->n_files, 2000),
		.n_dirs = or_else(a->n_dirs, 20),
		.file_bytes = or_else(a->file_bytes, 4 * KIB),
		.force = a->force,
		.pin = a->pin,
		.warm = a->cache != 0,
		.allow_memory = a->allow_memory,
		.write_device = a->write_device,
		.label = a->label,
		.verbose = a->verbose,
	};

	if (!set)
		return err_set(e, ERR_NOMEM, 0, "no memory for the phases");
	if (check_together(a, e) != 0 || parse_data(a->data, &request.pattern, e) != 0 ||
		choose_phases(a, &request.plan, set, e) != 0)
		return err_exit_status(e->kind);
	request.phases = set->specs;
	request.n_phases = set->n;
	return measure(ctx, &request, e);
}

const struct cmd cmd_run = {
	.name = "run",
	.summary = "measure a directory, a file or a block device",
	.operands = "[TARGET...]",
	.group = "measure",
	.opts = run_opts,
	.args_size = sizeof(struct run_args),
	.examples = "clyde run                        the file system of this directory\n"
		    "clyde run /mnt/a /mnt/b          two, in turns, so that drift hits both\n"
		    "clyde run --quick /mnt/data      a first look in half a minute\n"
		    "clyde run /dev/sdb               a whole disk, reading only\n"
		    "clyde run --phase sync_write .   only what a database commit costs\n"
		    "clyde run --rw randread --block 16k --depth 64 --threads 4 .\n"
		    "clyde run --custom rw=randread,block=16k,depth=64,threads=4,time=10s .",
	.run = cmd_run_main,
};

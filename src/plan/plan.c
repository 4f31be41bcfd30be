/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables of plans and accesses. Adding a phase is one row. */
#include "plan/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

enum { KIB = 1024, MIB = 1024 * 1024 };

/* clang-format off */
const struct access_def access_defs[ACCESS_N_KINDS] = {
	[ACCESS_READ]      = { "read",      .reads = true },
	[ACCESS_WRITE]     = { "write",     .writes = true },
	[ACCESS_RW]        = { "rw",        .reads = true, .writes = true },
	[ACCESS_RANDREAD]  = { "randread",  .reads = true, .random = true },
	[ACCESS_RANDWRITE] = { "randwrite", .writes = true, .random = true },
	[ACCESS_RANDRW]    = { "randrw",    .reads = true, .writes = true, .random = true },
	[ACCESS_APPEND]    = { "append",    .writes = true },
};

#define BLOCK(n, a, b, d, ...) \
	{ .name = n, .work = WORK_BLOCK, .access = a, .block_bytes = b, .depth = d, .n_threads = 1, __VA_ARGS__ }
#define FILES(n, op, rnd, s) \
	{ .name = n, .group = "files", .work = WORK_FILES, .file_op = op, .random_order = rnd, .n_threads = 1, .depth = 1, .summary = s }

static const struct phase_spec overview_phases[] = {
	BLOCK("seq_write",       ACCESS_WRITE,     MIB,     8,  .flush = FLUSH_DATASYNC, .fresh = true,
		.summary = "1 MiB blocks, depth 8, a fresh file, fdatasync inside the clock"),
	BLOCK("seq_read",        ACCESS_READ,      MIB,     8,
		.summary = "1 MiB blocks, depth 8, cold"),
	BLOCK("rand_read_qd1",   ACCESS_RANDREAD,  4 * KIB, 1,
		.summary = "4 KiB blocks, depth 1, cold: latency is the point"),
	BLOCK("rand_read_qd32",  ACCESS_RANDREAD,  4 * KIB, 32,
		.summary = "4 KiB blocks, depth 32, cold"),
	BLOCK("rand_write_qd32", ACCESS_RANDWRITE, 4 * KIB, 32, .flush = FLUSH_DATASYNC,
		.summary = "4 KiB blocks, depth 32, every block once per pass, fdatasync inside the clock"),
	BLOCK("mixed_qd32",      ACCESS_RANDRW,    4 * KIB, 32, .read_pct = 70, .flush = FLUSH_DATASYNC,
		.summary = "4 KiB blocks, depth 32, 70 % reads, fdatasync inside the clock"),
	BLOCK("sync_write",      ACCESS_APPEND,    4 * KIB, 1,  .flush = FLUSH_EACH,
		.summary = "4 KiB appended and fdatasync, each: what a database commit costs"),
	FILES("file_create_seq",  FILEWORK_CREATE, false, "create small files, names in order"),
	FILES("file_stat_seq",    FILEWORK_STAT,   false, "stat them, in order"),
	FILES("file_read_seq",    FILEWORK_READ,   false, "read them, in order"),
	FILES("file_delete_seq",  FILEWORK_DELETE, false, "delete them, in order"),
	FILES("file_create_rand", FILEWORK_CREATE, true,  "create small files, names in random order"),
	FILES("file_stat_rand",   FILEWORK_STAT,   true,  "stat them, in random order"),
	FILES("file_read_rand",   FILEWORK_READ,   true,  "read them, in random order"),
	FILES("file_delete_rand", FILEWORK_DELETE, true,  "delete them, in random order"),
};

static const struct phase_spec meta_phases[] = {
	FILES("file_create_seq",   FILEWORK_CREATE,  false, "create small files, names in order"),
	FILES("file_readdir",      FILEWORK_READDIR, false, "read each directory to its end"),
	FILES("file_stat_seq",     FILEWORK_STAT,    false, "stat them, in order"),
	FILES("file_stat_rand",    FILEWORK_STAT,    true,  "stat them, in random order"),
	FILES("file_read_seq",     FILEWORK_READ,    false, "read them, in order"),
	FILES("file_read_rand",    FILEWORK_READ,    true,  "read them, in random order"),
	FILES("file_rename_rand",  FILEWORK_RENAME,  true,  "rename them, in random order"),
	FILES("file_link_rand",    FILEWORK_LINK,    true,  "give each a second name, in random order"),
	FILES("file_delete_rand",  FILEWORK_DELETE,  true,  "delete them, in random order"),
};

#define ROWS(a) a, sizeof(a) / sizeof((a)[0])
const struct plan plan_list[] = {
	{ "overview", "sequential, random, mixed, commits and files: what most people ask first", ROWS(overview_phases) },
	{ "meta",     "file operations only: create, readdir, stat, read, rename, link, delete",  ROWS(meta_phases) },
};
/* clang-format on */
const size_t plan_n = sizeof(plan_list) / sizeof(plan_list[0]);

const struct plan *plan_find(const char *name)
{
	for (size_t i = 0; i < plan_n; i++)
		if (strcmp(plan_list[i].name, name) == 0)
			return &plan_list[i];
	return NULL;
}

int access_find(const char *name)
{
	for (int i = 0; i < ACCESS_N_KINDS; i++)
		if (strcmp(access_defs[i].name, name) == 0)
			return i;
	return -1;
}

void phase_spec_rename(struct phase_spec *spec)
{
	char *suffix = strstr(spec->name, "_qd");

	if (suffix)
		snprintf(suffix, sizeof(spec->name) - (size_t)(suffix - spec->name), "_qd%u",
			spec->depth);
}

bool phase_spec_writes(const struct phase_spec *spec)
{
	return spec->work == WORK_FILES || access_defs[spec->access].writes;
}

void phase_spec_name_custom(struct phase_spec *spec)
{
	const struct access_def *access = &access_defs[spec->access];
	uint32_t block_bytes = spec->block_bytes;
	const char *unit = "";
	struct buf name cleanup(buf_release_p) = { 0 };

	if (block_bytes % MIB == 0) {
		block_bytes /= MIB;
		unit = "m";
	} else if (block_bytes % KIB == 0) {
		block_bytes /= KIB;
		unit = "k";
	}
	buf_addf(&name, "%s_%u%s_qd%u_t%u", access->name, block_bytes, unit, spec->depth,
		spec->n_threads);
	/* What differs from the default is said, so that two phases do not share a name. */
	if (access->reads && access->writes && spec->read_pct != 70)
		buf_addf(&name, "_r%u", spec->read_pct);
	if (spec->rate_iops)
		buf_addf(&name, "_rate%llu", (unsigned long long)spec->rate_iops);
	if (access->writes &&
		spec->flush != (spec->access == ACCESS_APPEND ? FLUSH_EACH : FLUSH_DATASYNC))
		buf_addf(&name, "_%s",
			spec->flush == FLUSH_NONE ? "unflushed" : flush_kind_name(spec->flush));
	snprintf(spec->name, sizeof(spec->name), "%s", buf_text(&name));
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Text of the kernel, damaged in any way, is read or not known; what is known keeps its promises.
 * The input is split at NULs: stat of a disk, /proc/stat, mountinfo, cgroup, memory.max,
 * /proc/PID/stat. The files are those of a temporary tree, written anew for each input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "fuzz.h"
#include "probe/probe.h"
#include "probe/probe_cgroup.h"
#include "probe/probe_in_use.h"
#include "probe/probe_stack.h"

enum { PATH_BYTES = 160 };

static const char *const folders[] = { "proc", "proc/self", "proc/1", "sys", "sys/dev",
	"sys/dev/block", "sys/dev/block/8:0", "sys/fs", "sys/fs/cgroup", "sys/fs/cgroup/a" };

static const char *const files[] = { "sys/dev/block/8:0/stat", "proc/stat", "proc/self/mountinfo",
	"proc/self/cgroup", "sys/fs/cgroup/a/memory.max", "proc/1/stat" };

enum {
	N_FOLDERS = sizeof(folders) / sizeof(folders[0]),
	N_FILES = sizeof(files) / sizeof(files[0])
};

struct tree {
	char dir[64];
	char sys[80];
	char proc[80];
	struct probe_root root;
};

static void whole_path(const struct tree *tree, const char *path, char whole[PATH_BYTES])
{
	snprintf(whole, PATH_BYTES, "%s/%s", tree->dir, path);
}

static void tree_make(struct tree *tree)
{
	char path[PATH_BYTES];

	snprintf(tree->dir, sizeof(tree->dir), "/tmp/clyde-fuzz-XXXXXX");
	if (!mkdtemp(tree->dir))
		abort();
	for (size_t i = 0; i < N_FOLDERS; i++) {
		whole_path(tree, folders[i], path);
		if (mkdir(path, 0700) < 0)
			abort();
	}
	snprintf(tree->sys, sizeof(tree->sys), "%s/sys", tree->dir);
	snprintf(tree->proc, sizeof(tree->proc), "%s/proc", tree->dir);
	tree->root = (struct probe_root){ .sys = tree->sys, .proc = tree->proc };
}

static void tree_release(struct tree *tree)
{
	char path[PATH_BYTES];

	for (size_t i = 0; i < N_FILES; i++) {
		whole_path(tree, files[i], path);
		unlink(path);
	}
	for (size_t i = N_FOLDERS; i-- > 0;) {
		whole_path(tree, folders[i], path);
		rmdir(path);
	}
	rmdir(tree->dir);
}

/* Each file gets the bytes up to the next NUL, the last one the rest. */
static void tree_fill(const struct tree *tree, const uint8_t *bytes, size_t n_bytes)
{
	for (size_t i = 0; i < N_FILES; i++) {
		const uint8_t *end = i + 1 < N_FILES && n_bytes ? memchr(bytes, 0, n_bytes) : NULL;
		size_t n = end ? (size_t)(end - bytes) : n_bytes;
		char path[PATH_BYTES];

		whole_path(tree, files[i], path);
		FILE *file cleanup(fclose_p) = fopen(path, "we");
		if (!file || (n && fwrite(bytes, 1, n, file) != n))
			abort();
		n += end != NULL;
		bytes += n;
		n_bytes -= n;
	}
}

static void check_counters(const struct tree *tree, struct target_facts *t)
{
	struct disk_counters counters;
	struct disk_counters d;

	*t = (struct target_facts){ .n_disks = 2 };
	t->disks[0] = (struct disk_facts){ .major = 8, .iostats = true };
	t->disks[1] = t->disks[0];
	probe_disk_counters(&tree->root, t, &counters);
	d = disk_counters_since(&counters, &counters);
	assert(d.known == counters.known);
	assert(counters.known || (counters.read_bytes == 0 && counters.n_leaves == 0));
	assert(d.read_bytes == 0 && d.busy_ns == 0);
}

static void check_cpus(const struct tree *tree)
{
	struct cpu_counters *c cleanup(free_p) = calloc(2, sizeof(*c));

	if (!c)
		return;
	probe_cpu_counters(&tree->root, &c[0]);
	assert(c[0].n_cpus <= PROBE_N_CPUS_MAX);
	c[1].n_cpus = c[0].n_cpus;
	double ratio = cpu_busiest_ratio(&c[1], &c[0]);
	assert((ratio >= 0 && ratio <= 1) || (ratio < 0 && ratio >= -1));
}

static void check_mounts(const struct tree *tree, struct target_facts *t)
{
	const uint64_t memory_bytes = 1u << 30;
	struct err e = { 0 };

	uint64_t limit_bytes = probe_cgroup_memory_limit(&tree->root, memory_bytes);
	assert(limit_bytes > 0 && limit_bytes <= memory_bytes);
	assert(probe_target(&tree->root, tree->dir, t, &e) == 0);
	assert(t->n_disks <= PROBE_N_LEAVES_MAX);
	assert(memchr(t->fs_options, 0, sizeof(t->fs_options)));
	if (probe_in_use(&tree->root, (struct probe_dev){ 8, 0 }, "x", &e) < 0)
		assert(e.kind == ERR_USAGE && e.msg[0] != '\0');
	(void)probe_process_start_ticks(&tree->root, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	struct target_facts *t cleanup(free_p) = calloc(1, sizeof(*t));
	struct tree tree;

	if (!t)
		return 0;
	tree_make(&tree);
	tree_fill(&tree, bytes, n_bytes);
	check_counters(&tree, t);
	check_cpus(&tree);
	check_mounts(&tree, t);
	tree_release(&tree);
	return 0;
}

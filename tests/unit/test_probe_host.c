/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory limits of cgroups, CPU counters, processes, on recorded trees. */
#include "test.h"

#include "probe_tree.h"

#include "probe/probe_cgroup.h"

enum { MIB = 1024 * 1024 };

#define MEMORY_BYTES (8192ull * MIB)

struct limit_file {
	const char *path; /* below sys/fs/cgroup */
	const char *text;
};

struct cgroup_case {
	const char *name;
	const char *mountinfo;
	const char *cgroup;
	struct limit_file files[4];
	uint64_t limit_mib;
};

#define V2_MOUNT     "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
#define V1_MOUNT     "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
#define HYBRID_MOUNT "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
#define V1_UNLIMITED "9223372036854771712\n"

/* clang-format off */
static const struct cgroup_case cgroup_cases[] = {
	{ "no cgroup at all", "", "", { { NULL, NULL } }, 8192 },
	{ "v2 without a limit", V2_MOUNT, "0::/a/b\n",
		{ { "a/b/memory.max", "max\n" }, { "a/b/memory.high", "max\n" } }, 8192 },
	{ "v2 maximum of our own", V2_MOUNT, "0::/a/b\n",
		{ { "a/b/memory.max", "1073741824\n" } }, 1024 },
	{ "v2 throttling limit", V2_MOUNT, "0::/a/b\n",
		{ { "a/b/memory.max", "1073741824\n" }, { "a/b/memory.high", "536870912\n" } }, 512 },
	{ "v2 smaller limit of an ancestor", V2_MOUNT, "0::/a/b\n",
		{ { "a/b/memory.max", "1073741824\n" }, { "a/memory.max", "268435456\n" } }, 256 },
	{ "v2 limit of the visible root", V2_MOUNT, "0::/\n",
		{ { "memory.max", "1073741824\n" } }, 1024 },
	{ "a neighbour's limit is not ours", V2_MOUNT, "0::/a/b\n",
		{ { "a/bc/memory.max", "1048576\n" } }, 8192 },
	{ "a limit above the memory is none", V2_MOUNT, "0::/a\n",
		{ { "a/memory.max", "1099511627776\n" } }, 8192 },
	{ "damaged and zero limits are none", V2_MOUNT, "0::/a\n",
		{ { "a/memory.max", "-1\n" }, { "a/memory.high", "0\n" },
		  { "memory.max", "12MB\n" } }, 8192 },
	{ "too large a number is none", V2_MOUNT, "0::/a\n",
		{ { "a/memory.max", "99999999999999999999999\n" } }, 8192 },
	{ "v1 without a limit", V1_MOUNT, "4:memory:/a\n",
		{ { "memory/a/memory.limit_in_bytes", V1_UNLIMITED } }, 8192 },
	{ "v1 limit of an ancestor", V1_MOUNT, "5:cpu,cpuacct:/x\n4:memory:/a/b/c\n",
		{ { "memory/a/b/c/memory.limit_in_bytes", V1_UNLIMITED },
		  { "memory/a/memory.limit_in_bytes", "134217728\n" } }, 128 },
	{ "v1 with other controllers on one mount",
		"35 31 0:32 / /sys/fs/cgroup/mem rw - cgroup cgroup rw,cpuset,memory\n",
		"4:cpuset,memory:/a\n",
		{ { "mem/a/memory.limit_in_bytes", "134217728\n" } }, 128 },
	{ "a container sees only its branch of v1",
		"35 31 0:32 /docker/42 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
		"4:memory:/docker/42/in\n",
		{ { "memory/in/memory.limit_in_bytes", "134217728\n" },
		  { "memory/memory.limit_in_bytes", "67108864\n" } }, 64 },
	{ "a path out of the branch is the branch itself",
		"35 31 0:32 /docker/42 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
		"4:memory:/docker/421\n",
		{ { "memory/memory.limit_in_bytes", "67108864\n" } }, 64 },
	{ "a path out of the name space does not leave the mount", V2_MOUNT, "0::/../x\n",
		{ { "memory.max", "1073741824\n" }, { "../x/memory.max", "1048576\n" } }, 1024 },
	{ "hybrid: v1 has the memory", V1_MOUNT HYBRID_MOUNT, "4:memory:/a\n0::/u\n",
		{ { "memory/a/memory.limit_in_bytes", "134217728\n" } }, 128 },
	{ "hybrid: both count", V1_MOUNT HYBRID_MOUNT, "4:memory:/a\n0::/u\n",
		{ { "memory/a/memory.limit_in_bytes", "134217728\n" },
		  { "unified/u/memory.max", "67108864\n" } }, 64 },
	{ "a name that holds a colon", V2_MOUNT, "0::/a:b\n",
		{ { "a:b/memory.max", "134217728\n" } }, 128 },
	{ "a named hierarchy called memory is not it", V1_MOUNT, "4:name=memory:/a\n",
		{ { "memory/a/memory.limit_in_bytes", "134217728\n" } }, 8192 },
	{ "damaged lines are passed over", V2_MOUNT, "0\n::\n0::relative\n\n0::/a\n",
		{ { "a/memory.max", "134217728\n" } }, 128 },
};
/* clang-format on */

static void the_smallest_limit_above_us_counts(void **state)
{
	struct tree *tree = *state;

	for (size_t i = 0; i < sizeof(cgroup_cases) / sizeof(cgroup_cases[0]); i++) {
		const struct cgroup_case *c = &cgroup_cases[i];

		tree_reset(tree);
		tree_file(tree, "proc/self/mountinfo", c->mountinfo);
		tree_file(tree, "proc/self/cgroup", c->cgroup);
		for (size_t k = 0; k < 4 && c->files[k].path; k++) {
			char path[256];

			snprintf(path, sizeof(path), "sys/fs/cgroup/%s", c->files[k].path);
			tree_file(tree, path, c->files[k].text);
		}
		uint64_t limit_bytes = probe_cgroup_memory_limit(&tree->root, MEMORY_BYTES);
		if (limit_bytes != c->limit_mib * MIB)
			fail_msg("%s: %llu bytes, not %llu MiB", c->name,
				(unsigned long long)limit_bytes, (unsigned long long)c->limit_mib);
	}
}

static void a_limit_is_known_where_the_memory_is_not(void **state)
{
	const struct tree *tree = *state;

	tree_file(tree, "proc/self/mountinfo", V2_MOUNT);
	tree_file(tree, "proc/self/cgroup", "0::/a\n");
	assert_int_equal(probe_cgroup_memory_limit(&tree->root, 0), 0);
	tree_file(tree, "sys/fs/cgroup/a/memory.max", "134217728\n");
	assert_int_equal(probe_cgroup_memory_limit(&tree->root, 0), 128 * MIB);
}

static void the_host_is_read(void **state)
{
	const struct tree *tree = *state;
	struct host_facts host;

	tree_file(tree, "proc/meminfo", "MemFree:  1 kB\nMemTotal:       8388608 kB\nX: 1 kB\n");
	tree_file(tree, "proc/cpuinfo",
		"processor\t: 0\nmodel name\t: Some(R) CPU @ 2.0GHz\nflags\t\t: fpu hypervisor\n");
	tree_file(tree, "proc/sys/kernel/random/boot_id", "01234567-89ab\n");
	tree_file(tree, "sys/class/dmi/id/product_name", "VirtualBox\n");
	tree_file(tree, "proc/self/cgroup", "0::/system.slice/docker-1.scope/docker/9\n");
	assert_int_equal(probe_host(&tree->root, &host), 0);
	assert_int_equal(host.memory_bytes, MEMORY_BYTES);
	assert_int_equal(host.memory_limit_bytes, MEMORY_BYTES);
	assert_string_equal(host.cpu_model, "Some(R) CPU @ 2.0GHz");
	assert_string_equal(host.boot_id, "01234567-89ab");
	assert_string_equal(host.virtualization, "docker in virtualbox");
	assert_true(host.n_cpus >= 1);
	assert_true(host.kernel[0] != '\0');
}

static void an_empty_or_damaged_system_is_not_known(void **state)
{
	const struct tree *tree = *state;
	struct host_facts host;

	assert_int_equal(probe_host(&tree->root, &host), 0);
	assert_int_equal(host.memory_bytes, 0);
	assert_string_equal(host.cpu_model, "");
	assert_string_equal(host.virtualization, "");
	tree_file(tree, "proc/meminfo", "MemTotal:  99999999999999999999 kB\n");
	tree_file(tree, "proc/cpuinfo", "model name");
	probe_host(&tree->root, &host);
	assert_int_equal(host.memory_bytes, 0);
	assert_string_equal(host.cpu_model, "");
	tree_file(tree, "proc/meminfo", "MemTotal:  18446744073709551615 kB\n");
	probe_host(&tree->root, &host);
	assert_int_equal(host.memory_bytes, 0);
}

/* Too large for the stack. */
static struct cpu_counters before;
static struct cpu_counters after;

static void the_busiest_cpu_is_found(void **state)
{
	const struct tree *tree = *state;

	/* cpu1: 95 busy of 100 (steal 5 of them, guest is in user), cpu2 too short, cpu3 new. */
	tree_file(tree, "proc/stat",
		"cpu  1 2 3 4\ncpu0 100 0 0 100 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0 0 0\n"
		"cpu2 0 0 0 0 0 0 0 0 0 0\nintr 5 6\ncpu9 1 1 1 1\n");
	probe_cpu_counters(&tree->root, &before);
	assert_int_equal(before.n_cpus, 3);
	assert_int_equal(before.busy_ticks[0], 100);
	assert_int_equal(before.total_ticks[0], 200);
	tree_file(tree, "proc/stat",
		"cpu  1 2 3 4\ncpu0 110 0 0 180 10 0 0 0 0 0\ncpu1 40 10 20 3 2 10 10 5 40 0\n"
		"cpu2 19 0 0 0 0 0 0 0 0 0\ncpu3 900 0 0 0 0 0 0 0 0 0\n");
	probe_cpu_counters(&tree->root, &after);
	assert_close(cpu_busiest_ratio(&before, &after), 0.95, 1e-12);
	/* Backwards nothing is known. */
	assert_close(cpu_busiest_ratio(&after, &before), -1.0, 1e-12);
	assert_close(cpu_busiest_ratio(&after, &after), -1.0, 1e-12);
}

static void damaged_cpu_lines_are_left_out(void **state)
{
	const struct tree *tree = *state;

	probe_cpu_counters(&tree->root, &before); /* no file */
	assert_int_equal(before.n_cpus, 0);
	tree_file(tree, "proc/stat",
		"cpu0 1 2 3\ncpu1 1 2 x 4\ncpu99999999999999999999 1 2 3 4\ncpu1024 1 2 3 4\n"
		"cpu2 18446744073709551615 18446744073709551615 1 1 0 0 0 0\ncpu-1 1 2 3 4\n"
		"cpu3 1 2 3 4\n");
	probe_cpu_counters(&tree->root, &before);
	assert_int_equal(before.n_cpus, 4);
	assert_int_equal(before.total_ticks[0], 0);
	assert_int_equal(before.total_ticks[1], 0);
	assert_int_equal(before.total_ticks[2], 0);
	assert_int_equal(before.total_ticks[3], 10); /* an old kernel with four fields */
	assert_int_equal(before.busy_ticks[3], 6);
}

static void the_start_of_a_process_is_behind_its_name(void **state)
{
	static const struct {
		const char *text;
		uint64_t start_ticks;
	} cases[] = {
		{ "7 (sh) S 1 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 4242 23 24\n", 4242 },
		{ "7 (a ) S 1) S 1 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 4242\n", 4242 },
		{ "7 (sh) S 1 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 -1 23\n", 0 },
		{ "7 (sh) S 1 5 6\n", 0 },
		{ "7 (sh", 0 },
		{ "", 0 },
	};
	const struct tree *tree = *state;

	assert_int_equal(probe_process_start_ticks(&tree->root, 7), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tree_file(tree, "proc/7/stat", cases[i].text);
		assert_int_equal(probe_process_start_ticks(&tree->root, 7), cases[i].start_ticks);
	}
	assert_int_equal(probe_process_start_ticks(&tree->root, -7), 0);
}

static void this_process_has_a_start(void **state)
{
	uint64_t start_ticks = probe_process_start_ticks(NULL, getpid());

	(void)state;
	assert_true(start_ticks > 0);
	assert_int_equal(probe_process_start_ticks(NULL, getpid()), start_ticks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(the_smallest_limit_above_us_counts),
		TREE_TEST(a_limit_is_known_where_the_memory_is_not),
		TREE_TEST(the_host_is_read),
		TREE_TEST(an_empty_or_damaged_system_is_not_known),
		TREE_TEST(the_busiest_cpu_is_found),
		TREE_TEST(damaged_cpu_lines_are_left_out),
		TREE_TEST(the_start_of_a_process_is_behind_its_name),
		cmocka_unit_test(this_process_has_a_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

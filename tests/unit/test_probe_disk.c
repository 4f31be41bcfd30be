/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts and counters of one disk, on recorded trees. */
#include "test.h"

#include "probe_tree.h"

#include "probe/probe_stack.h"

static const char nvme0[] = "pci0000:00/0000:00:1d.0/nvme/nvme0/nvme0n1";
static const char sda[] = "pci0000:00/ata1/sda";
static const char sdb[] = "pci0000:00/ata2/sdb";

static void reads_the_facts_of_a_disk(void **state)
{
	const struct tree *tree = *state;
	struct disk_facts facts;

	tree_disk(tree, nvme0, "259:0");
	tree_attr(tree, nvme0, "device/model", "  FAST\tDISK 1000  \n");
	tree_attr(tree, nvme0, "queue/scheduler", "none [mq-deadline] kyber\n");
	tree_attr(tree, nvme0, "queue/write_cache", "write back\n");
	tree_attr(tree, nvme0, "queue/logical_block_size", "512\n");
	tree_attr(tree, nvme0, "queue/physical_block_size", "4096\n");
	tree_attr(tree, nvme0, "queue/max_sectors_kb", "1280\n");
	probe_disk_facts(tree->sys, (struct probe_dev){ 259, 0 }, &facts);
	assert_string_equal(facts.name, "nvme0n1");
	assert_string_equal(facts.model, "FAST?DISK 1000");
	assert_string_equal(facts.scheduler, "mq-deadline");
	assert_string_equal(facts.write_cache, "write back");
	assert_string_equal(facts.backing, "");
	assert_int_equal(facts.size_bytes, 1ull << 30);
	assert_int_equal(facts.rotational, 0);
	assert_int_equal(facts.logical_block_bytes, 512);
	assert_int_equal(facts.physical_block_bytes, 4096);
	assert_int_equal(facts.max_request_bytes, 1280 * 1024);
	assert_true(facts.iostats);
}

static void damaged_facts_are_not_known(void **state)
{
	const struct tree *tree = *state;
	struct disk_facts facts;

	tree_device(tree, nvme0, "259:0");
	tree_attr(tree, nvme0, "size", "99999999999999999999999\n");
	tree_attr(tree, nvme0, "queue/rotational", "7\n");
	tree_attr(tree, nvme0, "queue/iostats", "yes\n");
	tree_attr(tree, nvme0, "queue/scheduler", "none [mq-deadline\n");
	tree_attr(tree, nvme0, "queue/logical_block_size", "-512\n");
	tree_attr(tree, nvme0, "queue/physical_block_size", "512 512\n");
	tree_attr(tree, nvme0, "queue/max_sectors_kb", "18446744073709551615\n");
	probe_disk_facts(tree->sys, (struct probe_dev){ 259, 0 }, &facts);
	assert_int_equal(facts.size_bytes, 0);
	assert_int_equal(facts.rotational, -1);
	assert_false(facts.iostats);
	assert_string_equal(facts.scheduler, "");
	assert_int_equal(facts.logical_block_bytes, 0);
	assert_int_equal(facts.physical_block_bytes, 0);
	assert_int_equal(facts.max_request_bytes, 0);
}

static void a_number_with_a_nul_in_it_is_none(void **state)
{
	const struct tree *tree = *state;
	struct disk_facts facts;
	char path[256];

	tree_disk(tree, nvme0, "259:0");
	snprintf(path, sizeof(path), "%s/dev/block/259:0/size", tree->sys);
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite("8\0009", 1, 3, file), 3);
	assert_int_equal(fclose(file), 0);
	probe_disk_facts(tree->sys, (struct probe_dev){ 259, 0 }, &facts);
	assert_int_equal(facts.size_bytes, 0);
}

static void a_device_that_is_not_there_has_no_facts(void **state)
{
	const struct tree *tree = *state;
	struct disk_facts facts;

	probe_disk_facts(tree->sys, (struct probe_dev){ 8, 5 }, &facts);
	assert_string_equal(facts.name, "");
	assert_int_equal(facts.size_bytes, 0);
	assert_int_equal(facts.rotational, -1);
	assert_false(facts.iostats);
}

static void stat_files_of_every_kernel_are_read(void **state)
{
	static const struct {
		const char *text;
		int rc;
		bool flushes_known;
		uint64_t n_flushes;
	} cases[] = {
		{ "10 0 2048 5 20 0 4096 7 0 30 12", 0, false, 0 },
		{ "10 0 2048 5 20 0 4096 7 0 30 12 1 2 3 4", 0, false, 0 },
		{ "   10\t0 2048 5 20 0 4096 7 0 30 12 1 2 3 4 99 6", 0, true, 99 },
		{ "10 0 2048 5 20 0 4096 7 0 30 12 1 2 3 4 99 6 7 8", 0, true, 99 },
		{ "10 0 2048 5 20 0 4096 7 0 30", -1, false, 0 },
		{ "", -1, false, 0 },
		{ "10 0 2048 5 -20 0 4096 7 0 30 12", -1, false, 0 },
		{ "10 0 0x800 5 20 0 4096 7 0 30 12", -1, false, 0 },
		{ "10 0 2048 5 20 0 4096 7 0 30 12 x", -1, false, 0 },
		{ "10 0 99999999999999999999 5 20 0 4096 7 0 30 12", -1, false, 0 },
		/* times 512 it does not fit */
		{ "10 0 18446744073709551615 5 20 0 4096 7 0 30 12", -1, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct disk_counters sum = { .flushes_known = true };

		if (probe_stat_add(cases[i].text, &sum) != cases[i].rc)
			fail_msg("'%s': not %d", cases[i].text, cases[i].rc);
		if (cases[i].rc < 0) {
			assert_int_equal(sum.n_reads, 0);
			assert_int_equal(sum.n_leaves, 0);
			continue;
		}
		assert_int_equal(sum.n_reads, 10);
		assert_int_equal(sum.read_bytes, 2048 * 512);
		assert_int_equal(sum.n_writes, 20);
		assert_int_equal(sum.written_bytes, 4096 * 512);
		assert_int_equal(sum.busy_ns, 30 * 1000 * 1000);
		assert_int_equal(sum.n_flushes, cases[i].n_flushes);
		assert_int_equal(sum.flushes_known, cases[i].flushes_known);
	}
}

/* Two disks of a mirror as a target. */
static struct target_facts *mirror_target(const struct tree *tree)
{
	struct target_facts *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	tree_disk(tree, sda, "8:0");
	tree_disk(tree, sdb, "8:16");
	t->n_disks = 2;
	probe_disk_facts(tree->sys, (struct probe_dev){ 8, 0 }, &t->disks[0]);
	probe_disk_facts(tree->sys, (struct probe_dev){ 8, 16 }, &t->disks[1]);
	return t;
}

static void counters_are_summed_and_the_busiest_disk_is_of_the_interval(void **state)
{
	const struct tree *tree = *state;
	struct target_facts *t = mirror_target(tree);
	struct disk_counters before;
	struct disk_counters after;

	tree_attr(tree, sda, "stat", "10 0 100 0 5 0 50 0 0 9000 0 0 0 0 0 7 0\n");
	tree_attr(tree, sdb, "stat", "20 0 200 0 6 0 60 0 0 100 0 0 0 0 0 8 0\n");
	probe_disk_counters(&tree->root, t, &before);
	assert_true(before.known);
	assert_int_equal(before.read_bytes, 300 * 512);
	assert_int_equal(before.busy_ns, 9000000000);
	tree_attr(tree, sda, "stat", "11 0 108 0 7 0 66 0 0 9010 0 0 0 0 0 9 0\n");
	tree_attr(tree, sdb, "stat", "21 0 208 0 8 0 76 0 0 600 0 0 0 0 0 9 0\n");
	probe_disk_counters(&tree->root, t, &after);
	struct disk_counters d = disk_counters_since(&before, &after);
	assert_true(d.known);
	assert_true(d.flushes_known);
	assert_int_equal(d.n_reads, 2);
	assert_int_equal(d.read_bytes, 16 * 512);
	assert_int_equal(d.n_writes, 4);
	assert_int_equal(d.written_bytes, 32 * 512);
	assert_int_equal(d.n_flushes, 3);
	assert_int_equal(d.busy_ns, 500000000);
	/* Not the same disks: no difference. */
	struct disk_counters other = after;
	other.n_leaves = 1;
	assert_false(disk_counters_since(&before, &other).known);
	/* A device that came anew under its number has counted less. */
	d = disk_counters_since(&after, &before);
	assert_false(d.known);
	free(t);
}

static void counters_are_not_known_when_one_disk_does_not_count(void **state)
{
	const struct tree *tree = *state;
	struct target_facts *t = mirror_target(tree);
	struct disk_counters counters;

	probe_disk_counters(&tree->root, t, &counters);
	assert_true(counters.known);
	t->disks_incomplete = true;
	probe_disk_counters(&tree->root, t, &counters);
	assert_false(counters.known);
	t->disks_incomplete = false;
	tree_attr(tree, sdb, "queue/iostats", "0\n");
	probe_disk_facts(tree->sys, (struct probe_dev){ 8, 16 }, &t->disks[1]);
	probe_disk_counters(&tree->root, t, &counters);
	assert_false(counters.known);
	assert_int_equal(counters.read_bytes, 0);
	t->disks[1] = t->disks[0];
	tree_attr(tree, sda, "stat", "garbage\n");
	probe_disk_counters(&tree->root, t, &counters);
	assert_false(counters.known);
	t->n_disks = 0;
	probe_disk_counters(&tree->root, t, &counters);
	assert_false(counters.known);
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(reads_the_facts_of_a_disk),
		TREE_TEST(damaged_facts_are_not_known),
		TREE_TEST(a_number_with_a_nul_in_it_is_none),
		TREE_TEST(a_device_that_is_not_there_has_no_facts),
		cmocka_unit_test(stat_files_of_every_kernel_are_read),
		TREE_TEST(counters_are_summed_and_the_busiest_disk_is_of_the_interval),
		TREE_TEST(counters_are_not_known_when_one_disk_does_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Facts and counters of one disk from sysfs.
 * Source: Documentation/ABI/stable/sysfs-block, Documentation/block/stat.rst of the kernel: 11
 * fields, 15 since 4.18 (discards), 17 since 5.5 (flushes); sectors are 512 bytes on every disk.
 */
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "probe/probe_stack.h"

enum {
	SECTOR_BYTES = 512,
	N_STAT_FIELDS_MIN = 11,
	N_STAT_FIELDS_MAX = 17,
};

enum stat_field {
	STAT_READS = 0,
	STAT_READ_SECTORS = 2,
	STAT_WRITES = 4,
	STAT_WRITTEN_SECTORS = 6,
	STAT_BUSY_MS = 9,
	STAT_FLUSHES = 15,
};

void probe_disk_name(const char *sys, struct probe_dev dev, char *name, size_t room_bytes)
{
	char path[SYSFILE_PATH_MAX];
	char link[SYSFILE_PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/dev/block/%u:%u", sys, dev.major, dev.minor);

	*name = '\0';
	if (n < 0 || (size_t)n >= sizeof(path))
		return;
	ssize_t n_bytes = readlink(path, link, sizeof(link) - 1);
	if (n_bytes <= 0 || (size_t)n_bytes >= sizeof(link) - 1)
		return;
	link[n_bytes] = '\0';
	const char *slash = strrchr(link, '/');
	sysfile_clean(name, room_bytes, slash ? slash + 1 : link);
	/* sysfs cannot hold a slash in a name: "cciss!c0d0" is /dev/cciss/c0d0. */
	for (char *bang = name; (bang = strchr(bang, '!'));)
		*bang = '/';
}

/* "none [mq-deadline] kyber": the one in brackets. A lone word is the only one there is. */
static void read_scheduler(const char *dir, char *scheduler, size_t room_bytes)
{
	char text[SYSFILE_TEXT_MAX];

	if (sysfile_read(text, sizeof(text), "%s/queue/scheduler", dir) < 0)
		return;
	char *start = strchr(text, '[');
	char *end = start ? strchr(start, ']') : NULL;
	if (!start && !strchr(text, ' ')) {
		sysfile_clean(scheduler, room_bytes, text);
		return;
	}
	if (!end)
		return;
	*end = '\0';
	sysfile_clean(scheduler, room_bytes, start + 1);
}

/* [bytes] in a 32-bit field; 0 if missing or not to be believed. */
static uint32_t read_u32_bytes(const char *dir, const char *attribute, uint32_t unit_bytes)
{
	uint64_t value;

	if (sysfile_u64(&value, "%s/queue/%s", dir, attribute) < 0)
		return 0;
	if (__builtin_mul_overflow(value, unit_bytes, &value) || value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

static int read_flag(const char *dir, const char *attribute)
{
	uint64_t value;

	if (sysfile_u64(&value, "%s/queue/%s", dir, attribute) < 0 || value > 1)
		return -1;
	return (int)value;
}

void probe_disk_facts(const char *sys, struct probe_dev dev, struct disk_facts *ret)
{
	char dir[SYSFILE_PATH_MAX];
	char backing[SYSFILE_TEXT_MAX + 1] = "";
	uint64_t n_sectors;
	int n = snprintf(dir, sizeof(dir), "%s/dev/block/%u:%u", sys, dev.major, dev.minor);

	*ret = (struct disk_facts){ .major = dev.major, .minor = dev.minor, .rotational = -1 };
	if (n < 0 || (size_t)n >= sizeof(dir))
		return;
	probe_disk_name(sys, dev, ret->name, sizeof(ret->name));
	if (sysfile_u64(&n_sectors, "%s/size", dir) < 0 ||
		__builtin_mul_overflow(n_sectors, SECTOR_BYTES, &ret->size_bytes))
		ret->size_bytes = 0;
	sysfile_label(ret->model, sizeof(ret->model), "%s/device/model", dir);
	if (ret->model[0] == '\0') /* MMC calls it "name" */
		sysfile_label(ret->model, sizeof(ret->model), "%s/device/name", dir);
	read_scheduler(dir, ret->scheduler, sizeof(ret->scheduler));
	sysfile_label(ret->write_cache, sizeof(ret->write_cache), "%s/queue/write_cache", dir);
	if (sysfile_read(backing, sizeof(backing), "%s/loop/backing_file", dir) > 0)
		sysfile_copy(ret->backing, sizeof(ret->backing), backing);
	ret->rotational = read_flag(dir, "rotational");
	ret->logical_block_bytes = read_u32_bytes(dir, "logical_block_size", 1);
	ret->physical_block_bytes = read_u32_bytes(dir, "physical_block_size", 1);
	ret->max_request_bytes = read_u32_bytes(dir, "max_sectors_kb", 1024);
	ret->iostats = read_flag(dir, "iostats") == 1;
}

/* Return: fields parsed (at most 17; a newer kernel may have more); -1 damaged */
static int parse_stat(const char *text, uint64_t fields[N_STAT_FIELDS_MAX])
{
	int n_fields = 0;

	for (;;) {
		uint64_t value;

		text += strspn(text, " \t");
		if (*text == '\0')
			break;
		if (sysfile_parse_u64(&text, &value) < 0 ||
			(*text && *text != ' ' && *text != '\t'))
			return -1;
		if (n_fields < N_STAT_FIELDS_MAX)
			fields[n_fields++] = value;
	}
	return n_fields < N_STAT_FIELDS_MIN ? -1 : n_fields;
}

static bool add_scaled(uint64_t *sum, uint64_t value, uint64_t scale)
{
	return !__builtin_mul_overflow(value, scale, &value) &&
	       !__builtin_add_overflow(*sum, value, sum);
}

int probe_stat_add(const char *text, struct disk_counters *sum)
{
	uint64_t fields[N_STAT_FIELDS_MAX] = { 0 };
	struct disk_counters next = *sum;
	int n_fields = parse_stat(text, fields);
	uint64_t busy_ns = 0;

	if (n_fields < 0 || sum->n_leaves >= PROBE_N_LEAVES_MAX)
		return -1;
	if (!add_scaled(&next.n_reads, fields[STAT_READS], 1) ||
		!add_scaled(&next.read_bytes, fields[STAT_READ_SECTORS], SECTOR_BYTES) ||
		!add_scaled(&next.n_writes, fields[STAT_WRITES], 1) ||
		!add_scaled(&next.written_bytes, fields[STAT_WRITTEN_SECTORS], SECTOR_BYTES) ||
		!add_scaled(&next.n_flushes, fields[STAT_FLUSHES], 1) ||
		!add_scaled(&busy_ns, fields[STAT_BUSY_MS], 1000000))
		return -1;
	next.leaf_busy_ns[next.n_leaves++] = busy_ns;
	if (busy_ns > next.busy_ns)
		next.busy_ns = busy_ns;
	if (n_fields < N_STAT_FIELDS_MAX)
		next.flushes_known = false;
	*sum = next;
	return 0;
}

void probe_disk_counters(
	const struct probe_root *root, const struct target_facts *target, struct disk_counters *ret)
{
	struct disk_counters sum = { .known = true, .flushes_known = true };

	*ret = (struct disk_counters){ 0 };
	if (target->n_disks == 0 || target->disks_incomplete)
		return;
	for (unsigned i = 0; i < target->n_disks; i++) {
		const struct disk_facts *disk = &target->disks[i];
		char text[1024];

		if (!disk->iostats ||
			sysfile_read(text, sizeof(text), "%s/dev/block/%u:%u/stat",
				probe_root_sys(root), disk->major, disk->minor) < 0 ||
			probe_stat_add(text, &sum) < 0)
			return;
	}
	*ret = sum;
}

/* A counter that went back is another device under the same number, or a damaged file. */
static bool subtract(uint64_t *difference, uint64_t before, uint64_t after)
{
	*difference = after - before;
	return after >= before;
}

struct disk_counters disk_counters_since(
	const struct disk_counters *before, const struct disk_counters *after)
{
	const struct disk_counters unknown = { 0 };
	struct disk_counters d = { .known = true, .n_leaves = after->n_leaves };

	if (!before->known || !after->known || before->n_leaves != after->n_leaves)
		return unknown;
	if (!subtract(&d.read_bytes, before->read_bytes, after->read_bytes) ||
		!subtract(&d.written_bytes, before->written_bytes, after->written_bytes) ||
		!subtract(&d.n_reads, before->n_reads, after->n_reads) ||
		!subtract(&d.n_writes, before->n_writes, after->n_writes) ||
		!subtract(&d.n_flushes, before->n_flushes, after->n_flushes))
		return unknown;
	d.flushes_known = before->flushes_known && after->flushes_known;
	for (unsigned i = 0; i < d.n_leaves; i++) {
		if (!subtract(&d.leaf_busy_ns[i], before->leaf_busy_ns[i], after->leaf_busy_ns[i]))
			return unknown;
		if (d.leaf_busy_ns[i] > d.busy_ns)
			d.busy_ns = d.leaf_busy_ns[i];
	}
	return d;
}

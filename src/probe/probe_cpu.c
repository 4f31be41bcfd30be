/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * CPU time from /proc/stat: "cpuN user nice system idle iowait irq softirq steal guest guest_nice"
 * in ticks (proc(5)). guest is part of user already. The waiting of iowait is idleness.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "probe/sysfile.h"

enum { CPU_IDLE = 3, CPU_IOWAIT = 4, CPU_N_FIELDS_MIN = 4, CPU_N_FIELDS = 8 };

/* Return: fields found, at most CPU_N_FIELDS; -1 damaged */
static int parse_fields(const char *p, uint64_t fields[CPU_N_FIELDS])
{
	int n_fields = 0;

	while (n_fields < CPU_N_FIELDS) {
		uint64_t value;

		p += strspn(p, " ");
		if (*p == '\n' || *p == '\0')
			break;
		if (sysfile_parse_u64(&p, &value) < 0 || !strchr(" \n", *p))
			return -1;
		fields[n_fields++] = value;
	}
	return n_fields < CPU_N_FIELDS_MIN ? -1 : n_fields;
}

static void read_line(const char *line, struct cpu_counters *ret)
{
	uint64_t fields[CPU_N_FIELDS] = { 0 };
	uint64_t busy_ticks = 0;
	uint64_t total_ticks = 0;
	const char *p = line + strlen("cpu");
	uint64_t cpu;

	/* The line "cpu  " without a number is the sum. */
	if (sysfile_parse_u64(&p, &cpu) < 0 || cpu >= PROBE_N_CPUS_MAX || *p != ' ')
		return;
	if (parse_fields(p, fields) < 0)
		return;
	for (int i = 0; i < CPU_N_FIELDS; i++) {
		if (__builtin_add_overflow(total_ticks, fields[i], &total_ticks))
			return;
		if (i != CPU_IDLE && i != CPU_IOWAIT)
			busy_ticks += fields[i];
	}
	ret->busy_ticks[cpu] = busy_ticks;
	ret->total_ticks[cpu] = total_ticks;
	if (cpu >= ret->n_cpus)
		ret->n_cpus = (unsigned)cpu + 1;
}

void probe_cpu_counters(const struct probe_root *root, struct cpu_counters *ret)
{
	char path[SYSFILE_PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/stat", probe_root_proc(root));
	FILE *file cleanup(fclose_p) = n > 0 && (size_t)n < sizeof(path) ? fopen(path, "re") : NULL;
	char *line cleanup(free_p) = NULL;
	size_t line_room = 0;

	memset(ret, 0, sizeof(*ret));
	while (file && getline(&line, &line_room, file) > 0) {
		if (strncmp(line, "cpu", strlen("cpu")) != 0)
			break;
		read_line(line, ret);
	}
}

double cpu_busiest_ratio(const struct cpu_counters *before, const struct cpu_counters *after)
{
	enum { N_TICKS_MIN = 20 }; /* a tick is 10 ms: under 0.2 s the grain is over 5 % */
	unsigned n_cpus = before->n_cpus < after->n_cpus ? before->n_cpus : after->n_cpus;
	double busiest_ratio = -1;

	for (unsigned i = 0; i < n_cpus && i < PROBE_N_CPUS_MAX; i++) {
		/* A CPU that went offline, or iowait that went back, as it does at times. */
		if (after->total_ticks[i] < before->total_ticks[i] ||
			after->busy_ticks[i] < before->busy_ticks[i])
			continue;
		uint64_t total_ticks = after->total_ticks[i] - before->total_ticks[i];
		uint64_t busy_ticks = after->busy_ticks[i] - before->busy_ticks[i];
		if (total_ticks < N_TICKS_MIN)
			continue;
		double ratio =
			busy_ticks >= total_ticks ? 1.0 : (double)busy_ticks / (double)total_ticks;
		if (ratio > busiest_ratio)
			busiest_ratio = ratio;
	}
	return busiest_ratio;
}

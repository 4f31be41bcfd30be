/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Facts of the machine that measures. Source: proc(5), sched_getaffinity(2), cpuid's hypervisor
 * flag as /proc/cpuinfo shows it, DMI names as systemd-detect-virt(1) documents them.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "probe/probe_cgroup.h"
#include "probe/sysfile.h"

struct vendor {
	const char *part; /* of the DMI vendor or product */
	const char *name;
};

/* In order: EC2 and Google show KVM machines under their own name. */
/* clang-format off */
static const struct vendor vendors[] = {
	{ "Amazon EC2",            "amazon" },
	{ "Google Compute Engine", "google" },
	{ "VMware",                "vmware" },
	{ "VirtualBox",            "virtualbox" },
	{ "innotek",               "virtualbox" },
	{ "Virtual Machine",       "microsoft" },
	{ "Parallels",             "parallels" },
	{ "Xen",                   "xen" },
	{ "BHYVE",                 "bhyve" },
	{ "OpenStack",             "kvm" },
	{ "KVM",                   "kvm" },
	{ "QEMU",                  "qemu" },
};

static const struct vendor containers[] = {
	{ "/docker",   "docker" },
	{ "/kubepods", "kubernetes" },
	{ "/libpod",   "podman" },
	{ "/lxc",      "lxc" },
	{ "/machine.slice/machine-", "systemd-nspawn" },
};
/* clang-format on */

static const char *vendor_of(const struct vendor *rows, size_t n_rows, const char *text)
{
	for (size_t i = 0; i < n_rows; i++) {
		if (strstr(text, rows[i].part))
			return rows[i].name;
	}
	return NULL;
}

/*
 * The value of the first "key : value" row of a file that may be long.
 * Return: 0; -1 not there (@value untouched)
 */
static int row_value(const char *path, const char *key, char *value, size_t room_bytes)
{
	FILE *file cleanup(fclose_p) = fopen(path, "re");
	char *line cleanup(free_p) = NULL;
	size_t line_room = 0;
	size_t key_bytes = strlen(key);

	while (file && getline(&line, &line_room, file) > 0) {
		if (strncmp(line, key, key_bytes) != 0)
			continue;
		const char *p = line + key_bytes + strspn(line + key_bytes, " \t");
		if (*p++ != ':')
			continue;
		line[strcspn(line, "\n")] = '\0';
		sysfile_clean(value, room_bytes, p);
		return 0;
	}
	return -1;
}

static bool proc_path(char *path, const char *proc, const char *name)
{
	int n = snprintf(path, SYSFILE_PATH_MAX, "%s/%s", proc, name);

	return n > 0 && n < SYSFILE_PATH_MAX;
}

/* "MemTotal:   49367308 kB" */
static uint64_t read_memory_bytes(const char *proc)
{
	char path[SYSFILE_PATH_MAX];
	char value[64];
	const char *p = value;
	uint64_t n_bytes;

	if (!proc_path(path, proc, "meminfo") ||
		row_value(path, "MemTotal", value, sizeof(value)) < 0)
		return 0;
	if (sysfile_parse_u64(&p, &n_bytes) < 0 || strcmp(p, " kB") != 0 ||
		__builtin_mul_overflow(n_bytes, 1024u, &n_bytes))
		return 0;
	return n_bytes;
}

static void read_cpu(const char *proc, struct host_facts *ret, bool *ret_hypervisor)
{
	static const char *const keys[] = { "model name", "Model", "Hardware", "cpu model", "cpu" };
	char path[SYSFILE_PATH_MAX];
	char flags[SYSFILE_TEXT_MAX];

	*ret_hypervisor = false;
	if (!proc_path(path, proc, "cpuinfo"))
		return;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (row_value(path, keys[i], ret->cpu_model, sizeof(ret->cpu_model)) == 0)
			break;
	}
	*ret_hypervisor = row_value(path, "flags", flags, sizeof(flags)) == 0 &&
			  strstr(flags, " hypervisor") != NULL;
}

/* CPUs that threads of ours can run on. A mask larger than cpu_set_t needs a larger set. */
static unsigned count_cpus(void)
{
	for (size_t n_max = 1024; n_max <= 1024 * 1024; n_max *= 4) {
		size_t set_bytes = CPU_ALLOC_SIZE(n_max);
		cpu_set_t *set cleanup(free_p) = CPU_ALLOC(n_max);

		if (!set)
			break;
		if (sched_getaffinity(0, set_bytes, set) == 0)
			return (unsigned)CPU_COUNT_S(set_bytes, set);
		if (errno != EINVAL)
			break;
	}
	return 1;
}

static const char *machine_of(const char *sys, bool has_hypervisor)
{
	char text[256];
	char type[PROBE_NAME_MAX];
	const char *name;

	sysfile_label(type, sizeof(type), "%s/hypervisor/type", sys);
	if (strcmp(type, "xen") == 0)
		return "xen";
	sysfile_label(text, sizeof(text), "%s/class/dmi/id/product_name", sys);
	name = vendor_of(vendors, sizeof(vendors) / sizeof(vendors[0]), text);
	if (name)
		return name;
	sysfile_label(text, sizeof(text), "%s/class/dmi/id/sys_vendor", sys);
	name = vendor_of(vendors, sizeof(vendors) / sizeof(vendors[0]), text);
	if (name)
		return name;
	return has_hypervisor ? "hypervisor" : NULL;
}

static const char *container_of_us(const struct probe_root *root)
{
	char text[SYSFILE_TEXT_MAX];
	const char *name;

	if (sysfile_read(text, sizeof(text), "%s/self/cgroup", probe_root_proc(root)) > 0) {
		name = vendor_of(containers, sizeof(containers) / sizeof(containers[0]), text);
		if (name)
			return name;
	}
	/* In a cgroup namespace the path is "/": these two files are what is left to see. */
	if (!probe_sys_is_real(probe_root_sys(root)))
		return NULL;
	if (sysfile_exists("/.dockerenv"))
		return "docker";
	return sysfile_exists("/run/.containerenv") ? "podman" : NULL;
}

static void read_virtualization(
	const struct probe_root *root, bool has_hypervisor, struct host_facts *ret)
{
	const char *machine = machine_of(probe_root_sys(root), has_hypervisor);
	const char *container = container_of_us(root);

	snprintf(ret->virtualization, sizeof(ret->virtualization), "%s%s%s",
		container ? container : "", container && machine ? " in " : "",
		machine ? machine : "");
}

int probe_host(const struct probe_root *root, struct host_facts *ret)
{
	const char *proc = probe_root_proc(root);
	struct utsname uts;
	bool has_hypervisor;

	*ret = (struct host_facts){ 0 };
	if (uname(&uts) == 0) {
		sysfile_clean(ret->hostname, sizeof(ret->hostname), uts.nodename);
		sysfile_clean(ret->kernel, sizeof(ret->kernel), uts.release);
		sysfile_clean(ret->machine, sizeof(ret->machine), uts.machine);
	}
	read_cpu(proc, ret, &has_hypervisor);
	ret->n_cpus = count_cpus();
	ret->memory_bytes = read_memory_bytes(proc);
	ret->memory_limit_bytes = probe_cgroup_memory_limit(root, ret->memory_bytes);
	read_virtualization(root, has_hypervisor, ret);
	sysfile_label(ret->boot_id, sizeof(ret->boot_id), "%s/sys/kernel/random/boot_id", proc);
	return 0;
}

/* The name in parentheses may hold anything, also ") 1 2": what counts is behind the last one. */
uint64_t probe_process_start_ticks(const struct probe_root *root, long pid)
{
	enum { FIELD_STATE = 3, FIELD_START = 22 };
	char text[SYSFILE_TEXT_MAX];
	uint64_t start_ticks;

	if (pid <= 0 ||
		sysfile_read(text, sizeof(text), "%s/%ld/stat", probe_root_proc(root), pid) <= 0)
		return 0;
	const char *p = strrchr(text, ')');
	if (!p || p[1] != ' ')
		return 0;
	p += 2;
	if (*p == 'Z' || *p == 'X') /* dead, only not waited for yet */
		return 0;
	for (int field = FIELD_STATE; field < FIELD_START; field++) {
		p = strchr(p, ' ');
		if (!p)
			return 0;
		p++;
	}
	if (sysfile_parse_u64(&p, &start_ticks) < 0 || (*p != ' ' && *p != '\0'))
		return 0;
	return start_ticks;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory limits by cgroups. Three things name our cgroup together: /proc/self/cgroup has the path
 * in the hierarchy, mountinfo where a part of the hierarchy is mounted and which part (a container
 * often sees only its own branch).
 */
#include "probe/probe_cgroup.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "probe/mountinfo.h"

enum { PAGE_BYTES_MAX = 65536 };

struct hierarchy {
	const char *fs_type;
	const char *const *files;
};

static const char *const files_v1[] = { "memory.limit_in_bytes", NULL };
static const char *const files_v2[] = { "memory.max", "memory.high", NULL };
static const struct hierarchy hierarchy_v1 = { "cgroup", files_v1 };
static const struct hierarchy hierarchy_v2 = { "cgroup2", files_v2 };

/*
 * "max" is no number and no limit; v1 says LONG_MAX rounded to pages, which is above any memory.
 * 0 is passed over: nothing could run under it, so it is not ours.
 */
static void lower_by_file(const char *dir, const char *file, uint64_t *limit_bytes)
{
	uint64_t value;

	if (sysfile_u64(&value, "%s/%s", dir, file) < 0 || value == 0)
		return;
	if (value >= INT64_MAX / PAGE_BYTES_MAX * PAGE_BYTES_MAX)
		return;
	if (*limit_bytes == 0 || value < *limit_bytes)
		*limit_bytes = value;
}

/* From our cgroup up to the mount point: every ancestor counts. */
static void lower_by_ancestors(
	char *dir, size_t mount_bytes, const char *const *files, uint64_t *limit_bytes)
{
	for (;;) {
		for (const char *const *file = files; *file; file++)
			lower_by_file(dir, *file, limit_bytes);
		char *slash = strrchr(dir, '/');
		if (!slash || (size_t)(slash - dir) < mount_bytes)
			return;
		*slash = '\0';
	}
}

static bool has_part_up(const char *path)
{
	for (const char *p = path; (p = strstr(p, "/.."));) {
		p += strlen("/..");
		if (*p == '/' || *p == '\0')
			return true;
	}
	return false;
}

/*
 * The part of a cgroup path below the mounted branch. A path that is not below it, or that leads
 * out of our cgroup namespace ("/../x"), is the branch itself: what can be seen from here.
 */
static const char *path_below(const char *cgroup, const char *branch)
{
	size_t n_bytes = strlen(branch);

	if (strcmp(branch, "/") == 0)
		n_bytes = 0;
	if (has_part_up(cgroup) || strncmp(cgroup, branch, n_bytes) != 0)
		return "";
	cgroup += n_bytes;
	if (*cgroup != '/' || cgroup[1] == '\0')
		return "";
	return cgroup;
}

/* Return: 0; -1 where the mount is out of a replaced tree */
static int mounted_dir(const char *sys, const char *mount_point, char *dir, size_t room_bytes)
{
	int n;

	if (probe_sys_is_real(sys))
		n = snprintf(dir, room_bytes, "%s", mount_point);
	else if (strncmp(mount_point, "/sys/", strlen("/sys/")) == 0)
		n = snprintf(dir, room_bytes, "%s%s", sys, mount_point + strlen("/sys"));
	else
		return -1;
	return n < 0 || (size_t)n >= room_bytes ? -1 : 0;
}

static bool is_mount_of(struct libmnt_fs *fs, const struct hierarchy *hierarchy)
{
	const char *type = mnt_fs_get_fstype(fs);
	char *value = NULL;
	size_t n_bytes = 0;

	if (!type || strcmp(type, hierarchy->fs_type) != 0)
		return false;
	if (hierarchy == &hierarchy_v2)
		return true;
	return mnt_fs_get_option(fs, "memory", &value, &n_bytes) == 0;
}

static void lower_by_hierarchy(const struct probe_root *root, struct libmnt_table *table,
	const struct hierarchy *hierarchy, const char *cgroup, uint64_t *limit_bytes)
{
	struct libmnt_iter *iter cleanup(mnt_free_iter_p) = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *fs;

	while (iter && mnt_table_next_fs(table, iter, &fs) == 0) {
		const char *mount_point = mnt_fs_get_target(fs);
		const char *branch = mnt_fs_get_root(fs);
		char dir[SYSFILE_PATH_MAX];

		if (!is_mount_of(fs, hierarchy) || !mount_point || !branch)
			continue;
		if (mounted_dir(probe_root_sys(root), mount_point, dir, sizeof(dir)) < 0)
			continue;
		size_t n_bytes = strlen(dir);
		const char *below = path_below(cgroup, branch);
		if (strlen(below) >= sizeof(dir) - n_bytes)
			continue;
		memcpy(dir + n_bytes, below, strlen(below) + 1);
		lower_by_ancestors(dir, n_bytes, hierarchy->files, limit_bytes);
	}
}

/* "memory" as a whole word in "cpuset,memory,pids" */
static bool has_word(const char *list, const char *word)
{
	size_t n_bytes = strlen(word);

	for (const char *p = list; (p = strstr(p, word)); p += n_bytes) {
		bool starts = p == list || p[-1] == ',';

		if (starts && (p[n_bytes] == ',' || p[n_bytes] == '\0'))
			return true;
	}
	return false;
}

/* "4:memory:/path" of v1, "0::/path" of v2. The path may hold colons. */
static void lower_by_line(const struct probe_root *root, struct libmnt_table *table, char *line,
	uint64_t *limit_bytes)
{
	char *controllers = strchr(line, ':');
	char *cgroup = controllers ? strchr(controllers + 1, ':') : NULL;

	line[strcspn(line, "\n")] = '\0';
	if (!cgroup)
		return;
	*controllers++ = '\0';
	*cgroup++ = '\0';
	if (*cgroup != '/')
		return;
	if (strcmp(line, "0") == 0 && *controllers == '\0')
		lower_by_hierarchy(root, table, &hierarchy_v2, cgroup, limit_bytes);
	else if (has_word(controllers, "memory"))
		lower_by_hierarchy(root, table, &hierarchy_v1, cgroup, limit_bytes);
}

uint64_t probe_cgroup_memory_limit(const struct probe_root *root, uint64_t memory_bytes)
{
	struct libmnt_table *table cleanup(mnt_unref_table_p) = mountinfo_load(root);
	char path[SYSFILE_PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/self/cgroup", probe_root_proc(root));
	FILE *file cleanup(fclose_p) = n > 0 && (size_t)n < sizeof(path) ? fopen(path, "re") : NULL;
	char *line cleanup(free_p) = NULL;
	size_t line_room = 0;
	uint64_t limit_bytes = memory_bytes;

	while (table && file && getline(&line, &line_room, file) > 0)
		lower_by_line(root, table, line, &limit_bytes);
	return limit_bytes;
}

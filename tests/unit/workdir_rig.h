/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A real temporary directory to measure in, and one beside it that must stay as it is. */
#pragma once

#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "plan/workdir.h"
#include "plan/workdir_private.h"
#include "probe/probe.h"

static const char *const run_id = "01890a5d-ac96-774b-bcce-b302099a8057";

/* A temporary directory "top" with "target" (to measure in) and "victim" (not to be touched). */
struct rig {
	char top[64];
	char target[80];
	char victim[80];
	struct host_facts host;
	struct err err;
};

static inline void path_in(char path[256], const char *dir, const char *name)
{
	int n = snprintf(path, 256, "%s/%s", dir, name);

	assert_in_range(n, 1, 255);
}

static inline void put_file(const char *dir, const char *name, const char *text)
{
	char path[256];
	size_t n_bytes = strlen(text);

	path_in(path, dir, name);

	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, n_bytes), (ssize_t)n_bytes);
	assert_int_equal(close(fd), 0);
}

static inline void put_dir(const char *dir, const char *name)
{
	char path[256];

	path_in(path, dir, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static inline bool is_there(const char *dir, const char *name)
{
	char path[256];
	struct stat st;

	path_in(path, dir, name);
	return lstat(path, &st) == 0;
}

static inline int count_entries(const char *path)
{
	DIR *stream = opendir(path);
	int n = 0;

	assert_non_null(stream);
	while (readdir(stream))
		n++;
	closedir(stream);
	return n - 2;
}

static inline void rig_init(struct rig *r)
{
	memset(r, 0, sizeof(*r));
	snprintf(r->top, sizeof(r->top), "/tmp/test_workdir.XXXXXX");
	assert_non_null(mkdtemp(r->top));
	snprintf(r->target, sizeof(r->target), "%s/target", r->top);
	snprintf(r->victim, sizeof(r->victim), "%s/victim", r->top);
	put_dir(r->top, "target");
	put_dir(r->top, "victim");
	put_file(r->victim, "data", "precious");
	put_file(r->victim, "f000000001", "precious");
	probe_host(NULL, &r->host);
}

/* The victim is as it was, whatever the test did. Removes what the test made. */
static inline void rig_release(struct rig *r)
{
	assert_true(is_there(r->victim, "data"));
	assert_true(is_there(r->victim, "f000000001"));

	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		execlp("rm", "rm", "-rf", "--", r->top, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static inline struct workdir *make(struct rig *r)
{
	struct workdir *w = NULL;

	assert_int_equal(workdir_new(r->target, run_id, &r->host, &w, &r->err), 0);
	return w;
}

static inline void write_data(struct workdir *w, const char *name, size_t n_bytes)
{
	int fd = workdir_create_file(w, name, O_RDWR, NULL);
	char *bytes = calloc(1, n_bytes);

	assert_true(fd >= 0);
	assert_non_null(bytes);
	assert_int_equal(write(fd, bytes, n_bytes), (ssize_t)n_bytes);
	free(bytes);
	close(fd);
}

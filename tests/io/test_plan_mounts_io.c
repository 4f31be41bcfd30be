/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * File operations on a full disk, and mounts inside a test directory, in a mount namespace of its
 * own: nothing of it is seen outside or left behind. Needs root.
 */
#include "../unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "plan/filework.h"
#include "plan/workdir.h"
#include "probe/probe.h"
#include "result/result.h"

enum { SKIP = 77 };

struct rig {
	char top[64]; /* a tmpfs */
	struct host_facts host;
	struct workdir *w;
	struct err err;
};

static void rig_open(struct rig *r, const char *options)
{
	memset(r, 0, sizeof(*r));
	snprintf(r->top, sizeof(r->top), "/tmp/test_plan_mounts.XXXXXX");
	assert_non_null(mkdtemp(r->top));
	assert_int_equal(mount("none", r->top, "tmpfs", 0, options), 0);
	probe_host(NULL, &r->host);
	assert_int_equal(workdir_new(r->top, "a", &r->host, &r->w, &r->err), 0);
}

static void rig_close(struct rig *r)
{
	struct stat st;

	assert_int_equal(workdir_remove(r->w, &r->err), 0);
	workdir_free(r->w);
	assert_int_equal(stat(r->top, &st), 0);
	assert_int_equal(st.st_nlink, 2); /* no directory is left in it */
	assert_int_equal(umount(r->top), 0);
	assert_int_equal(rmdir(r->top), 0);
}

static struct filework *make_files(struct rig *r, uint32_t n_threads)
{
	struct filework_params p = {
		.dir_fd = r->w->fd,
		.n_files = 1000,
		.n_dirs = 10,
		.min_bytes = 4096,
		.max_bytes = 4096,
		.n_threads = n_threads,
		.clock = &clock_monotonic,
	};
	struct filework *w = NULL;

	assert_int_equal(filework_new(&p, &w, &r->err), 0);
	return w;
}

static void a_full_disk_ends_all_threads_and_is_removed(void **state)
{
	static const uint32_t n_threads[] = { 1, 4 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct rig r;
		struct phase_result p = { 0 };

		rig_open(&r, "size=512k");

		struct filework *files = make_files(&r, n_threads[i]);

		assert_int_equal(filework_run(files, FILEWORK_CREATE, true, &p, &r.err), 0);
		assert_int_equal(p.status, PHASE_PARTIAL);
		assert_int_equal(p.error.sys, ENOSPC);
		assert_string_equal(p.error.op, "create");
		assert_int_equal(p.error.n_bytes, 4096);
		assert_contains(p.reason, "No space left on device");
		assert_in_range(p.n_ops, 100, 128);
		assert_int_equal(p.written_bytes, p.n_ops * 4096);
		assert_int_equal(filework_remove(files, &r.err), 0);
		filework_free(files);
		phase_release(&p);
		rig_close(&r);
	}
}

static void no_inode_for_the_directories_leaves_nothing(void **state)
{
	struct rig r;
	struct filework *w = NULL;
	struct filework_params p = { .n_files = 1, .n_dirs = 50, .n_threads = 1 };

	(void)state;
	rig_open(&r, "nr_inodes=20");
	p.dir_fd = r.w->fd;
	assert_int_equal(filework_new(&p, &w, &r.err), -1);
	assert_int_equal(r.err.kind, ERR_IO);
	assert_int_equal(r.err.sys, ENOSPC);
	assert_int_equal(faccessat(r.w->fd, "files", F_OK, 0), -1);
	rig_close(&r);
}

static void no_inode_for_the_test_directory_is_said(void **state)
{
	struct rig r;
	struct workdir *w = NULL;

	(void)state;
	rig_open(&r, "nr_inodes=4"); /* the root, one test directory, its manifest, one more */
	assert_int_equal(workdir_new(r.top, "a", &r.host, &w, &r.err), -1);
	assert_int_equal(r.err.kind, ERR_UNSUPPORTED);
	assert_contains(r.err.msg, "No space left on device");
	assert_null(w);
	rig_close(&r);
}

static void a_read_only_file_system_is_said(void **state)
{
	struct rig r;
	struct workdir *w = NULL;
	char view[] = "/tmp/test_plan_mounts.XXXXXX";

	(void)state;
	rig_open(&r, "");
	assert_non_null(mkdtemp(view));
	assert_int_equal(mount(r.top, view, NULL, MS_BIND, NULL), 0);
	assert_int_equal(mount("none", view, NULL, MS_REMOUNT | MS_RDONLY | MS_BIND, NULL), 0);
	assert_int_equal(workdir_new(view, "a", &r.host, &w, &r.err), -1);
	assert_int_equal(r.err.kind, ERR_UNSUPPORTED);
	assert_contains(r.err.msg, "read-only");
	assert_null(w);
	assert_int_equal(umount(view), 0);
	assert_int_equal(rmdir(view), 0);
	rig_close(&r);
}

/* A bind mount has the device number of its file system. */
static void removal_does_not_cross_mounts(void **state)
{
	static const char *const places[] = { "files", "files/d000001" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct rig r;
		char precious[128], file[160], place[160];
		int fd;

		rig_open(&r, "");
		snprintf(precious, sizeof(precious), "%s/precious", r.top);
		snprintf(file, sizeof(file), "%s/f000000001", precious);
		snprintf(place, sizeof(place), "%s/%s/%s", r.top, r.w->name, places[i]);
		assert_int_equal(mkdir(precious, 0700), 0);
		fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		close(fd);
		filework_free(make_files(&r, 1));
		assert_int_equal(mount(precious, place, NULL, MS_BIND, NULL), 0);
		assert_int_equal(workdir_remove(r.w, &r.err), -1);
		assert_contains(r.err.msg, places[i]);
		assert_contains(r.err.msg, "clyde did not make it");
		assert_int_equal(access(file, F_OK), 0);
		assert_int_equal(umount(place), 0);
		assert_int_equal(unlink(file), 0);
		assert_int_equal(rmdir(precious), 0);
		rig_close(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_disk_ends_all_threads_and_is_removed),
		cmocka_unit_test(no_inode_for_the_directories_leaves_nothing),
		cmocka_unit_test(no_inode_for_the_test_directory_is_said),
		cmocka_unit_test(a_read_only_file_system_is_said),
		cmocka_unit_test(removal_does_not_cross_mounts),
	};

	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
		fprintf(stderr, "skipped: no mount namespace of our own: %m\n");
		return SKIP;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

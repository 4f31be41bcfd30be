/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A tree of /sys and /proc laid out in a temporary directory, for the tests of probe/. A test
 * makes one, puts devices and files into it as the kernel would show them, and removes it.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/probe.h"

/* Out of line: dozens of calls in one test would add up their buffers. */
#define TREE_HELPER __attribute__((noinline, unused)) static

struct tree {
	char dir[64];
	char sys[80];
	char proc[80];
	struct probe_root root;
};

TREE_HELPER void tree_make_parents(const char *path)
{
	char parent[512];

	snprintf(parent, sizeof(parent), "%s", path);
	for (char *slash = parent; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		if (mkdir(parent, 0755) < 0)
			assert_true(errno == EEXIST);
		*slash = '/';
	}
}

/* A file below the tree: "sys/..." or "proc/...". */
TREE_HELPER void tree_file(const struct tree *tree, const char *path, const char *text)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "%s/%s", tree->dir, path);
	tree_make_parents(whole);
	FILE *file = fopen(whole, "we");
	assert_true(file);
	assert_true(fputs(text, file) >= 0);
	assert_true(fclose(file) == 0);
}

/* A link at a path below the tree to another path below it. */
TREE_HELPER void tree_link(const struct tree *tree, const char *path, const char *to)
{
	char whole[512];
	char target[512];

	snprintf(whole, sizeof(whole), "%s/%s", tree->dir, path);
	snprintf(target, sizeof(target), "%s/%s", tree->dir, to);
	tree_make_parents(whole);
	assert_true(symlink(target, whole) == 0);
}

/* An attribute of a device: tree_attr(&tree, "virtual/block/loop0", "size", "8\n") */
TREE_HELPER void tree_attr(
	const struct tree *tree, const char *device, const char *attribute, const char *text)
{
	char path[400];

	snprintf(path, sizeof(path), "sys/devices/%s/%s", device, attribute);
	tree_file(tree, path, text);
}

/* A block device at sys/devices/@device with its links in dev/block and class/block. */
TREE_HELPER void tree_device(const struct tree *tree, const char *device, const char *dev)
{
	char path[400];
	char to[400];
	char text[64];

	snprintf(text, sizeof(text), "%s\n", dev);
	tree_attr(tree, device, "dev", text);
	snprintf(to, sizeof(to), "sys/devices/%s", device);
	snprintf(path, sizeof(path), "sys/dev/block/%s", dev);
	tree_link(tree, path, to);
	snprintf(path, sizeof(path), "sys/class/block/%s", strrchr(device, '/') + 1);
	tree_link(tree, path, to);
}

TREE_HELPER void tree_disk(const struct tree *tree, const char *device, const char *dev)
{
	tree_device(tree, device, dev);
	tree_attr(tree, device, "size", "2097152\n");
	tree_attr(tree, device, "queue/iostats", "1\n");
	tree_attr(tree, device, "queue/rotational", "0\n");
	tree_attr(tree, device, "stat", "10 0 2048 5 20 0 4096 7 0 30 12\n");
}

TREE_HELPER void tree_partition(
	const struct tree *tree, const char *device, const char *dev, const char *number)
{
	tree_device(tree, device, dev);
	tree_attr(tree, device, "partition", number);
}

/* @upper stands on @lower: the pair of links that the kernel makes. */
TREE_HELPER void tree_stack(const struct tree *tree, const char *upper, const char *lower)
{
	char path[400];
	char to[400];

	snprintf(path, sizeof(path), "sys/devices/%s/slaves/%s", upper, strrchr(lower, '/') + 1);
	snprintf(to, sizeof(to), "sys/devices/%s", lower);
	tree_link(tree, path, to);
	snprintf(path, sizeof(path), "sys/devices/%s/holders/%s", lower, strrchr(upper, '/') + 1);
	snprintf(to, sizeof(to), "sys/devices/%s", upper);
	tree_link(tree, path, to);
}

TREE_HELPER void tree_make(struct tree *tree)
{
	snprintf(tree->dir, sizeof(tree->dir), "/tmp/clyde-test-XXXXXX");
	assert_true(mkdtemp(tree->dir));
	snprintf(tree->sys, sizeof(tree->sys), "%s/sys", tree->dir);
	snprintf(tree->proc, sizeof(tree->proc), "%s/proc", tree->dir);
	tree->root = (struct probe_root){ .sys = tree->sys, .proc = tree->proc };
	tree_file(tree, "sys/keep", "");
	tree_file(tree, "proc/keep", "");
}

TREE_HELPER int tree_remove_one(
	const char *path, const struct stat *st, int kind, struct FTW *place)
{
	(void)st;
	(void)kind;
	(void)place;
	return remove(path);
}

TREE_HELPER void tree_remove(struct tree *tree)
{
	nftw(tree->dir, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Empty again, for the next row of a table; a failing row leaves it to the teardown. */
TREE_HELPER void tree_reset(struct tree *tree)
{
	tree_remove(tree);
	tree_make(tree);
}

/* cmocka's setup and teardown: each test begins with an empty tree in *state. */
TREE_HELPER int tree_setup(void **state)
{
	struct tree *tree = calloc(1, sizeof(*tree));

	assert_true(tree);
	tree_make(tree);
	*state = tree;
	return 0;
}

TREE_HELPER int tree_teardown(void **state)
{
	tree_remove(*state);
	free(*state);
	return 0;
}

/* clang-format off */
#define TREE_TEST(fn) cmocka_unit_test_setup_teardown(fn, tree_setup, tree_teardown)
/* clang-format on */

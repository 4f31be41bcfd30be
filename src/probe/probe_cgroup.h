/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The memory that this process may use, floor 1, private to probe/.
 */
#pragma once

#include "probe/sysfile.h"

/**
 * probe_cgroup_memory_limit() - the smallest memory limit of every cgroup above us
 * @memory_bytes: [bytes] of the machine; 0: not known
 *
 * cgroup v2 (memory.max, memory.high) and v1 (memory.limit_in_bytes), both in a hybrid system.
 * The mount points are taken from mountinfo; where probe_root.sys is replaced, "/sys" in front of
 * them is replaced as well.
 *
 * Return: [bytes] @memory_bytes where nothing limits
 * Source: cgroups(7), Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst
 */
uint64_t probe_cgroup_memory_limit(const struct probe_root *root, uint64_t memory_bytes);

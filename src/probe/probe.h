/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Facts about what is measured and on what, floor 1. Read from statx, libmount, libblkid, sysfs
 * and procfs; nothing here writes. Everything read is hostile until parsed: a missing file, a
 * device without a name or a number too large is an unknown, never a crash.
 *
 * All sysfs and procfs paths are below probe_root.sys and .proc, so that tests can lay out trees.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct probe_root {
	const char *sys;  /* NULL: "/sys" */
	const char *proc; /* NULL: "/proc" */
};

enum {
	PROBE_NAME_MAX = 64,
	PROBE_N_LEAVES_MAX = 32,
};

enum target_kind { TARGET_DIRECTORY, TARGET_FILE, TARGET_BLOCK_DEVICE, TARGET_N_KINDS };

enum fs_class {
	FS_LOCAL,
	FS_MEMORY,  /* tmpfs, ramfs: not storage */
	FS_NETWORK, /* nfs, cifs, ceph, 9p, fuse: the device is out of sight */
	FS_N_CLASSES
};

/* One disk at the bottom of the stack (for a loop device: the loop device itself). */
struct disk_facts {
	char name[PROBE_NAME_MAX]; /* "nvme0n1", "loop0" */
	unsigned major, minor;
	uint64_t size_bytes;		  /* 0: not known */
	char model[PROBE_NAME_MAX];	  /* "" : not known */
	char scheduler[PROBE_NAME_MAX];	  /* the one in use, "" : not known */
	char write_cache[PROBE_NAME_MAX]; /* "write back", "write through", "" */
	char backing[256];		  /* loop: backing file, else "" */
	int rotational;			  /* 1, 0, -1 not known */
	uint32_t logical_block_bytes;	  /* 0: not known */
	uint32_t physical_block_bytes;
	uint32_t max_request_bytes; /* max_sectors_kb; a larger request is split */
	bool iostats;		    /* whether its counters count */
};

struct target_facts {
	enum target_kind kind;
	char path[4096];	      /* as named */
	char real_path[4096];	      /* after realpath(3) */
	char fs_type[PROBE_NAME_MAX]; /* "ext4"; "" for a device */
	enum fs_class fs_class;
	char fs_source[256];   /* "/dev/vda", "server:/export" */
	char fs_options[1024]; /* all mount options */
	char mount_point[1024];
	uint64_t fs_size_bytes; /* 0 for a device */
	uint64_t fs_free_bytes; /* what this user can still write (f_bavail) */
	uint64_t size_bytes;	/* of a file or device target; 0 for a directory */
	bool read_only;		/* mounted or set read-only */
	unsigned n_disks;	/* 0: no device can be seen (network, tmpfs, ZFS) */
	bool disks_incomplete;	/* there are more, or one below could not be read */
	struct disk_facts disks[PROBE_N_LEAVES_MAX];
};

struct host_facts {
	char hostname[PROBE_NAME_MAX];
	char kernel[PROBE_NAME_MAX];  /* "6.18.44" as uname -r */
	char machine[PROBE_NAME_MAX]; /* "x86_64" */
	char cpu_model[128];
	unsigned n_cpus;		     /* online and in our affinity mask */
	uint64_t memory_bytes;		     /* MemTotal */
	uint64_t memory_limit_bytes;	     /* smallest of MemTotal and every cgroup above us */
	char virtualization[PROBE_NAME_MAX]; /* "" : none seen */
	char boot_id[PROBE_NAME_MAX];
};

/**
 * probe_target() - what is under a path
 * @path: directory, regular file or block device
 *
 * The stack is walked from the file system's device (mountinfo source; every member of a btrfs;
 * the upper directory of an overlayfs) through /sys/dev/block/M:m/slaves and partitions down to
 * whole disks.
 *
 * Return: 0; -1 with ERR_USAGE (no such path, neither directory, file nor block device) or ERR_IO
 */
int probe_target(
	const struct probe_root *root, const char *path, struct target_facts *ret, struct err *e);

/* Return: 0 always; what cannot be read stays empty. */
int probe_host(const struct probe_root *root, struct host_facts *ret);

/**
 * probe_direct() - alignment that O_DIRECT needs on an open file or device
 * @fd:                 regular file or block device
 * @ret_offset_bytes:   offsets and sizes must be multiples of it; >= 1
 * @ret_memory_bytes:   buffers must be aligned to it; >= 1
 *
 * statx(STATX_DIOALIGN) where the kernel has it (6.1), the logical block size of a device
 * (BLKSSZGET), else 4096 for both as a guess.
 *
 * Return: 0; 1 if the file system says that it has no direct I/O
 */
int probe_direct(int fd, uint32_t *ret_offset_bytes, uint32_t *ret_memory_bytes);

/* Counters of whole disks, summed over the leaves of a target; for differences. */
struct disk_counters {
	bool known;	    /* false: no leaf, a leaf without iostats, leaves missing */
	bool flushes_known; /* false: kernels before 5.5 do not count them */
	uint64_t read_bytes;
	uint64_t written_bytes;
	uint64_t n_reads;
	uint64_t n_writes;
	uint64_t n_flushes;
	uint64_t busy_ns; /* the busiest leaf's io_ticks */
	unsigned n_leaves;
	uint64_t leaf_busy_ns[PROBE_N_LEAVES_MAX]; /* the busiest in between may be another one */
};

void probe_disk_counters(const struct probe_root *root, const struct target_facts *target,
	struct disk_counters *ret);

/* after - before, field by field; known only if both are and no counter went back. */
struct disk_counters disk_counters_since(
	const struct disk_counters *before, const struct disk_counters *after);

enum { PROBE_N_CPUS_MAX = 1024 };

/* /proc/stat: ticks of each CPU. */
struct cpu_counters {
	unsigned n_cpus;		       /* 0: could not be read */
	uint64_t busy_ticks[PROBE_N_CPUS_MAX]; /* user+nice+system+irq+softirq+steal */
	uint64_t total_ticks[PROBE_N_CPUS_MAX];
};

void probe_cpu_counters(const struct probe_root *root, struct cpu_counters *ret);

/* [0..1] share of the busiest CPU between two readings; -1 when not known or under 20 ticks. */
double cpu_busiest_ratio(const struct cpu_counters *before, const struct cpu_counters *after);

/**
 * probe_cached_bytes() - how much of a file the page cache holds
 * @ret_bytes: [bytes]
 *
 * cachestat(2) (6.5), else mincore(2) of a mapping.
 *
 * Return: 0; 1 if neither works here (@ret_bytes untouched)
 */
int probe_cached_bytes(int fd, uint64_t file_bytes, uint64_t *ret_bytes);

/**
 * probe_drop_cache() - takes a file out of the page cache: fdatasync, POSIX_FADV_DONTNEED of the
 * whole file, a look, one more try after 50 ms; for a block device BLKFLSBUF first (needs root).
 * @ret_left_bytes: what stayed; 0 when cold
 *
 * Return: 0; 1 if it cannot be told (@ret_left_bytes untouched)
 */
int probe_drop_cache(int fd, uint64_t file_bytes, uint64_t *ret_left_bytes);

/**
 * probe_device_writable() - whether writing to a whole device or partition can hurt nobody
 * @path: block device
 * @name: what the person repeated: kernel name with or without /dev/, device-mapper name, or
 *        serial of a whole disk; a link to it does not name it
 *
 * Refuses when @name does not name this device; when the device, its whole disk, any partition or
 * holder (dm, md, LVM, bcache) is mounted, used as swap, or held (O_EXCL fails); when libblkid
 * finds a file system, RAID, LVM, LUKS, ZFS, swap or partition-table signature on it.
 *
 * The answer holds for a moment: who writes opens with O_EXCL and keeps it open.
 *
 * Return: 0; -1 with ERR_USAGE and the reason with its cure
 */
int probe_device_writable(
	const struct probe_root *root, const char *path, const char *name, struct err *e);

/* Process identity that survives pid reuse: field 22 of /proc/PID/stat. 0: no such process. */
uint64_t probe_process_start_ticks(const struct probe_root *root, long pid);

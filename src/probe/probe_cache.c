/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the page cache holds of a file, and taking it out.
 * Source: cachestat(2) (Linux 6.5, number 451 everywhere), mincore(2), posix_fadvise(2).
 *
 * preadv2(RWF_NOWAIT) would be no probe: on ext4 and XFS it starts readahead of what it asks for.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "probe/probe.h"

/* The kernel's mm.h in the headers of Debian 12 is older than the call. */
struct cachestat_range_args {
	uint64_t offset_bytes;
	uint64_t length_bytes;
};

struct cachestat_counts {
	uint64_t n_cached_pages;
	uint64_t n_dirty_pages;
	uint64_t n_writeback_pages;
	uint64_t n_evicted_pages;
	uint64_t n_recently_evicted_pages;
};

enum { SYS_CACHESTAT = 451 };

static uint64_t page_bytes(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

static int cached_by_cachestat(int fd, uint64_t file_bytes, uint64_t *ret_pages)
{
	struct cachestat_range_args range = { .length_bytes = file_bytes };
	struct cachestat_counts counts = { 0 };

	if (syscall(SYS_CACHESTAT, fd, &range, &counts, 0) != 0)
		return -1;
	*ret_pages = counts.n_cached_pages;
	return 0;
}

/*
 * For a file that is neither ours nor writable by us, mincore says "resident" for every page
 * (since 5.2, so that nobody can watch the reading of others).
 */
static bool mincore_is_honest(int fd)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY)
		return true;
	if (fstat(fd, &st) == 0 && (st.st_uid == geteuid() || geteuid() == 0))
		return true;
	return faccessat(fd, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) == 0;
}

/* One window, so that a large file needs neither its size in page tables nor in the vector. */
static int window_pages(int fd, uint64_t offset_bytes, size_t window_bytes, unsigned char *vector,
	uint64_t *n_pages)
{
	size_t n_vector = (window_bytes + page_bytes() - 1) / page_bytes();
	void *map = mmap(NULL, window_bytes, PROT_READ, MAP_SHARED, fd, (off_t)offset_bytes);

	if (map == MAP_FAILED)
		return -1;
	int rc = mincore(map, window_bytes, vector);
	munmap(map, window_bytes);
	for (size_t i = 0; rc == 0 && i < n_vector; i++)
		*n_pages += vector[i] & 1u;
	return rc;
}

static int cached_by_mincore(int fd, uint64_t file_bytes, uint64_t *ret_pages)
{
	enum { N_WINDOW_PAGES = 65536 };
	uint64_t window_bytes = N_WINDOW_PAGES * page_bytes();
	unsigned char *vector cleanup(free_p) = malloc(N_WINDOW_PAGES);
	uint64_t n_pages = 0;

	if (!vector || file_bytes > INT64_MAX || !mincore_is_honest(fd))
		return -1;
	for (uint64_t offset = 0; offset < file_bytes; offset += window_bytes) {
		uint64_t left_bytes = file_bytes - offset;

		if (window_pages(fd, offset, left_bytes < window_bytes ? left_bytes : window_bytes,
			    vector, &n_pages) < 0)
			return -1;
	}
	*ret_pages = n_pages;
	return 0;
}

int probe_cached_bytes(int fd, uint64_t file_bytes, uint64_t *ret_bytes)
{
	uint64_t n_pages;

	if (file_bytes == 0) { /* a length of 0 would mean "to the end" */
		*ret_bytes = 0;
		return 0;
	}
	if (cached_by_cachestat(fd, file_bytes, &n_pages) < 0 &&
		cached_by_mincore(fd, file_bytes, &n_pages) < 0)
		return 1;
	/* The last page counts whole, and a large folio may reach behind the end. */
	if (n_pages > file_bytes / page_bytes())
		*ret_bytes = file_bytes;
	else
		*ret_bytes = n_pages * page_bytes();
	return 0;
}

static int drop_once(int fd)
{
	int rc;

	do {
		rc = fdatasync(fd);
	} while (rc < 0 && errno == EINTR);
	/* EROFS, EINVAL: nothing to write back here */
	if (rc < 0 && errno != EROFS && errno != EINVAL)
		return -1;
	return posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0 ? 0 : -1;
}

int probe_drop_cache(int fd, uint64_t file_bytes, uint64_t *ret_left_bytes)
{
	/* Pages under I/O stay; readahead that is still on its way ends in this time. */
	const struct timespec pause = { .tv_nsec = 50 * 1000 * 1000 };
	uint64_t left_bytes = 0;
	struct stat st;

	/* Without the right to it, the advice below does what it can. */
	if (fstat(fd, &st) == 0 && S_ISBLK(st.st_mode))
		(void)ioctl(fd, BLKFLSBUF, 0);
	for (int i = 0; i < 2; i++) {
		if (i > 0)
			nanosleep(&pause, NULL);
		if (drop_once(fd) < 0 || probe_cached_bytes(fd, file_bytes, &left_bytes) != 0)
			return 1;
		if (left_bytes == 0)
			break;
	}
	*ret_left_bytes = left_bytes;
	return 0;
}

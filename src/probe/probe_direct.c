/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What direct I/O needs. Source: statx(2), STATX_DIOALIGN; open(2), O_DIRECT.
 */
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "probe/probe.h"

enum { GUESS_BYTES = 4096 }; /* no disk on sale has larger logical blocks */

int probe_direct(int fd, uint32_t *ret_offset_bytes, uint32_t *ret_memory_bytes)
{
	struct statx stx;
	int sector_bytes = 0;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN | STATX_TYPE, &stx) == 0) {
		if ((stx.stx_mask & STATX_DIOALIGN) != 0 && stx.stx_dio_offset_align == 0)
			return 1;
		if ((stx.stx_mask & STATX_DIOALIGN) != 0) {
			*ret_offset_bytes = stx.stx_dio_offset_align;
			*ret_memory_bytes = stx.stx_dio_mem_align ? stx.stx_dio_mem_align : 1;
			return 0;
		}
	}
	if (ioctl(fd, BLKSSZGET, &sector_bytes) == 0 && sector_bytes > 0) {
		*ret_offset_bytes = (uint32_t)sector_bytes;
		*ret_memory_bytes = (uint32_t)sector_bytes;
		return 0;
	}
	*ret_offset_bytes = GUESS_BYTES;
	*ret_memory_bytes = GUESS_BYTES;
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When a request fails and how. A rule is OP[:KEY[=VALUE]]..., for example
 *
 *   write:name=data:nth=40:errno=EIO    the 40th write to a file "data"
 *   write:after=100:errno=ENOSPC        every write after the first 100
 *   read:every=3:short=512              every third read moves at most 512 bytes
 *   read:at=1048576:errno=EIO           reads that touch this byte: a bad sector
 *   write:nth=7:misplace=8192           the 7th write lands 8192 bytes further
 *
 * OP: open create read write fsync unlink mkdir rmdir rename. When: nth, every, after, at; without
 * one of them always. What: errno=NAME, short=BYTES, corrupt (one byte is flipped), lose (a write
 * that is not made), misplace=BYTES, zeros, delay=MS. Each rule counts the requests it matches.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum fault_op {
	FAULT_OPEN,
	FAULT_CREATE,
	FAULT_READ,
	FAULT_WRITE,
	FAULT_FSYNC,
	FAULT_UNLINK,
	FAULT_MKDIR,
	FAULT_RMDIR,
	FAULT_RENAME,
	FAULT_N_OPS
};

/* What is to be done with one request; all zero: nothing unusual. */
struct fault {
	int sys; /* errno */
	uint64_t short_bytes;
	bool corrupts, loses, zeros;
	int64_t misplace_bytes;
	uint64_t delay_ms;
};

struct rules;

struct rules *rules_new(void);
void rules_free(struct rules *r);

/* 0; -1 if @text is no rule, *ret_why says what is wrong (static). */
int rules_add(struct rules *r, const char *text, const char **ret_why);

/* Asks all rules about a request and counts it. @path: of the file, NULL: only rules without name
 */
struct fault rules_apply(
	struct rules *r, enum fault_op op, const char *path, off_t offset_bytes, size_t n_bytes);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Errors, floor 0. A function returns 0 (fine), <0 (failed, *e filled once, where it happened) or
 * >0 (a documented condition). Nobody below cli/ prints or exits.
 */
#pragma once

enum err_kind {
	ERR_NONE = 0,
	ERR_USAGE,	 /* the person asked for something that cannot be: exit 2 */
	ERR_IO,		 /* measuring or I/O failed: exit 1 */
	ERR_FORMAT,	 /* input from outside is damaged: exit 1 */
	ERR_UNSUPPORTED, /* this kernel, file system or device cannot: exit 4 */
	ERR_NOMEM,	 /* exit 1 */
	ERR_MISMATCH,	 /* a verdict that was asked for is negative: exit 3 */
	ERR_INTERRUPTED, /* a signal ended it: exit 130 */
	ERR_BUG,	 /* ours: exit 1 */
	ERR_N_KINDS
};

/* Plain data on the caller's stack; starts as { 0 }. msg is one line: what, on what, why, cure. */
struct err {
	enum err_kind kind;
	int sys; /* errno, or 0 */
	char msg[400];
};

/**
 * err_set() - fills *e where the error happened
 * @e:    filled; NULL is allowed and fills nothing
 * @kind: class; decides the exit status
 * @sys:  errno value or 0; when not 0, ": <strerror>" is appended to the message
 * @fmt:  lower case, no full stop, subjects from outside in single quotes
 *
 * Control characters in the finished message are replaced by '?', so that a hostile file name
 * cannot drive the terminal or break the line.
 *
 * Return:  -1 always, so that "return err_set(...)" reads well
 * Threads: any; errno is left as it was
 */
int err_set(struct err *e, enum err_kind kind, int sys, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/**
 * err_wrap() - puts "context: " in front of the message of *e
 *
 * Return: -1 always
 */
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/**
 * err_exit_status() - the process exit status for an error kind (design.md section 4)
 */
int err_exit_status(enum err_kind kind);

/**
 * err_kind_name() - a stable word for JSON ("usage", "io", ...); borrowed, static
 */
const char *err_kind_name(enum err_kind kind);

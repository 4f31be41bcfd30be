/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Scope-bound cleanup, floor 0. Every owned local is declared and assigned in one statement with
 * cleanup(...); unwinding is last in, first out. Never mixed with goto in one function (the rule
 * of the kernel's include/linux/cleanup.h).
 */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define cleanup(fn) __attribute__((cleanup(fn)))

/* Makes fn_p(T **), the form the attribute wants, from a destructor fn(T *) that takes NULL. */
#define DEFINE_CLEANUP(type, fn)                                                                   \
	static inline void fn##_p(type *p)                                                         \
	{                                                                                          \
		if (*p)                                                                            \
			fn(*p);                                                                    \
	}

/* Hands the value over and leaves NULL behind: return take(p); */
#define take(p)                                                                                    \
	({                                                                                         \
		__typeof__(p) take_value = (p);                                                    \
		(p) = NULL;                                                                        \
		take_value;                                                                        \
	})

static inline void free_p(void *p)
{
	free(*(void **)p);
}

static inline void close_p(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* As take(), for a file descriptor: leaves -1 behind. */
static inline int take_fd(int *fd)
{
	int value = *fd;

	*fd = -1;
	return value;
}

DEFINE_CLEANUP(FILE *, fclose)
DEFINE_CLEANUP(DIR *, closedir)

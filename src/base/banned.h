/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions that nobody calls here, floor 0. The build forces this file in front of every source,
 * so a call does not compile. System headers that declare the functions come first; a macro with
 * parameters leaves members and variables of the same name alone.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BANNED(fn, cure) banned_##fn##_use_##cure

/* They do not know the room there is. */
#undef strcpy
#define strcpy(...) BANNED(strcpy, snprintf_or_buf)
#undef strcat
#define strcat(...) BANNED(strcat, snprintf_or_buf)
#undef strncpy
#define strncpy(...) BANNED(strncpy, snprintf_or_buf)
#undef sprintf
#define sprintf(...) BANNED(sprintf, snprintf_or_buf)
#undef vsprintf
#define vsprintf(...) BANNED(vsprintf, vsnprintf_or_buf)
#undef gets
#define gets(...) BANNED(gets, getline)

/* They keep hidden state, which threads share. */
#undef strtok
#define strtok(...) BANNED(strtok, strtok_r)
#undef gmtime
#define gmtime(...) BANNED(gmtime, gmtime_r)
#undef localtime
#define localtime(...) BANNED(localtime, localtime_r)
#undef ctime
#define ctime(...) BANNED(ctime, strftime)
#undef rand
#define rand(...) BANNED(rand, rng)

/* They cannot tell an error from a zero. */
#undef atoi
#define atoi(...) BANNED(atoi, units)
#undef atol
#define atol(...) BANNED(atol, units)
#undef atof
#define atof(...) BANNED(atof, units)

/* It hands text to a shell. */
#undef system
#define system(...) BANNED(system, posix_spawn)

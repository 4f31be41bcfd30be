/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signals that ask a run to end, floor 4. The first one sets a flag that the run looks at, so it
 * ends cleanly. Others that come while it may still be doing so are the same request (timeout(1)
 * and a terminal signal the process and its group); a later one kills as by default, so that a
 * stuck run can be ended.
 */
#pragma once

#include <stdatomic.h>

/* Number of the signal that asked first; 0: none. */
const _Atomic int *stop_flag(void);

/* SIGINT, SIGTERM and SIGHUP set the flag; one after @grace_ms more [ms] kills. A SIGHUP that
 * nohup(1) ignores stays ignored. */
void stop_install(unsigned grace_ms);

/* SIGPIPE and SIGXFSZ are ignored: a closed pipe and a file size limit are errors of a write, with
 * a line, not a death that leaves files. */
void stop_ignore_write_signals(void);

enum { STOP_GRACE_MS = 3000 };

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signals that ask a run to end, floor 4. The first one sets a flag that the run looks at, so it
 * ends cleanly; a second one of the same kind kills as by default, so a stuck run can be ended.
 */
#pragma once

#include <stdatomic.h>

/* Number of the signal that asked first; 0: none. */
const _Atomic int *stop_flag(void);

/* SIGINT, SIGTERM and SIGHUP set the flag. A SIGHUP that nohup(1) ignores stays ignored. */
void stop_install(void);

/* SIGPIPE is ignored: a closed pipe is a write error with a line, not a death that leaves files. */
void stop_ignore_pipe(void);

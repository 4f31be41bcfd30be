/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The flag is the one variable of the program that is written from anywhere: a signal handler has
 * no argument to find another.
 */
#include "cli/stop.h"

#include <signal.h>
#include <stddef.h>

static _Atomic int stop_signal;

const _Atomic int *stop_flag(void)
{
	return &stop_signal;
}

static void on_signal(int number)
{
	int none = 0;

	/* Lock-free on every machine Linux runs on, so safe here (signal-safety(7)). */
	atomic_compare_exchange_strong(&stop_signal, &none, number);
}

void stop_install(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	/* No SA_RESTART: a wait in the kernel ends at once and the loop sees the flag. */
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct sigaction before;

		/* A shell also ignores SIGINT for a job in the background of a script, but there
		 * kill -INT is meant to be heard. */
		if (numbers[i] == SIGHUP && sigaction(SIGHUP, NULL, &before) == 0 &&
			before.sa_handler == SIG_IGN)
			continue;
		sigaction(numbers[i], &action, NULL);
	}
}

void stop_ignore_pipe(void)
{
	struct sigaction action = { .sa_handler = SIG_IGN };

	sigemptyset(&action.sa_mask);
	sigaction(SIGPIPE, &action, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The flag is the one variable of the program that is written from anywhere: a signal handler has
 * no argument to find another.
 */
#include "cli/stop.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

static _Atomic int stop_signal;
static _Atomic uint64_t stop_patience_end_ns; /* until then further signals are the same request */
static uint64_t stop_grace_ns;

const _Atomic int *stop_flag(void)
{
	return &stop_signal;
}

/* clock_gettime(2) and atomics that are lock-free on every machine Linux runs on are safe in a
 * handler (signal-safety(7)). */
static uint64_t monotonic_ns(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void on_signal(int number)
{
	int none = 0;

	if (atomic_compare_exchange_strong(&stop_signal, &none, number)) {
		atomic_store(&stop_patience_end_ns, monotonic_ns() + stop_grace_ns);
		return;
	}
	if (monotonic_ns() < atomic_load(&stop_patience_end_ns))
		return;
	signal(number, SIG_DFL);
	raise(number);
}

void stop_install(unsigned grace_ms)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	/* No SA_RESTART: a wait in the kernel ends at once and the loop sees the flag. */
	struct sigaction action = { .sa_handler = on_signal };

	stop_grace_ns = (uint64_t)grace_ms * 1000000u;
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

void stop_ignore_write_signals(void)
{
	struct sigaction action = { .sa_handler = SIG_IGN };

	sigemptyset(&action.sa_mask);
	sigaction(SIGPIPE, &action, NULL);
	sigaction(SIGXFSZ, &action, NULL);
}

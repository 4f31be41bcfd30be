/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signals, each case in a process of its own, because they end processes. */
#include "test.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/stop.h"

static void ignore(int number)
{
	struct sigaction action = { .sa_handler = SIG_IGN };

	sigaction(number, &action, NULL);
}

/* Status of a child that ran @body. */
static int status_of(void (*body)(void))
{
	pid_t pid = fork();
	int status = 0;

	assert_true(pid >= 0);
	if (pid == 0) {
		body();
		_exit(99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void first_of_each_kind(void)
{
	stop_install(60000);
	if (atomic_load(stop_flag()) != 0)
		_exit(1);
	raise(SIGTERM);
	if (atomic_load(stop_flag()) != SIGTERM)
		_exit(2);
	raise(SIGINT);
	raise(SIGHUP);
	_exit(atomic_load(stop_flag()) == SIGTERM ? 0 : 3);
}

static void second_of_a_kind(void)
{
	stop_install(0);
	raise(SIGINT);
	raise(SIGINT);
}

static void second_at_once(void)
{
	stop_install(60000);
	raise(SIGTERM);
	raise(SIGTERM);
	_exit(atomic_load(stop_flag()) == SIGTERM ? 0 : 1);
}

static void ignored_at_the_start(void)
{
	ignore(SIGHUP);
	stop_install(60000);
	raise(SIGHUP);
	raise(SIGHUP);
	_exit(atomic_load(stop_flag()) == 0 ? 0 : 1);
}

static void interrupt_ignored_at_the_start(void)
{
	ignore(SIGINT);
	stop_install(60000);
	raise(SIGINT);
	_exit(atomic_load(stop_flag()) == SIGINT ? 0 : 1);
}

static void closed_pipe(void)
{
	int ends[2];

	stop_ignore_write_signals();
	if (pipe(ends) != 0)
		_exit(1);
	close(ends[0]);
	_exit(write(ends[1], "x", 1) < 0 ? 0 : 2);
}

static void the_first_signal_only_sets_the_flag(void **state)
{
	int status = status_of(first_of_each_kind);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_later_one_ends_the_process(void **state)
{
	int status = status_of(second_of_a_kind);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGINT);
}

static void a_second_at_once_is_the_same_request(void **state)
{
	int status = status_of(second_at_once);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void nohup_stays_in_force(void **state)
{
	int status = status_of(ignored_at_the_start);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void an_interrupt_is_heard_in_the_background_of_a_script(void **state)
{
	int status = status_of(interrupt_ignored_at_the_start);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_closed_pipe_is_an_error_not_a_death(void **state)
{
	int status = status_of(closed_pipe);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_signal_only_sets_the_flag),
		cmocka_unit_test(a_second_at_once_is_the_same_request),
		cmocka_unit_test(a_later_one_ends_the_process),
		cmocka_unit_test(nohup_stays_in_force),
		cmocka_unit_test(an_interrupt_is_heard_in_the_background_of_a_script),
		cmocka_unit_test(a_closed_pipe_is_an_error_not_a_death),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

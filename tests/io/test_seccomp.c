/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A container's seccomp filter that refuses io_uring: the probe says so, and clyde run goes on
 * with sync and as many threads as the depth asks, and says why. The argument is the path of
 * clyde. The filters are plain BPF, set by prctl(2) in children. Source: seccomp(2).
 */
#include "engine_rig.h"

#include <ftw.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <jansson.h>

static const char *clyde;

/* From now on @syscall_nr ends with @error; a filter stays until the process is gone. */
static int refuse(long syscall_nr, int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)syscall_nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

struct refusal {
	long syscall_nr;
	int error;
	const char *reason; /* part of what the probe says */
};

static const struct refusal refusals[] = {
	{ SYS_io_uring_setup, EPERM, "seccomp filter refuses io_uring (EPERM)" },
	{ SYS_io_uring_setup, ENOSYS, "does not have io_uring (ENOSYS)" },
	{ SYS_io_uring_setup, EACCES, "Permission denied" },
	{ SYS_io_uring_enter, EPERM, "seccomp filter refuses io_uring (EPERM)" },
	{ SYS_io_uring_enter, ENOSYS, "does not have io_uring (ENOSYS)" },
};

/* In a child: no assertion, a word to the parent. NULL: all is well. */
static const char *probe_refused(const struct refusal *c, struct err *e)
{
	if (refuse(c->syscall_nr, c->error) != 0)
		return "the filter cannot be set";
	if (engine_uring.probe(e) != 1)
		return "the probe does not return 1";
	if (e->kind != ERR_UNSUPPORTED || !strstr(e->msg, c->reason))
		return e->msg;
	return NULL;
}

static void the_probe_tells_what_a_filter_refuses(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		char text[400] = "";
		int fds[2], status;
		pid_t pid;

		assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			struct err e = { 0 };
			const char *trouble = probe_refused(&refusals[i], &e);

			if (trouble && write(fds[1], trouble, strlen(trouble)) < 0)
				_exit(2);
			_exit(trouble ? 1 : 0);
		}
		close(fds[1]);
		assert_true(read(fds[0], text, sizeof(text) - 1) >= 0);
		close(fds[0]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (status != 0)
			fail_msg("case %zu: %s", i, text);
	}
}

static void a_ring_that_is_refused_is_not_opened(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		struct engine_params params = { .fd = 0, .depth = 4, .flags = ENGINE_NO_FIXED };
		struct engine *engine = NULL;
		struct err e = { 0 };

		if (refuse(SYS_io_uring_setup, EPERM) != 0)
			_exit(2);
		_exit(engine_uring.open(&params, &engine, &e) == -1 && e.kind == ERR_UNSUPPORTED &&
					!engine
				? 0
				: 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* ---- clyde run ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *place)
{
	(void)st;
	(void)type;
	(void)place;
	return remove(path);
}

/* Its files are in @dir: out.json and messages from the two outputs. Return: wait status */
static int run_clyde(const char *dir, long syscall_nr, int error, const char *engine)
{
	char db[96], out[96], messages[96], target[96];
	int status = -1;
	pid_t pid;

	snprintf(db, sizeof(db), "%s/history.db", dir);
	snprintf(out, sizeof(out), "%s/out.json", dir);
	snprintf(messages, sizeof(messages), "%s/messages", dir);
	snprintf(target, sizeof(target), "%s/target", dir);
	assert_true(mkdir(target, 0700) == 0 || errno == EEXIST);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int out_fd = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		int messages_fd = open(messages, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		if (dup2(out_fd, 1) < 0 || dup2(messages_fd, 2) < 0 ||
			refuse(syscall_nr, error) != 0)
			_exit(125);
		execl(clyde, clyde, "--db", db, "--json", "run", "--quick", "--time", "200ms",
			"--size", "16M", "--phase", "rand_read_qd32", "--engine", engine, target,
			(char *)NULL);
		_exit(126);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static json_t *read_json(const char *dir)
{
	char path[96];
	json_error_t error;
	json_t *root;

	snprintf(path, sizeof(path), "%s/out.json", dir);
	root = json_load_file(path, 0, &error);
	if (!root)
		fail_msg("standard output is no JSON: line %d: %s", error.line, error.text);
	return root;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* The one target's first phase. */
static const json_t *first_phase(const json_t *root)
{
	const json_t *result = json_array_get(json_object_get(root, "results"), 0);

	assert_string_equal(text_of(result, "status"), "done");
	return json_array_get(json_object_get(result, "phases"), 0);
}

static void run_goes_on_with_sync_and_threads_and_says_why(void **state)
{
	static const struct {
		long syscall_nr;
		int error;
		const char *why;
	} cases[] = {
		{ SYS_io_uring_setup, EPERM, "EPERM" },
		{ SYS_io_uring_setup, ENOSYS, "ENOSYS" },
		{ SYS_io_uring_enter, EPERM, "EPERM" },
	};
	char dir[] = "/tmp/clyde-test-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(run_clyde(dir, cases[i].syscall_nr, cases[i].error, "auto"), 0);

		json_t *root = read_json(dir);
		const json_t *phase = first_phase(root);
		const json_t *settings = json_object_get(phase, "settings");

		assert_string_equal(text_of(phase, "name"), "rand_read_qd32");
		assert_string_equal(text_of(settings, "engine"), "sync");
		assert_int_equal(json_integer_value(json_object_get(settings, "n_threads")), 32);
		assert_int_equal(json_integer_value(json_object_get(settings, "depth")), 1);
		assert_contains(text_of(settings, "engine_detail"), "not uring");
		assert_contains(text_of(settings, "engine_detail"), cases[i].why);
		json_decref(root);
	}
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void run_with_uring_by_name_is_not_supported(void **state)
{
	char dir[] = "/tmp/clyde-test-XXXXXX";
	char path[96], line[400] = "";
	int status;

	(void)state;
	assert_non_null(mkdtemp(dir));
	status = run_clyde(dir, SYS_io_uring_setup, EPERM, "uring");
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 4);
	json_decref(read_json(dir));
	snprintf(path, sizeof(path), "%s/messages", dir);

	FILE *messages cleanup(fclose_p) = fopen(path, "re");

	assert_non_null(messages);
	assert_non_null(fgets(line, sizeof(line), messages));
	assert_contains(line, "--engine uring");
	assert_contains(line, "EPERM");
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* In a child: whether filters can be set at all here. */
static bool filters_work(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(refuse(SYS_io_uring_setup, EPERM) == 0 ? 0 : 1);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_probe_tells_what_a_filter_refuses),
		cmocka_unit_test(a_ring_that_is_refused_is_not_opened),
		cmocka_unit_test(run_goes_on_with_sync_and_threads_and_says_why),
		cmocka_unit_test(run_with_uring_by_name_is_not_supported),
	};
	struct err why = { 0 };

	if (argc != 2) {
		fprintf(stderr, "usage: test_seccomp CLYDE\n");
		return 2;
	}
	clyde = argv[1];
	if (engine_uring.probe(&why) != 0) {
		fprintf(stderr, "skipped: %s\n", why.msg);
		return SKIP_STATUS;
	}
	if (!filters_work()) {
		fprintf(stderr, "skipped: seccomp filters cannot be set here\n");
		return SKIP_STATUS;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pages that cannot be had, under the engine mmap: an error of the transfer, never a dead process.
 */
#include "engine_rig.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void the_file_is_mapped_again_after_a_fault(void **state)
{
	uint8_t *held cleanup(free_p) = malloc(BLOCK);
	struct rig r;

	(void)state;
	assert_non_null(held);
	rig_init(&r, 1, BLOCK);
	rig_fill_file(&r);
	rig_open_file(&r, O_RDWR);
	rig_open(&r, &engine_mmap);
	assert_int_equal(ftruncate(r.fd, BLOCK + 4096), 0);
	memset(r.buffers->base, 0x77, BLOCK);
	/* A page of it is there, the rest is not. */
	assert_int_equal(rig_transfer(&r, IO_WRITE, BLOCK, BLOCK), -EIO);
	assert_int_equal(pread(r.fd, held, BLOCK, BLOCK), 4096);
	assert_memory_equal(held, r.buffers->base, 4096);
	assert_int_equal(ftruncate(r.fd, FILE_BYTES), 0);
	memset(r.buffers->base, 0x66, BLOCK);
	assert_int_equal(rig_transfer(&r, IO_WRITE, BLOCK, BLOCK), BLOCK);
	assert_int_equal(pread(r.fd, held, BLOCK, BLOCK), BLOCK);
	assert_memory_equal(held, r.buffers->base, BLOCK);
	assert_int_equal(rig_transfer(&r, IO_READ, 0, BLOCK), BLOCK);
	assert_int_equal(rig_n_bad(&r, r.buffers->base, BLOCK, 0), 0);
	rig_close(&r);
}

/* As a worker does whose signals are left to the main thread. */
static void *fault_many_times(void *ctx)
{
	uintptr_t n_wrong = 0;
	sigset_t all;
	struct rig r;

	(void)ctx;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	rig_init(&r, 1, BLOCK);
	rig_open_file(&r, O_RDWR);
	rig_open(&r, &engine_mmap);
	n_wrong += ftruncate(r.fd, BLOCK) != 0;
	for (unsigned i = 0; i < 200; i++) {
		enum io_op op = i & 1 ? IO_WRITE : IO_READ;

		n_wrong += rig_transfer(&r, op, BLOCK + i % 7 * 4096, BLOCK) != -EIO;
		n_wrong += rig_transfer(&r, op, 0, BLOCK) != BLOCK;
	}
	rig_close(&r);
	return (void *)n_wrong;
}

static void faults_of_threads_do_not_meet(void **state)
{
	enum { N_THREADS = 4 };
	pthread_t threads[N_THREADS];

	(void)state;
	for (size_t i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, fault_many_times, NULL), 0);
	for (size_t i = 0; i < N_THREADS; i++) {
		void *n_wrong;

		assert_int_equal(pthread_join(threads[i], &n_wrong), 0);
		assert_null(n_wrong);
	}
}

/* What ends a child that does @deed with an engine open; it says nothing and leaves no core. */
static int signal_of_child(struct rig *r, void (*deed)(struct rig *r))
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		signal(SIGBUS, SIG_DFL); /* away with the one of cmocka */
		if (engine_mmap.open(&r->params, &r->engine, &r->err) == 0)
			deed(r);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void be_sent_one(struct rig *r)
{
	(void)r;
	raise(SIGBUS);
}

static void touch_a_mapping_of_its_own(struct rig *r)
{
	const volatile char *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, r->fd, 0);

	rig_transfer(r, IO_READ, 0, BLOCK);
	(void)map[0];
}

static void a_bus_error_that_is_not_of_a_copy_still_kills(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, 1, BLOCK);
	rig_open_file(&r, O_RDWR);
	assert_int_equal(ftruncate(r.fd, 0), 0);
	assert_int_equal(signal_of_child(&r, be_sent_one), SIGBUS);
	assert_int_equal(signal_of_child(&r, touch_a_mapping_of_its_own), SIGBUS);
	rig_close(&r);
}

/* Lives in a mount namespace of its own, so nothing is left behind. */
static void a_hole_on_a_full_disk_is_an_error(void **state)
{
	char dir[] = "/tmp/clyde-test-XXXXXX";
	int64_t result = 0;
	struct rig r;

	(void)state;
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		skip(); /* needs root */
	assert_non_null(mkdtemp(dir));
	assert_int_equal(mount("tmpfs", dir, "tmpfs", 0, "size=256k"), 0);
	rig_init(&r, 1, BLOCK);
	r.params.fd = openat(AT_FDCWD, dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	assert_true(r.params.fd >= 0);
	assert_int_equal(ftruncate(r.params.fd, FILE_BYTES), 0);
	rig_open(&r, &engine_mmap);
	for (uint64_t at = 0; at < FILE_BYTES && result >= 0; at += BLOCK)
		result = rig_transfer(&r, IO_WRITE, at, BLOCK);
	assert_int_equal(result, -EIO);
	assert_int_equal(rig_transfer(&r, IO_READ, 0, BLOCK), BLOCK);
	rig_close(&r);
	assert_int_equal(umount(dir), 0);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_file_is_mapped_again_after_a_fault),
		cmocka_unit_test(faults_of_threads_do_not_meet),
		cmocka_unit_test(a_bus_error_that_is_not_of_a_copy_still_kills),
		cmocka_unit_test(a_hole_on_a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

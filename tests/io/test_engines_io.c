/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What every engine must do with a real file. The argument is the name of the engine; exit 77
 * where its own probe says that it does not work here.
 */
#include "engine_rig.h"

static const struct engine_ops *ops;

static bool is_mmap(void)
{
	return ops == &engine_mmap;
}

/* Writes all blocks, flushes, and reads them back, in orders that are not the same. */
static void write_and_read_back(struct rig *r)
{
	uint8_t *slot = iobuf_slot(r->buffers, 0);

	for (uint64_t i = 0; i < N_BLOCKS; i++) {
		uint64_t at = i * 37 % N_BLOCKS * BLOCK;

		pattern_fill(&r->pattern, slot, BLOCK, at, 1);
		assert_int_equal(rig_transfer(r, IO_WRITE, at, BLOCK), BLOCK);
	}
	assert_int_equal(rig_transfer(r, IO_DATASYNC, 0, 0), 0);
	assert_int_equal(rig_n_bad_in_file(r), 0);
	for (uint64_t i = 0; i < N_BLOCKS; i++) {
		uint64_t at = i * 11 % N_BLOCKS * BLOCK;

		memset(slot, 0, BLOCK);
		assert_int_equal(rig_transfer(r, IO_READ, at, BLOCK), BLOCK);
		assert_int_equal(rig_n_bad(r, slot, BLOCK, at), 0);
	}
	assert_int_equal(r->engine->ops->sync(r->engine), 0);
}

static void what_is_written_is_read_back(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, 1, BLOCK);
	rig_open_file(&r, O_RDWR);
	rig_open(&r, ops);
	write_and_read_back(&r);
	rig_close(&r);
}

static void what_is_written_directly_is_read_back(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, 1, BLOCK);
	if (is_mmap() || !rig_open_file(&r, O_RDWR | O_DIRECT)) {
		rig_close(&r);
		skip();
	}
	rig_open(&r, ops);
	write_and_read_back(&r);
	rig_close(&r);
}

static void odd_places_and_sizes_are_moved_exactly(void **state)
{
	static const struct {
		uint64_t offset_bytes;
		uint32_t n_bytes;
	} cases[] = {
		{ 0, 1 },
		{ 1, 1 },
		{ 511, 2 },
		{ 4095, 4098 },
		{ 12345, 6789 },
		{ FILE_BYTES - 1, 1 },
	};
	uint8_t *file cleanup(free_p) = malloc(FILE_BYTES);
	uint8_t *held cleanup(free_p) = malloc(FILE_BYTES);
	struct rig r;

	(void)state;
	assert_true(file && held);
	rig_init(&r, 1, BLOCK);
	rig_fill_file(&r);
	rig_open_file(&r, O_RDWR);
	rig_open(&r, ops);
	assert_int_equal(pread(r.fd, file, FILE_BYTES, 0), FILE_BYTES);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t n_bytes = cases[i].n_bytes;
		uint64_t at = cases[i].offset_bytes;

		memset(r.buffers->base, 0xee, BLOCK);
		assert_int_equal(rig_transfer(&r, IO_READ, at, n_bytes), n_bytes);
		assert_memory_equal(r.buffers->base, file + at, n_bytes);
		assert_int_equal(r.buffers->base[n_bytes], 0xee);
		memset(r.buffers->base, (int)i + 1, n_bytes);
		memset(file + at, (int)i + 1, n_bytes);
		assert_int_equal(rig_transfer(&r, IO_WRITE, at, n_bytes), n_bytes);
		assert_int_equal(pread(r.fd, held, FILE_BYTES, 0), FILE_BYTES);
		assert_memory_equal(held, file, FILE_BYTES);
	}
	rig_close(&r);
}

static void reads_end_short_at_the_end_of_the_file(void **state)
{
	enum { END = 3 * BLOCK + 1000 };
	static const struct {
		uint64_t offset_bytes;
		int64_t result;
	} cases[] = {
		{ 2 * BLOCK, BLOCK },
		{ 2 * BLOCK + 1001, BLOCK - 1 },
		{ 3 * BLOCK, 1000 },
		{ END - 1, 1 },
		{ END, 0 },
		{ END + 1, 0 },
		{ 1 << 30, 0 },
	};
	struct rig r;

	(void)state;
	rig_init(&r, 1, BLOCK);
	rig_fill_file(&r);
	assert_int_equal(ftruncate(r.fd, END), 0);
	r.params.file_bytes = END;
	rig_open_file(&r, O_RDWR);
	rig_open(&r, ops);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t n_bytes = (size_t)cases[i].result;

		memset(r.buffers->base, 0xee, BLOCK);
		assert_int_equal(rig_transfer(&r, IO_READ, cases[i].offset_bytes, BLOCK), n_bytes);
		for (size_t at = n_bytes; at < BLOCK; at++)
			assert_int_equal(r.buffers->base[at], 0xee);
	}
	rig_close(&r);
}

static void direct_reads_end_short_too(void **state)
{
	struct io io = rig_io(IO_READ, 0, 3 * BLOCK, BLOCK);
	struct io_done done;
	struct rig r;

	(void)state;
	rig_init(&r, 1, BLOCK);
	rig_fill_file(&r);
	assert_int_equal(ftruncate(r.fd, 3 * BLOCK + 1000), 0);
	if (is_mmap() || !rig_open_file(&r, O_RDWR | O_DIRECT)) {
		rig_close(&r);
		skip();
	}
	rig_open(&r, ops);
	assert_int_equal(ops->submit(r.engine, &io, 1), 0);
	assert_int_equal(ops->reap(r.engine, &done, 1, 1, ENGINE_WAIT_FOREVER), 1);
	assert_int_equal(done.result, 1000);
	io.offset_bytes = 4 * BLOCK;
	assert_int_equal(engine_io(r.engine, &io), 0);
	rig_close(&r);
}

static void buffer_offsets_are_kept(void **state)
{
	struct io io = rig_io(IO_READ, 0, 4096, 512);
	struct rig r;

	(void)state;
	rig_init(&r, 1, BLOCK);
	rig_fill_file(&r);
	rig_open_file(&r, O_RDWR);
	rig_open(&r, ops);
	memset(r.buffers->base, 0xee, BLOCK);
	io.buffer_offset_bytes = 1024;
	assert_int_equal(engine_io(r.engine, &io), 512);
	assert_int_equal(r.buffers->base[1023], 0xee);
	assert_int_equal(rig_n_bad(&r, r.buffers->base + 1024, 512, 4096), 0);
	assert_int_equal(r.buffers->base[1536], 0xee);
	rig_close(&r);
}

static void flushes_end_with_0(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, 1, BLOCK);
	rig_open_file(&r, O_RDWR);
	rig_open(&r, ops);
	assert_int_equal(rig_transfer(&r, IO_DATASYNC, 0, BLOCK), 0);
	assert_int_equal(rig_transfer(&r, IO_FSYNC, 0, BLOCK), 0);
	assert_int_equal(ops->sync(r.engine), 0);
	rig_close(&r);
}

static void nothing_submitted_is_nothing_reaped(void **state)
{
	struct io_done done = { .result = 77 };
	struct rig r;

	(void)state;
	rig_init(&r, 1, BLOCK);
	rig_open_file(&r, O_RDWR);
	rig_open(&r, ops);
	assert_int_equal(ops->submit(r.engine, NULL, 0), 0);
	assert_int_equal(ops->reap(r.engine, &done, 1, 0, ENGINE_WAIT_FOREVER), 0);
	assert_int_equal(ops->reap(r.engine, &done, 1, 1, ENGINE_WAIT_FOREVER), 0);
	assert_int_equal(done.result, 77);
	rig_close(&r);
}

static void more_than_the_depth_is_busy_and_starts_nothing(void **state)
{
	struct io ios[2] = { rig_io(IO_READ, 0, 0, BLOCK), rig_io(IO_WRITE, 0, 0, BLOCK) };
	struct io_done done;
	struct rig r;

	(void)state;
	rig_init(&r, 1, BLOCK);
	rig_fill_file(&r);
	rig_open_file(&r, O_RDWR);
	rig_open(&r, ops);
	assert_int_equal(ops->submit(r.engine, ios, 2), -EBUSY);
	assert_int_equal(ops->reap(r.engine, &done, 1, 1, ENGINE_WAIT_FOREVER), 0);
	assert_int_equal(ops->submit(r.engine, ios, 1), 0);
	assert_int_equal(ops->submit(r.engine, ios + 1, 1), -EBUSY);
	assert_int_equal(ops->reap(r.engine, &done, 1, 1, ENGINE_WAIT_FOREVER), 1);
	assert_int_equal(done.result, BLOCK);
	assert_int_equal(ops->reap(r.engine, &done, 1, 1, ENGINE_WAIT_FOREVER), 0);
	assert_int_equal(rig_n_bad_in_file(&r), 0);
	rig_close(&r);
}

static void what_the_file_forbids_is_its_errno(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, 1, BLOCK);
	rig_open_file(&r, O_RDONLY);
	r.params.flags = ENGINE_READ_ONLY;
	rig_open(&r, ops);
	assert_int_equal(rig_transfer(&r, IO_WRITE, 0, BLOCK), -EBADF);
	assert_int_equal(rig_transfer(&r, IO_READ, 0, BLOCK), BLOCK);
	rig_close(&r);
}

static void it_says_what_is_in_use(void **state)
{
	struct buf text cleanup(buf_release_p) = { 0 };
	struct rig r;

	(void)state;
	rig_init(&r, 1, BLOCK);
	rig_open_file(&r, O_RDWR);
	rig_open(&r, ops);
	ops->describe(r.engine, &text);
	assert_int_equal(strncmp(buf_text(&text), ops->name, strlen(ops->name)), 0);
	assert_null(strchr(buf_text(&text), '\n'));
	rig_close(&r);
}

/* ---- mmap alone ---- */

static void mmap_of_an_empty_file_is_a_usage_error(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, 1, BLOCK);
	rig_open_file(&r, O_RDWR);
	r.params.file_bytes = 0;
	assert_int_equal(engine_mmap.open(&r.params, &r.engine, &r.err), -1);
	assert_int_equal(r.err.kind, ERR_USAGE);
	assert_contains(r.err.msg, "empty file");
	rig_close(&r);
}

static void mmap_does_not_grow_the_file(void **state)
{
	enum { END = 3 * 4096 + 100 };
	struct rig r;

	(void)state;
	rig_init(&r, 1, BLOCK);
	assert_int_equal(ftruncate(r.fd, END), 0);
	r.params.file_bytes = END;
	rig_open_file(&r, O_RDWR);
	rig_open(&r, ops);
	assert_int_equal(rig_transfer(&r, IO_WRITE, END, 1), -EFBIG);
	/* 100 bytes go in, the rest is refused. */
	assert_int_equal(rig_transfer(&r, IO_WRITE, 3 * 4096, 4096), -EFBIG);
	assert_int_equal(lseek(r.fd, 0, SEEK_END), END);
	rig_close(&r);
}

static void mmap_of_a_file_that_shrank_is_an_error_not_a_signal(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, 1, BLOCK);
	rig_fill_file(&r);
	rig_open_file(&r, O_RDWR);
	rig_open(&r, ops);
	assert_int_equal(ftruncate(r.fd, BLOCK), 0);
	assert_int_equal(rig_transfer(&r, IO_READ, 2 * BLOCK, BLOCK), -EIO);
	assert_int_equal(rig_transfer(&r, IO_WRITE, 2 * BLOCK, BLOCK), -EIO);
	assert_int_equal(rig_transfer(&r, IO_READ, 0, BLOCK), BLOCK);
	rig_close(&r);
}

static void mmap_of_what_cannot_be_mapped_is_told(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, 1, BLOCK);
	rig_open_file(&r, O_WRONLY);
	assert_int_equal(engine_mmap.open(&r.params, &r.engine, &r.err), -1);
	assert_int_equal(r.err.kind, ERR_UNSUPPORTED);
	assert_int_equal(r.err.sys, EACCES);
	rig_close(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_back),
		cmocka_unit_test(what_is_written_directly_is_read_back),
		cmocka_unit_test(odd_places_and_sizes_are_moved_exactly),
		cmocka_unit_test(reads_end_short_at_the_end_of_the_file),
		cmocka_unit_test(direct_reads_end_short_too),
		cmocka_unit_test(buffer_offsets_are_kept),
		cmocka_unit_test(flushes_end_with_0),
		cmocka_unit_test(nothing_submitted_is_nothing_reaped),
		cmocka_unit_test(what_the_file_forbids_is_its_errno),
		cmocka_unit_test(more_than_the_depth_is_busy_and_starts_nothing),
		cmocka_unit_test(it_says_what_is_in_use),
	};
	const struct CMUnitTest mmap_tests[] = {
		cmocka_unit_test(mmap_of_an_empty_file_is_a_usage_error),
		cmocka_unit_test(mmap_does_not_grow_the_file),
		cmocka_unit_test(mmap_of_a_file_that_shrank_is_an_error_not_a_signal),
		cmocka_unit_test(mmap_of_what_cannot_be_mapped_is_told),
	};
	struct err why = { 0 };
	int n_failed;

	ops = argc == 2 ? engine_find(argv[1]) : NULL;
	if (!ops) {
		fprintf(stderr, "usage: test_engines_io ENGINE\n");
		return 2;
	}
	if (ops->probe(&why) != 0) {
		fprintf(stderr, "skipped: %s: %s\n", ops->name, why.msg);
		return SKIP_STATUS;
	}
	n_failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (is_mmap())
		n_failed += cmocka_run_group_tests(mmap_tests, NULL, NULL);
	return n_failed;
}

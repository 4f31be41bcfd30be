/* SPDX-License-Identifier: GPL-3.0-or-later */
/* I/O buffers: aligned, apart from one another, all there. */
#include "test.h"

#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "engine/iobuf.h"

static void slots_are_page_aligned_and_apart(void **state)
{
	static const struct {
		uint32_t n_slots;
		size_t slot_bytes;
	} cases[] = {
		{ 1, 1 },
		{ 1, 4096 },
		{ 7, 512 },
		{ 3, 4097 },
		{ 31, 4096 }, /* on small pages */
		{ 32, 4096 }, /* on huge ones */
		{ 8, 1024 * 1024 },
		{ 4096, 512 },
		{ 2, 2 * 1024 * 1024 + 1 },
	};
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct iobuf *b cleanup(iobuf_free_p) = NULL;
		struct err e = { 0 };

		assert_int_equal(iobuf_new(cases[i].n_slots, cases[i].slot_bytes, &b, &e), 0);
		assert_int_equal(b->n_slots, cases[i].n_slots);
		assert_int_equal(b->slot_bytes, cases[i].slot_bytes);
		assert_true(b->stride_bytes >= b->slot_bytes);
		assert_int_equal(b->stride_bytes % page_bytes, 0);
		for (uint32_t slot = 0; slot < b->n_slots; slot++) {
			assert_int_equal((uintptr_t)iobuf_slot(b, slot) % page_bytes, 0);
			memset(iobuf_slot(b, slot), (int)slot, b->slot_bytes);
		}
		for (uint32_t slot = 0; slot < b->n_slots; slot++) {
			assert_int_equal(iobuf_slot(b, slot)[0], (uint8_t)slot);
			assert_int_equal(iobuf_slot(b, slot)[b->slot_bytes - 1], (uint8_t)slot);
		}
	}
}

static void all_pages_are_there_before_they_are_used(void **state)
{
	static const uint32_t n_slots[] = { 4, 64 };
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct iobuf *b cleanup(iobuf_free_p) = NULL;
		unsigned char resident[64 * 16384 / 4096];
		struct err e = { 0 };
		size_t n_bytes = n_slots[i] * (size_t)16384;

		assert_int_equal(iobuf_new(n_slots[i], 16384, &b, &e), 0);
		assert_int_equal(mincore(b->base, n_bytes, resident), 0);
		for (size_t page = 0; page < n_bytes / page_bytes; page++)
			assert_true(resident[page] & 1);
	}
}

static void impossible_sizes_are_no_memory(void **state)
{
	static const struct {
		uint32_t n_slots;
		size_t slot_bytes;
	} cases[] = {
		{ 0, 4096 },
		{ 1, 0 },
		{ 1, SIZE_MAX },	/* rounding up to pages overflows */
		{ 1, SIZE_MAX - 4095 }, /* does not, but the address space ends */
		{ 2, SIZE_MAX / 2 + 1 },
		{ UINT32_MAX, SIZE_MAX / 2 },
		{ 4, SIZE_MAX / 4 - 4096 }, /* the product fits, room to align does not */
		{ UINT32_MAX, (size_t)1 << 32 },
		{ 1, (size_t)1 << 62 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct iobuf *b = NULL;
		struct err e = { 0 };

		assert_int_equal(iobuf_new(cases[i].n_slots, cases[i].slot_bytes, &b, &e), -1);
		assert_int_equal(e.kind, ERR_NOMEM);
		assert_contains(e.msg, "no memory");
		assert_null(b);
	}
	iobuf_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_are_page_aligned_and_apart),
		cmocka_unit_test(all_pages_are_there_before_they_are_used),
		cmocka_unit_test(impossible_sizes_are_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

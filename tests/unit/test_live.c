/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The live line: what it says, and that it never is wider than the terminal. */
#include "test.h"

#include <stdlib.h>

#include "base/buf.h"
#include "cli/live.h"

static const struct live_view view = {
	.phase = "rand_read_qd32",
	.sample = 2,
	.n_samples = 3,
	.throughput_bps = 312e6,
	.ops_per_s = 76200,
	.left_s = 100,
};

static void says_phase_sample_speed_and_time_left(void **state)
{
	cleanup(buf_release_p) struct buf line = { 0 };

	(void)state;
	live_text(&view, 0, &line);
	assert_string_equal(buf_text(&line),
		"rand_read_qd32  sample 2 of 3  312 MB/s  76200 ops/s  1 min 40 s left");
}

static void leaves_out_what_is_not_known(void **state)
{
	struct live_view unknown = { .phase = "seq_write",
		.step = "preparing",
		.throughput_bps = -1,
		.ops_per_s = -1,
		.left_s = -1 };
	cleanup(buf_release_p) struct buf line = { 0 };

	(void)state;
	live_text(&unknown, 0, &line);
	assert_string_equal(buf_text(&line), "seq_write  preparing");
}

static void fits_every_width(void **state)
{
	(void)state;
	for (unsigned width = 1; width < 100; width++) {
		cleanup(buf_release_p) struct buf line = { 0 };

		live_text(&view, width, &line);
		assert_true(line.n_bytes > 0);
		assert_true(line.n_bytes <= width);
	}
}

static void escapes_the_name(void **state)
{
	struct live_view hostile = view;
	cleanup(buf_release_p) struct buf line = { 0 };

	(void)state;
	hostile.phase = "a\033[2J";
	live_text(&hostile, 0, &line);
	assert_null(strchr(buf_text(&line), '\033'));
}

static void no_terminal_means_no_line(void **state)
{
	(void)state;
	/* All calls take what live_new() returns then. */
	live_show(NULL, &view);
	live_erase(NULL);
	live_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_phase_sample_speed_and_time_left),
		cmocka_unit_test(leaves_out_what_is_not_known),
		cmocka_unit_test(fits_every_width),
		cmocka_unit_test(escapes_the_name),
		cmocka_unit_test(no_terminal_means_no_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

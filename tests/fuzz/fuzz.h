/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One fuzz target is one LLVMFuzzerTestOneInput(). It is linked with libFuzzer, or with replay.c,
 * which runs the kept inputs as an ordinary test. A broken promise is an assert() that fails.
 */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* Source: LLVM's libFuzzer manual, "Fuzz Target". Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

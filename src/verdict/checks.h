/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What checks and verdict share, inside verdict/.
 */
#pragma once

#include <stdint.h>

/* [1] least share of the bytes asked that the device must have moved to be called its figure */
#define VERDICT_DEVICE_RATIO 0.95
/* [1] below it the device had next to no part */
#define VERDICT_CACHE_RATIO 0.05
/* [1] share of one CPU from which it, not the device, sets the pace */
#define VERDICT_CPU_RATIO 0.95

/* [1] share of the bytes asked that the device moved, at most 1; @asked_bytes > 0 */
double verdict_share(uint64_t device_bytes, uint64_t asked_bytes);

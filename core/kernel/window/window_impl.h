/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_WINDOW_WINDOW_IMPL_H
#define CORE_KERNEL_WINDOW_WINDOW_IMPL_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/kernel/window/window.h"

#define WINDOW_LENGTH 8
/* From this limit on it does not pay to look for those that may be up to it. */
#define WINDOW_DENSE (UINT64_MAX / 16)

/*
 * XXH3 of 8 bytes, in three steps: x = the bytes with their halves swapped
 * (both little-endian) ^ a constant of the seed; y = x ^ rotl(x, 49) ^
 * rotl(x, 24), linear; and from y the hash,
 *
 *	y *= PRIME; y ^= (y >> 35) + 8; y *= PRIME; y ^= y >> 28.
 *
 * The last step has an inverse, and two seeds make a constant difference in y:
 * this takes the hash under one seed to that under another.
 */
#define WINDOW_PRIME UINT64_C(0x9fb21c651e98df25)
#define WINDOW_INVERSE UINT64_C(0x02ab9c720d1024ad)
#define WINDOW_SEED_1 UINT64_C(0xc63ab174c5ecd5a1)
/* Of y, which its last step does not change. */
#define WINDOW_TOP_BITS 28
#define WINDOW_SEED_0 UINT64_C(0xc73ab174c5ecd5a2)
/* In y, from seed 1 to seed 0. */
#define WINDOW_DIFFERENCE UINT64_C(0x0106020003010003)

/* The hash from y, but for its last xor. */
static inline uint64_t window_before_xor(uint64_t y)
{
	y *= WINDOW_PRIME;
	y ^= (y >> 35) + 8;
	return y * WINDOW_PRIME;
}

static inline uint64_t window_last_xor(uint64_t y)
{
	return y ^ y >> 28;
}

static inline uint64_t window_y(const uint8_t *bytes, uint64_t seed)
{
	uint64_t x;

	memcpy(&x, bytes, sizeof(x));
	x = le64toh(x);
	x = (x << 32 | x >> 32) ^ seed;
	return x ^ (x << 49 | x >> 15) ^ (x << 24 | x >> 40);
}

static inline uint64_t window_key(const uint8_t *bytes)
{
	return window_last_xor(
		window_before_xor(window_y(bytes, WINDOW_SEED_1)));
}

static inline uint64_t window_y_of_key(uint64_t key)
{
	uint64_t y = key ^ key >> 28 ^ key >> 56;

	y *= WINDOW_INVERSE;
	y ^= (y >> 35) + 8; /* undoes itself: bits from 35 on do not change */
	return y * WINDOW_INVERSE;
}

static inline uint64_t window_value(uint64_t key)
{
	uint64_t y = window_y_of_key(key) ^ WINDOW_DIFFERENCE;

	return window_last_xor(window_before_xor(y));
}

/* Adds the sums for one lane, kept as the scalar file says. */
static inline void window_add_lane(const uint64_t low[3],
				   const uint64_t bytes[8], uint32_t sums[64])
{
	unsigned bit;

	for (bit = 0; bit < 64; bit++)
		sums[bit] +=
			(uint32_t)(8 * (bytes[bit % 8] >> bit / 8 * 8 & 0xff) +
				   4 * (low[2] >> bit & 1) +
				   2 * (low[1] >> bit & 1) +
				   (low[0] >> bit & 1));
}

#ifdef __x86_64__
size_t window_pick_avx2(const uint8_t *bytes, size_t count, uint64_t bound,
			uint64_t *keys_out);
#endif

#endif

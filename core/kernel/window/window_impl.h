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
/* How many keys ahead buckets are fetched. */
#define WINDOW_AHEAD 16

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
static inline uint64_t window_nearly_finish(uint64_t y)
{
	y *= WINDOW_PRIME;
	y ^= (y >> 35) + 8;
	return y * WINDOW_PRIME;
}

static inline uint64_t window_finish_nearly(uint64_t y)
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
	return window_finish_nearly(
		window_nearly_finish(window_y(bytes, WINDOW_SEED_1)));
}

static inline uint64_t window_value(uint64_t key)
{
	uint64_t y = key ^ key >> 28 ^ key >> 56;

	y *= WINDOW_INVERSE;
	y ^= (y >> 35) + 8; /* undoes itself: bits from 35 on do not change */
	y *= WINDOW_INVERSE;
	y ^= WINDOW_DIFFERENCE;
	return window_finish_nearly(window_nearly_finish(y));
}

/*
 * Some windows of a tally.  The place of a window is the top bits of y times
 * PRIME for seed 0, on the way to its value.
 */
#define WINDOW_PART 256

struct window_part {
	uint64_t values[WINDOW_PART];
	uint32_t places[WINDOW_PART];
	uint16_t owners[WINDOW_PART]; /* 0: itself, or the owner's number */
};

static inline void window_look_up(const struct window_tally *t,
				  const uint8_t *bytes,
				  struct window_part *part, size_t at)
{
	uint64_t y = window_y(bytes, WINDOW_SEED_0);

	part->places[at] = (uint32_t)(y * WINDOW_PRIME >> (64 - t->place_bits));
	part->values[at] = window_finish_nearly(window_nearly_finish(y));
}

/* How many of the windows of the next part, left in all, need a look: the
 * first alone if they are all the same. */
static inline size_t window_distinct(const uint8_t *bytes, size_t left)
{
	const size_t n = left < WINDOW_PART ? left : WINDOW_PART;

	return window_is_run(bytes, n) ? 1 : n;
}

/* Windows are numbered from 1 on. */
static inline void window_claim(const struct window_tally *t,
				struct window_part *part, size_t first,
				size_t count)
{
	const uint32_t nowhere = UINT32_C(1) << t->place_bits;
	uint32_t place;
	uint16_t owner;
	size_t i;

	/* Without branches, which could not be foreseen, and without storing
	 * what is there: the next to come would have to wait for it. */
	for (i = 0; i < count; i++) {
		place = part->places[i];
		owner = t->table[place];
		part->owners[i] = owner;
		place = owner ? nowhere : place;
		t->table[place] = (uint16_t)(first + i + 1);
	}
}

static inline uint64_t window_load(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

/* Compares those windows of the part, which begins at bytes + first, that a bit
 * of others names, from number at on, with the owners of their places.  The
 * values of those that differ go behind the rest. */
static inline void window_meet(struct window_tally *t, const uint8_t *bytes,
			       size_t first, const struct window_part *part,
			       size_t at, uint64_t others)
{
	size_t i, count = t->rest_count;

	for (; others != 0; others &= others - 1) {
		i = at + (size_t)__builtin_ctzll(others);
		t->rest[count] = part->values[i];
		count += window_load(bytes + first + i) !=
			 window_load(bytes + part->owners[i] - 1);
	}
	t->rest_count = count;
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

/* The first slot of a key's bucket. */
static inline size_t window_home(const struct window_set *set, uint64_t key)
{
	size_t bucket = (size_t)(key * set->secret >> WINDOW_HOME_SHIFT);

	return bucket * WINDOW_BUCKET & (set->slot_count - 1);
}

#ifdef __x86_64__
size_t window_pick_avx2(const uint8_t *bytes, size_t count, uint64_t low,
			uint64_t high, uint64_t *keys_out);
void window_sum_avx2(const uint64_t *values, size_t count, uint32_t sums[64]);
void window_tally_avx2(const uint8_t *bytes, size_t count,
		       struct window_tally *t);
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/window/window.h"

#include <stdbool.h>
#include <string.h>

#include "core/kernel/window/window_impl.h"

/*
 * From one window to the next, y rotates by 8 bits, and the byte that comes
 * takes the place of the one that goes, in the three places that y has it: what
 * changes is a function of the two bytes' difference.
 */
#define CHANGE(d)                                                  \
	((uint64_t)(d)*UINT64_C(0x0001000001000200) ^ Y_OF_ZEROS ^ \
	 (Y_OF_ZEROS >> 8 | Y_OF_ZEROS << 56))
#define CHANGE_4(d) CHANGE(d), CHANGE((d) + 1), CHANGE((d) + 2), CHANGE((d) + 3)
#define CHANGE_16(d) \
	CHANGE_4(d), CHANGE_4((d) + 4), CHANGE_4((d) + 8), CHANGE_4((d) + 12)
#define CHANGE_64(d)                                            \
	CHANGE_16(d), CHANGE_16((d) + 16), CHANGE_16((d) + 32), \
		CHANGE_16((d) + 48)
#define Y_OF_ZEROS                                                     \
	(WINDOW_SEED_1 ^ (WINDOW_SEED_1 << 49 | WINDOW_SEED_1 >> 15) ^ \
	 (WINDOW_SEED_1 << 24 | WINDOW_SEED_1 >> 40))

static const uint64_t changes[256] = {
	CHANGE_64(0),
	CHANGE_64(64),
	CHANGE_64(128),
	CHANGE_64(192),
};

/* Windows from one to the next. */
#define ROLLED 64

static inline uint64_t roll(uint64_t y, uint8_t difference)
{
	return (y >> 8 | y << 56) ^ changes[difference];
}

/* The steps that lead from a window to y, but for the seed, commute with a
 * rotation, so a window that a rotation by one byte leaves alone has such a
 * y. */
static inline bool key_is_run(uint64_t key)
{
	uint64_t y = window_y_of_key(key) ^ Y_OF_ZEROS;

	return y == (y << 8 | y >> 56);
}

size_t window_drop_runs(uint64_t *keys, size_t count)
{
	size_t i, kept = 0;

	for (i = 0; i < count; i++) {
		keys[kept] = keys[i];
		kept += !key_is_run(keys[i]);
	}
	return kept;
}

/* Without branches: they could not be foreseen. */
static size_t pick_dense(const uint8_t *bytes, size_t count, uint64_t bound,
			 uint64_t *keys_out)
{
	size_t i, picked = 0;

	for (i = 0; i < count; i++) {
		keys_out[picked] = window_key(bytes + i);
		picked += keys_out[picked] <= bound;
	}
	return picked;
}

/* The last xor of the hash leaves the top bits alone, and they tell. */
static inline size_t pick_one(uint64_t y, uint64_t bound, uint64_t *key_out)
{
	const uint64_t most = bound | UINT64_MAX >> WINDOW_TOP_BITS;

	y = window_before_xor(y);
	if (__builtin_expect(y > most, 1))
		return 0;
	*key_out = window_last_xor(y);
	return *key_out <= bound;
}

static size_t pick(const uint8_t *bytes, size_t count, uint64_t bound,
		   uint64_t *keys_out)
{
	uint8_t differences[ROLLED];
	size_t i, k, picked = 0;
	uint64_t y;

	if (bound >= WINDOW_DENSE)
		return pick_dense(bytes, count, bound, keys_out);
	if (count == 0)
		return 0;
	y = window_y(bytes, WINDOW_SEED_1);
	for (i = 0; i + ROLLED < count; i += ROLLED) {
		for (k = 0; k < ROLLED; k++)
			differences[k] =
				bytes[i + k] ^ (bytes + WINDOW_LENGTH)[i + k];
#pragma GCC unroll 8
		for (k = 0; k < ROLLED; k++) {
			picked += pick_one(y, bound, keys_out + picked);
			y = roll(y, differences[k]);
		}
	}
	for (; i < count; i++)
		picked += pick_one(window_y(bytes + i, WINDOW_SEED_1), bound,
				   keys_out + picked);
	return picked;
}

/* Adds three words bit by bit: returns the low bits of the sums. */
static inline uint64_t add_bits(uint64_t a, uint64_t b, uint64_t c,
				uint64_t *carry_out)
{
	uint64_t half = a ^ b;

	*carry_out = (a & b) | (half & c);
	return half ^ c;
}

/*
 * Bit by bit sums.  Bit i of low[k] is bit k of the sum for bit i.  What
 * carries beyond goes to bytes: byte i of bytes[b] counts, in eights, bit b of
 * byte i.
 */
struct sums_scalar {
	uint64_t low[3];
	uint64_t bytes[8];
};

static inline void add_eight(struct sums_scalar *s, const uint64_t v[8])
{
	const uint64_t ones = 0x0101010101010101;
	uint64_t twos[4], fours[2], eights;
	unsigned i;

	for (i = 0; i < 4; i++)
		s->low[0] =
			add_bits(s->low[0], v[2 * i], v[2 * i + 1], &twos[i]);
	for (i = 0; i < 2; i++)
		s->low[1] = add_bits(s->low[1], twos[2 * i], twos[2 * i + 1],
				     &fours[i]);
	s->low[2] = add_bits(s->low[2], fours[0], fours[1], &eights);
	for (i = 0; i < 8; i++)
		s->bytes[i] += eights >> i & ones;
}

/* At most 2032 keys, so that no byte of the sums overflows. */
static void sum_part(const uint64_t *keys, size_t count, uint32_t sums[64])
{
	struct sums_scalar s = { 0 };
	uint64_t values[8];
	size_t i, k;

	for (i = 0; i < count; i += 8) {
		for (k = 0; k < 8; k++)
			values[k] =
				i + k < count ? window_value(keys[i + k]) : 0;
		add_eight(&s, values);
	}
	window_add_lane(s.low, s.bytes, sums);
}

static void sum(const uint64_t *keys, size_t count, uint32_t sums[64])
{
	size_t i, part;

	for (i = 0; i < count; i += part) {
		part = count - i < 2032 ? count - i : 2032;
		sum_part(keys + i, part, sums);
	}
}

const struct kernel_window window_scalar = { pick, sum };

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

/* Without branches: they could not be foreseen. */
static size_t pick_dense(const uint8_t *bytes, size_t count, uint64_t low,
			 uint64_t high, uint64_t *keys_out)
{
	size_t i, picked = 0;

	for (i = 0; i < count; i++) {
		keys_out[picked] = window_key(bytes + i);
		picked += keys_out[picked] - low <= high - low;
	}
	return picked;
}

/* The last xor of the hash leaves the top bits alone, and they tell. */
static inline size_t pick_one(uint64_t y, uint64_t low, uint64_t high,
			      uint64_t *key_out)
{
	const uint64_t most = high | UINT64_MAX >> WINDOW_TOP_BITS;

	y = window_nearly_finish(y);
	if (__builtin_expect(y > most, 1))
		return 0;
	*key_out = window_finish_nearly(y);
	return *key_out - low <= high - low;
}

static size_t pick(const uint8_t *bytes, size_t count, uint64_t low,
		   uint64_t high, uint64_t *keys_out)
{
	uint8_t differences[ROLLED];
	size_t i, k, picked = 0;
	uint64_t y;

	if (high >= WINDOW_DENSE)
		return pick_dense(bytes, count, low, high, keys_out);
	if (count == 0)
		return 0;
	y = window_y(bytes, WINDOW_SEED_1);
	for (i = 0; i + ROLLED < count; i += ROLLED) {
		for (k = 0; k < ROLLED; k++)
			differences[k] =
				bytes[i + k] ^ (bytes + WINDOW_LENGTH)[i + k];
#pragma GCC unroll 8
		for (k = 0; k < ROLLED; k++) {
			picked += pick_one(y, low, high, keys_out + picked);
			y = roll(y, differences[k]);
		}
	}
	for (; i < count; i++)
		picked += pick_one(window_y(bytes + i, WINDOW_SEED_1), low,
				   high, keys_out + picked);
	return picked;
}

static void insert(struct window_set *set, const uint64_t *keys, size_t count)
{
	size_t i, at, mask = set->slot_count - 1;
	uint64_t *const slots = set->slots;
	size_t added = 0;
	size_t ahead;

	for (i = 0; i < count; i++) {
		ahead = i + WINDOW_AHEAD < count ? i + WINDOW_AHEAD : i;
		__builtin_prefetch(&slots[window_home(set, keys[ahead])], 1);
		at = window_home(set, keys[i]);
		while (slots[at] != 0 && slots[at] != keys[i])
			at = (at + 1) & mask;
		added += slots[at] != keys[i];
		slots[at] = keys[i];
	}
	set->count += added;
}

static size_t sift(struct window_set *set, uint64_t limit, uint64_t *strays_out)
{
	size_t at, i, home, count = 0, strays = 0;
	uint64_t *bucket, key;

	for (at = 0; at < set->slot_count; at += WINDOW_BUCKET) {
		bucket = set->slots + at;
		home = 0;
		for (i = 0; i < WINDOW_BUCKET; i++) {
			key = bucket[i];
			bucket[i] = 0;
			if (key == 0 || key > limit)
				continue;
			if (window_home(set, key) == at)
				bucket[home++] = key;
			else
				strays_out[strays++] = key;
		}
		count += home;
	}
	set->count = count;
	return strays;
}

static size_t between(const uint64_t *slots, size_t count, uint64_t low,
		      uint64_t high, uint64_t *keys_out)
{
	size_t i, kept = 0;

	for (i = 0; i < count; i++) {
		keys_out[kept] = slots[i];
		kept += slots[i] - low <= high - low;
	}
	return kept;
}

static void evaluate(uint64_t *keys, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		keys[i] = window_value(keys[i]);
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

/* At most 2032 values, so that no byte of the sums overflows. */
static void sum_part(const uint64_t *values, size_t count, uint32_t sums[64])
{
	struct sums_scalar s = { 0 };
	uint64_t last[8] = { 0 };
	size_t i;

	for (i = 0; i + 8 <= count; i += 8)
		add_eight(&s, values + i);
	memcpy(last, values + i, (count - i) * sizeof(last[0]));
	add_eight(&s, last);
	window_add_lane(s.low, s.bytes, sums);
}

static void sum(const uint64_t *values, size_t count, uint32_t sums[64])
{
	size_t i, part;

	for (i = 0; i < count; i += part) {
		part = count - i < 2032 ? count - i : 2032;
		sum_part(values + i, part, sums);
	}
}

static void look_up_all(const struct window_tally *t, const uint8_t *bytes,
			size_t count, struct window_part *part)
{
	size_t i;

	for (i = 0; i < count; i++)
		window_look_up(t, bytes + i, part, i);
}

/* Adds the values of those of 64 windows that own their place; returns a bit
 * for each of them. */
static uint64_t add_owners(struct sums_scalar *s, const uint64_t *values,
			   const uint16_t *owners)
{
	uint64_t v[8], own = 0;
	unsigned i, k;

	for (i = 0; i < 64; i += 8) {
		for (k = 0; k < 8; k++) {
			v[k] = owners[i + k] ? 0 : values[i + k];
			own |= (uint64_t)(owners[i + k] == 0) << (i + k);
		}
		add_eight(s, v);
	}
	return own;
}

/* At most 2032 windows, as above. */
static void tally_part(const uint8_t *bytes, size_t first, size_t count,
		       struct window_tally *t)
{
	struct window_part part;
	struct sums_scalar s = { 0 };
	size_t at, k, n, end = first + count;
	uint64_t own, all;

	for (at = first; at < end; at += WINDOW_PART) {
		n = window_distinct(bytes + at, end - at);
		look_up_all(t, bytes + at, n, &part);
		window_claim(t, &part, at, n);
		memset(part.owners + n, 0xff, -n % 64 * sizeof(uint16_t));
		for (k = 0; k < n; k += 64) {
			own = add_owners(&s, part.values + k, part.owners + k);
			t->count += (size_t)__builtin_popcountll(own);
			all = n - k < 64 ? (UINT64_C(1) << (n - k)) - 1 :
					   ~UINT64_C(0);
			window_meet(t, bytes, at, &part, k, all & ~own);
		}
	}
	window_add_lane(s.low, s.bytes, t->sums);
}

static void tally(const uint8_t *bytes, size_t count, struct window_tally *t)
{
	const size_t most = 2032 / WINDOW_PART * WINDOW_PART;
	size_t i, part;

	for (i = 0; i < count; i += part) {
		part = count - i < most ? count - i : most;
		tally_part(bytes, i, part, t);
	}
}

const struct kernel_window window_scalar = { pick,     insert, sift, between,
					     evaluate, sum,    tally };

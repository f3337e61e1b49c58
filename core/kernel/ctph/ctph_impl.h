/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_CTPH_CTPH_IMPL_H
#define CORE_KERNEL_CTPH_CTPH_IMPL_H

#include "core/kernel/ctph/ctph.h"

/* The rolling value after a byte, and 1. */
static inline uint32_t ctph_next(const uint8_t *byte)
{
	uint32_t sum = 0, sums = 0, shifted = 0;
	int i;

#pragma GCC unroll 8
	for (i = 0; i < KERNEL_CTPH_WINDOW; i++) {
		sum += byte[-i];
		sums += sum;
		shifted ^= (uint32_t)byte[-i] << 5 * i;
	}
	return sum + sums + shifted + 1;
}

/* The multiplication by the inverse of 3 takes exactly the multiples of 3 to
 * the lowest third of all numbers. */
static inline bool ctph_triggers(uint32_t next, unsigned level)
{
	uint32_t low_mask = (UINT32_C(1) << level) - 1;

	return (int)(next * UINT32_C(0xaaaaaaab) <= UINT32_C(0x55555555)) &
	       (int)((next & low_mask) == 0) & (int)(next != 0);
}

static inline struct kernel_trigger ctph_trigger(uint32_t at, uint32_t next)
{
	return (struct kernel_trigger){
		.end = at + 1,
		.level = (uint32_t)__builtin_ctz(next | 1u << 31),
	};
}

/* What variants differ in: finding the offsets, from begin up to end, of bytes
 * that may trigger level.  At most CTPH_CHUNK bytes. */
#define CTPH_CHUNK 16384
#define CTPH_SPARE 64         /* that a filter may write behind them */
#define CTPH_DENSE_CHUNK 1024 /* of level 0: there max is soon reached */
typedef size_t ctph_filter(const uint8_t *bytes, size_t begin, size_t end,
			   unsigned level, uint32_t *candidates_out);

static inline size_t ctph_chunk(unsigned level)
{
	return level < 4 ? (size_t)CTPH_DENSE_CHUNK << level : CTPH_CHUNK;
}

/* Nothing branches on a candidate: at low levels one in three is a trigger,
 * and no processor foresees which. */
__attribute__((always_inline)) static inline size_t ctph_find(
	ctph_filter *filter, const uint8_t *bytes, size_t len, unsigned level,
	struct kernel_trigger *triggers_out, size_t max)
{
	const size_t chunk = ctph_chunk(level);
	uint32_t candidates[CTPH_CHUNK + CTPH_SPARE], next;
	size_t i, begin, end, count, found = 0;

	for (begin = 0; begin < len && found < max; begin = end) {
		end = len - begin < chunk ? len : begin + chunk;
		count = filter(bytes, begin, end, level, candidates);
		for (i = 0; i < count && found < max; i++) {
			next = ctph_next(bytes + candidates[i]);
			triggers_out[found] = ctph_trigger(candidates[i], next);
			found += ctph_triggers(next, level);
		}
	}
	return found;
}

/* Where it matters triggers are dense: the first steps back are short. */
__attribute__((always_inline)) static inline bool ctph_find_last(
	ctph_filter *filter, const uint8_t *bytes, size_t len, unsigned level,
	struct kernel_trigger *trigger_out)
{
	uint32_t candidates[CTPH_CHUNK + CTPH_SPARE], next;
	size_t step = 64, begin, end, count;

	for (end = len; end > 0; end = begin) {
		begin = end < step ? 0 : end - step;
		count = filter(bytes, begin, end, level, candidates);
		while (count-- > 0) {
			next = ctph_next(bytes + candidates[count]);
			if (!ctph_triggers(next, level))
				continue;
			*trigger_out = ctph_trigger(candidates[count], next);
			return true;
		}
		step = step < CTPH_CHUNK ? 2 * step : step;
	}
	return false;
}

/* Of 3, modulo 16. */
static inline uint32_t ctph_power(size_t exponent)
{
	return 0xb931u >> exponent % 4 * 4 & 15;
}

/*
 * The low 8 bits of a state depend on nothing above them, the high 4 only by a
 * sum: with low = state % 256,
 *
 *	high' = 3 * high + low * 403 / 256 (modulo 16)
 *
 * So what is added need not be known in order.  3^4 is 1, and 9 * x is x + 8
 * where x is odd: all that counts is how much is added at even bytes, how much
 * at odd ones, and how many odd numbers at bytes 2, 3, 6, 7, 10 and so on.
 *
 * The high bits after len bytes.  Four planes, of words words each, have the
 * bits of what is added: bit t of a word's multiple of 64 belongs to byte t.
 */
__attribute__((always_inline)) static inline uint32_t ctph_high_bits(
	uint32_t high, size_t len, const uint64_t *planes, size_t words)
{
	const uint64_t even = UINT64_C(0x5555555555555555);
	const uint64_t late = UINT64_C(0xcccccccccccccccc);
	uint64_t evens = 0, odds = 0, lates = 0;
	size_t bit, k;

#pragma GCC unroll 4
	for (bit = 0; bit < 4; bit++)
		for (k = 0; k < words; k++, planes++) {
			evens += (uint64_t)__builtin_popcountll(*planes & even)
				 << bit;
			odds += (uint64_t)__builtin_popcountll(*planes & ~even)
				<< bit;
			if (bit == 0)
				lates += (uint64_t)__builtin_popcountll(
					*planes & late);
		}
	return (uint32_t)(high * ctph_power(len) + 8 * lates +
			  (3 * evens + odds) * ctph_power(len + 2)) %
	       16;
}

void ctph_hash_short(struct kernel_piece *pieces, size_t count);
#ifdef __x86_64__
void ctph_hash_avx512(struct kernel_piece *pieces, size_t count);
#endif

#endif

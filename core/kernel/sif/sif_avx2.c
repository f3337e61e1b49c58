/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/sif/sif_impl.h"
#include "core/kernel/taps_avx2.h"

#ifdef __x86_64__

#include <assert.h>
#include <immintrin.h>

#define TARGET __attribute__((target("avx2,bmi,bmi2,popcnt")))

#define STEP 16

/* What a step gives to the next, and what all have in common. */
struct sif_front {
	const uint8_t (*taps)[64];
	struct taps_words words; /* that come next */
	__m128i next;            /* to their top bytes */
	__m128i most;
};

/* Of the words that come next, bit t: whether the hash at byte t may be within
 * a bound that begins with most.  bytes are those after them. */
static TARGET inline uint64_t choose(struct sif_front *f, const uint8_t *bytes)
{
	__m256i sums = taps_add_up(f->taps, taps_turn(&f->words, bytes));
	__m128i tops = _mm_xor_si128(_mm256_castsi256_si128(sums), f->next);

	f->next = _mm256_extracti128_si256(sums, 1);
	return (uint32_t)_mm_movemask_epi8(
		_mm_cmpeq_epi8(_mm_min_epu8(tops, f->most), tops));
}

/* choose() for 64 bytes, and those after them. */
static TARGET inline uint64_t choose_64(struct sif_front *f,
					const uint8_t *bytes,
					const uint8_t *after)
{
	uint64_t chosen = 0;
	int i;

#pragma GCC unroll 4
	for (i = 0; i < 64 - STEP; i += STEP)
		chosen |= choose(f, bytes + i + STEP) << i;
	return chosen | choose(f, after) << i;
}

/* Up to SIF_PIECE bytes, whole words; bit i of the result: whether word i of
 * the choice has any. */
static TARGET uint64_t choose_all(const struct kernel_sif_table *table,
				  const uint8_t *bytes, size_t len, uint8_t top,
				  uint64_t *chosen_out)
{
	struct sif_front f = { sif_taps(table), taps_load(bytes),
			       _mm_setzero_si128(), _mm_set1_epi8((char)top) };
	uint64_t chosen, used = 0;
	size_t i, after;

	for (i = 0; i < len; i += 64) {
		after = i + 64 < len ? i + 64 : i;
		chosen = choose_64(&f, bytes + i, bytes + after);
		chosen_out[i / 64] = chosen;
		used |= (uint64_t)(chosen != 0) << i / 64;
	}
	return used;
}

/* Of windows that do not fill a word, behind others that do. */
static TARGET size_t pick_last(const struct kernel_sif_table *table,
			       const uint8_t *bytes, size_t count,
			       uint64_t bound, uint64_t *hashes_out)
{
	const uint8_t *last = bytes + count + SIF_BEFORE - 64;
	uint64_t chosen;

	(void)choose_all(table, last, 64, (uint8_t)(bound >> 56), &chosen);
	return sif_take(table, last, chosen & UINT64_MAX << (64 - count), bound,
			hashes_out);
}

static TARGET size_t pick(const struct kernel_sif_table *table,
			  const uint8_t *bytes, size_t count, uint64_t bound,
			  uint64_t *hashes_out)
{
	uint64_t chosen[SIF_PIECE / 64], used;
	size_t i, len, picked = 0;

	if (table->window != SIF_WIDE_WINDOW || bound > SIF_WIDE_BOUND ||
	    count + SIF_BEFORE < 64)
		return sif_scalar.pick(table, bytes, count, bound, hashes_out);
	while (count + SIF_BEFORE >= 64) {
		len = count + SIF_BEFORE;
		len = len < SIF_PIECE ? len - len % 64 : SIF_PIECE;
		assert(len >= 64);
		used = choose_all(table, bytes, len, (uint8_t)(bound >> 56),
				  chosen);
		chosen[0] &= UINT64_MAX << SIF_BEFORE;
		for (; used; used &= used - 1) {
			i = (size_t)_tzcnt_u64(used);
			picked += sif_take(table, bytes + 64 * i, chosen[i],
					   bound, hashes_out + picked);
		}
		bytes += len - SIF_BEFORE;
		count -= len - SIF_BEFORE;
	}
	if (count > 0)
		picked += pick_last(table, bytes, count, bound,
				    hashes_out + picked);
	return picked;
}

const struct kernel_sif sif_avx2 = { pick };

#endif

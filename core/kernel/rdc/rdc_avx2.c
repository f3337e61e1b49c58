/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/bytes.h"
#include "core/kernel/rdc/rdc_impl.h"
#include "core/kernel/taps_avx2.h"

#ifdef __x86_64__

#include <immintrin.h>

#define TARGET __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define STEP 16

/* What the last steps give to the next, and what all have in common. */
struct rdc_front_256 {
	const uint8_t (*taps)[64];
	struct taps_words words; /* that come next */
	__m128i next;            /* to their top bytes */
	__m128i tops_1, tops_2;  /* of 16 bytes, the last and the one before */
	__m128i least;
};

static TARGET inline __m128i next_tops(struct rdc_front_256 *f,
				       struct taps_words words)
{
	__m256i sums = taps_add_up(f->taps, words);
	__m128i tops = _mm_xor_si128(_mm256_castsi256_si128(sums), f->next);
	__m128i all = _mm_xor_si128(tops, _mm_xor_si128(f->tops_1, f->tops_2));

	f->next = _mm256_extracti128_si256(sums, 1);
	f->tops_2 = f->tops_1;
	f->tops_1 = tops;
	return all;
}

static TARGET inline uint64_t mark_step(struct rdc_front_256 *f,
					struct taps_words words)
{
	__m128i tops = next_tops(f, words);

	return (uint32_t)_mm_movemask_epi8(
		_mm_cmpeq_epi8(_mm_max_epu8(tops, f->least), tops));
}

/* Of the words that come next and the rest of 64 bytes; then come others. */
static TARGET inline uint64_t mark_64(struct rdc_front_256 *f,
				      const uint8_t *data, const uint8_t *after)
{
	uint64_t marks = 0;
	int i;

#pragma GCC unroll 4
	for (i = 0; i < 64 - STEP; i += STEP)
		marks |= mark_step(f, taps_turn(&f->words, data + i + STEP))
			 << i;
	return marks | mark_step(f, taps_turn(&f->words, after)) << i;
}

/* Of up to 64 bytes that do not fill their word. */
static TARGET uint64_t mark_last(struct rdc_front_256 *f, const uint8_t *data,
				 size_t count)
{
	uint8_t last[STEP] = { 0 };
	uint64_t marks = 0;
	size_t i;

	for (i = 0; i + STEP <= count; i += STEP)
		marks |= mark_step(f, taps_load(data + i)) << i;
	if (i == count)
		return marks;
	memcpy(last, data + i, count - i);
	marks |= mark_step(f, taps_load(last)) << i;
	return marks & ((UINT64_C(1) << count) - 1);
}

static TARGET uint64_t mark(const struct kernel_rolling *rolling,
			    const uint8_t *data, size_t count, uint8_t top,
			    uint64_t marks_out[RDC_SECTION / 64])
{
	struct rdc_front_256 f = { .taps = rolling->h3->taps,
				   .least = _mm_set1_epi8((char)top) };
	uint64_t marks, used = 0;
	size_t i, after;

	for (i = 0; i < KERNEL_WINDOW; i += STEP)
		(void)next_tops(&f, taps_load(data - KERNEL_WINDOW + i));
	f.words = taps_load(count < STEP ? data - STEP : data);
	for (i = 0; i + 64 <= count; i += 64) {
		after = i + 64 + STEP <= count ? i + 64 : i;
		marks = mark_64(&f, data + i, data + after);
		marks_out[i / 64] = marks;
		used |= (uint64_t)(marks != 0) << i / 64;
	}
	if (i < count) {
		marks = mark_last(&f, data + i, count - i);
		marks_out[i / 64] = marks;
		used |= (uint64_t)(marks != 0) << i / 64;
	}
	return used;
}

static void hashes(const struct kernel_rolling *rolling, const uint8_t *data,
		   const uint32_t *places, size_t count, uint32_t *hashes_out)
{
	size_t i;

	for (i = 0; i < count; i++)
		hashes_out[i] = kernel_hash(rolling, data + places[i]);
}

static void find(const struct kernel_rolling *rolling, const uint8_t *data,
		 size_t count, uint32_t limit, struct kernel_high *out)
{
	static const struct rdc_ways ways = { mark, hashes };

	rdc_find(&ways, rolling, data, count, limit, out);
}

const struct kernel_rdc rdc_avx2 = { find };

#endif

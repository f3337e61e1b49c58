/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/sdhash/sdhash_impl.h"

#ifdef __x86_64__

#include <immintrin.h>

#include "core/kernel/sdhash/sdhash_walk.h"
#include "core/kernel/words_avx2.h"

#define TARGET __attribute__((target("avx2,bmi")))
#define BYTES 32 /* in a vector */
#define LANES 16 /* ranks in a vector */
#define HASHES 8 /* features in a vector */

typedef __m256i vector;

static TARGET inline vector load(const void *from)
{
	return _mm256_loadu_si256(from);
}

static TARGET inline void store(void *to, vector x)
{
	_mm256_storeu_si256(to, x);
}

static TARGET inline vector same(uint32_t value)
{
	return _mm256_set1_epi32((int)value);
}

/* ---- scores ---- */

/* As bytes, in order. */
static TARGET inline vector narrow(vector low, vector high)
{
	return _mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), 0xd8);
}

static TARGET inline vector is_run(const uint16_t *ranks)
{
	return _mm256_cmpeq_epi16(load(ranks), load(ranks + 1));
}

/* How many equal ranks follow each of count places, 64 at most; some more that
 * mean nothing are written. */
static TARGET void find_runs(const uint16_t *ranks, size_t count, uint8_t *out)
{
	size_t i, width, end = (count + BYTES - 1) / BYTES * BYTES;
	vector x, y, full;

	for (i = 0; i < end; i += BYTES) {
		x = narrow(is_run(ranks + i), is_run(ranks + i + LANES));
		store(out + i, _mm256_abs_epi8(x));
	}
	store(out + end, _mm256_setzero_si256());
	for (width = 1; width < SDHASH_WINDOW; width *= 2) {
		full = _mm256_set1_epi8((char)width);
		for (i = 0; i < end; i += BYTES) {
			x = load(out + i);
			y = _mm256_and_si256(load(out + i + width),
					     _mm256_cmpeq_epi8(x, full));
			store(out + i, _mm256_add_epi8(x, y));
		}
	}
}

static TARGET inline vector keys_of(const uint16_t *ranks, const uint8_t *runs)
{
	const vector last = _mm256_set1_epi16(SDHASH_WINDOW - 1);
	vector run = _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)runs));
	vector key = _mm256_sub_epi16(load(ranks), _mm256_set1_epi16(1));

	key = _mm256_slli_epi16(key, WALK_RANK_SHIFT);
	return _mm256_or_si256(key, _mm256_min_epu16(run, last));
}

static TARGET inline vector lower(const uint16_t *out, size_t width)
{
	const vector last = _mm256_set1_epi16(SDHASH_WINDOW - 1);
	vector right = load(out + width);
	vector further =
		_mm256_adds_epu16(right, _mm256_set1_epi16((short)width));

	right = _mm256_min_epu16(further, _mm256_or_si256(right, last));
	return _mm256_min_epu16(load(out), right);
}

static TARGET inline vector all_none(void)
{
	return _mm256_set1_epi16((short)WALK_NONE);
}

static TARGET inline vector none_if_zero(vector minima, const uint16_t *ranks)
{
	return _mm256_blendv_epi8(
		minima, all_none(),
		_mm256_cmpeq_epi16(load(ranks), _mm256_setzero_si256()));
}

/* Of 32 ranks, those above lowest. */
static TARGET inline uint64_t above(const uint16_t *ranks, vector lowest)
{
	vector high = narrow(_mm256_cmpgt_epi16(load(ranks), lowest),
			     _mm256_cmpgt_epi16(load(ranks + LANES), lowest));

	return (uint32_t)_mm256_movemask_epi8(high);
}

static TARGET inline size_t find(const uint16_t *ranks, unsigned lowest)
{
	vector x = _mm256_set1_epi16((short)lowest);

	return _tzcnt_u64(~(above(ranks, x) | above(ranks + BYTES, x) << 32));
}

/* ---- features ---- */

static TARGET size_t pick(const uint8_t *scores, size_t count, uint8_t least,
			  uint16_t *places_out)
{
	const vector bound = _mm256_set1_epi8((char)least);
	size_t i, found = 0;
	uint32_t high;
	vector x;

	for (i = 0; count - i >= BYTES; i += BYTES) {
		x = load(scores + i);
		x = _mm256_cmpeq_epi8(_mm256_max_epu8(x, bound), x);
		high = (uint32_t)_mm256_movemask_epi8(x);
		for (; high; high &= high - 1)
			places_out[found++] = (uint16_t)(i + _tzcnt_u32(high));
	}
	for (; i < count; i++)
		if (scores[i] >= least)
			places_out[found++] = (uint16_t)i;
	return found;
}

static TARGET inline vector add(vector x, vector y)
{
	return _mm256_add_epi32(x, y);
}

static TARGET inline vector rotate(vector x, int bits)
{
	return _mm256_or_si256(_mm256_slli_epi32(x, bits),
			       _mm256_srli_epi32(x, 32 - bits));
}

static TARGET inline vector swap_bytes(vector x)
{
	const vector order = _mm256_broadcastsi128_si256(_mm_setr_epi8(
		3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));

	return _mm256_shuffle_epi8(x, order);
}

/* The functions of FIPS 180-4, 4.1.1. */

static TARGET inline vector choose(vector x, vector y, vector z)
{
	y = _mm256_xor_si256(y, z);
	return _mm256_xor_si256(z, _mm256_and_si256(x, y));
}

static TARGET inline vector parity(vector x, vector y, vector z)
{
	return _mm256_xor_si256(x, _mm256_xor_si256(y, z));
}

static TARGET inline vector majority(vector x, vector y, vector z)
{
	vector both = _mm256_and_si256(y, z);

	y = _mm256_or_si256(y, z);
	return _mm256_or_si256(both, _mm256_and_si256(x, y));
}

static TARGET inline vector mix(vector x, vector y, vector z, vector w)
{
	return _mm256_xor_si256(parity(x, y, z), w);
}

#include "core/kernel/sdhash/sdhash_vector.h"

const struct kernel_sdhash sdhash_avx2 = { sdhash_rank_avx2, score, pick,
					   hash };

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/sdhash/sdhash_impl.h"

#ifdef __x86_64__

#include <immintrin.h>

#include "core/kernel/sdhash/sdhash_walk.h"
#include "core/kernel/words_avx512.h"

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,bmi")))
#define BYTES 64  /* in a vector */
#define LANES 32  /* ranks in a vector */
#define HASHES 16 /* features in a vector */

typedef __m512i vector;

static TARGET inline vector load(const void *from)
{
	return _mm512_loadu_si512(from);
}

static TARGET inline void store(void *to, vector x)
{
	_mm512_storeu_si512(to, x);
}

static TARGET inline vector same(uint32_t value)
{
	return _mm512_set1_epi32((int)value);
}

/* ---- scores ---- */

static TARGET inline __mmask32 is_run(const uint16_t *ranks)
{
	return _mm512_cmpeq_epi16_mask(load(ranks), load(ranks + 1));
}

/* How many equal ranks follow each of count places, 64 at most; some more that
 * mean nothing are written. */
static TARGET void find_runs(const uint16_t *ranks, size_t count, uint8_t *out)
{
	size_t i, width, end = (count + BYTES - 1) / BYTES * BYTES;
	vector x, y, full;
	__mmask64 equal;

	for (i = 0; i < end; i += BYTES) {
		equal = _mm512_kunpackd(is_run(ranks + i + LANES),
					is_run(ranks + i));
		store(out + i, _mm512_maskz_set1_epi8(equal, 1));
	}
	store(out + end, _mm512_setzero_si512());
	for (width = 1; width < SDHASH_WINDOW; width *= 2) {
		full = _mm512_set1_epi8((char)width);
		for (i = 0; i < end; i += BYTES) {
			x = load(out + i);
			y = load(out + i + width);
			equal = _mm512_cmpeq_epi8_mask(x, full);
			x = _mm512_mask_add_epi8(x, equal, x, y);
			store(out + i, x);
		}
	}
}

static TARGET inline vector keys_of(const uint16_t *ranks, const uint8_t *runs)
{
	const vector last = _mm512_set1_epi16(SDHASH_WINDOW - 1);
	vector run =
		_mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)runs));
	vector key = _mm512_sub_epi16(load(ranks), _mm512_set1_epi16(1));

	key = _mm512_slli_epi16(key, WALK_RANK_SHIFT);
	return _mm512_or_si512(key, _mm512_min_epu16(run, last));
}

static TARGET inline vector lower(const uint16_t *out, size_t width)
{
	const vector last = _mm512_set1_epi16(SDHASH_WINDOW - 1);
	vector right = load(out + width);
	vector further =
		_mm512_adds_epu16(right, _mm512_set1_epi16((short)width));

	right = _mm512_min_epu16(further, _mm512_or_si512(right, last));
	return _mm512_min_epu16(load(out), right);
}

static TARGET inline vector all_none(void)
{
	return _mm512_set1_epi16((short)WALK_NONE);
}

static TARGET inline vector none_if_zero(vector minima, const uint16_t *ranks)
{
	vector x = load(ranks);

	return _mm512_mask_mov_epi16(minima, _mm512_testn_epi16_mask(x, x),
				     all_none());
}

static TARGET inline size_t find(const uint16_t *ranks, unsigned lowest)
{
	vector x = _mm512_set1_epi16((short)lowest);
	__mmask64 found =
		_mm512_kunpackd(_mm512_cmple_epu16_mask(load(ranks + LANES), x),
				_mm512_cmple_epu16_mask(load(ranks), x));

	return _tzcnt_u64(_cvtmask64_u64(found));
}

/* ---- features ---- */

static TARGET size_t pick(const uint8_t *scores, size_t count, uint8_t least,
			  uint16_t *places_out)
{
	const vector bound = _mm512_set1_epi8((char)least);
	size_t i, left, found = 0;
	uint64_t high;

	for (i = 0; i < count; i += 64) {
		left = count - i < 64 ? count - i : 64;
		high = _cvtmask64_u64(_mm512_cmpge_epu8_mask(
			_mm512_maskz_loadu_epi8(UINT64_MAX >> (64 - left),
						scores + i),
			bound));
		high &= UINT64_MAX >> (64 - left);
		for (; high; high &= high - 1)
			places_out[found++] = (uint16_t)(i + _tzcnt_u64(high));
	}
	return found;
}

static TARGET inline vector add(vector x, vector y)
{
	return _mm512_add_epi32(x, y);
}

#define rotate(x, bits) _mm512_rol_epi32(x, bits)

static TARGET inline vector swap_bytes(vector x)
{
	const vector order = _mm512_broadcast_i32x4(_mm_setr_epi8(
		3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));

	return _mm512_shuffle_epi8(x, order);
}

/* The functions of FIPS 180-4, 4.1.1. */

static TARGET inline vector choose(vector x, vector y, vector z)
{
	return _mm512_ternarylogic_epi32(x, y, z, 0xca);
}

static TARGET inline vector parity(vector x, vector y, vector z)
{
	return _mm512_ternarylogic_epi32(x, y, z, 0x96);
}

static TARGET inline vector majority(vector x, vector y, vector z)
{
	return _mm512_ternarylogic_epi32(x, y, z, 0xe8);
}

static TARGET inline vector mix(vector x, vector y, vector z, vector w)
{
	return _mm512_xor_si512(parity(x, y, z), w);
}

#include "core/kernel/sdhash/sdhash_vector.h"

const struct kernel_sdhash sdhash_avx512 = { sdhash_rank_avx2, score, pick,
					     hash };

#endif

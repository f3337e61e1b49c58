/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/sdhash_impl.h"

#ifdef __x86_64__

#include <immintrin.h>

#include "core/kernel/sdhash_walk.h"

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,bmi")))
#define BYTES 64  /* in a vector */
#define LANES 32  /* ranks in a vector */
#define HASHES 16 /* features in a vector */

/* ---- scores ---- */

static TARGET inline __mmask32 is_run(const uint16_t *ranks)
{
	return _mm512_cmpeq_epi16_mask(_mm512_loadu_si512(ranks),
				       _mm512_loadu_si512(ranks + 1));
}

/* How many equal ranks follow each of count places, 64 at most; some more that
 * mean nothing are written. */
static TARGET void find_runs(const uint16_t *ranks, size_t count, uint8_t *out)
{
	size_t i, width, end = (count + BYTES - 1) / BYTES * BYTES;
	__m512i x, y, full;
	__mmask64 equal;

	for (i = 0; i < end; i += BYTES) {
		equal = _mm512_kunpackd(is_run(ranks + i + LANES),
					is_run(ranks + i));
		_mm512_storeu_si512(out + i, _mm512_maskz_set1_epi8(equal, 1));
	}
	_mm512_storeu_si512(out + end, _mm512_setzero_si512());
	for (width = 1; width < SDHASH_WINDOW; width *= 2) {
		full = _mm512_set1_epi8((char)width);
		for (i = 0; i < end; i += BYTES) {
			x = _mm512_loadu_si512(out + i);
			y = _mm512_loadu_si512(out + i + width);
			equal = _mm512_cmpeq_epi8_mask(x, full);
			x = _mm512_mask_add_epi8(x, equal, x, y);
			_mm512_storeu_si512(out + i, x);
		}
	}
}

/* (rank - 1) * 64 + run, or WALK_NONE and above. */
static TARGET inline __m512i key_of(__m512i rank, __m256i run)
{
	const __m512i last = _mm512_set1_epi16(SDHASH_WINDOW - 1);
	__m512i key = _mm512_sub_epi16(rank, _mm512_set1_epi16(1));

	key = _mm512_slli_epi16(key, WALK_RANK_SHIFT);
	return _mm512_or_si512(
		key, _mm512_min_epu16(_mm512_cvtepu8_epi16(run), last));
}

/* The lower of the windows at out and that far on. */
static TARGET inline __m512i lower(const uint16_t *out, size_t width)
{
	const __m512i last = _mm512_set1_epi16(SDHASH_WINDOW - 1);
	__m512i left = _mm512_loadu_si512(out);
	__m512i right = _mm512_loadu_si512(out + width);
	__m512i further =
		_mm512_adds_epu16(right, _mm512_set1_epi16((short)width));

	right = _mm512_min_epu16(further, _mm512_or_si512(right, last));
	return _mm512_min_epu16(left, right);
}

/* See sdhash_walk.h.  Of count windows; some more that mean nothing are
 * written. */
static TARGET void find_minima(const uint16_t *ranks, size_t count,
			       const uint8_t *runs, uint16_t *out)
{
	const __m512i none = _mm512_set1_epi16((short)WALK_NONE);
	size_t i, width, end = (count + SDHASH_WINDOW + LANES - 2) / LANES;
	__m512i x;

	end *= LANES;
	for (i = 0; i < end; i += LANES) {
		x = _mm512_loadu_si512(ranks + i);
		x = key_of(x, _mm256_loadu_si256((const __m256i *)(runs + i)));
		_mm512_storeu_si512(out + i, x);
	}
	_mm512_storeu_si512(out + end, none);
	for (width = 1; width < SDHASH_WINDOW / 2; width *= 2)
		for (i = 0; i < end; i += LANES)
			_mm512_storeu_si512(out + i, lower(out + i, width));
	for (i = 0; i < end; i += LANES) {
		x = _mm512_loadu_si512(ranks + i);
		x = _mm512_mask_mov_epi16(lower(out + i, width),
					  _mm512_testn_epi16_mask(x, x), none);
		_mm512_storeu_si512(out + i, x);
	}
}

static TARGET inline size_t find(const uint16_t *ranks, unsigned lowest)
{
	__m512i x = _mm512_set1_epi16((short)lowest);
	__mmask64 found = _mm512_kunpackd(
		_mm512_cmple_epu16_mask(_mm512_loadu_si512(ranks + LANES), x),
		_mm512_cmple_epu16_mask(_mm512_loadu_si512(ranks), x));

	return _tzcnt_u64(_cvtmask64_u64(found));
}

static TARGET void score(struct sdhash_lowest *lowest, const uint16_t *ranks,
			 size_t steps, uint8_t *scores)
{
	uint16_t minima[WALK_PLACES + SDHASH_WINDOW + 2 * LANES];
	uint8_t runs[WALK_PLACES + SDHASH_WINDOW + 2 * BYTES];
	struct walk w = { .minima = minima, .find = find };
	size_t part;

	for (; steps > 0; steps -= part) {
		part = steps < WALK_PLACES ? steps : WALK_PLACES;
		w.ranks = ranks;
		w.scores = scores;
		find_runs(ranks, part + SDHASH_WINDOW - 1, runs);
		find_minima(ranks, part, runs, minima);
		walk_all(&w, part, lowest);
		ranks += part;
		scores += part;
	}
}

/* ---- features ---- */

static TARGET size_t pick(const uint8_t *scores, size_t count, uint8_t least,
			  uint16_t *places_out)
{
	const __m512i bound = _mm512_set1_epi8((char)least);
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

/* 4 words of features k, k + 4, k + 8, k + 12. */
static TARGET inline __m512i load_rows(const uint8_t *const *at, size_t offset)
{
	__m512i x = _mm512_castsi128_si512(
		_mm_loadu_si128((const __m128i *)(at[0] + offset)));

	x = _mm512_inserti32x4(
		x, _mm_loadu_si128((const __m128i *)(at[4] + offset)), 1);
	x = _mm512_inserti32x4(
		x, _mm_loadu_si128((const __m128i *)(at[8] + offset)), 2);
	return _mm512_inserti32x4(
		x, _mm_loadu_si128((const __m128i *)(at[12] + offset)), 3);
}

static TARGET inline __m512i swap_bytes(__m512i x)
{
	const __m512i order = _mm512_broadcast_i32x4(_mm_setr_epi8(
		3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));

	return _mm512_shuffle_epi8(x, order);
}

/* 4 words of all features. */
static TARGET inline void load_words(const uint8_t *const at[HASHES],
				     size_t offset, __m512i w[4])
{
	__m512i row_0 = swap_bytes(load_rows(at, offset));
	__m512i row_1 = swap_bytes(load_rows(at + 1, offset));
	__m512i row_2 = swap_bytes(load_rows(at + 2, offset));
	__m512i row_3 = swap_bytes(load_rows(at + 3, offset));
	__m512i low_0 = _mm512_unpacklo_epi32(row_0, row_1);
	__m512i low_2 = _mm512_unpacklo_epi32(row_2, row_3);
	__m512i high_0 = _mm512_unpackhi_epi32(row_0, row_1);
	__m512i high_2 = _mm512_unpackhi_epi32(row_2, row_3);

	w[0] = _mm512_unpacklo_epi64(low_0, low_2);
	w[1] = _mm512_unpackhi_epi64(low_0, low_2);
	w[2] = _mm512_unpacklo_epi64(high_0, high_2);
	w[3] = _mm512_unpackhi_epi64(high_0, high_2);
}

/* The words of FIPS 180-4, 6.1.2, and with the constants added. */
static TARGET inline void expand(__m512i words[SHA1_ROUNDS])
{
	const uint32_t constants[4] = { SHA1_K0, SHA1_K1, SHA1_K2, SHA1_K3 };
	__m512i x;
	size_t i, k;

#pragma GCC unroll 16
	for (i = 16; i < SHA1_ROUNDS; i++) {
		x = _mm512_ternarylogic_epi32(words[i - 3], words[i - 8],
					      words[i - 14], 0x96);
		x = _mm512_xor_si512(x, words[i - 16]);
		words[i] = _mm512_rol_epi32(x, 1);
	}
	for (k = 0; k < 4; k++) {
		x = _mm512_set1_epi32((int)constants[k]);
		for (i = 20 * k; i < 20 * (k + 1); i++)
			words[i] = _mm512_add_epi32(words[i], x);
	}
}

struct state {
	__m512i a, b, c, d, e;
};

static TARGET inline void round_of(struct state *s, __m512i mixed, __m512i sum)
{
	/* a is there last. */
	__m512i next = _mm512_add_epi32(
		_mm512_rol_epi32(s->a, 5),
		_mm512_add_epi32(mixed, _mm512_add_epi32(s->e, sum)));

	s->e = s->d;
	s->d = s->c;
	s->c = _mm512_rol_epi32(s->b, 30);
	s->b = s->a;
	s->a = next;
}

/* The functions of FIPS 180-4, 4.1.1. */

static TARGET inline __m512i choose(const struct state *s)
{
	return _mm512_ternarylogic_epi32(s->b, s->c, s->d, 0xca);
}

static TARGET inline __m512i parity(const struct state *s)
{
	return _mm512_ternarylogic_epi32(s->b, s->c, s->d, 0x96);
}

static TARGET inline __m512i majority(const struct state *s)
{
	return _mm512_ternarylogic_epi32(s->b, s->c, s->d, 0xe8);
}

static TARGET void add_block(struct state *state,
			     const __m512i sums[SHA1_ROUNDS])
{
	struct state s = *state;
	size_t i;

#pragma GCC unroll 5
	for (i = 0; i < 20; i++)
		round_of(&s, choose(&s), sums[i]);
#pragma GCC unroll 5
	for (; i < 40; i++)
		round_of(&s, parity(&s), sums[i]);
#pragma GCC unroll 5
	for (; i < 60; i++)
		round_of(&s, majority(&s), sums[i]);
#pragma GCC unroll 5
	for (; i < 80; i++)
		round_of(&s, parity(&s), sums[i]);
	state->a = _mm512_add_epi32(s.a, state->a);
	state->b = _mm512_add_epi32(s.b, state->b);
	state->c = _mm512_add_epi32(s.c, state->c);
	state->d = _mm512_add_epi32(s.d, state->d);
	state->e = _mm512_add_epi32(s.e, state->e);
}

static TARGET inline void hash_16(const uint8_t *const at[HASHES],
				  const __m512i padding[SHA1_ROUNDS],
				  uint32_t words_out[SDHASH_HASH_WORDS][HASHES])
{
	const uint32_t *start = sdhash_sha1_start;
	struct state s = {
		_mm512_set1_epi32((int)start[0]),
		_mm512_set1_epi32((int)start[1]),
		_mm512_set1_epi32((int)start[2]),
		_mm512_set1_epi32((int)start[3]),
		_mm512_set1_epi32((int)start[4]),
	};
	__m512i words[SHA1_ROUNDS];
	size_t i;

	for (i = 0; i < 16; i += 4)
		load_words(at, 4 * i, words + i);
	expand(words);
	add_block(&s, words);
	add_block(&s, padding);
	_mm512_storeu_si512(words_out[0], swap_bytes(s.a));
	_mm512_storeu_si512(words_out[1], swap_bytes(s.b));
	_mm512_storeu_si512(words_out[2], swap_bytes(s.c));
	_mm512_storeu_si512(words_out[3], swap_bytes(s.d));
	_mm512_storeu_si512(words_out[4], swap_bytes(s.e));
}

static TARGET void hash(const uint8_t *bytes, const uint16_t *places,
			size_t count, uint32_t (*words_out)[SDHASH_HASH_WORDS])
{
	uint32_t words[SDHASH_HASH_WORDS][HASHES];
	const uint8_t *at[HASHES];
	__m512i padding[SHA1_ROUNDS];
	size_t i, k, part;

	for (i = 0; i < SHA1_ROUNDS; i++)
		padding[i] = _mm512_set1_epi32((int)sdhash_sha1_padding[i]);
	for (; count > 0; count -= part) {
		part = count < HASHES ? count : HASHES;
		for (i = 0; i < HASHES; i++)
			at[i] = bytes + places[i < part ? i : 0];
		hash_16(at, padding, words);
		for (i = 0; i < part; i++)
			for (k = 0; k < SDHASH_HASH_WORDS; k++)
				words_out[i][k] = words[k][i];
		places += part;
		words_out += part;
	}
}

const struct kernel_sdhash sdhash_avx512 = { sdhash_rank_avx2, score, pick,
					     hash };

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/sdhash_impl.h"

#ifdef __x86_64__

#include <immintrin.h>

#include "core/kernel/sdhash_walk.h"

#define TARGET __attribute__((target("avx2,bmi")))
#define BYTES 32 /* in a vector */
#define LANES 16 /* ranks in a vector */
#define HASHES 8 /* features in a vector */

static TARGET inline __m256i load(const void *from)
{
	return _mm256_loadu_si256(from);
}

static TARGET inline void store(void *to, __m256i x)
{
	_mm256_storeu_si256(to, x);
}

static TARGET inline __m256i same(uint32_t value)
{
	return _mm256_set1_epi32((int)value);
}

/* ---- scores ---- */

/* As bytes, in order. */
static TARGET inline __m256i narrow(__m256i low, __m256i high)
{
	return _mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), 0xd8);
}

static TARGET inline __m256i is_run(const uint16_t *ranks)
{
	return _mm256_cmpeq_epi16(load(ranks), load(ranks + 1));
}

/* How many equal ranks follow each of count places, 64 at most; some more that
 * mean nothing are written. */
static TARGET void find_runs(const uint16_t *ranks, size_t count, uint8_t *out)
{
	size_t i, width, end = (count + BYTES - 1) / BYTES * BYTES;
	__m256i x, y, full;

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

/* (rank - 1) * 64 + run, or WALK_NONE and above. */
static TARGET inline __m256i key_of(__m256i rank, __m128i run)
{
	const __m256i last = _mm256_set1_epi16(SDHASH_WINDOW - 1);
	__m256i key = _mm256_sub_epi16(rank, _mm256_set1_epi16(1));

	key = _mm256_slli_epi16(key, WALK_RANK_SHIFT);
	return _mm256_or_si256(
		key, _mm256_min_epu16(_mm256_cvtepu8_epi16(run), last));
}

/* The lower of the windows at out and that far on. */
static TARGET inline __m256i lower(const uint16_t *out, size_t width)
{
	const __m256i last = _mm256_set1_epi16(SDHASH_WINDOW - 1);
	__m256i right = load(out + width);
	__m256i further =
		_mm256_adds_epu16(right, _mm256_set1_epi16((short)width));

	right = _mm256_min_epu16(further, _mm256_or_si256(right, last));
	return _mm256_min_epu16(load(out), right);
}

/* See sdhash_walk.h.  Of count windows; some more that mean nothing are
 * written. */
static TARGET void find_minima(const uint16_t *ranks, size_t count,
			       const uint8_t *runs, uint16_t *out)
{
	const __m256i none = _mm256_set1_epi16((short)WALK_NONE);
	size_t i, width, end = (count + SDHASH_WINDOW + LANES - 2) / LANES;
	__m256i x;

	end *= LANES;
	for (i = 0; i < end; i += LANES)
		store(out + i,
		      key_of(load(ranks + i),
			     _mm_loadu_si128((const __m128i *)(runs + i))));
	store(out + end, none);
	store(out + end + LANES, none);
	for (width = 1; width < SDHASH_WINDOW / 2; width *= 2)
		for (i = 0; i < end; i += LANES)
			store(out + i, lower(out + i, width));
	for (i = 0; i < end; i += LANES) {
		x = _mm256_cmpeq_epi16(load(ranks + i), _mm256_setzero_si256());
		store(out + i,
		      _mm256_blendv_epi8(lower(out + i, width), none, x));
	}
}

/* Of 32 ranks, those above lowest. */
static TARGET inline uint64_t above(const uint16_t *ranks, __m256i lowest)
{
	__m256i high = narrow(_mm256_cmpgt_epi16(load(ranks), lowest),
			      _mm256_cmpgt_epi16(load(ranks + LANES), lowest));

	return (uint32_t)_mm256_movemask_epi8(high);
}

static TARGET inline size_t find(const uint16_t *ranks, unsigned lowest)
{
	__m256i x = _mm256_set1_epi16((short)lowest);

	return _tzcnt_u64(~(above(ranks, x) | above(ranks + BYTES, x) << 32));
}

static TARGET void score(struct sdhash_lowest *lowest, const uint16_t *ranks,
			 size_t steps, uint8_t *scores)
{
	uint16_t minima[WALK_PLACES + SDHASH_WINDOW + 3 * LANES];
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
	const __m256i bound = _mm256_set1_epi8((char)least);
	size_t i, found = 0;
	uint32_t high;
	__m256i x;

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

static TARGET inline __m256i swap_bytes(__m256i x)
{
	const __m256i order = _mm256_broadcastsi128_si256(_mm_setr_epi8(
		3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));

	return _mm256_shuffle_epi8(x, order);
}

/* 4 words of features k and k + 4. */
static TARGET inline __m256i load_rows(const uint8_t *const *at, size_t offset)
{
	__m256i x = _mm256_castsi128_si256(
		_mm_loadu_si128((const __m128i *)(at[0] + offset)));

	x = _mm256_inserti128_si256(
		x, _mm_loadu_si128((const __m128i *)(at[4] + offset)), 1);
	return swap_bytes(x);
}

/* 4 words of all features. */
static TARGET inline void load_words(const uint8_t *const at[HASHES],
				     size_t offset, __m256i w[4])
{
	__m256i row_0 = load_rows(at, offset);
	__m256i row_1 = load_rows(at + 1, offset);
	__m256i row_2 = load_rows(at + 2, offset);
	__m256i row_3 = load_rows(at + 3, offset);
	__m256i low_0 = _mm256_unpacklo_epi32(row_0, row_1);
	__m256i low_2 = _mm256_unpacklo_epi32(row_2, row_3);
	__m256i high_0 = _mm256_unpackhi_epi32(row_0, row_1);
	__m256i high_2 = _mm256_unpackhi_epi32(row_2, row_3);

	w[0] = _mm256_unpacklo_epi64(low_0, low_2);
	w[1] = _mm256_unpackhi_epi64(low_0, low_2);
	w[2] = _mm256_unpacklo_epi64(high_0, high_2);
	w[3] = _mm256_unpackhi_epi64(high_0, high_2);
}

static TARGET inline __m256i add(__m256i x, __m256i y)
{
	return _mm256_add_epi32(x, y);
}

static TARGET inline __m256i rotate(__m256i x, int bits)
{
	return _mm256_or_si256(_mm256_slli_epi32(x, bits),
			       _mm256_srli_epi32(x, 32 - bits));
}

/* The words of FIPS 180-4, 6.1.2, and with the constants added. */
static TARGET void expand(__m256i words[SHA1_ROUNDS])
{
	const uint32_t constants[4] = { SHA1_K0, SHA1_K1, SHA1_K2, SHA1_K3 };
	__m256i x, y;
	size_t i, k;

	for (i = 16; i < SHA1_ROUNDS; i++) {
		x = _mm256_xor_si256(words[i - 8], words[i - 14]);
		y = _mm256_xor_si256(words[i - 3], words[i - 16]);
		words[i] = rotate(_mm256_xor_si256(x, y), 1);
	}
	for (k = 0; k < 4; k++) {
		x = same(constants[k]);
		for (i = 20 * k; i < 20 * (k + 1); i++)
			words[i] = add(words[i], x);
	}
}

struct state {
	__m256i a, b, c, d, e;
};

static TARGET inline void round_of(struct state *s, __m256i mixed, __m256i sum)
{
	/* a is there last. */
	__m256i next = add(rotate(s->a, 5), add(mixed, add(s->e, sum)));

	s->e = s->d;
	s->d = s->c;
	s->c = rotate(s->b, 30);
	s->b = s->a;
	s->a = next;
}

/* The functions of FIPS 180-4, 4.1.1. */

static TARGET inline __m256i choose(const struct state *s)
{
	__m256i x = _mm256_xor_si256(s->c, s->d);

	return _mm256_xor_si256(s->d, _mm256_and_si256(s->b, x));
}

static TARGET inline __m256i parity(const struct state *s)
{
	return _mm256_xor_si256(s->b, _mm256_xor_si256(s->c, s->d));
}

static TARGET inline __m256i majority(const struct state *s)
{
	__m256i x = _mm256_and_si256(s->c, s->d);
	__m256i y = _mm256_or_si256(s->c, s->d);

	return _mm256_or_si256(x, _mm256_and_si256(s->b, y));
}

static TARGET void add_block(struct state *state,
			     const __m256i sums[SHA1_ROUNDS])
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
	state->a = add(s.a, state->a);
	state->b = add(s.b, state->b);
	state->c = add(s.c, state->c);
	state->d = add(s.d, state->d);
	state->e = add(s.e, state->e);
}

static TARGET void hash_8(const uint8_t *const at[HASHES],
			  const __m256i padding[SHA1_ROUNDS],
			  uint32_t words_out[SDHASH_HASH_WORDS][HASHES])
{
	const uint32_t *start = sdhash_sha1_start;
	struct state s = { same(start[0]), same(start[1]), same(start[2]),
			   same(start[3]), same(start[4]) };
	__m256i words[SHA1_ROUNDS];
	size_t i;

	for (i = 0; i < 16; i += 4)
		load_words(at, 4 * i, words + i);
	expand(words);
	add_block(&s, words);
	add_block(&s, padding);
	store(words_out[0], swap_bytes(s.a));
	store(words_out[1], swap_bytes(s.b));
	store(words_out[2], swap_bytes(s.c));
	store(words_out[3], swap_bytes(s.d));
	store(words_out[4], swap_bytes(s.e));
}

static TARGET void hash(const uint8_t *bytes, const uint16_t *places,
			size_t count, uint32_t (*words_out)[SDHASH_HASH_WORDS])
{
	uint32_t words[SDHASH_HASH_WORDS][HASHES];
	const uint8_t *at[HASHES];
	__m256i padding[SHA1_ROUNDS];
	size_t i, k, part;

	for (i = 0; i < SHA1_ROUNDS; i++)
		padding[i] = same(sdhash_sha1_padding[i]);
	for (; count > 0; count -= part) {
		part = count < HASHES ? count : HASHES;
		for (i = 0; i < HASHES; i++)
			at[i] = bytes + places[i < part ? i : 0];
		hash_8(at, padding, words);
		for (i = 0; i < part; i++)
			for (k = 0; k < SDHASH_HASH_WORDS; k++)
				words_out[i][k] = words[k][i];
		places += part;
		words_out += part;
	}
}

const struct kernel_sdhash sdhash_avx2 = { sdhash_rank_avx2, score, pick,
					   hash };

#endif

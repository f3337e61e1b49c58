/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/sdhash/sdhash_impl.h"

#ifdef __x86_64__

#include <immintrin.h>

#define TARGET __attribute__((target("avx2")))
#define BLOCK SDHASH_WINDOW
#define HALF (BLOCK / 2)

/*
 * When the window moves from one place to the next, a byte leaves it and a
 * byte comes in.  What that does to the entropy follows from how often either
 * is among the 63 bytes that stay: for 64 places at once, from 63 comparisons
 * with the bytes at all distances.
 *
 * The entropies are sums from place to place, and no work for vectors: those
 * of a block are taken one by one while the next block is compared.
 */
struct counts {
	uint8_t out[BLOCK];
	uint8_t in[BLOCK];
};

/* A block whose counts are known. */
struct entropy_sums {
	const int32_t *steps; /* what one more of a byte adds */
	const struct counts *counts;
	uint16_t *ranks; /* of the places behind it */
	int32_t entropy;
};

static inline void add_place(struct entropy_sums *s, size_t i)
{
	s->entropy += s->steps[s->counts->in[i]];
	s->entropy -= s->steps[s->counts->out[i]];
	s->ranks[i] = sdhash_rank[s->entropy >> SDHASH_ENTROPY_SHIFT];
}

static TARGET inline __m256i load(const void *from)
{
	return _mm256_loadu_si256(from);
}

static TARGET inline void store(void *to, __m256i x)
{
	_mm256_storeu_si256(to, x);
}

/* Equal is -1. */
static TARGET inline __m256i add_equal(__m256i sum, __m256i x, __m256i y)
{
	return _mm256_sub_epi8(sum, _mm256_cmpeq_epi8(x, y));
}

/* How often the bytes of a block are among those that stay when they leave, and
 * those of the next block when they come in.  Takes the sums of the block
 * before, and makes them those of this one. */
static TARGET void count_block(const uint8_t *bytes, struct counts *counts,
			       struct entropy_sums *sums)
{
	const __m256i out_0 = load(bytes), out_1 = load(bytes + HALF);
	const __m256i in_0 = load(bytes + BLOCK);
	const __m256i in_1 = load(bytes + BLOCK + HALF);
	__m256i left_0 = _mm256_setzero_si256(), left_1 = left_0;
	__m256i came_0 = left_0, came_1 = left_0, x, y;
	struct entropy_sums s = *sums;
	size_t i;

#pragma GCC unroll 7
	for (i = 1; i < BLOCK; i++) {
		add_place(&s, i - 1);
		x = load(bytes + i);
		y = load(bytes + i + HALF);
		left_0 = add_equal(left_0, out_0, x);
		left_1 = add_equal(left_1, out_1, y);
		came_0 = add_equal(came_0, in_0, x);
		came_1 = add_equal(came_1, in_1, y);
	}
	add_place(&s, BLOCK - 1);
	store(counts->out, left_0);
	store(counts->out + HALF, left_1);
	store(counts->in, came_0);
	store(counts->in + HALF, came_1);
	sums->entropy = s.entropy;
	sums->counts = counts;
}

static int32_t first_entropy(const uint8_t *bytes, const int32_t *steps)
{
	uint8_t counts[256] = { 0 };
	int32_t entropy = 0;
	size_t i;

	for (i = 0; i < SDHASH_WINDOW; i++)
		entropy += steps[counts[bytes[i]]++];
	return entropy;
}

/* Of count > BLOCK places those that fill blocks; returns where the last block
 * begins. */
static size_t rank_blocks(const uint8_t *bytes, size_t count,
			  uint16_t *ranks_out)
{
	struct counts counts[2] = { 0 };
	uint16_t nowhere[BLOCK]; /* nothing is before the first block */
	int32_t steps[SDHASH_WINDOW];
	struct entropy_sums s = { steps, &counts[1], nowhere, 0 };
	size_t i;

	for (i = 0; i < SDHASH_WINDOW; i++)
		steps[i] = sdhash_entropy[i + 1] - sdhash_entropy[i];
	s.entropy = first_entropy(bytes, steps);
	ranks_out[0] = sdhash_rank[s.entropy >> SDHASH_ENTROPY_SHIFT];
	for (i = 0; i + BLOCK < count; i += BLOCK) {
		count_block(bytes + i, &counts[i / BLOCK % 2], &s);
		s.ranks = ranks_out + i + 1;
	}
	count = i;
	for (i = 0; i < BLOCK; i++)
		add_place(&s, i);
	return count;
}

void sdhash_rank_avx2(const uint8_t *bytes, size_t count, uint16_t *ranks_out)
{
	size_t done = count > BLOCK ? rank_blocks(bytes, count, ranks_out) : 0;

	sdhash_scalar.rank(bytes + done, count - done, ranks_out + done);
}

#endif

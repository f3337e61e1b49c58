/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/tlsh/tlsh.h"

#ifdef __x86_64__

#include <immintrin.h>

/*
 * The hashes of 64 windows are made at once, a lane each; T is four registers.
 * Those below KERNEL_TLSH_BUCKETS, half of them, are collected in a queue.
 * From there they are counted in pieces of one size, each beside the checksums
 * of 64 windows: a checksum needs the one before, and the processor counts
 * while it waits for that.
 */
#define FEATURES "avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt"
#define TARGET __attribute__((target(FEATURES), always_inline))

enum {
	STEP = 64,
	/* Counted beside two checksums; what comes of a step on average. */
	GROUP = KERNEL_TLSH_TRIPLETS,
	PIECE = STEP / 2 * GROUP,
};

/* Hashes that are still to be counted: what is left of less than a piece, and
 * what two steps can add, with room for the rest of a register. */
struct tlsh_queue {
	uint8_t hashes[PIECE + 2 * KERNEL_TLSH_TRIPLETS * STEP + STEP];
	size_t len;
};

typedef uint32_t counters[KERNEL_TLSH_TRIPLETS][256];

static TARGET inline __m512i look_up(const __m512i T[4], __m512i x)
{
	return _mm512_mask_blend_epi8(_mm512_movepi8_mask(x),
				      _mm512_permutex2var_epi8(T[0], x, T[1]),
				      _mm512_permutex2var_epi8(T[2], x, T[3]));
}

static TARGET inline __m512i hash_two(const __m512i T[4], uint8_t salt,
				      __m512i x, __m512i y)
{
	x = look_up(T, _mm512_xor_si512(x, _mm512_set1_epi8((char)salt)));
	return look_up(T, _mm512_xor_si512(x, y));
}

static TARGET inline void append(struct tlsh_queue *q, __m512i hashes)
{
	__mmask64 counted = ~_mm512_movepi8_mask(hashes);

	_mm512_storeu_si512(q->hashes + q->len,
			    _mm512_maskz_compress_epi8(counted, hashes));
	q->len += (size_t)_mm_popcnt_u64(counted);
}

/* The windows that end at p[0] to p[63]; checksums_out lacks the last
 * look-up. */
static TARGET inline void hash_windows(const struct kernel_tlsh_table *table,
				       const __m512i T[4], const uint8_t *p,
				       struct tlsh_queue *q,
				       uint8_t checksums_out[STEP])
{
	/* The second and third byte of each triplet. */
	static const uint8_t second[] = { 1, 1, 2, 2, 1, 3 };
	static const uint8_t third[] = { 2, 3, 3, 4, 4, 4 };
	__m512i x[KERNEL_TLSH_WINDOW], h;
	size_t i;

	for (i = 0; i < KERNEL_TLSH_WINDOW; i++)
		x[i] = _mm512_loadu_si512(p - i);
	_mm512_store_si512(checksums_out,
			   hash_two(T, table->salts[0], x[0], x[1]));
#pragma GCC unroll 6
	for (i = 0; i < KERNEL_TLSH_TRIPLETS; i++) {
		h = hash_two(T, table->salts[1 + i], x[0], x[second[i]]);
		append(q, look_up(T, _mm512_xor_si512(h, x[third[i]])));
	}
}

/* Each in a table of its own, so that equal ones do not wait for each other. */
static TARGET inline void count_group(counters counts, const uint8_t *hashes)
{
	size_t k;

#pragma GCC unroll 6
	for (k = 0; k < GROUP; k++)
		counts[k][hashes[k]]++;
}

/* The checksum after the windows of a step, and the counts of a piece unless
 * that is NULL.  Two look-ups are one in a table of all pairs. */
static TARGET inline uint8_t check_step(const uint8_t twice[256][256],
					const uint8_t checksums[STEP],
					const uint8_t *piece, counters counts,
					uint8_t checksum)
{
	size_t j;

	for (j = 0; j < STEP; j += 2) {
		if (piece)
			count_group(counts, piece + j / 2 * GROUP);
		checksum = twice[checksums[j + 1]][checksums[j] ^ checksum];
	}
	return checksum;
}

/* From the hashes at done on: all but less than a piece, which moves to the
 * front. */
static TARGET inline void count_surplus(struct tlsh_queue *q, size_t done,
					counters counts)
{
	size_t i;

	for (; q->len - done >= PIECE; done += PIECE)
		for (i = 0; i < PIECE; i += GROUP)
			count_group(counts, q->hashes + done + i);
	for (i = 0; i < PIECE; i += STEP)
		_mm512_storeu_si512(q->hashes + i,
				    _mm512_loadu_si512(q->hashes + done + i));
	q->len -= done;
}

static TARGET inline uint8_t take_step(const struct kernel_tlsh_table *table,
				       const uint8_t checksums[STEP],
				       struct tlsh_queue *q, counters counts,
				       uint8_t checksum)
{
	if (q->len < PIECE)
		return check_step(table->twice, checksums, NULL, counts,
				  checksum);
	checksum = check_step(table->twice, checksums, q->hashes, counts,
			      checksum);
	count_surplus(q, PIECE, counts);
	return checksum;
}

__attribute__((target(FEATURES))) static uint8_t count(
	const struct kernel_tlsh_table *table, const uint8_t *bytes, size_t len,
	counters counts, uint8_t checksum)
{
	/* Of this step, and of the one before, which is taken meanwhile. */
	_Alignas(64) uint8_t checksums[2][STEP];
	size_t i, steps = 0;
	struct tlsh_queue q = { .len = 0 };
	__m512i T[4];

	for (i = 0; i < 4; i++)
		T[i] = _mm512_loadu_si512(table->pearson + 64 * i);
	for (i = KERNEL_TLSH_WINDOW - 1; i + STEP <= len; i += STEP) {
		hash_windows(table, T, bytes + i, &q, checksums[steps % 2]);
		if (steps++)
			checksum = take_step(table, checksums[steps % 2], &q,
					     counts, checksum);
	}
	if (steps)
		checksum = take_step(table, checksums[(steps + 1) % 2], &q,
				     counts, checksum);
	while (q.len)
		counts[0][q.hashes[--q.len]]++;
	i -= KERNEL_TLSH_WINDOW - 1;
	return i < len ? tlsh_scalar.count(table, bytes + i, len - i, counts,
					   checksum) :
			 checksum;
}

const struct kernel_tlsh tlsh_avx512 = { count };

#endif

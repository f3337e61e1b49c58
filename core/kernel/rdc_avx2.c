/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/kernel/rdc_impl.h"

#ifdef __x86_64__

#include <immintrin.h>

#define TARGET __attribute__((target("avx2,bmi")))
#define STEP 32
#define PIECE 64 /* bytes looked up before their sums are read again */

static TARGET inline __m256i load(const void *from)
{
	return _mm256_loadu_si256(from);
}

static TARGET inline void store(void *to, __m256i x)
{
	_mm256_storeu_si256(to, x);
}

/*
 * Looked up as in the scalar variant: neither gathers nor shuffles are as fast.
 * Each word is written whole, the next one goes over all but its lowest pair;
 * that is one instruction, and what is behind the last is not read.
 */
struct front {
	uint64_t waiting[4];
	uint16_t sums[16 + PIECE + 3]; /* 16 of the last piece */
	__m256i tops;                  /* of 16 bytes, the last 32 */
};

static TARGET void begin(struct front *f)
{
	store(f->waiting, _mm256_setzero_si256());
	store(f->sums + PIECE, _mm256_setzero_si256());
	f->tops = _mm256_setzero_si256();
}

static TARGET inline uint64_t add_byte(uint64_t waiting, uint64_t pairs,
				       uint16_t *sum)
{
	waiting = waiting >> 16 ^ pairs;
	memcpy(sum, &waiting, sizeof(waiting));
	return waiting;
}

static TARGET inline void add_up(struct front *f, const uint64_t pairs[256],
				 const uint8_t *data)
{
	uint64_t a = f->waiting[0], b = f->waiting[1];
	uint64_t c = f->waiting[2], d = f->waiting[3];
	uint16_t *sum = f->sums + 16;
	size_t i;

	for (i = 0; i < PIECE; i += 4) {
		a = add_byte(a, pairs[data[i]], sum + i);
		b = add_byte(b, pairs[data[i + 1]], sum + i + 1);
		c = add_byte(c, pairs[data[i + 2]], sum + i + 2);
		d = add_byte(d, pairs[data[i + 3]], sum + i + 3);
	}
	f->waiting[0] = a;
	f->waiting[1] = b;
	f->waiting[2] = c;
	f->waiting[3] = d;
}

/* 16 places; the tops are in the upper half of each. */
static TARGET inline __m256i shift_sums(const uint16_t *sums)
{
	__m256i x = _mm256_slli_epi16(load(sums - 1), 2);
	__m256i y = _mm256_slli_epi16(load(sums - 2), 4);
	__m256i z = _mm256_slli_epi16(load(sums - 3), 6);

	x = _mm256_xor_si256(x, load(sums));
	x = _mm256_xor_si256(x, _mm256_xor_si256(y, z));
	return _mm256_srli_epi16(x, 8);
}

static TARGET inline __m256i next_tops(struct front *f, const uint16_t *sums)
{
	__m256i before = f->tops, tops, back_16;

	tops = _mm256_packus_epi16(shift_sums(sums), shift_sums(sums + 16));
	tops = _mm256_permute4x64_epi64(tops, 0xd8);
	back_16 = _mm256_permute2x128_si256(before, tops, 0x21);
	f->tops = tops;
	return _mm256_xor_si256(_mm256_xor_si256(before, back_16), tops);
}

/* Of PIECE bytes. */
static TARGET void next_piece(struct front *f,
			      const struct kernel_rolling *rolling,
			      const uint8_t *data, uint8_t *tops_out)
{
	const __m256i bias = _mm256_set1_epi8((char)(rolling->bias >> 24));
	size_t i;

	store(f->sums, load(f->sums + PIECE));
	add_up(f, rolling->h3->pairs, data);
	for (i = 0; i < PIECE; i += STEP)
		store(tops_out + i,
		      _mm256_xor_si256(bias, next_tops(f, f->sums + 16 + i)));
}

static TARGET void tops(const struct kernel_rolling *rolling,
			const uint8_t *data, size_t count, uint8_t *tops_out)
{
	uint8_t last[PIECE] = { 0 };
	struct front f;
	size_t i;

	if (rolling->window != KERNEL_WINDOW) {
		rdc_roll_tops(rolling, data, count, tops_out);
		return;
	}
	begin(&f);
	memcpy(last + PIECE - KERNEL_WINDOW, data - KERNEL_WINDOW,
	       KERNEL_WINDOW);
	next_piece(&f, rolling, last, last);
	for (i = 0; i + PIECE <= count; i += PIECE)
		next_piece(&f, rolling, data + i, tops_out + i);
	if (i == count)
		return;
	memcpy(last, data + i, count - i);
	next_piece(&f, rolling, last, last);
	memcpy(tops_out + i, last, count - i);
}

static TARGET inline uint8_t largest_byte(__m256i x)
{
	__m128i y = _mm_max_epu8(_mm256_castsi256_si128(x),
				 _mm256_extracti128_si256(x, 1));

	/* There is an instruction for the least of 16 bits. */
	y = _mm_xor_si128(y, _mm_set1_epi8(-1));
	y = _mm_min_epu8(y, _mm_srli_epi16(y, 8));
	return (uint8_t)~_mm_cvtsi128_si32(_mm_minpos_epu16(y));
}

static TARGET inline uint8_t largest_of(const uint8_t *bytes, size_t count)
{
	__m256i most = _mm256_setzero_si256();
	uint8_t top;
	size_t i;

	for (i = 0; i + STEP <= count; i += STEP)
		most = _mm256_max_epu8(most, load(bytes + i));
	top = largest_byte(most);
	for (; i < count; i++)
		top = bytes[i] > top ? bytes[i] : top;
	return top;
}

/* Bit k is set when bytes[k] is the byte, up to count and to STEP. */
static TARGET inline uint32_t equal_bytes(const uint8_t *bytes, size_t count,
					  uint8_t byte)
{
	uint32_t equal = 0;
	size_t i;

	if (count >= STEP)
		return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(
			load(bytes), _mm256_set1_epi8((char)byte)));
	for (i = 0; i < count; i++)
		equal |= (uint32_t)(bytes[i] == byte) << i;
	return equal;
}

static TARGET size_t largest(const uint8_t *bytes, size_t count,
			     uint32_t places_out[KERNEL_PLACES])
{
	uint8_t most = largest_of(bytes, count);
	size_t i, found = 0;
	uint32_t equal;

	for (i = 0; i < count; i += STEP) {
		equal = equal_bytes(bytes + i, count - i, most);
		for (; equal; equal &= equal - 1) {
			places_out[found++] =
				(uint32_t)i + (uint32_t)__builtin_ctz(equal);
			if (found == KERNEL_PLACES)
				return found;
		}
	}
	return found;
}

const struct kernel_rdc rdc_avx2 = { tops, largest, rdc_roll_hashes };

#endif

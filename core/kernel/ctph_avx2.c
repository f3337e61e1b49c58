/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/ctph_impl.h"

#ifdef __x86_64__

#include <immintrin.h>
#include <string.h>

#define TARGET __attribute__((target("avx2,bmi,popcnt")))

#define LANES 4
#define STEP 64 /* bytes of a lane, a bit for each */
#define BLOCK (LANES * STEP)
#define MOST 6   /* pieces at a time */
#define FEW 2    /* bytes that may trigger, to be looked at one by one */
#define LONG 512 /* bytes, of a piece that is worth a vector */
#define BITS 8   /* of a state, the low ones */
#define HIGH 4   /* bits above them */
#define PART 64  /* pieces */

/* ---- triggers ---- */

#define FILTER 32 /* bytes at a time */

static TARGET inline __m256i load(const uint8_t *bytes)
{
	return _mm256_loadu_si256((const __m256i *)bytes);
}

/* The low 8 bits of the rolling values after 32 bytes: a sum of the bytes
 * modulo 256, and of the shifted ones only two reach down there. */
static TARGET inline __m256i low_bits(const uint8_t *bytes)
{
	const __m256i shifted = _mm256_set1_epi8((char)0xe0);
	__m256i newest = load(bytes), before = load(bytes - 1);
	__m256i sum = _mm256_add_epi8(newest, before);
	__m256i sums = _mm256_add_epi8(newest, sum);
	int i;

	before = _mm256_and_si256(_mm256_slli_epi16(before, 5), shifted);
#pragma GCC unroll 8
	for (i = 2; i < KERNEL_CTPH_WINDOW; i++) {
		sum = _mm256_add_epi8(sum, load(bytes - i));
		sums = _mm256_add_epi8(sums, sum);
	}
	sums = _mm256_add_epi8(sums, sum);
	return _mm256_add_epi8(sums, _mm256_xor_si256(newest, before));
}

/* Which of 8 bytes trigger. */
static TARGET inline uint32_t triggers(const uint8_t *bytes, __m256i low_mask)
{
	const __m256i third = _mm256_set1_epi32(0x55555555);
	const __m256i inverse = _mm256_set1_epi32((int)0xaaaaaaab);
	const __m256i zero = _mm256_setzero_si256();
	__m256i sum = zero, sums = _mm256_set1_epi32(1), shifted = zero;
	__m256i x, next, product;
	int i;

#pragma GCC unroll 8
	for (i = 0; i < KERNEL_CTPH_WINDOW; i++) {
		x = _mm256_cvtepu8_epi32(
			_mm_loadl_epi64((const __m128i *)(bytes - i)));
		sum = _mm256_add_epi32(sum, x);
		sums = _mm256_add_epi32(sums, sum);
		shifted =
			_mm256_xor_si256(shifted, _mm256_slli_epi32(x, 5 * i));
	}
	next = _mm256_add_epi32(_mm256_add_epi32(sum, sums), shifted);
	product = _mm256_mullo_epi32(next, inverse);
	x = _mm256_cmpeq_epi32(_mm256_max_epu32(product, third), third);
	x = _mm256_and_si256(
		x, _mm256_cmpeq_epi32(_mm256_and_si256(next, low_mask), zero));
	x = _mm256_andnot_si256(_mm256_cmpeq_epi32(next, zero), x);
	return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(x));
}

static TARGET uint32_t triggers_32(const uint8_t *bytes, uint32_t low_mask)
{
	const __m256i mask = _mm256_set1_epi32((int)low_mask);
	uint32_t found = 0;
	int i;

	for (i = 0; i < FILTER; i += 8)
		found |= triggers(bytes + i, mask) << i;
	return found;
}

static TARGET size_t filter(const uint8_t *bytes, size_t begin, size_t end,
			    unsigned level, uint32_t *candidates_out)
{
	uint32_t low_mask = (UINT32_C(1) << level) - 1, may;
	/* All of the low bits are ones, where a trigger may be. */
	const __m256i ones = _mm256_set1_epi8((char)(uint8_t)low_mask);
	size_t i, count = 0;
	__m256i low;

	for (i = begin; i + FILTER <= end; i += FILTER) {
		low = _mm256_and_si256(low_bits(bytes + i), ones);
		may = (uint32_t)_mm256_movemask_epi8(
			_mm256_cmpeq_epi8(low, ones));
		if (_mm_popcnt_u32(may) > FEW)
			may = triggers_32(bytes + i, low_mask);
		for (; may; may &= may - 1)
			candidates_out[count++] =
				(uint32_t)(i + _tzcnt_u32(may));
	}
	for (; i < end; i++) {
		candidates_out[count] = (uint32_t)i;
		count += (ctph_next(bytes + i) & low_mask) == 0;
	}
	return count;
}

static TARGET size_t find(const uint8_t *bytes, size_t len, unsigned level,
			  struct kernel_trigger *triggers_out, size_t max)
{
	return ctph_find(filter, bytes, len, level, triggers_out, max);
}

static TARGET bool find_last(const uint8_t *bytes, size_t len, unsigned level,
			     struct kernel_trigger *trigger_out)
{
	return ctph_find_last(filter, bytes, len, level, trigger_out);
}

/* ---- pieces ---- */

/*
 * A bit of a vector belongs to a byte of a piece, and a vector to a bit of the
 * state.  That bit changes with a byte if the byte, or what lower bits of the
 * state carry there, says so.  So once the lower bits are known before each of
 * 256 bytes, the changes of this one are known for all of them at once; and the
 * bit before a byte is the xor of the changes before it.
 *
 * 403 * h = q + 16 * w, where q = h + 2 * h and w = h + 8 * q.
 *
 * So it is for the low 8 bits of the state.  What they add to the high ones is
 * summed up, see ctph_high_bits().
 */
struct states {
	__m256i bits[BITS];  /* all zeros or all ones */
	__m256i added[HIGH]; /* to the high bits, by all blocks so far */
};

struct adder {
	__m256i h[BITS], q[BITS], w; /* w: the bit that is on */
	__m256i carry_q, carry_w, carry;
};

static TARGET inline __m256i xor3(__m256i a, __m256i b, __m256i c)
{
	return _mm256_xor_si256(_mm256_xor_si256(a, b), c);
}

static TARGET inline __m256i majority(__m256i a, __m256i b, __m256i c)
{
	return _mm256_xor_si256(a, _mm256_and_si256(_mm256_xor_si256(a, b),
						    _mm256_xor_si256(a, c)));
}

/* Bit i of 403 * h ^ byte ^ h. */
static TARGET inline __m256i change_of(struct adder *a, int i,
				       const __m256i planes[8])
{
	__m256i change = planes[i];

	if (i == 1)
		change = _mm256_xor_si256(change, a->h[0]);
	if (i > 1)
		change = xor3(change, a->h[i - 1], a->carry_q);
	if (i < 4)
		return change;
	a->w = a->h[i - 4];
	if (i == 7)
		a->w = _mm256_xor_si256(a->w, a->q[0]);
	return i == 4 ? _mm256_xor_si256(change, a->w) :
			xor3(change, a->w, a->carry);
}

/* Takes bit i of h and makes what is carried to the next. */
static TARGET inline void take_bit(struct adder *a, int i, __m256i h)
{
	a->h[i] = h;
	a->q[i] = h;
	if (i == 1) {
		a->q[i] = _mm256_xor_si256(h, a->h[0]);
		a->carry_q = _mm256_and_si256(h, a->h[0]);
	}
	if (i > 1) {
		a->q[i] = xor3(h, a->h[i - 1], a->carry_q);
		a->carry_q = majority(h, a->h[i - 1], a->carry_q);
	}
	if (i == 4)
		a->carry = _mm256_and_si256(a->q[4], a->w);
	if (i > 4)
		a->carry = majority(a->q[i], a->w, a->carry);
	if (i == 7)
		a->carry_w = _mm256_and_si256(a->h[3], a->q[0]);
}

/* Adds bits 8 to 11 of 403 * h, were h only its low bits.  Each bit is of a
 * number of its own, as if they were summed up alone. */
static TARGET inline void add_high_bits(const struct adder *a, struct states *s)
{
	__m256i q[HIGH], w, bit, carry_w = a->carry_w, carry = a->carry;
	__m256i carry_sum = _mm256_setzero_si256();
	int i;

	q[0] = _mm256_xor_si256(a->h[7], a->carry_q);
	q[1] = _mm256_and_si256(a->h[7], a->carry_q);
	q[2] = q[3] = _mm256_setzero_si256();
#pragma GCC unroll 4
	for (i = 0; i < HIGH; i++) {
		w = xor3(a->h[4 + i], a->q[1 + i], carry_w);
		carry_w = majority(a->h[4 + i], a->q[1 + i], carry_w);
		bit = xor3(q[i], w, carry);
		carry = majority(q[i], w, carry);
		w = xor3(s->added[i], bit, carry_sum);
		carry_sum = majority(s->added[i], bit, carry_sum);
		s->added[i] = w;
	}
}

static TARGET inline __m256i xor_shifted(__m256i x, int bits)
{
	return _mm256_xor_si256(x, _mm256_slli_epi64(x, bits));
}

/* Lanes move up by count, what comes in below is from there. */
static TARGET inline __m256i lanes_up(__m256i x, int count, __m256i below)
{
	return count == 1 ?
		       _mm256_blend_epi32(_mm256_permute4x64_epi64(x, 0x90),
					  below, 0x03) :
		       _mm256_blend_epi32(_mm256_permute4x64_epi64(x, 0x40),
					  below, 0x0f);
}

/*
 * The xor of *state and the bits before each one; *state becomes that after the
 * block.  First in each lane, then over the parities of the lanes.
 */
static TARGET inline __m256i before_in_block(__m256i changes, __m256i *state)
{
	const __m256i zero = _mm256_setzero_si256();
	__m256i in_lane = changes, lanes, before;

	in_lane = xor_shifted(in_lane, 1);
	in_lane = xor_shifted(in_lane, 2);
	in_lane = xor_shifted(in_lane, 4);
	in_lane = xor_shifted(in_lane, 8);
	in_lane = xor_shifted(in_lane, 16);
	in_lane = xor_shifted(in_lane, 32);
	lanes = _mm256_cmpgt_epi64(zero, in_lane);
	lanes = _mm256_xor_si256(lanes, lanes_up(lanes, 1, zero));
	lanes = xor3(lanes, lanes_up(lanes, 2, zero), *state);
	before = lanes_up(lanes, 1, *state);
	*state = _mm256_permute4x64_epi64(lanes, 0xff);
	return xor3(in_lane, changes, before);
}

/* Takes a whole block of some pieces that have the same bytes. */
__attribute__((always_inline)) static TARGET inline void take_block(
	struct states *s, int count, const __m256i planes[8])
{
	struct adder a[MOST];
	__m256i change;
	int i, k;

#pragma GCC unroll 8
	for (i = 0; i < BITS; i++) {
#pragma GCC unroll 6
		for (k = 0; k < count; k++) {
			change = change_of(&a[k], i, planes);
			take_bit(&a[k], i,
				 before_in_block(change, &s[k].bits[i]));
		}
	}
#pragma GCC unroll 6
	for (k = 0; k < count; k++)
		add_high_bits(&a[k], &s[k]);
}

static TARGET void take_blocks(struct states *s, size_t count,
			       const __m256i planes[8])
{
	if (count == 6)
		take_block(s, 6, planes);
	else if (count == 5)
		take_block(s, 5, planes);
	else if (count == 4)
		take_block(s, 4, planes);
	else if (count == 3)
		take_block(s, 3, planes);
	else if (count == 2)
		take_block(s, 2, planes);
	else
		take_block(s, 1, planes);
}

static TARGET void load_block(const uint8_t *bytes, __m256i planes[8])
{
	uint32_t bits[8][BLOCK / 32];
	__m256i x;
	size_t i;
	int k;

	for (i = 0; i < BLOCK / 32; i++) {
		x = load(bytes + 32 * i);
#pragma GCC unroll 8
		for (k = 7; k >= 0; k--) {
			bits[k][i] = (uint32_t)_mm256_movemask_epi8(x);
			x = _mm256_add_epi8(x, x);
		}
	}
	for (k = 0; k < 8; k++)
		planes[k] = load((const uint8_t *)bits[k]);
}

static TARGET void start_states(struct states *s, uint32_t value)
{
	int i;

	for (i = 0; i < BITS; i++)
		s->bits[i] = _mm256_set1_epi32(-(int)(value >> i & 1));
	for (i = 0; i < HIGH; i++)
		s->added[i] = _mm256_setzero_si256();
}

/* The state after whole blocks of len bytes; high: bits before them. */
static TARGET uint32_t end_states(const struct states *s, uint32_t high,
				  size_t len)
{
	uint64_t planes[HIGH * LANES];
	uint32_t value = 0;
	int i;

	for (i = 0; i < BITS; i++)
		value |= (_mm256_cvtsi256_si32(s->bits[i]) & 1u) << i;
	for (i = 0; i < HIGH; i++)
		_mm256_storeu_si256((__m256i *)(planes + i * LANES),
				    s->added[i]);
	high = ctph_high_bits(high, len, planes, LANES);
	return value | high << BITS;
}

/* Up to MOST pieces of the same bytes; returns how many of them are hashed:
 * whole blocks. */
static TARGET size_t hash_blocks(struct kernel_piece *pieces, size_t count)
{
	const uint8_t *bytes = pieces[0].bytes;
	struct states states[MOST];
	__m256i planes[2][8]; /* of a block and the next: no waiting for them */
	size_t k, at, len = pieces[0].len / BLOCK * BLOCK;

	for (k = 0; k < count; k++)
		start_states(&states[k], pieces[k].state);
	load_block(bytes, planes[0]);
	for (at = 0; at < len; at += BLOCK) {
		if (at + BLOCK < len)
			load_block(bytes + at + BLOCK,
				   planes[(at / BLOCK + 1) % 2]);
		take_blocks(states, count, planes[at / BLOCK % 2]);
	}
	for (k = 0; k < count; k++)
		pieces[k].state =
			end_states(&states[k], pieces[k].state >> BITS, len);
	return len;
}

/* How many of the first pieces, up to MOST, are the same long bytes. */
static size_t count_together(const struct kernel_piece *pieces, size_t count)
{
	size_t i;

	for (i = 0; i < count && i < MOST; i++)
		if (pieces[i].bytes != pieces[0].bytes ||
		    pieces[i].len != pieces[0].len || pieces[i].len < LONG)
			break;
	return i;
}

/* Takes whole blocks off long pieces. */
static TARGET void shorten(struct kernel_piece *pieces, size_t count)
{
	size_t i, k, part, done;

	for (i = 0; i < count; i += part) {
		part = count_together(pieces + i, count - i);
		if (!part) {
			part = 1;
			continue;
		}
		done = hash_blocks(pieces + i, part);
		for (k = i; k < i + part; k++) {
			pieces[k].bytes += done;
			pieces[k].len -= (uint32_t)done;
		}
	}
}

static TARGET void hash(struct kernel_piece *pieces, size_t count)
{
	struct kernel_piece rest[PART];
	size_t i, part;

	for (; count > 0; pieces += part, count -= part) {
		part = count < PART ? count : PART;
		memcpy(rest, pieces, part * sizeof(rest[0]));
		shorten(rest, part);
		ctph_hash_short(rest, part);
		for (i = 0; i < part; i++)
			pieces[i].state = rest[i].state;
	}
}

const struct kernel_ctph ctph_avx2 = { find, find_last, hash };

#endif

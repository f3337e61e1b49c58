/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/ctph/ctph_impl.h"

#ifdef __x86_64__

#include <immintrin.h>

#define TARGET                                                            \
	__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,"       \
			      "avx512vbmi,avx512vpopcntdq,gfni,bmi,bmi2," \
			      "popcnt")))

#define INLINE inline __attribute__((always_inline))

#define LANES 8
#define WORDS 4
#define STEP 64 /* bytes of a lane at a time, a bit for each */
#define MOST 8
#define LONG 2048
#define PART 256

typedef __m512i vector;

static TARGET inline __m512i xor3(__m512i a, __m512i b, __m512i c)
{
	return _mm512_ternarylogic_epi64(a, b, c, 0x96);
}

static TARGET INLINE vector majority(vector a, vector b, vector c)
{
	return _mm512_ternarylogic_epi64(a, b, c, 0xe8);
}

/* Without a branch: the lengths of pieces cannot be predicted. */
static TARGET inline __mmask64 first_bytes(size_t count)
{
	return _bzhi_u64(UINT64_MAX, (unsigned)(count < STEP ? count : STEP));
}

/* The parities of the bytes of each lane, byte 0 in the highest bit; all bytes
 * are the same. */
static TARGET inline __m512i parities(__m512i x)
{
	return _mm512_gf2p8affine_epi64_epi8(_mm512_set1_epi64(-1), x, 0);
}

/* All bits of a byte of the result: the parity of those bits of a byte of
 * parities that mask selects there. */
static TARGET inline __m512i select_parities(__m512i x, __m512i mask)
{
	return _mm512_gf2p8affine_epi64_epi8(mask, x, 0);
}

/* The xor of the bits before each one in its byte. */
static TARGET inline __m512i before_in_byte(__m512i x)
{
	return _mm512_gf2p8affine_epi64_epi8(
		x, _mm512_set1_epi64(0x000103070f1f3f7f), 0);
}

/* The xor of the bits of all bytes before each one in its lane; x: their
 * parities. */
static TARGET inline __m512i before_in_lane(__m512i x)
{
	return select_parities(
		x, _mm512_set1_epi64((long long)0xfefcf8f0e0c08000));
}

/* Bit i of byte k of each eight becomes bit k of byte i. */
static TARGET inline __m512i transpose_lane(__m512i bytes)
{
	const __m512i reversed = _mm512_set4_epi32(0x08090a0b, 0x0c0d0e0f,
						   0x00010203, 0x04050607);
	const __m512i single = _mm512_set1_epi64((long long)0x8040201008040201);

	return _mm512_gf2p8affine_epi64_epi8(
		single, _mm512_shuffle_epi8(bytes, reversed), 0);
}

/* Byte i of every eight, for each i. */
static TARGET inline __m512i gather_planes(__m512i x)
{
	const __m512i first = _mm512_set_epi64(
		0x3f372f271f170f07, 0x3e362e261e160e06, 0x3d352d251d150d05,
		0x3c342c241c140c04, 0x3b332b231b130b03, 0x3a322a221a120a02,
		0x3931292119110901, 0x3830282018100800);

	return _mm512_permutexvar_epi8(first, x);
}

static TARGET inline __m512i bit_planes(const uint8_t *bytes, size_t len)
{
	return gather_planes(transpose_lane(
		_mm512_maskz_loadu_epi8(first_bytes(len), bytes)));
}

/* From the planes of each lane to the lanes of each plane. */
static TARGET inline void transpose_lanes(__m512i x[8])
{
	__m512i y[8], z[8];
	int i;

#pragma GCC unroll 5
	for (i = 0; i < 4; i++) {
		y[2 * i] = _mm512_unpacklo_epi64(x[2 * i], x[2 * i + 1]);
		y[2 * i + 1] = _mm512_unpackhi_epi64(x[2 * i], x[2 * i + 1]);
	}
	/* Quarters of a vector: 0 2, then 1 3. */
#pragma GCC unroll 2
	for (i = 0; i < 2; i++) {
		z[i] = _mm512_shuffle_i64x2(y[i], y[i + 2], 0x88);
		z[i + 2] = _mm512_shuffle_i64x2(y[i], y[i + 2], 0xdd);
		z[i + 4] = _mm512_shuffle_i64x2(y[i + 4], y[i + 6], 0x88);
		z[i + 6] = _mm512_shuffle_i64x2(y[i + 4], y[i + 6], 0xdd);
	}
#pragma GCC unroll 5
	for (i = 0; i < 4; i++) {
		x[i] = _mm512_shuffle_i64x2(z[i], z[i + 4], 0x88);
		x[i + 4] = _mm512_shuffle_i64x2(z[i], z[i + 4], 0xdd);
	}
}

/* ---- long pieces: a vector is 512 bytes of one ---- */

static TARGET INLINE vector shift_left(vector x, int bits)
{
	return _mm512_slli_epi64(x, bits);
}

static TARGET INLINE vector shift_right(vector x, int bits)
{
	return _mm512_srli_epi64(x, bits);
}

static TARGET INLINE vector all(uint64_t word)
{
	return _mm512_set1_epi64((long long)word);
}

static TARGET INLINE vector now(vector x)
{
	return x;
}

static TARGET INLINE vector unpack_low(vector a, vector b)
{
	return _mm512_unpacklo_epi8(a, b);
}

static TARGET INLINE vector unpack_high(vector a, vector b)
{
	return _mm512_unpackhi_epi8(a, b);
}

static TARGET INLINE __m128i load_16(const uint8_t *bytes)
{
	return _mm_loadu_si128((const __m128i *)bytes);
}

static TARGET INLINE vector load_16s(const uint8_t *bytes, size_t stride)
{
	vector x = _mm512_broadcast_i64x2(load_16(bytes));

	x = _mm512_mask_broadcast_i64x2(x, 0x0c, load_16(bytes + stride));
	x = _mm512_mask_broadcast_i64x2(x, 0x30, load_16(bytes + 2 * stride));
	return _mm512_mask_broadcast_i64x2(x, 0xc0,
					   load_16(bytes + 3 * stride));
}

/* Lanes follow each other, and before_in_lane() lacks the lanes before; as the
 * state before all of them a bit serves whose parity it is. */
static TARGET INLINE vector before_lanes(vector x, vector *state)
{
	const vector firsts = all(0x3830282018100800);
	const vector masks = _mm512_set_epi64(
		-1, (long long)0xfdfdfdfdfdfdfdfd,
		(long long)0xf9f9f9f9f9f9f9f9, (long long)0xf1f1f1f1f1f1f1f1,
		(long long)0xe1e1e1e1e1e1e1e1, (long long)0xc1c1c1c1c1c1c1c1,
		(long long)0x8181818181818181, 0x0101010101010101);
	vector of_bytes = parities(x), of_lanes;

	/* Lanes 0 to 6, and the state. */
	of_lanes = parities(_mm512_mask_permutexvar_epi8(
		*state & all(0x0101010101010101), 0x7f7f7f7f7f7f7f7f, firsts,
		of_bytes));
	*state = select_parities(
		of_lanes ^ _mm512_permutexvar_epi64(all(7), of_bytes), all(-1));
	return xor3(before_in_byte(x), before_in_lane(of_bytes),
		    select_parities(of_lanes, masks));
}

#include "core/kernel/ctph/ctph_pieces.h"

/* ---- short pieces: a lane is 64 bytes of one ---- */

/* *state has all bits of a lane set where the bit is.  A lane takes 64 - unused
 * bytes. */
static TARGET inline __m512i before_in_lanes(__m512i changes, __m512i unused,
					     __m512i *state)
{
	__m512i h = xor3(before_in_byte(changes),
			 before_in_lane(parities(changes)), *state);

	*state = _mm512_srai_epi64(
		_mm512_sllv_epi64(_mm512_xor_si512(h, changes), unused), 63);
	return h;
}

static TARGET inline void spread_states(struct states *s,
					const uint64_t values[LANES])
{
	__m512i x = _mm512_loadu_si512(values);
	unsigned i;

#pragma GCC unroll 8
	for (i = 0; i < LOW; i++)
		s->bits[i] =
			_mm512_srai_epi64(_mm512_slli_epi64(x, 63 - i), 63);
}

static TARGET inline __m512i gather_states(const struct states *s)
{
	__m512i x = _mm512_setzero_si512();
	int i;

#pragma GCC unroll 8
	for (i = 0; i < LOW; i++)
		x = _mm512_ternarylogic_epi64(x, s->bits[i],
					      _mm512_set1_epi64(1 << i), 0xf8);
	return x;
}

/* See ctph_power(). */
static TARGET inline __m512i powers(__m512i exponents)
{
	const __m512i all_powers = _mm512_set1_epi64(0xb931);
	const __m512i three = _mm512_set1_epi64(3);

	exponents = _mm512_slli_epi64(_mm512_and_si512(exponents, three), 2);
	return _mm512_srlv_epi64(all_powers, exponents);
}

/* The sum of the bits that mask selects of each plane. */
static TARGET inline __m512i sum_planes(const __m512i planes[HIGH],
					__m512i mask)
{
	__m512i sum = _mm512_setzero_si512();
	int i;

#pragma GCC unroll 4
	for (i = HIGH - 1; i >= 0; i--)
		sum = _mm512_add_epi64(
			_mm512_add_epi64(sum, sum),
			_mm512_popcnt_epi64(_mm512_and_si512(planes[i], mask)));
	return sum;
}

/* See ctph_high_bits(); in 4 bits, whatever is above them. */
static TARGET inline __m512i end_high_lanes(__m512i high, __m512i lens,
					    const __m512i planes[HIGH])
{
	const __m512i even = _mm512_set1_epi64(0x5555555555555555);
	const __m512i odd = _mm512_slli_epi64(even, 1);
	const __m512i late = _mm512_set1_epi64((long long)0xcccccccccccccccc);
	const __m512i two = _mm512_set1_epi64(2);
	__m512i evens = sum_planes(planes, even);
	__m512i sums = _mm512_add_epi64(sum_planes(planes, odd), evens);
	__m512i lates = _mm512_popcnt_epi64(_mm512_and_si512(planes[0], late));

	sums = _mm512_add_epi64(sums, _mm512_add_epi64(evens, evens));
	sums = _mm512_mul_epu32(sums, powers(_mm512_add_epi64(lens, two)));
	high = _mm512_mul_epu32(high, powers(lens));
	return _mm512_add_epi64(_mm512_add_epi64(high, sums),
				_mm512_slli_epi64(lates, 3));
}

struct lanes {
	struct kernel_piece *first; /* pieces that are not in a lane yet */
	size_t count;
	struct kernel_piece *pieces[LANES]; /* NULL: nothing to do */
	size_t at[LANES];
	uint64_t lens[LANES], starts[LANES]; /* states they start from */
};

/* Puts the next piece in a lane. */
static void refill(struct lanes *l, size_t lane)
{
	struct kernel_piece *p = NULL;

	while (l->count > 0 && !p) {
		p = &l->first[--l->count];
		if (p->len == 0)
			p = NULL;
	}
	l->pieces[lane] = p;
	l->at[lane] = 0;
	l->lens[lane] = p ? p->len : 0;
	l->starts[lane] = p ? p->state : 0;
}

/* Ones for the first bytes of each lane. */
static TARGET inline __m512i first_bits(__m512i unused)
{
	return _mm512_srlv_epi64(_mm512_set1_epi64(-1), unused);
}

static TARGET inline void take_lanes(struct states *s, const __m512i planes[8],
				     __m512i unused)
{
	__m512i change, high[HIGH];
	struct adder a;
	int i;

#pragma GCC unroll 8
	for (i = 0; i < LOW; i++) {
		change = change_of(&a, i, planes[i]);
		take_bit(&a, i, before_in_lanes(change, unused, &s->bits[i]));
	}
	high_bits(&a, high);
#pragma GCC unroll 4
	for (i = 0; i < HIGH; i++)
		high[i] &= first_bits(unused);
	add_high_bits(&s->added, 0, high);
}

/* Takes 64 bytes of each lane, or what is left; returns those that end. */
static TARGET inline unsigned step_lanes(struct lanes *l, struct states *s)
{
	__m512i planes[LANES];
	uint64_t unused[LANES];
	unsigned ended = 0;
	size_t k, left;

#pragma GCC unroll 8
	for (k = 0; k < LANES; k++) {
		planes[k] = _mm512_setzero_si512();
		unused[k] = STEP;
		if (!l->pieces[k])
			continue;
		left = l->pieces[k]->len - l->at[k];
		planes[k] = bit_planes(l->pieces[k]->bytes + l->at[k], left);
		unused[k] = left < STEP ? STEP - left : 0;
		ended |= (unsigned)(left <= STEP) << k;
		l->at[k] += STEP;
	}
	transpose_lanes(planes);
	take_lanes(s, planes, _mm512_loadu_si512(unused));
	return ended;
}

/* Ends the pieces of some lanes and puts the next ones there; all are told what
 * to go on from.  Returns those without any. */
static TARGET unsigned end_lanes(struct lanes *l, struct states *s,
				 unsigned ended)
{
	__m512i low = gather_states(s), high;
	uint64_t values[LANES];
	unsigned idle = 0;
	size_t k;

	high = end_high_lanes(
		_mm512_srli_epi64(_mm512_loadu_si512(l->starts), LOW),
		_mm512_loadu_si512(l->lens), s->added.of[0]);
	high = _mm512_slli_epi64(high, LOW);
	_mm512_storeu_si512(values, _mm512_or_si512(low, high));
	for (k = 0; k < HIGH; k++)
		s->added.of[0][k] = _mm512_maskz_mov_epi64((__mmask8)~ended,
							   s->added.of[0][k]);
	for (; ended; ended &= ended - 1) {
		k = (size_t)__builtin_ctz(ended);
		l->pieces[k]->state = (uint32_t)values[k] & KERNEL_CTPH_MASK;
		refill(l, k);
		values[k] = l->starts[k];
		idle |= (unsigned)(l->pieces[k] == NULL) << k;
	}
	spread_states(s, values);
	return idle;
}

static TARGET void hash_short(struct kernel_piece *pieces, size_t count)
{
	struct lanes l = { .first = pieces, .count = count };
	unsigned ended, busy = 0;
	struct states s;
	size_t k;

	for (k = 0; k < LANES; k++) {
		refill(&l, k);
		busy |= (unsigned)(l.pieces[k] != NULL) << k;
	}
	spread_states(&s, l.starts);
	for (k = 0; k < HIGH; k++)
		s.added.of[0][k] = _mm512_setzero_si512();
	while (busy) {
		ended = step_lanes(&l, &s);
		if (ended)
			busy &= ~end_lanes(&l, &s, ended);
	}
}

TARGET void ctph_hash_avx512(struct kernel_piece *pieces, size_t count)
{
	hash_with_planes(pieces, count, hash_short);
}

#endif

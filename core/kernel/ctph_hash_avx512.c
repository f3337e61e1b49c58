/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/ctph_impl.h"

#ifdef __x86_64__

#include <immintrin.h>

#define TARGET                                                      \
	__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl," \
			      "avx512vbmi,gfni,bmi,popcnt")))

#define LANES 8
#define STEP 64 /* bytes of a lane at a time, a bit for each */
#define BLOCK (LANES * STEP)
#define LONG 1024 /* bytes, of a piece that is worth a vector */
#define MOST 5    /* pieces at a time: more do not fit in the registers */
#define BITS 8    /* of a state, the low ones */
#define HIGH 4    /* bits above them */

static TARGET inline __m512i xor3(__m512i a, __m512i b, __m512i c)
{
	return _mm512_ternarylogic_epi64(a, b, c, 0x96);
}

static TARGET inline __m512i majority(__m512i a, __m512i b, __m512i c)
{
	return _mm512_ternarylogic_epi64(a, b, c, 0xe8);
}

static TARGET inline __mmask64 first_bytes(size_t count)
{
	return count < STEP ? (UINT64_C(1) << count) - 1 : UINT64_MAX;
}

/* ---- states, bit by bit ---- */

/*
 * A bit of a vector belongs to a byte of a piece, and a vector to a bit of the
 * state.  That bit changes with a byte if the byte, or what lower bits of the
 * state carry there, says so.  So once the lower bits are known before each of
 * 512 bytes, the changes of this one are known for all of them at once; and the
 * bit before a byte is the xor of the changes before it.
 *
 * 403 * h = q + 16 * w, where q = h + 2 * h and w = h + 8 * q.
 *
 * So it is for the low 8 bits of the state.  What they add to the high ones is
 * summed up, see ctph_high_bits().
 */
struct states {
	__m512i bits[BITS];
	__m512i added[HIGH]; /* to the high bits, by all blocks so far */
};

struct adder {
	__m512i h[BITS], q[BITS], w; /* w: the bit that is on */
	__m512i carry_q, carry_w, carry;
};

/* Bit i of 403 * h ^ byte ^ h. */
static TARGET inline __m512i change_of(struct adder *a, int i,
				       const __m512i planes[8])
{
	__m512i change = planes[i];

	if (i == 1)
		change = _mm512_xor_si512(change, a->h[0]);
	if (i > 1)
		change = xor3(change, a->h[i - 1], a->carry_q);
	if (i < 4)
		return change;
	a->w = a->h[i - 4];
	if (i == 7)
		a->w = _mm512_xor_si512(a->w, a->q[0]);
	return i == 4 ? _mm512_xor_si512(change, a->w) :
			xor3(change, a->w, a->carry);
}

/* Takes bit i of h and makes what is carried to the next. */
static TARGET inline void take_bit(struct adder *a, int i, __m512i h)
{
	a->h[i] = h;
	a->q[i] = h;
	if (i == 1)
		a->q[i] = _mm512_xor_si512(h, a->h[0]);
	if (i > 1)
		a->q[i] = xor3(h, a->h[i - 1], a->carry_q);
	if (i == 1)
		a->carry_q = _mm512_and_si512(h, a->h[0]);
	if (i > 1)
		a->carry_q = majority(h, a->h[i - 1], a->carry_q);
	if (i == 4)
		a->carry = _mm512_and_si512(a->q[4], a->w);
	if (i > 4)
		a->carry = majority(a->q[i], a->w, a->carry);
	if (i == 7)
		a->carry_w = _mm512_and_si512(a->h[3], a->q[0]);
}

/* Bits 8 to 11 of 403 * h, were h only its low bits. */
static TARGET inline void high_bits(const struct adder *a, __m512i out[HIGH])
{
	__m512i q[HIGH], w, carry_w = a->carry_w, carry = a->carry;
	int i;

	q[0] = _mm512_xor_si512(a->h[7], a->carry_q);
	q[1] = _mm512_and_si512(a->h[7], a->carry_q);
	q[2] = q[3] = _mm512_setzero_si512();
#pragma GCC unroll 4
	for (i = 0; i < HIGH; i++) {
		w = xor3(a->h[4 + i], a->q[1 + i], carry_w);
		carry_w = majority(a->h[4 + i], a->q[1 + i], carry_w);
		out[i] = xor3(q[i], w, carry);
		carry = majority(q[i], w, carry);
	}
}

/* Each bit is of a number of its own, as if they were summed up alone. */
static TARGET inline void add_high_bits(struct states *s,
					const __m512i bits[HIGH])
{
	__m512i carry = _mm512_setzero_si512(), sum;
	int i;

#pragma GCC unroll 4
	for (i = 0; i < HIGH; i++) {
		sum = xor3(s->added[i], bits[i], carry);
		carry = majority(s->added[i], bits[i], carry);
		s->added[i] = sum;
	}
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
static TARGET inline __m512i transpose_bits(__m512i bytes)
{
	const __m512i reversed = _mm512_set4_epi32(0x08090a0b, 0x0c0d0e0f,
						   0x00010203, 0x04050607);
	const __m512i single = _mm512_set1_epi64((long long)0x8040201008040201);

	return _mm512_gf2p8affine_epi64_epi8(
		single, _mm512_shuffle_epi8(bytes, reversed), 0);
}

/* Byte i of every eight, for each i. */
static TARGET inline __m512i gather_bytes(__m512i x)
{
	const __m512i first = _mm512_set_epi64(
		0x3f372f271f170f07, 0x3e362e261e160e06, 0x3d352d251d150d05,
		0x3c342c241c140c04, 0x3b332b231b130b03, 0x3a322a221a120a02,
		0x3931292119110901, 0x3830282018100800);

	return _mm512_permutexvar_epi8(first, x);
}

static TARGET inline __m512i bit_planes(const uint8_t *bytes, size_t len)
{
	return gather_bytes(transpose_bits(
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

/*
 * Lanes follow each other, and before_in_lane() lacks the lanes before; as the
 * state before all of them a byte serves whose parity it is.  *state becomes
 * that after the block.
 */
static TARGET inline __m512i before_in_block(__m512i changes, __m512i *state)
{
	const __m512i firsts = _mm512_set1_epi64(0x3830282018100800);
	const __m512i lasts = _mm512_set1_epi64(7);
	const __m512i masks = _mm512_set_epi64(
		-1, (long long)0xfdfdfdfdfdfdfdfd,
		(long long)0xf9f9f9f9f9f9f9f9, (long long)0xf1f1f1f1f1f1f1f1,
		(long long)0xe1e1e1e1e1e1e1e1, (long long)0xc1c1c1c1c1c1c1c1,
		(long long)0x8181818181818181, 0x0101010101010101);
	__m512i of_bytes = parities(changes), of_lanes;

	/* Lanes 0 to 6, and the state. */
	of_lanes = parities(_mm512_mask_permutexvar_epi8(
		*state, 0x7f7f7f7f7f7f7f7f, firsts, of_bytes));
	*state = _mm512_xor_si512(of_lanes,
				  _mm512_permutexvar_epi64(lasts, of_bytes));
	return xor3(before_in_byte(changes), before_in_lane(of_bytes),
		    select_parities(of_lanes, masks));
}

/*
 * What pieces of the same bytes have in common.  Bits 0 and 1 are linear, so
 * their states are xored in, as vectors of all zeros or all ones: that of bit 0
 * changes bit 1 with every byte, and so is there before every other.
 */
struct common {
	__m512i planes[8]; /* bit i of the bytes */
	__m512i before[2]; /* the bits were the states 0 */
	__m512i change[2]; /* of the states, by the whole block */
};

static TARGET inline void make_common(struct common *c)
{
	__m512i changes, state;
	int i;

#pragma GCC unroll 2
	for (i = 0; i < 2; i++) {
		state = _mm512_setzero_si512();
		changes = i ? _mm512_xor_si512(c->planes[1], c->before[0]) :
			      c->planes[0];
		c->before[i] = before_in_block(changes, &state);
		c->change[i] = select_parities(state, _mm512_set1_epi64(-1));
	}
}

static TARGET inline __m512i common_bit(const struct common *c, int i,
					const struct states *s)
{
	const __m512i odd = _mm512_set1_epi64((long long)0xaaaaaaaaaaaaaaaa);

	if (i == 0)
		return _mm512_xor_si512(c->before[0], s->bits[0]);
	return xor3(c->before[1], s->bits[1],
		    _mm512_and_si512(s->bits[0], odd));
}

/* Takes a whole block of some pieces that have the same bytes. */
__attribute__((always_inline)) static TARGET inline void take_block(
	struct states *s, int count, const struct common *c)
{
	struct adder a[MOST];
	__m512i change, high[HIGH];
	int i, k;

#pragma GCC unroll 5
	for (k = 0; k < count; k++) {
		take_bit(&a[k], 0, common_bit(c, 0, &s[k]));
		take_bit(&a[k], 1, common_bit(c, 1, &s[k]));
		s[k].bits[0] = _mm512_xor_si512(s[k].bits[0], c->change[0]);
		s[k].bits[1] = _mm512_xor_si512(s[k].bits[1], c->change[1]);
	}
#pragma GCC unroll 8
	for (i = 2; i < BITS; i++) {
#pragma GCC unroll 5
		for (k = 0; k < count; k++) {
			change = change_of(&a[k], i, c->planes);
			take_bit(&a[k], i,
				 before_in_block(change, &s[k].bits[i]));
		}
	}
#pragma GCC unroll 5
	for (k = 0; k < count; k++) {
		high_bits(&a[k], high);
		add_high_bits(&s[k], high);
	}
}

/* Ones for the first bytes of each lane. */
static TARGET inline __m512i first_bits(__m512i unused)
{
	return _mm512_srlv_epi64(_mm512_set1_epi64(-1), unused);
}

/* How many of a block's 64 bytes are unused in each lane, if len are used. */
static TARGET inline __m512i unused_bytes(size_t len)
{
	const __m512i ends =
		_mm512_set_epi64(512, 448, 384, 320, 256, 192, 128, 64);

	return _mm512_min_epi64(
		_mm512_max_epi64(_mm512_sub_epi64(ends, _mm512_set1_epi64((
								long long)len)),
				 _mm512_setzero_si512()),
		_mm512_set1_epi64(STEP));
}

/* The low bits of the state after len bytes of the last block. */
static TARGET uint32_t take_last_block(struct states *s, size_t len,
				       const struct common *c)
{
	__m512i change, h, state, high[HIGH];
	uint8_t after[BLOCK / 8];
	uint32_t value = 0;
	struct adder a;
	int i;

#pragma GCC unroll 8
	for (i = 0; i < BITS; i++) {
		change = change_of(&a, i, c->planes);
		state = s->bits[i];
		h = i < 2 ? common_bit(c, i, s) :
			    before_in_block(change, &state);
		take_bit(&a, i, h);
		_mm512_storeu_si512(after, _mm512_xor_si512(h, change));
		value |= (after[(len - 1) / 8] >> (len - 1) % 8 & 1u) << i;
	}
	high_bits(&a, high);
#pragma GCC unroll 4
	for (i = 0; i < HIGH; i++)
		high[i] = _mm512_and_si512(high[i],
					   first_bits(unused_bytes(len)));
	add_high_bits(s, high);
	return value;
}

static TARGET inline void load_block(const uint8_t *bytes, size_t len,
				     struct common *c)
{
	size_t k;

#pragma GCC unroll 8
	for (k = 0; k < LANES; k++)
		c->planes[k] = bit_planes(bytes + k * STEP,
					  len > k * STEP ? len - k * STEP : 0);
	transpose_lanes(c->planes);
	make_common(c);
}

static TARGET inline void start_states(struct states *s, uint32_t value)
{
	int i, bit;

	for (i = 0; i < BITS; i++) {
		bit = value >> i & 1;
		s->bits[i] = _mm512_set1_epi8((char)(i < 2 ? -bit : bit));
	}
	for (i = 0; i < HIGH; i++)
		s->added[i] = _mm512_setzero_si512();
}

static TARGET void take_blocks(struct states *states, size_t count,
			       const struct common *c)
{
	for (; count >= MOST; states += MOST, count -= MOST)
		take_block(states, MOST, c);
	if (count == 4)
		take_block(states, 4, c);
	else if (count == 3)
		take_block(states, 3, c);
	else if (count == 2)
		take_block(states, 2, c);
	else if (count == 1)
		take_block(states, 1, c);
}

static TARGET inline uint32_t end_states(const struct states *s)
{
	uint32_t value = 0, byte;
	int i;

	for (i = 0; i < BITS; i++) {
		byte = _mm512_cvtsi512_si32(s->bits[i]) & (i < 2 ? 1 : 0xff);
		value |= (uint32_t)__builtin_parity(byte) << i;
	}
	return value;
}

static TARGET inline uint32_t sum_high_bits(const struct states *s,
					    const struct kernel_piece *p)
{
	uint64_t planes[HIGH * LANES];
	int i;

	for (i = 0; i < HIGH; i++)
		_mm512_storeu_si512(planes + i * LANES, s->added[i]);
	return ctph_high_bits(p->state >> BITS, p->len, planes, LANES);
}

/* Pieces that start at the same byte, those that have not ended. */
struct growing {
	size_t count;
	struct kernel_piece *pieces[LANES];
	struct states states[LANES];
};

/* Ends those that have less than a block from offset at on. */
static TARGET void end_long(struct growing *g, size_t at,
			    const struct common *c)
{
	struct kernel_piece *p;
	struct states *s;
	size_t k = 0, left;
	uint32_t low;

	while (k < g->count) {
		p = g->pieces[k];
		s = &g->states[k];
		left = p->len - at;
		if (left >= BLOCK) {
			k++;
			continue;
		}
		low = left ? take_last_block(s, left, c) : end_states(s);
		p->state = low | sum_high_bits(s, p) << BITS;
		g->count--;
		g->pieces[k] = g->pieces[g->count];
		g->states[k] = g->states[g->count];
	}
}

/* Up to 8 pieces that start at the same byte. */
static TARGET void hash_long(struct kernel_piece *pieces, size_t count)
{
	struct growing g;
	struct common common;
	size_t k, at, longest = 0;

	g.count = count;

	for (k = 0; k < count; k++) {
		g.pieces[k] = &pieces[k];
		start_states(&g.states[k], pieces[k].state);
		if (longest < pieces[k].len)
			longest = pieces[k].len;
	}
	for (at = 0; g.count > 0; at += BLOCK) {
		load_block(pieces[0].bytes + at, longest - at, &common);
		end_long(&g, at, &common);
		take_blocks(g.states, g.count, &common);
	}
}

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
	for (i = 0; i < BITS; i++)
		s->bits[i] =
			_mm512_srai_epi64(_mm512_slli_epi64(x, 63 - i), 63);
}

static TARGET inline void gather_states(const struct states *s,
					uint64_t values_out[LANES])
{
	__m512i x = _mm512_setzero_si512();
	int i;

#pragma GCC unroll 8
	for (i = 0; i < BITS; i++)
		x = _mm512_ternarylogic_epi64(x, s->bits[i],
					      _mm512_set1_epi64(1 << i), 0xf8);
	_mm512_storeu_si512(values_out, x);
}

struct lanes {
	struct kernel_piece *first; /* pieces that are not in a lane yet */
	size_t count;
	struct kernel_piece *pieces[LANES]; /* NULL: nothing to do */
	size_t at[LANES];
	uint64_t values[LANES];
};

/* Puts the next piece in a lane. */
static void refill(struct lanes *l, size_t lane)
{
	struct kernel_piece *p = NULL;

	while (l->count > 0 && !p) {
		p = &l->first[--l->count];
		if (p->len == 0 || p->len >= LONG)
			p = NULL;
	}
	l->pieces[lane] = p;
	l->at[lane] = 0;
	l->values[lane] = p ? p->state : 0;
}

static TARGET inline void take_lanes(struct states *s, const __m512i planes[8],
				     __m512i unused)
{
	__m512i change, high[HIGH];
	struct adder a;
	int i;

#pragma GCC unroll 8
	for (i = 0; i < BITS; i++) {
		change = change_of(&a, i, planes);
		take_bit(&a, i, before_in_lanes(change, unused, &s->bits[i]));
	}
	high_bits(&a, high);
#pragma GCC unroll 4
	for (i = 0; i < HIGH; i++)
		high[i] = _mm512_and_si512(high[i], first_bits(unused));
	add_high_bits(s, high);
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

/* Ends the piece of a lane; added: all lanes' sums. */
static TARGET inline void end_lane(struct lanes *l, size_t lane,
				   const uint64_t added[HIGH][LANES])
{
	struct kernel_piece *p = l->pieces[lane];
	uint64_t planes[HIGH];
	int i;

	for (i = 0; i < HIGH; i++)
		planes[i] = added[i][lane];
	p->state = (uint32_t)l->values[lane] |
		   ctph_high_bits(p->state >> BITS, p->len, planes, 1) << BITS;
}

static TARGET void hash_short(struct kernel_piece *pieces, size_t count)
{
	struct lanes l = { .first = pieces, .count = count };
	uint64_t added[HIGH][LANES];
	unsigned ended = 0, busy = 0;
	struct states s;
	size_t k;

	for (k = 0; k < LANES; k++) {
		refill(&l, k);
		busy |= (unsigned)(l.pieces[k] != NULL) << k;
	}
	spread_states(&s, l.values);
	for (k = 0; k < HIGH; k++)
		s.added[k] = _mm512_setzero_si512();
	while (busy) {
		ended = step_lanes(&l, &s);
		if (!ended)
			continue;
		gather_states(&s, l.values);
		for (k = 0; k < HIGH; k++) {
			_mm512_storeu_si512(added[k], s.added[k]);
			s.added[k] = _mm512_maskz_mov_epi64((__mmask8)~ended,
							    s.added[k]);
		}
		for (; ended; ended &= ended - 1) {
			k = (size_t)__builtin_ctz(ended);
			end_lane(&l, k, added);
			refill(&l, k);
			if (!l.pieces[k])
				busy &= ~(1u << k);
		}
		spread_states(&s, l.values);
	}
}

/* How many of the first pieces, up to 8, are long and start at the same
 * byte. */
static size_t count_together(const struct kernel_piece *pieces, size_t count)
{
	size_t i;

	for (i = 0; i < count && i < LANES; i++)
		if (pieces[i].bytes != pieces[0].bytes || pieces[i].len < LONG)
			break;
	return i;
}

TARGET void ctph_hash_avx512(struct kernel_piece *pieces, size_t count)
{
	size_t i, part, shorts = 0;

	for (i = 0; i < count; i += part) {
		part = count_together(pieces + i, count - i);
		if (part) {
			hash_long(pieces + i, part);
		} else {
			part = 1;
			shorts++;
		}
	}
	if (shorts)
		hash_short(pieces, count);
}

#endif

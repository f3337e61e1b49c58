/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_CTPH_CTPH_PLANES_H
#define CORE_KERNEL_CTPH_CTPH_PLANES_H

/*
 * The states in blocks of pieces, a bit of a vector for each byte, once for all
 * vectors.  A file that includes this has defined TARGET, INLINE and
 *
 * LANES   of 64 bits, in the type vector, which has the operators of C
 * WORDS   bytes of a group, 4 or 8, see below
 *
 * and xor3() and majority() of bits; shift_left() and shift_right() of lanes;
 * all(word), of equal lanes; load_16s(bytes, stride), of 16 bytes at every
 * stride; unpack_low() and unpack_high(), which interleave the bytes of halves
 * of two vectors, for each 16 bytes of them; and before_lanes(x, state), the
 * xor of *state, all zeros or all ones, and the bits of x before each one;
 * *state becomes that after all of them.  now(x) is x, where registers are few
 * computed on the spot: compilers put off what is used once, and keep what it
 * is made of.
 */
#ifdef LANES

#include <endian.h>
#include <string.h>

#define ROWS (WORDS / 2)
#define BLOCK (LANES * 64 * WORDS)
#define LOW 8    /* bits of a state that depend on bits of the bytes */
#define HIGH 4   /* bits above them */
#define SHARED 2 /* bits of a state that all pieces find at once */

/*
 * A block is LANES * 64 groups of WORDS bytes.  Bit i of a vector belongs to
 * group i, and a vector to a byte of the groups and a bit: of the bytes, or of
 * the state.  That bit of the state changes with a byte if the byte, or what
 * lower bits of the state carry there, says so.  So once the lower bits are
 * known before each byte of the block, the changes of this one are known for
 * all of them at once; and the bit before a byte is the xor of the changes
 * before it: within the group word by word, then that of the groups before.
 *
 * 403 * h = q + 16 * w, where q = h + 2 * h and w = h + 8 * q.
 *
 * So it is for the low 8 bits of the state.  What they add to the high ones is
 * summed up, see ctph_high_bits().
 */
struct planes {
	/* Of the bytes; the first SHARED ones of states that are 0 before the
	 * block, with what those are after it. */
	vector bits[8][WORDS], ends[SHARED];
};

struct states {
	vector bits[LOW]; /* all zeros or all ones */
	struct added {
		vector of[2][HIGH]; /* at even bytes and at odd ones */
		vector late;
	} added;
};

/* ---- from bytes to planes ---- */

/* A step of the way from bytes of groups to groups of bytes. */
static TARGET INLINE void unpack_step(const vector in[16], vector out[16])
{
	int i;

#pragma GCC unroll 8
	for (i = 0; i < 8; i++) {
		out[2 * i] = unpack_low(in[i], in[i + 8]);
		out[2 * i + 1] = unpack_high(in[i], in[i + 8]);
	}
}

/* Those of some groups: of 16 bytes in ROWS times 16. */
static TARGET INLINE void gather_bytes(const uint8_t *bytes, vector out[16])
{
	vector other[16];
	int i;

#pragma GCC unroll 16
	for (i = 0; i < 16; i++)
		out[i] = load_16s(bytes + ROWS * 16 * i, 64 * WORDS * 2);
	unpack_step(out, other);
	unpack_step(other, out);
	unpack_step(out, other);
	unpack_step(other, out);
}

static TARGET INLINE void exchange_bits(vector *a, vector *b, int bits,
					vector mask)
{
	vector change = (shift_right(*a, bits) ^ *b) & mask;

	*b ^= change;
	*a ^= shift_left(change, bits);
}

/* Bit k of the bytes of vector m becomes bit m of those of vector k. */
static TARGET INLINE void transpose_bits(vector x[8])
{
	int i;

#pragma GCC unroll 4
	for (i = 0; i < 4; i++)
		exchange_bits(&x[i], &x[i + 4], 4, all(0x0f0f0f0f0f0f0f0f));
#pragma GCC unroll 4
	for (i = 0; i < 4; i++)
		exchange_bits(&x[i + i / 2 * 2], &x[i + i / 2 * 2 + 2], 2,
			      all(0x3333333333333333));
#pragma GCC unroll 4
	for (i = 0; i < 4; i++)
		exchange_bits(&x[2 * i], &x[2 * i + 1], 1,
			      all(0x5555555555555555));
}

static TARGET INLINE void byte_planes(const uint8_t *bytes,
				      vector out[8][WORDS])
{
	vector rows[ROWS][16], x[8];
	int i, j;

	for (i = 0; i < ROWS; i++)
		gather_bytes(bytes + 16 * i, rows[i]);
	for (j = 0; j < WORDS; j++) {
#pragma GCC unroll 8
		for (i = 0; i < 8; i++)
			x[i] = rows[i * ROWS / 8][i % (8 / ROWS) * WORDS + j];
		transpose_bits(x);
#pragma GCC unroll 8
		for (i = 0; i < 8; i++)
			out[i][j] = x[i];
	}
}

/* ---- states, bit by bit ---- */

struct adder {
	vector h[LOW], q[LOW], w; /* w: the bit that is on */
	vector carry_q, carry_w, carry;
};

/* Bit i of 403 * h ^ byte ^ h. */
static TARGET INLINE vector change_of(struct adder *a, int i, vector byte)
{
	vector change = byte;

	if (i == 1)
		change = change ^ a->h[0];
	if (i > 1)
		change = xor3(change, a->h[i - 1], a->carry_q);
	if (i < 4)
		return change;
	a->w = a->h[i - 4];
	if (i == 7)
		a->w = a->w ^ a->q[0];
	change ^= a->w;
	if (i > 4)
		change ^= a->carry;
	return change;
}

/* Takes bit i of h and makes what is carried to the next. */
static TARGET INLINE void take_bit(struct adder *a, int i, vector h)
{
	a->h[i] = h;
	a->q[i] = h;
	if (i == 1) {
		a->q[i] = h ^ a->h[0];
		a->carry_q = h & a->h[0];
	}
	if (i > 1) {
		a->q[i] = xor3(h, a->h[i - 1], a->carry_q);
		a->carry_q = majority(h, a->h[i - 1], a->carry_q);
	}
	if (i == 4)
		a->carry = a->q[4] & a->w;
	if (i > 4)
		a->carry = majority(a->q[i], a->w, a->carry);
	if (i == 7)
		a->carry_w = a->h[3] & a->q[0];
}

/* Bits 8 to 11 of 403 * h, were h only its low bits. */
static TARGET INLINE void high_bits(const struct adder *a, vector out[HIGH])
{
	vector q[2], w, carry_w = a->carry_w, carry = a->carry;
	int i;

	q[0] = a->h[7] ^ a->carry_q;
	q[1] = a->h[7] & a->carry_q;
#pragma GCC unroll 4
	for (i = 0; i < HIGH; i++) {
		w = xor3(a->h[4 + i], a->q[1 + i], carry_w);
		carry_w = majority(a->h[4 + i], a->q[1 + i], carry_w);
		if (i < 2) {
			out[i] = xor3(q[i], w, carry);
			carry = majority(q[i], w, carry);
		} else {
			out[i] = w ^ carry;
			carry = w & carry;
		}
	}
}

/* Each bit of a number of its own. */
static TARGET INLINE void add_high_bits(struct added *to, int word,
					const vector bits[HIGH])
{
	vector *sum = to->of[word % 2], carry, half;
	int i;

	if (word & 2)
		to->late ^= bits[0];
	carry = sum[0] & bits[0];
	sum[0] ^= bits[0];
#pragma GCC unroll 4
	for (i = 1; i < HIGH; i++) {
		half = xor3(sum[i], bits[i], carry);
		carry = majority(sum[i], bits[i], carry);
		sum[i] = now(half);
	}
}

/* Makes of the changes of half a group those before each; returns all. */
static TARGET INLINE vector add_up_half(vector x[WORDS / 2])
{
	vector run = all(0), change;
	int j;

#pragma GCC unroll 4
	for (j = 0; j < WORDS / 2; j++) {
		change = x[j];
		x[j] = run;
		run ^= change;
	}
	return run;
}

/* Bit i of the states, for all bytes. */
static TARGET INLINE void take_plane(struct adder a[WORDS], struct states *s,
				     const vector bytes[WORDS], int i)
{
	vector x[WORDS], halves[2], before[2];
	int j;

#pragma GCC unroll 8
	for (j = 0; j < WORDS; j++)
		x[j] = now(change_of(&a[j], i, bytes[j]));
	halves[0] = add_up_half(x);
	halves[1] = add_up_half(x + WORDS / 2);
	before[0] = now(before_lanes(halves[0] ^ halves[1], &s->bits[i]));
	before[1] = now(before[0] ^ halves[0]);
#pragma GCC unroll 8
	for (j = 0; j < WORDS; j++)
		take_bit(&a[j], i, x[j] ^ before[j / (WORDS / 2)]);
}

/*
 * A bit changes the one above it at every byte: two bytes leave that as it is.
 * So bits 0 and 1 of all states are those of a state that was 0 before the
 * block, but for what their own were then.
 */
static TARGET void make_planes(const uint8_t *bytes, struct planes *out)
{
	struct states s = { 0 };
	struct adder a[WORDS];
	int i, j;

	byte_planes(bytes, out->bits);
#pragma GCC unroll 2
	for (i = 0; i < SHARED; i++) {
		take_plane(a, &s, out->bits[i], i);
#pragma GCC unroll 8
		for (j = 0; j < WORDS; j++)
			out->bits[i][j] = a[j].h[i];
		out->ends[i] = s.bits[i];
	}
}

static TARGET INLINE void take_shared(struct adder a[WORDS], struct states *s,
				      const struct planes *p)
{
	const vector bit_0 = s->bits[0], bit_1 = s->bits[1];
	const vector both = bit_0 ^ bit_1;
	int j;

#pragma GCC unroll 8
	for (j = 0; j < WORDS; j++) {
		take_bit(&a[j], 0, p->bits[0][j] ^ bit_0);
		take_bit(&a[j], 1, p->bits[1][j] ^ (j % 2 ? both : bit_1));
	}
	s->bits[0] = bit_0 ^ p->ends[0];
	s->bits[1] = bit_1 ^ p->ends[1];
}

/* What the low bits add to the high ones; used: only where it has ones. */
static TARGET INLINE void take_high_bits(const struct adder a[WORDS],
					 struct states *s, const vector *used)
{
	vector high[HIGH];
	int j, k;

#pragma GCC unroll 8
	for (j = 0; j < WORDS; j++) {
		high_bits(&a[j], high);
		if (used)
#pragma GCC unroll 4
			for (k = 0; k < HIGH; k++)
				high[k] &= used[j];
		add_high_bits(&s->added, j, high);
	}
}

static TARGET void take_block(struct states *s, const struct planes *p)
{
	struct adder a[WORDS];
	int i;

	take_shared(a, s, p);
#pragma GCC unroll 8
	for (i = SHARED; i < LOW; i++)
		take_plane(a, s, p->bits[i], i);
	take_high_bits(a, s, NULL);
}

/* Two pieces by turns: while a bit of one is on its way to the next, there is
 * the other. */
static TARGET void take_two_blocks(struct states *s, struct states *t,
				   const struct planes *p)
{
	struct adder a[WORDS], b[WORDS];
	int i;

	take_shared(a, s, p);
	take_shared(b, t, p);
#pragma GCC unroll 8
	for (i = SHARED; i < LOW; i++) {
		take_plane(a, s, p->bits[i], i);
		take_plane(b, t, p->bits[i], i);
	}
	take_high_bits(a, s, NULL);
	take_high_bits(b, t, NULL);
}

static inline uint32_t bit_at(const vector *v, size_t at)
{
	uint8_t bytes[sizeof(*v)];

	memcpy(bytes, v, sizeof(bytes));
	return bytes[at / 8] >> at % 8 & 1u;
}

/* Ones for each word of the first len bytes. */
static TARGET INLINE void mask_bytes(size_t len, vector used_out[WORDS])
{
	uint64_t lanes[WORDS][LANES];
	size_t i, j, groups, before;

	for (j = 0; j < WORDS; j++) {
		groups = (len + WORDS - 1 - j) / WORDS;
		for (i = 0; i < LANES; i++) {
			before = groups < 64 * i ? 0 : groups - 64 * i;
			lanes[j][i] = before < 64 ?
					      (UINT64_C(1) << before) - 1 :
					      UINT64_MAX;
			lanes[j][i] = htole64(lanes[j][i]);
		}
	}
	memcpy(used_out, lanes, sizeof(lanes));
}

/* The low bits of the state after len bytes of the last block. */
static TARGET uint32_t take_last_block(struct states *s, size_t len,
				       const struct planes *p)
{
	struct adder a[WORDS];
	vector used[WORDS];
	uint32_t value = 0;
	size_t i;

	mask_bytes(len, used);
	take_shared(a, s, p);
#pragma GCC unroll 8
	for (i = SHARED; i < LOW; i++)
		take_plane(a, s, p->bits[i], (int)i);
	take_high_bits(a, s, used);
	for (i = 0; i < LOW; i++)
		value |= bit_at(&a[len % WORDS].h[i], len / WORDS) << i;
	return value;
}

#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_WINDOW_WINDOW_VECTOR_H
#define CORE_KERNEL_WINDOW_WINDOW_VECTOR_H

#include "core/kernel/window/window_impl.h"

/*
 * The last step of the hash (window_impl.h) and sums bit by bit, once for all
 * vectors.  A file that includes this has defined TARGET; the type vector,
 * which has the operators of C; for lanes of 64 bits same(word), shift_right()
 * and multiply(x, word); add_bytes(); and xor3() and majority() of bits.
 */
#ifdef TARGET

/* The last step but for its last xor, that xor, and the inverse of both. */
TARGET static inline vector nearly_finish(vector y)
{
	y = multiply(y, WINDOW_PRIME);
	return multiply(y ^ (shift_right(y, 35) + same(8)), WINDOW_PRIME);
}

TARGET static inline vector finish_nearly(vector y)
{
	return y ^ shift_right(y, 28);
}

TARGET static inline vector undo_finish(vector key)
{
	vector y = xor3(key, shift_right(key, 28), shift_right(key, 56));

	y = multiply(y, WINDOW_INVERSE);
	return multiply(y ^ (shift_right(y, 35) + same(8)), WINDOW_INVERSE);
}

TARGET static inline vector values_of(vector keys)
{
	vector y = undo_finish(keys) ^ same(WINDOW_DIFFERENCE);

	return finish_nearly(nearly_finish(y));
}

/* As in the scalar file, in lanes. */
struct window_sums {
	vector low[3];
	vector bytes[8];
};

/* Adds three words bit by bit: the low bits of the sums in *a. */
TARGET static inline vector add_bits(vector *a, vector b, vector c)
{
	vector carry = majority(*a, b, c);

	*a = xor3(*a, b, c);
	return carry;
}

TARGET static inline void add_vectors(struct window_sums *s, const vector v[8])
{
	const vector ones = same(0x0101010101010101);
	vector twos[4], fours[2], eights;
	int i;

	for (i = 0; i < 4; i++)
		twos[i] = add_bits(&s->low[0], v[2 * i], v[2 * i + 1]);
	for (i = 0; i < 2; i++)
		fours[i] = add_bits(&s->low[1], twos[2 * i], twos[2 * i + 1]);
	eights = add_bits(&s->low[2], fours[0], fours[1]);
	for (i = 0; i < 8; i++)
		s->bytes[i] =
			add_bytes(s->bytes[i], shift_right(eights, i) & ones);
}

#endif

#endif

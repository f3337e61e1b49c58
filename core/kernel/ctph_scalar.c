/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/ctph_impl.h"

#include <endian.h>
#include <string.h>

/* The compiler makes vectors of what the machine has. */
#define FILTER_LANES 16
#define SPARSE_LEVEL 4
#define HASH_LANES 8

typedef uint8_t bytes_vector __attribute__((vector_size(FILTER_LANES)));
typedef uint16_t states_vector __attribute__((vector_size(2 * HASH_LANES)));

/* ---- triggers ---- */

static inline bytes_vector load(const uint8_t *bytes)
{
	bytes_vector v;

	memcpy(&v, bytes, sizeof(v));
	return v;
}

/* The low 8 bits of the rolling values after 16 bytes, and 1: a sum of the
 * bytes modulo 256, and of the shifted ones only two reach down there. */
static inline bytes_vector low_bits(const uint8_t *bytes)
{
	bytes_vector newest = load(bytes), before = load(bytes - 1);
	bytes_vector sum = newest + before, sums = newest + sum;
	int i;

#pragma GCC unroll 8
	for (i = 2; i < KERNEL_CTPH_WINDOW; i++) {
		sum += load(bytes - i);
		sums += sum;
	}
	return sum + sums + (newest ^ before << 5) + 1;
}

/* Which of 16 bytes have low bits that are all 0: ones, 8 for each. */
static inline bytes_vector which_may(const uint8_t *bytes, uint8_t low_mask)
{
	return (bytes_vector)((low_bits(bytes) & low_mask) == 0);
}

static size_t add_candidates(bytes_vector may, size_t at, size_t count,
			     uint32_t *candidates_out)
{
	uint64_t halves[2], left;
	size_t i;

	memcpy(halves, &may, sizeof(may));
	for (i = 0; i < 2; i++)
		for (left = le64toh(halves[i]) & UINT64_C(0x0101010101010101);
		     left; left &= left - 1)
			candidates_out[count++] =
				(uint32_t)(at + 8 * i +
					   (size_t)__builtin_ctzll(left) / 8);
	return count;
}

/* Where few may trigger, 64 bytes at a time. */
static size_t filter_sparse(const uint8_t *bytes, size_t begin, size_t end,
			    uint8_t low_mask, uint32_t *candidates_out)
{
	bytes_vector may[4], any;
	uint64_t halves[2];
	size_t i, k, count = 0;

	for (i = begin; i < end; i += 4 * FILTER_LANES) {
#pragma GCC unroll 4
		for (k = 0; k < 4; k++)
			may[k] = which_may(bytes + i + k * FILTER_LANES,
					   low_mask);
		any = (may[0] | may[1]) | (may[2] | may[3]);
		memcpy(halves, &any, sizeof(any));
		if ((halves[0] | halves[1]) == 0)
			continue;
		for (k = 0; k < 4; k++)
			count = add_candidates(may[k], i + k * FILTER_LANES,
					       count, candidates_out);
	}
	return count;
}

/* Where many may, those that do, from one rolling value to the next. */
static size_t filter_dense(const uint8_t *bytes, size_t begin, size_t end,
			   unsigned level, uint32_t *candidates_out)
{
	uint32_t sum = 0, sums = 0, shifted = 0;
	size_t i, count = 0;

	for (i = 1; i < KERNEL_CTPH_WINDOW; i++) {
		sum += (bytes + begin)[-i];
		sums += (uint32_t)(KERNEL_CTPH_WINDOW - i) *
			(bytes + begin)[-i];
		shifted ^= (uint32_t)(bytes + begin)[-i] << 5 * (i - 1);
	}
	for (i = begin; i < end; i++) {
		sum += bytes[i];
		sums += KERNEL_CTPH_WINDOW * bytes[i];
		shifted = shifted << 5 ^ bytes[i];
		candidates_out[count] = (uint32_t)i;
		count += ctph_triggers(sum + sums + shifted + 1, level);
		sums -= sum;
		sum -= (bytes + i)[1 - KERNEL_CTPH_WINDOW];
	}
	return count;
}

static size_t filter(const uint8_t *bytes, size_t begin, size_t end,
		     unsigned level, uint32_t *candidates_out)
{
	const uint32_t low_mask = (UINT32_C(1) << level) - 1;
	size_t count, stop = end - (end - begin) % (4 * FILTER_LANES);

	if (level < SPARSE_LEVEL)
		stop = begin;
	count = filter_sparse(bytes, begin, stop, (uint8_t)low_mask,
			      candidates_out);
	return count +
	       filter_dense(bytes, stop, end, level, candidates_out + count);
}

static size_t find(const uint8_t *bytes, size_t len, unsigned level,
		   struct kernel_trigger *triggers_out, size_t max)
{
	return ctph_find(filter, bytes, len, level, triggers_out, max);
}

static bool find_last(const uint8_t *bytes, size_t len, unsigned level,
		      struct kernel_trigger *trigger_out)
{
	return ctph_find_last(filter, bytes, len, level, trigger_out);
}

/* ---- long pieces ---- */

#define TARGET
#define INLINE inline __attribute__((always_inline))
#define LANES 2
#define WORDS 8
#define MOST 8    /* pieces at a time */
#define LONG 384  /* bytes of a piece that are worth it */
#define LEAST 192 /* bytes of the same piece that are */
#define PART 64

typedef uint64_t vector __attribute__((vector_size(16)));

static INLINE vector xor3(vector a, vector b, vector c)
{
	return a ^ b ^ c;
}

static INLINE vector majority(vector a, vector b, vector c)
{
	return a ^ ((a ^ b) & (a ^ c));
}

static INLINE vector shift_left(vector x, int bits)
{
	return x << bits;
}

static INLINE vector shift_right(vector x, int bits)
{
	return x >> bits;
}

static INLINE vector all(uint64_t word)
{
	return (vector){ word, word };
}

static INLINE vector unpack_low(vector a, vector b)
{
	return (vector)__builtin_shufflevector((bytes_vector)a, (bytes_vector)b,
					       0, 16, 1, 17, 2, 18, 3, 19, 4,
					       20, 5, 21, 6, 22, 7, 23);
}

static INLINE vector unpack_high(vector a, vector b)
{
	return (vector)__builtin_shufflevector((bytes_vector)a, (bytes_vector)b,
					       8, 24, 9, 25, 10, 26, 11, 27, 12,
					       28, 13, 29, 14, 30, 15, 31);
}

static INLINE vector load_16s(const uint8_t *bytes, size_t stride)
{
	(void)stride;
	return (vector)load(bytes);
}

/* The xor of *state and the bits before each one; *state becomes that after all
 * of them. */
static INLINE vector before_lanes(vector x, vector *state)
{
	uint64_t low = le64toh(x[0]), high = le64toh(x[1]);
	vector before = *state ^ x;
	int i;

#pragma GCC unroll 6
	for (i = 1; i < 64; i *= 2) {
		low ^= low << i;
		high ^= high << i;
	}
	high ^= -(low >> 63);
	*state ^= all(-(high >> 63));
	return before ^ (vector) { htole64(low), htole64(high) };
}

#include "core/kernel/ctph_planes.h"

/* ---- pieces ---- */

static inline uint32_t step(uint32_t state, uint8_t byte)
{
	return state * KERNEL_CTPH_PRIME ^ byte;
}

static inline size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Up to 8 pieces that start at the same byte, side by side until the shortest
 * one ends, and so on. */
static void hash_together(struct kernel_piece *pieces, size_t count)
{
	states_vector states = { 0 };
	size_t i, k, stop, at = 0;

	for (k = 0; k < count; k++)
		states[k] = (uint16_t)pieces[k].state;
	for (;;) {
		stop = SIZE_MAX;
		for (k = 0; k < count; k++) {
			if (pieces[k].len == at)
				pieces[k].state = states[k] & KERNEL_CTPH_MASK;
			if (pieces[k].len > at)
				stop = smaller(stop, pieces[k].len);
		}
		if (stop == SIZE_MAX)
			return;
		for (i = at; i < stop; i++)
			states = (states * KERNEL_CTPH_PRIME) ^
				 ((states_vector){ 0 } + pieces[0].bytes[i]);
		at = stop;
	}
}

static void hash_alone(struct kernel_piece *p, size_t from)
{
	size_t i;

	for (i = from; i < p->len; i++)
		p->state = step(p->state, p->bytes[i]);
	p->state &= KERNEL_CTPH_MASK;
}

/* A step has to wait for the one before: four pieces, of any bytes, take hardly
 * longer than one. */
static void hash_four(struct kernel_piece *p)
{
	size_t i, len = smaller(smaller(p[0].len, p[1].len),
				smaller(p[2].len, p[3].len));
	uint32_t a = p[0].state, b = p[1].state, c = p[2].state, d = p[3].state;

	for (i = 0; i < len; i++) {
		a = step(a, p[0].bytes[i]);
		b = step(b, p[1].bytes[i]);
		c = step(c, p[2].bytes[i]);
		d = step(d, p[3].bytes[i]);
	}
	p[0].state = a;
	p[1].state = b;
	p[2].state = c;
	p[3].state = d;
	for (i = 0; i < 4; i++)
		hash_alone(&p[i], len);
}

/* How many of the first pieces, up to 8, start at the same byte. */
static size_t count_together(const struct kernel_piece *pieces, size_t count)
{
	size_t i, most = smaller(count, HASH_LANES);

	for (i = 1; i < most && pieces[i].bytes == pieces[0].bytes; i++)
		;
	return i;
}

void ctph_hash_short(struct kernel_piece *pieces, size_t count)
{
	size_t part;

	for (; count > 0; pieces += part, count -= part) {
		part = count_together(pieces, count);
		if (part > 2) {
			hash_together(pieces, part);
		} else if (count >= 4) {
			part = 4;
			hash_four(pieces);
		} else {
			part = 1;
			hash_alone(pieces, 0);
		}
	}
}

static TARGET void hash(struct kernel_piece *pieces, size_t count)
{
	hash_with_planes(pieces, count, ctph_hash_short);
}

const struct kernel_ctph ctph_scalar = { find, find_last, hash };

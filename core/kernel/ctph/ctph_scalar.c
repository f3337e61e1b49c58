/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/ctph/ctph_impl.h"

#include <endian.h>
#include <string.h>

/* The compiler makes vectors of what the machine has. */
#define FILTER_LANES 16
#define SPARSE_LEVEL 4

typedef uint8_t bytes_vector __attribute__((vector_size(FILTER_LANES)));
typedef uint64_t words_vector __attribute__((vector_size(FILTER_LANES)));

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
	/* There may be no shift of bytes. */
	before = (bytes_vector)((words_vector)before << 5) & 0xe0;
	return sum + sums + (newest ^ before) + 1;
}

/* Which of 16 bytes have low bits that are all 0: ones, 8 for each. */
static inline bytes_vector which_may(const uint8_t *bytes, uint8_t low_mask)
{
	return (bytes_vector)((low_bits(bytes) & low_mask) == 0);
}

/* Bit i tells of byte i. */
static inline uint64_t mask_of(bytes_vector may)
{
	uint64_t halves[2], mask = 0;
	size_t i;

	memcpy(halves, &may, sizeof(may));
	for (i = 0; i < 2; i++) {
		halves[i] = le64toh(halves[i]) & UINT64_C(0x0101010101010101);
		mask |= halves[i] * UINT64_C(0x0102040810204080) >> 56 << 8 * i;
	}
	return mask;
}

/* Where few may trigger, 64 bytes at a time. */
static size_t filter_sparse(const uint8_t *bytes, size_t begin, size_t end,
			    uint8_t low_mask, uint32_t *candidates_out)
{
	bytes_vector may[4], any;
	uint64_t halves[2], mask;
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
		mask = 0;
#pragma GCC unroll 4
		for (k = 0; k < 4; k++)
			mask |= mask_of(may[k]) << k * FILTER_LANES;
		for (; mask; mask &= mask - 1)
			candidates_out[count++] =
				(uint32_t)(i + (size_t)__builtin_ctzll(mask));
	}
	return count;
}

/* Where many may, those that do, from one rolling value to the next. */
static size_t filter_dense(const uint8_t *bytes, size_t begin, size_t end,
			   unsigned level, uint32_t *candidates_out)
{
	uint32_t sum = 0, sums = 0, shifted = 0, byte;
	size_t i, count = 0;

	for (i = 1; i < KERNEL_CTPH_WINDOW; i++) {
		byte = *(bytes + begin - i);
		sum += byte;
		sums += (uint32_t)(KERNEL_CTPH_WINDOW - i) * byte;
		shifted ^= byte << 5 * (i - 1);
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
#define WORDS 4
#define MOST 8
#define LONG 512
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

static INLINE vector now(vector x)
{
	return x;
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

#include "core/kernel/ctph/ctph_pieces.h"

/* ---- short pieces ---- */

/* A step has to wait for the one before: four pieces, of any bytes, take hardly
 * longer than one. */
#define HASH_LANES 4

struct lane {
	struct kernel_piece *piece; /* NULL: none is left */
	const uint8_t *bytes;
	size_t left;
	uint32_t state;
};

static inline uint32_t step(uint32_t state, uint8_t byte)
{
	return state * KERNEL_CTPH_PRIME ^ byte;
}

static inline size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Steps until a piece ends. */
static inline void step_lanes(struct lane l[HASH_LANES])
{
	const uint8_t *a = l[0].bytes, *b = l[1].bytes, *c = l[2].bytes,
		      *d = l[3].bytes;
	uint32_t s = l[0].state, t = l[1].state, u = l[2].state, v = l[3].state;
	size_t i, len = smaller(smaller(l[0].left, l[1].left),
				smaller(l[2].left, l[3].left));

	for (i = 0; i < len; i++) {
		s = step(s, a[i]);
		t = step(t, b[i]);
		u = step(u, c[i]);
		v = step(v, d[i]);
	}
	l[0].state = s;
	l[1].state = t;
	l[2].state = u;
	l[3].state = v;
	for (i = 0; i < HASH_LANES; i++) {
		l[i].bytes += len;
		l[i].left -= len;
	}
}

/* Ends the piece of a lane, if it has one, and starts the next. */
static inline void refill(struct lane *l, struct kernel_piece **next,
			  const struct kernel_piece *end)
{
	struct kernel_piece *p = *next;

	if (l->piece)
		l->piece->state = l->state & KERNEL_CTPH_MASK;
	while (p < end && p->len == 0)
		p++;
	l->piece = p < end ? p : NULL;
	if (l->piece) {
		l->bytes = p->bytes;
		l->left = p->len;
		l->state = p->state;
		p++;
	}
	*next = p;
}

static void hash_alone(struct lane *l)
{
	size_t i;

	for (i = 0; i < l->left; i++)
		l->state = step(l->state, l->bytes[i]);
	l->piece->state = l->state & KERNEL_CTPH_MASK;
}

void ctph_hash_short(struct kernel_piece *pieces, size_t count)
{
	struct kernel_piece *next = pieces, *const end = pieces + count;
	struct lane lanes[HASH_LANES] = { 0 };
	size_t k, busy;

	for (;;) {
		busy = 0;
		for (k = 0; k < HASH_LANES; k++) {
			if (lanes[k].left == 0)
				refill(&lanes[k], &next, end);
			busy += lanes[k].piece != NULL;
		}
		if (busy < HASH_LANES)
			break;
		step_lanes(lanes);
	}
	for (k = 0; k < HASH_LANES; k++)
		if (lanes[k].piece)
			hash_alone(&lanes[k]);
}

static TARGET void hash(struct kernel_piece *pieces, size_t count)
{
	hash_with_planes(pieces, count, ctph_hash_short);
}

const struct kernel_ctph ctph_scalar = { find, find_last, hash };

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/ctph_impl.h"

#include <string.h>

/* The compiler makes vectors of what the machine has. */
#define FILTER_LANES 16
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

/* Whether one of 16 may trigger. */
static inline bool some_may(const uint8_t *bytes, uint8_t low_mask)
{
	bytes_vector may = (bytes_vector)((low_bits(bytes) & low_mask) == 0);
	uint64_t halves[2];

	memcpy(halves, &may, sizeof(may));
	return (halves[0] | halves[1]) != 0;
}

static size_t filter(const uint8_t *bytes, size_t begin, size_t end,
		     unsigned level, uint32_t *candidates_out)
{
	uint32_t low_mask = level < 32 ? (UINT32_C(1) << level) - 1 : 0;
	size_t i, stop, count = 0;

	for (i = begin; i < end; i = stop) {
		stop = end - i < FILTER_LANES ? end : i + FILTER_LANES;
		if (end - i >= FILTER_LANES &&
		    !some_may(bytes + i, (uint8_t)low_mask))
			continue;
		for (; i < stop; i++) {
			candidates_out[count] = (uint32_t)i;
			count += (ctph_next(bytes + i) & low_mask) == 0;
		}
	}
	return count;
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

void ctph_hash_scalar(struct kernel_piece *pieces, size_t count)
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

const struct kernel_ctph ctph_scalar = { find, find_last, ctph_hash_scalar };

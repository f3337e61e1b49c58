/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_CTPH_CTPH_PIECES_H
#define CORE_KERNEL_CTPH_CTPH_PIECES_H

/*
 * Long pieces, block by block, once for all vectors.  A file that includes this
 * has defined what ctph_planes.h wants and
 *
 * MOST    pieces that are hashed together
 * LONG    bytes that are worth it; fewer may be left over
 * PART    pieces that are copied at a time
 */
#ifdef LANES

#include <string.h>

#include "core/kernel/ctph/ctph_planes.h"

static TARGET INLINE void start_states(struct states *s, uint32_t value)
{
	const struct added none = { 0 };
	int i;

	for (i = 0; i < LOW; i++)
		s->bits[i] = all(-(uint64_t)(value >> i & 1));
	s->added = none;
}

static TARGET INLINE uint32_t end_states(const struct states *s)
{
	uint32_t value = 0;
	size_t i;

	for (i = 0; i < LOW; i++)
		value |= bit_at(&s->bits[i], 0) << i;
	return value;
}

static TARGET INLINE uint32_t count_bits(vector v)
{
	uint64_t lanes[LANES];
	uint32_t count = 0;
	size_t i;

	memcpy(lanes, &v, sizeof(lanes));
	for (i = 0; i < LANES; i++)
		count += (uint32_t)__builtin_popcountll(lanes[i]);
	return count;
}

/* See ctph_high_bits().  The bits after len bytes. */
static TARGET uint32_t end_high_bits(const struct added *a, uint32_t high,
				     size_t len)
{
	uint32_t sums[2] = { 0 };
	int i, k;

	for (k = 0; k < 2; k++)
		for (i = 0; i < HIGH; i++)
			sums[k] += count_bits(a->of[k][i]) << i;
	return (high * ctph_power(len) + 8 * count_bits(a->late) +
		(3 * sums[0] + sums[1]) * ctph_power(len + 2)) %
	       16;
}

/* A piece on its way. */
struct growing {
	struct kernel_piece *piece; /* what is left of it */
	uint32_t len;               /* that was taken */
	struct states states;
};

/* Takes a block of those that have one. */
static TARGET void take_blocks(struct growing *g, size_t count,
			       const struct planes *planes)
{
	struct growing *one = NULL;
	size_t i;

	for (i = 0; i < count; i++) {
		if (g[i].piece->len < BLOCK)
			continue;
		if (!one) {
			one = &g[i];
			continue;
		}
		take_two_blocks(&one->states, &g[i].states, planes);
		one = NULL;
	}
	if (one)
		take_block(&one->states, planes);
}

/* A block was taken of the piece, or what there is of it is now; returns
 * whether it goes on. */
static TARGET bool grow(struct growing *g, const struct planes *planes)
{
	struct kernel_piece *p = g->piece;
	uint32_t low = 0, part = p->len < BLOCK ? p->len : BLOCK;

	if (part < BLOCK)
		low = take_last_block(&g->states, part, planes);
	p->bytes += part;
	p->len -= part;
	g->len += part;
	if (p->len >= LONG)
		return true;
	if (part == BLOCK)
		low = end_states(&g->states);
	p->state =
		low | end_high_bits(&g->states.added, p->state >> LOW, g->len)
			      << LOW;
	return false;
}

static size_t longest(const struct growing *g, size_t count)
{
	size_t i, most = 0;

	for (i = 0; i < count; i++)
		if (g[i].piece->len > most)
			most = g[i].piece->len;
	return most;
}

static TARGET void next_planes(const uint8_t *bytes, size_t len,
			       struct planes *out)
{
	uint8_t block[BLOCK];

	if (len < BLOCK) {
		memcpy(block, bytes, len);
		memset(block + len, 0, BLOCK - len);
		bytes = block;
	}
	make_planes(bytes, out);
}

/* Takes all but less than LONG bytes of some pieces, at most MOST, that start
 * at the same byte and have that many. */
static TARGET void shorten_together(struct kernel_piece *pieces, size_t count)
{
	struct growing g[MOST];
	struct planes planes;
	size_t i;

	for (i = 0; i < count; i++) {
		g[i].piece = &pieces[i];
		g[i].len = 0;
		start_states(&g[i].states, pieces[i].state);
	}
	while (count > 0) {
		next_planes(g[0].piece->bytes, longest(g, count), &planes);
		take_blocks(g, count, &planes);
		for (i = 0; i < count;) {
			if (grow(&g[i], &planes))
				i++;
			else
				g[i] = g[--count];
		}
	}
}

/* How many of the first pieces, up to MOST, are worth it and start at the same
 * byte. */
static size_t count_long(const struct kernel_piece *pieces, size_t count)
{
	size_t i;

	for (i = 0; i < count && i < MOST; i++)
		if (pieces[i].bytes != pieces[0].bytes || pieces[i].len < LONG)
			break;
	return i;
}

/* Takes all that is worth it off pieces. */
static TARGET void shorten(struct kernel_piece *pieces, size_t count)
{
	size_t i, part;

	for (i = 0; i < count; i += part) {
		part = count_long(pieces + i, count - i);
		if (part)
			shorten_together(pieces + i, part);
		else
			part = 1;
	}
}

static bool have_long(const struct kernel_piece *pieces, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (pieces[i].len >= LONG)
			return true;
	return false;
}

/* Hashes long pieces block by block, and the others by hash_rest().  Pieces
 * stay as they are but for their states. */
static TARGET INLINE void hash_with_planes(
	struct kernel_piece *pieces, size_t count,
	void (*hash_rest)(struct kernel_piece *pieces, size_t count))
{
	struct kernel_piece rest[PART];
	size_t i, part;

	for (; count > 0; pieces += part, count -= part) {
		part = count < PART ? count : PART;
		if (!have_long(pieces, part)) {
			hash_rest(pieces, part);
			continue;
		}
		memcpy(rest, pieces, part * sizeof(rest[0]));
		shorten(rest, part);
		hash_rest(rest, part);
		for (i = 0; i < part; i++)
			pieces[i].state = rest[i].state;
	}
}

#endif

#endif

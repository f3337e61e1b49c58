/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_MD4_MD4_ROUNDS_H
#define CORE_KERNEL_MD4_MD4_ROUNDS_H

#include "core/base/bytes.h"
#include "core/kernel/md4/md4_impl.h"

/*
 * MD4 of messages in lanes, once for all vectors: the rounds of RFC 1320,
 * section 3.4, and turns.  A file that includes this has defined TARGET,
 * INLINE, LANES and SETS; the types vector (lanes of 32 bits each) and
 * vector_mask; same(value), of equal lanes; rotate(), choose(), majority() and
 * parity() of lanes; add(x, f, w), the sum, of which f is ready last; plus(w,
 * constant); add_if(x, mask, y): x, or x + y where the mask says so; load() and
 * store(); load_words() of four words; and are_more(blocks, than), a mask.
 */
#ifdef LANES

struct md4_state {
	vector a, b, c, d;
};

/* Before the first block of each message. */
static TARGET inline struct md4_state start(void)
{
	return (struct md4_state){ same(md4_start[0]), same(md4_start[1]),
				   same(md4_start[2]), same(md4_start[3]) };
}

/* Words 0 to 3 of all messages. */
static TARGET inline void set_prefix(vector w[16], const uint8_t prefix[16])
{
	int i;

	for (i = 0; i < 4; i++)
		w[i] = same(load_le32(prefix + 4 * i));
}

/* Four steps of a round, the one that begins with word w[4 * i] or w[i]. */
static TARGET INLINE void round_1(struct md4_state *s, const vector w[16],
				  int i)
{
	w += 4 * i;
	s->a = rotate(add(s->a, choose(s->b, s->c, s->d), w[0]), 3);
	s->d = rotate(add(s->d, choose(s->a, s->b, s->c), w[1]), 7);
	s->c = rotate(add(s->c, choose(s->d, s->a, s->b), w[2]), 11);
	s->b = rotate(add(s->b, choose(s->c, s->d, s->a), w[3]), 19);
}

static TARGET INLINE vector add_2(vector x, vector f, vector w)
{
	return add(x, f, plus(w, 0x5a827999));
}

static TARGET INLINE void round_2(struct md4_state *s, const vector w[16],
				  int i)
{
	w += i;
	s->a = rotate(add_2(s->a, majority(s->b, s->c, s->d), w[0]), 3);
	s->d = rotate(add_2(s->d, majority(s->a, s->b, s->c), w[4]), 5);
	s->c = rotate(add_2(s->c, majority(s->d, s->a, s->b), w[8]), 9);
	s->b = rotate(add_2(s->b, majority(s->c, s->d, s->a), w[12]), 13);
}

static TARGET INLINE vector add_3(vector x, vector f, vector w)
{
	return add(x, f, plus(w, 0x6ed9eba1));
}

static TARGET INLINE void round_3(struct md4_state *s, const vector w[16],
				  int i)
{
	w += (i & 1) * 2 + (i >> 1);
	s->a = rotate(add_3(s->a, parity(s->b, s->c, s->d), w[0]), 3);
	s->d = rotate(add_3(s->d, parity(s->a, s->b, s->c), w[8]), 9);
	s->c = rotate(add_3(s->c, parity(s->d, s->a, s->b), w[4]), 11);
	s->b = rotate(add_3(s->b, parity(s->c, s->d, s->a), w[12]), 15);
}

/* A block of each of sets * LANES messages, set by set in small steps: one has
 * to wait for its last step where the other can go on. */
static TARGET INLINE void add_block(struct md4_state *s, const vector (*w)[16],
				    const vector_mask *counts, int sets)
{
	struct md4_state before[SETS];
	int i, k;

#pragma GCC unroll 4
	for (k = 0; k < sets; k++)
		before[k] = s[k];
#pragma GCC unroll 4
	for (i = 0; i < 4; i++)
#pragma GCC unroll 4
		for (k = 0; k < sets; k++)
			round_1(&s[k], w[k], i);
#pragma GCC unroll 4
	for (i = 0; i < 4; i++)
#pragma GCC unroll 4
		for (k = 0; k < sets; k++)
			round_2(&s[k], w[k], i);
#pragma GCC unroll 4
	for (i = 0; i < 4; i++)
#pragma GCC unroll 4
		for (k = 0; k < sets; k++)
			round_3(&s[k], w[k], i);
#pragma GCC unroll 4
	for (k = 0; k < sets; k++) {
		s[k].a = add_if(before[k].a, counts[k], s[k].a);
		s[k].b = add_if(before[k].b, counts[k], s[k].b);
		s[k].c = add_if(before[k].c, counts[k], s[k].c);
		s[k].d = add_if(before[k].d, counts[k], s[k].d);
	}
}

/* Of sets * LANES messages; see struct md4_width. */
static TARGET INLINE void take_turn(struct md4_lanes *l, size_t count, int sets)
{
	vector_mask counts[SETS];
	struct md4_state s[SETS];
	vector w[SETS][16];
	size_t block, i;
	int k;

	for (k = 0; k < sets; k++) {
		s[k].a = load(l->words[0] + LANES * k);
		s[k].b = load(l->words[1] + LANES * k);
		s[k].c = load(l->words[2] + LANES * k);
		s[k].d = load(l->words[3] + LANES * k);
	}
	for (block = 0; block < count; block++) {
		for (k = 0; k < sets; k++) {
			for (i = 0; i < 16; i += 4)
				load_words(l->at + LANES * k,
					   block * MD4_BLOCK + 4 * i, w[k] + i);
			counts[k] = are_more(load(l->blocks + LANES * k),
					     (uint32_t)block);
		}
		add_block(s, w, counts, sets);
	}
	for (k = 0; k < sets; k++) {
		store(l->words[0] + LANES * k, s[k].a);
		store(l->words[1] + LANES * k, s[k].b);
		store(l->words[2] + LANES * k, s[k].c);
		store(l->words[3] + LANES * k, s[k].d);
	}
}

static TARGET void turn_1(struct md4_lanes *l, size_t count)
{
	take_turn(l, count, 1);
}

static TARGET void turn_2(struct md4_lanes *l, size_t count)
{
	take_turn(l, count, 2);
}

static TARGET void turn_4(struct md4_lanes *l, size_t count)
{
	take_turn(l, count, 4);
}

static size_t many(struct kernel_message *messages, size_t count, size_t leave,
		   uint8_t (*hashes_out)[16])
{
	static const struct md4_width widths[] = {
		{ LANES, turn_1 },
		{ 2 * LANES, turn_2 },
		{ 4 * LANES, turn_4 },
	};

	return md4_many_lanes(messages, count, leave, hashes_out, widths,
			      sizeof(widths) / sizeof(widths[0]));
}

#endif

#endif

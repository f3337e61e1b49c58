/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_SDHASH_SDHASH_VECTOR_H
#define CORE_KERNEL_SDHASH_SDHASH_VECTOR_H

#include "core/kernel/sdhash/sdhash_walk.h"

/*
 * What sdhash does with any vectors: the walk over ranks and SHA-1 (FIPS
 * 180-4).  A file that includes this has defined TARGET, BYTES in a vector,
 * LANES of 16 bits and HASHES, lanes of 32 bits; the type vector and store();
 *
 * for the walk find_runs() and find(); and for lanes of 16 bits
 * keys_of(ranks, runs), (rank - 1) * 64 + run, or WALK_NONE and above;
 * lower(out, width), the lower of the windows at out and that far on;
 * all_none(), of WALK_NONE; and none_if_zero(minima, ranks), the minima, or
 * WALK_NONE where a rank is 0;
 *
 * for SHA-1, of lanes of 32 bits, load_words() of four words, same(value),
 * add(), rotate(), swap_bytes(), mix(), the exclusive or of four, and choose(),
 * parity() and majority() of section 4.1.1.
 */
#ifdef TARGET

/* ---- scores ---- */

/* See sdhash_walk.h.  Of count windows; some more that mean nothing are
 * written. */
static TARGET void find_minima(const uint16_t *ranks, size_t count,
			       const uint8_t *runs, uint16_t *out)
{
	size_t i, width, end = (count + SDHASH_WINDOW + LANES - 2) / LANES;

	end *= LANES;
	for (i = 0; i < end; i += LANES)
		store(out + i, keys_of(ranks + i, runs + i));
	for (i = 0; i < SDHASH_WINDOW / 2; i += LANES)
		store(out + end + i, all_none());
	for (width = 1; width < SDHASH_WINDOW / 2; width *= 2)
		for (i = 0; i < end; i += LANES)
			store(out + i, lower(out + i, width));
	for (i = 0; i < end; i += LANES)
		store(out + i, none_if_zero(lower(out + i, width), ranks + i));
}

static TARGET void score(struct sdhash_lowest *lowest, const uint16_t *ranks,
			 size_t steps, uint8_t *scores)
{
	uint16_t minima[WALK_PLACES + SDHASH_WINDOW + 3 * LANES];
	uint8_t runs[WALK_PLACES + SDHASH_WINDOW + 2 * BYTES];
	struct sdhash_walk w = { .minima = minima, .find = find };
	size_t part;

	for (; steps > 0; steps -= part) {
		part = steps < WALK_PLACES ? steps : WALK_PLACES;
		w.ranks = ranks;
		w.scores = scores;
		find_runs(ranks, part + SDHASH_WINDOW - 1, runs);
		find_minima(ranks, part, runs, minima);
		walk_all(&w, part, lowest);
		ranks += part;
		scores += part;
	}
}

/* ---- features ---- */

/* The words of section 6.1.2, and with the constants added. */
static TARGET inline void expand(vector words[SHA1_ROUNDS])
{
	const uint32_t constants[4] = { SHA1_K0, SHA1_K1, SHA1_K2, SHA1_K3 };
	vector x;
	size_t i, k;

#pragma GCC unroll 16
	for (i = 16; i < SHA1_ROUNDS; i++)
		words[i] = rotate(mix(words[i - 3], words[i - 8], words[i - 14],
				      words[i - 16]),
				  1);
	for (k = 0; k < 4; k++) {
		x = same(constants[k]);
		for (i = 20 * k; i < 20 * (k + 1); i++)
			words[i] = add(words[i], x);
	}
}

struct sdhash_vector_state {
	vector a, b, c, d, e;
};

static TARGET inline void round_of(struct sdhash_vector_state *s, vector mixed,
				   vector sum)
{
	/* a is there last. */
	vector next = add(rotate(s->a, 5), add(mixed, add(s->e, sum)));

	s->e = s->d;
	s->d = s->c;
	s->c = rotate(s->b, 30);
	s->b = s->a;
	s->a = next;
}

static TARGET void add_block(struct sdhash_vector_state *state,
			     const vector sums[SHA1_ROUNDS])
{
	struct sdhash_vector_state s = *state;
	size_t i;

#pragma GCC unroll 5
	for (i = 0; i < 20; i++)
		round_of(&s, choose(s.b, s.c, s.d), sums[i]);
#pragma GCC unroll 5
	for (; i < 40; i++)
		round_of(&s, parity(s.b, s.c, s.d), sums[i]);
#pragma GCC unroll 5
	for (; i < 60; i++)
		round_of(&s, majority(s.b, s.c, s.d), sums[i]);
#pragma GCC unroll 5
	for (; i < 80; i++)
		round_of(&s, parity(s.b, s.c, s.d), sums[i]);
	state->a = add(s.a, state->a);
	state->b = add(s.b, state->b);
	state->c = add(s.c, state->c);
	state->d = add(s.d, state->d);
	state->e = add(s.e, state->e);
}

static TARGET inline void hash_lanes(
	const uint8_t *const at[HASHES], const vector padding[SHA1_ROUNDS],
	uint32_t words_out[SDHASH_HASH_WORDS][HASHES])
{
	const uint32_t *start = sdhash_sha1_start;
	struct sdhash_vector_state s = { same(start[0]), same(start[1]),
					 same(start[2]), same(start[3]),
					 same(start[4]) };
	vector words[SHA1_ROUNDS];
	size_t i;

	for (i = 0; i < 16; i += 4)
		load_words(at, 4 * i, words + i);
	for (i = 0; i < 16; i++)
		words[i] = swap_bytes(words[i]);
	expand(words);
	add_block(&s, words);
	add_block(&s, padding);
	store(words_out[0], swap_bytes(s.a));
	store(words_out[1], swap_bytes(s.b));
	store(words_out[2], swap_bytes(s.c));
	store(words_out[3], swap_bytes(s.d));
	store(words_out[4], swap_bytes(s.e));
}

static TARGET void hash(const uint8_t *bytes, const uint16_t *places,
			size_t count, uint32_t (*words_out)[SDHASH_HASH_WORDS])
{
	uint32_t words[SDHASH_HASH_WORDS][HASHES];
	const uint8_t *at[HASHES];
	vector padding[SHA1_ROUNDS];
	size_t i, k, part;

	for (i = 0; i < SHA1_ROUNDS; i++)
		padding[i] = same(sdhash_sha1_padding[i]);
	for (; count > 0; count -= part) {
		part = count < HASHES ? count : HASHES;
		for (i = 0; i < HASHES; i++)
			at[i] = bytes + places[i < part ? i : 0];
		hash_lanes(at, padding, words);
		for (i = 0; i < part; i++)
			for (k = 0; k < SDHASH_HASH_WORDS; k++)
				words_out[i][k] = words[k][i];
		places += part;
		words_out += part;
	}
}

#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/bytes.h"
#include "core/kernel/md4_impl.h"

/*
 * Four messages side by side, one in each lane, in the compilers' own notation
 * for vectors: any processor has those of 16 bytes, or the compiler takes them
 * apart.
 */
#define LANES 4
#define SETS 2
#define INLINE inline __attribute__((always_inline))

typedef uint32_t lanes __attribute__((vector_size(4 * LANES)));

/* The functions of RFC 1320, section 3.4. */

static inline lanes rotate(lanes x, int bits)
{
	return x << bits | x >> (32 - bits);
}

static inline lanes choose(lanes x, lanes y, lanes z)
{
	return z ^ (x & (y ^ z));
}

static inline lanes majority(lanes x, lanes y, lanes z)
{
	return (x & y) | (z & (x | y));
}

static inline lanes parity(lanes x, lanes y, lanes z)
{
	return x ^ y ^ z;
}

struct state {
	lanes a, b, c, d;
};

/* f is ready last. */
static INLINE lanes add(lanes x, lanes f, lanes w)
{
	return x + w + f;
}

/* Four steps of a round, the one that begins with word w[4 * i] or w[i]. */
static INLINE void round_1(struct state *s, const lanes w[16], int i)
{
	w += 4 * i;
	s->a = rotate(add(s->a, choose(s->b, s->c, s->d), w[0]), 3);
	s->d = rotate(add(s->d, choose(s->a, s->b, s->c), w[1]), 7);
	s->c = rotate(add(s->c, choose(s->d, s->a, s->b), w[2]), 11);
	s->b = rotate(add(s->b, choose(s->c, s->d, s->a), w[3]), 19);
}

static INLINE lanes add_2(lanes x, lanes f, lanes w)
{
	return add(x, f, w + 0x5a827999);
}

static INLINE void round_2(struct state *s, const lanes w[16], int i)
{
	w += i;
	s->a = rotate(add_2(s->a, majority(s->b, s->c, s->d), w[0]), 3);
	s->d = rotate(add_2(s->d, majority(s->a, s->b, s->c), w[4]), 5);
	s->c = rotate(add_2(s->c, majority(s->d, s->a, s->b), w[8]), 9);
	s->b = rotate(add_2(s->b, majority(s->c, s->d, s->a), w[12]), 13);
}

static INLINE lanes add_3(lanes x, lanes f, lanes w)
{
	return add(x, f, w + 0x6ed9eba1);
}

static INLINE void round_3(struct state *s, const lanes w[16], int i)
{
	w += (i & 1) * 2 + (i >> 1);
	s->a = rotate(add_3(s->a, parity(s->b, s->c, s->d), w[0]), 3);
	s->d = rotate(add_3(s->d, parity(s->a, s->b, s->c), w[8]), 9);
	s->c = rotate(add_3(s->c, parity(s->d, s->a, s->b), w[4]), 11);
	s->b = rotate(add_3(s->b, parity(s->c, s->d, s->a), w[12]), 15);
}

/* A block of each of sets * LANES messages, set by set in small steps: one has
 * to wait for its last step where the other can go on. */
static INLINE void add_block(struct state *s, const lanes (*w)[16],
			     const lanes *counts, int sets)
{
	struct state before[SETS];
	int i, k;

#pragma GCC unroll 2
	for (k = 0; k < sets; k++)
		before[k] = s[k];
#pragma GCC unroll 4
	for (i = 0; i < 4; i++)
#pragma GCC unroll 2
		for (k = 0; k < sets; k++)
			round_1(&s[k], w[k], i);
#pragma GCC unroll 4
	for (i = 0; i < 4; i++)
#pragma GCC unroll 2
		for (k = 0; k < sets; k++)
			round_2(&s[k], w[k], i);
#pragma GCC unroll 4
	for (i = 0; i < 4; i++)
#pragma GCC unroll 2
		for (k = 0; k < sets; k++)
			round_3(&s[k], w[k], i);
#pragma GCC unroll 2
	for (k = 0; k < sets; k++) {
		s[k].a = before[k].a + (s[k].a & counts[k]);
		s[k].b = before[k].b + (s[k].b & counts[k]);
		s[k].c = before[k].c + (s[k].c & counts[k]);
		s[k].d = before[k].d + (s[k].d & counts[k]);
	}
}

static inline lanes load(const uint32_t words[LANES])
{
	lanes x;

	memcpy(&x, words, sizeof(x));
	return x;
}

static inline void store(uint32_t words[LANES], lanes x)
{
	memcpy(words, &x, sizeof(x));
}

static inline lanes same(uint32_t value)
{
	return (lanes){ value, value, value, value };
}

static inline lanes load_word(const uint8_t *const at[LANES], size_t offset)
{
	return (lanes){
		load_le32(at[0] + offset),
		load_le32(at[1] + offset),
		load_le32(at[2] + offset),
		load_le32(at[3] + offset),
	};
}

static INLINE void take_turn(struct md4_lanes *l, size_t count, int sets)
{
	lanes counts[SETS];
	struct state s[SETS];
	lanes w[SETS][16];
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
			for (i = 0; i < 16; i++)
				w[k][i] = load_word(l->at + LANES * k,
						    block * MD4_BLOCK + 4 * i);
			counts[k] = (lanes)(load(l->blocks + LANES * k) >
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

static void turn_4(struct md4_lanes *l, size_t count)
{
	take_turn(l, count, 1);
}

static void turn_8(struct md4_lanes *l, size_t count)
{
	take_turn(l, count, 2);
}

static void many(const struct kernel_message *messages, size_t count,
		 uint8_t (*hashes_out)[16])
{
	if (count <= LANES)
		md4_many_lanes(messages, count, hashes_out, LANES, turn_4);
	else
		md4_many_lanes(messages, count, hashes_out, 2 * LANES, turn_8);
}

static uint64_t sortable(uint32_t a, uint32_t b)
{
	return (uint64_t)__builtin_bswap32(a) << 32 | __builtin_bswap32(b);
}

static void lower(uint64_t *least, lanes a, lanes b)
{
	uint64_t value;
	size_t i;

	for (i = 0; i < LANES; i++) {
		value = sortable(a[i], b[i]);
		if (value < least[i])
			least[i] = value;
	}
}

static inline struct state start(void)
{
	return (struct state){ same(md4_start[0]), same(md4_start[1]),
			       same(md4_start[2]), same(md4_start[3]) };
}

/* Messages first to first + SETS * LANES - 1 of a prefix. */
static void suffixed_few(const uint8_t prefix[16], uint32_t first,
			 uint64_t *minima)
{
	const lanes all[SETS] = { same(UINT32_MAX), same(UINT32_MAX) };
	lanes w[SETS][16] = { 0 };
	struct state s[SETS];
	unsigned i, k;

	for (k = 0; k < SETS; k++) {
		for (i = 0; i < 4; i++)
			w[k][i] = same(load_le32(prefix + 4 * i));
		/* The suffix, and the bit that ends a message; its length. */
		w[k][4] = same(0x8001 + first + k * LANES) +
			  (lanes){ 0, 1, 2, 3 };
		w[k][14] = same(17 * 8);
		s[k] = start();
	}
	add_block(s, (const lanes(*)[16])w, all, SETS);
	for (k = 0; k < SETS; k++)
		lower(minima + k * LANES, s[k].a, s[k].b);
}

static void suffixed(const uint8_t (*prefixes)[16], size_t count,
		     uint64_t minima[16])
{
	for (; count > 0; count--, prefixes++) {
		suffixed_few(*prefixes, 0, minima);
		suffixed_few(*prefixes, SETS * LANES, minima + SETS * LANES);
	}
}

const struct kernel_md4 md4_scalar = { many, suffixed };

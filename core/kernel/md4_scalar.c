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

static inline void round_1(struct state *s, const lanes w[16])
{
	int i;

#pragma GCC unroll 4
	for (i = 0; i < 16; i += 4) {
		s->a = rotate(s->a + choose(s->b, s->c, s->d) + w[i], 3);
		s->d = rotate(s->d + choose(s->a, s->b, s->c) + w[i + 1], 7);
		s->c = rotate(s->c + choose(s->d, s->a, s->b) + w[i + 2], 11);
		s->b = rotate(s->b + choose(s->c, s->d, s->a) + w[i + 3], 19);
	}
}

static inline lanes add_2(lanes x, lanes f, lanes w)
{
	return x + (w + 0x5a827999) + f;
}

static inline void round_2(struct state *s, const lanes w[16])
{
	int i;

#pragma GCC unroll 4
	for (i = 0; i < 4; i++) {
		s->a = rotate(add_2(s->a, majority(s->b, s->c, s->d), w[i]), 3);
		s->d = rotate(add_2(s->d, majority(s->a, s->b, s->c), w[i + 4]),
			      5);
		s->c = rotate(add_2(s->c, majority(s->d, s->a, s->b), w[i + 8]),
			      9);
		s->b = rotate(
			add_2(s->b, majority(s->c, s->d, s->a), w[i + 12]), 13);
	}
}

static inline lanes add_3(lanes x, lanes f, lanes w)
{
	return x + (w + 0x6ed9eba1) + f;
}

static inline void round_3(struct state *s, const lanes w[16])
{
	static const uint8_t order[4] = { 0, 2, 1, 3 };
	int i, k;

#pragma GCC unroll 4
	for (k = 0; k < 4; k++) {
		i = order[k];
		s->a = rotate(add_3(s->a, parity(s->b, s->c, s->d), w[i]), 3);
		s->d = rotate(add_3(s->d, parity(s->a, s->b, s->c), w[i + 8]),
			      9);
		s->c = rotate(add_3(s->c, parity(s->d, s->a, s->b), w[i + 4]),
			      11);
		s->b = rotate(add_3(s->b, parity(s->c, s->d, s->a), w[i + 12]),
			      15);
	}
}

static inline void add_block(struct state *s, const lanes w[16])
{
	struct state before = *s;

	round_1(s, w);
	round_2(s, w);
	round_3(s, w);
	s->a += before.a;
	s->b += before.b;
	s->c += before.c;
	s->d += before.d;
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

static void run(struct md4_lanes *l, size_t count)
{
	struct state s = { load(l->words[0]), load(l->words[1]),
			   load(l->words[2]), load(l->words[3]) };
	const uint8_t *at[LANES];
	lanes w[16];
	size_t i;

	for (i = 0; i < LANES; i++)
		at[i] = l->at[i];
	for (; count > 0; count--) {
		for (i = 0; i < 16; i++)
			w[i] = load_word(at, 4 * i);
		add_block(&s, w);
		for (i = 0; i < LANES; i++)
			at[i] += l->step[i];
	}
	store(l->words[0], s.a);
	store(l->words[1], s.b);
	store(l->words[2], s.c);
	store(l->words[3], s.d);
}

static void many(const struct kernel_message *messages, size_t count,
		 uint8_t (*hashes_out)[16])
{
	md4_many_lanes(messages, count, hashes_out, LANES, run);
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

static void suffixed(const uint8_t (*prefixes)[16], size_t count,
		     uint64_t minima[16])
{
	lanes w[16];
	struct state s;
	unsigned i;

	memset(w, 0, sizeof(w));
	w[14] = same(17 * 8); /* the length of the message, in bits */
	for (; count > 0; count--, prefixes++) {
		for (i = 0; i < 4; i++)
			w[i] = same(load_le32(*prefixes + 4 * i));
		/* The suffix, and the bit that ends a message. */
		w[4] = same(0x8000) + (lanes){ 1, 2, 3, 4 };
		for (i = 0; i < 16; i += LANES) {
			s = (struct state){ same(md4_start[0]),
					    same(md4_start[1]),
					    same(md4_start[2]),
					    same(md4_start[3]) };
			add_block(&s, w);
			lower(minima + i, s.a, s.b);
			w[4] += LANES;
		}
	}
}

const struct kernel_md4 md4_scalar = { many, suffixed };

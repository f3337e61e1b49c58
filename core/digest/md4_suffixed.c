/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/md4.h"

#include <string.h>

#include "core/base/bytes.h"

/*
 * Four messages side by side, one in each lane.  All are one block long, and
 * only word 4 (the last byte and the padding) differs between them.
 */
#define LANES 4

typedef uint32_t lanes __attribute__((vector_size(4 * LANES)));

struct state {
	lanes a, b, c, d;
};

static const struct state start = {
	{ 0x67452301, 0x67452301, 0x67452301, 0x67452301 },
	{ 0xefcdab89, 0xefcdab89, 0xefcdab89, 0xefcdab89 },
	{ 0x98badcfe, 0x98badcfe, 0x98badcfe, 0x98badcfe },
	{ 0x10325476, 0x10325476, 0x10325476, 0x10325476 },
};

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

/* The three rounds of RFC 1320, section 3.4, four steps a turn. */

static inline void round_1(struct state *s, const lanes words[16])
{
	int i;

	for (i = 0; i < 16; i += 4) {
		s->a = rotate(s->a + choose(s->b, s->c, s->d) + words[i], 3);
		s->d = rotate(s->d + choose(s->a, s->b, s->c) + words[i + 1],
			      7);
		s->c = rotate(s->c + choose(s->d, s->a, s->b) + words[i + 2],
			      11);
		s->b = rotate(s->b + choose(s->c, s->d, s->a) + words[i + 3],
			      19);
	}
}

static inline void round_2(struct state *s, const lanes words[16])
{
	const uint32_t k = 0x5a827999;
	int i;

	for (i = 0; i < 4; i++) {
		s->a = rotate(s->a + majority(s->b, s->c, s->d) + words[i] + k,
			      3);
		s->d = rotate(s->d + majority(s->a, s->b, s->c) + words[i + 4] +
				      k,
			      5);
		s->c = rotate(s->c + majority(s->d, s->a, s->b) + words[i + 8] +
				      k,
			      9);
		s->b = rotate(s->b + majority(s->c, s->d, s->a) +
				      words[i + 12] + k,
			      13);
	}
}

static inline void round_3(struct state *s, const lanes words[16])
{
	static const uint8_t order[4] = { 0, 2, 1, 3 };
	const uint32_t k = 0x6ed9eba1;
	int i, w;

	for (i = 0; i < 4; i++) {
		w = order[i];
		s->a = rotate(s->a + (s->b ^ s->c ^ s->d) + words[w] + k, 3);
		s->d = rotate(s->d + (s->a ^ s->b ^ s->c) + words[w + 8] + k,
			      9);
		s->c = rotate(s->c + (s->d ^ s->a ^ s->b) + words[w + 4] + k,
			      11);
		s->b = rotate(s->b + (s->c ^ s->d ^ s->a) + words[w + 12] + k,
			      15);
	}
}

static inline lanes same(uint32_t value)
{
	return (lanes){ value, value, value, value };
}

static uint64_t sortable(uint32_t a, uint32_t b)
{
	uint8_t bytes[8];

	store_le32(bytes, a);
	store_le32(bytes + 4, b);
	return load_be64(bytes);
}

void md4_suffixed(const uint8_t prefix[16], uint64_t out[16])
{
	lanes words[16];
	struct state s;
	unsigned i, lane;

	memset(words, 0, sizeof(words));
	for (i = 0; i < 4; i++)
		words[i] = same(load_le32(prefix + 4 * i));
	/* The suffix, the bit that ends a message, and its length. */
	words[4] = same(0x8000) + (lanes){ 1, 2, 3, 4 };
	words[14] = same(17 * 8);

	for (i = 0; i < 16; i += LANES) {
		s = start;
		round_1(&s, words);
		round_2(&s, words);
		round_3(&s, words);
		s.a += start.a;
		s.b += start.b;
		for (lane = 0; lane < LANES; lane++)
			out[i + lane] = sortable(s.a[lane], s.b[lane]);
		words[4] += LANES;
	}
}

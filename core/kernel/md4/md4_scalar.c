/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/bytes.h"
#include "core/kernel/md4/md4_impl.h"

/*
 * Four messages side by side, one in each lane, in the compilers' own notation
 * for vectors: any processor has those of 16 bytes, or the compiler takes them
 * apart.
 */
#define TARGET
#define LANES 4
#define SETS 4 /* at most */
#define INLINE inline __attribute__((always_inline))

typedef uint32_t vector __attribute__((vector_size(4 * LANES)));
typedef vector vector_mask;

/* The functions of RFC 1320, section 3.4. */

static inline vector rotate(vector x, int bits)
{
	return x << bits | x >> (32 - bits);
}

static inline vector choose(vector x, vector y, vector z)
{
	return z ^ (x & (y ^ z));
}

static inline vector majority(vector x, vector y, vector z)
{
	return (x & y) | (z & (x | y));
}

static inline vector parity(vector x, vector y, vector z)
{
	return x ^ y ^ z;
}

/* f is ready last. */
static INLINE vector add(vector x, vector f, vector w)
{
	return x + w + f;
}

static INLINE vector plus(vector w, uint32_t constant)
{
	return w + constant;
}

static INLINE vector add_if(vector x, vector which, vector y)
{
	return x + (y & which);
}

static inline vector load(const uint32_t words[LANES])
{
	vector x;

	memcpy(&x, words, sizeof(x));
	return x;
}

static inline void store(uint32_t words[LANES], vector x)
{
	memcpy(words, &x, sizeof(x));
}

static inline vector same(uint32_t value)
{
	return (vector){ value, value, value, value };
}

static inline vector load_word(const uint8_t *const at[LANES], size_t offset)
{
	return (vector){
		load_le32(at[0] + offset),
		load_le32(at[1] + offset),
		load_le32(at[2] + offset),
		load_le32(at[3] + offset),
	};
}

static INLINE void load_words(const uint8_t *const at[LANES], size_t offset,
			      vector w[4])
{
	size_t i;

	for (i = 0; i < 4; i++)
		w[i] = load_word(at, offset + 4 * i);
}

static inline vector_mask are_more(vector blocks, uint32_t than)
{
	return (vector)(blocks > than);
}

#include "core/kernel/md4/md4_rounds.h"

static uint64_t sortable(uint32_t a, uint32_t b)
{
	return (uint64_t)__builtin_bswap32(a) << 32 | __builtin_bswap32(b);
}

static void lower(uint64_t *least, vector a, vector b)
{
	uint64_t value;
	size_t i;

	for (i = 0; i < LANES; i++) {
		value = sortable(a[i], b[i]);
		if (value < least[i])
			least[i] = value;
	}
}

static void suffixed_once(const uint8_t prefix[16], uint64_t minima[16])
{
	const vector all[SETS] = { same(UINT32_MAX), same(UINT32_MAX),
				   same(UINT32_MAX), same(UINT32_MAX) };
	vector w[SETS][16] = { 0 };
	struct md4_state s[SETS];
	unsigned k;

	for (k = 0; k < SETS; k++) {
		set_prefix(w[k], prefix);
		/* The suffix, and the bit that ends a message; its length. */
		w[k][4] = same(0x8001 + k * LANES) + (vector){ 0, 1, 2, 3 };
		w[k][14] = same(17 * 8);
		s[k] = start();
	}
	add_block(s, (const vector(*)[16])w, all, SETS);
	for (k = 0; k < SETS; k++)
		lower(minima + k * LANES, s[k].a, s[k].b);
}

static void suffixed(const uint8_t (*prefixes)[16], size_t count,
		     uint64_t minima[16])
{
	for (; count > 0; count--, prefixes++)
		suffixed_once(*prefixes, minima);
}

const struct kernel_md4 md4_scalar = { many, suffixed };

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_MD4_MODEL_H
#define TESTS_SUPPORT_MD4_MODEL_H

#include <stdlib.h>
#include <string.h>

#include "core/base/bytes.h"
#include "tests/support/vectors.h"

/* MD4 as RFC 1320 puts it, one step after the other. */

static inline uint32_t md4_model_f(int round, uint32_t x, uint32_t y,
				   uint32_t z)
{
	static const uint32_t constants[] = { 0, 0x5a827999, 0x6ed9eba1 };

	if (round == 0)
		return (x & y) | (~x & z);
	if (round == 1)
		return ((x & y) | (x & z) | (y & z)) + constants[1];
	return (x ^ y ^ z) + constants[2];
}

static inline void md4_model_block(uint32_t state[4], const uint8_t *block)
{
	static const uint8_t words[3][16] = {
		{ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
		{ 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15 },
		{ 0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15 },
	};
	static const uint8_t shifts[3][4] = {
		{ 3, 7, 11, 19 },
		{ 3, 5, 9, 13 },
		{ 3, 9, 11, 15 },
	};
	uint32_t s[4], x;
	int i, a, bits;

	memcpy(s, state, sizeof(s));
	for (i = 0; i < 48; i++) {
		a = (4 - i % 4) % 4;
		x = s[a] + load_le32(block + 4 * words[i / 16][i % 16]) +
		    md4_model_f(i / 16, s[(a + 1) % 4], s[(a + 2) % 4],
				s[(a + 3) % 4]);
		bits = shifts[i / 16][i % 4];
		s[a] = x << bits | x >> (32 - bits);
	}
	for (i = 0; i < 4; i++)
		state[i] += s[i];
}

static inline void md4_model(const void *data, size_t len, uint8_t hash[16])
{
	uint32_t state[4] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476 };
	size_t i, total = (len + 8) / 64 * 64 + 64;
	uint8_t *padded = calloc(1, total);

	assert_non_null(padded);
	if (len)
		memcpy(padded, data, len);
	padded[len] = 0x80;
	store_le64(padded + total - 8, 8 * (uint64_t)len);
	for (i = 0; i < total; i += 64)
		md4_model_block(state, padded + i);
	for (i = 0; i < 4; i++)
		store_le32(hash + 4 * i, state[i]);
	free(padded);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_TLSH_MODEL_H
#define TESTS_SUPPORT_TLSH_MODEL_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest/tlsh/tlsh.h"
#include "tests/support/vectors.h"

/* TLSH by its definition, one step after the other. */

static inline uint8_t tlsh_model_hash(uint8_t salt, uint8_t x, uint8_t y,
				      uint8_t z)
{
	const uint8_t *t = tlsh_pearson;

	return t[t[t[t[salt] ^ x] ^ y] ^ z];
}

static inline int tlsh_model_order(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static inline void tlsh_model_count(struct bytes b, uint32_t counts[256],
				    uint8_t *checksum)
{
	size_t i;

	for (i = 4; i < b.len; i++) {
		const uint8_t *p = b.data + i;

		*checksum = tlsh_model_hash(0, p[0], p[-1], *checksum);
		counts[tlsh_model_hash(2, p[0], p[-1], p[-2])]++;
		counts[tlsh_model_hash(3, p[0], p[-1], p[-3])]++;
		counts[tlsh_model_hash(5, p[0], p[-2], p[-3])]++;
		counts[tlsh_model_hash(7, p[0], p[-2], p[-4])]++;
		counts[tlsh_model_hash(11, p[0], p[-1], p[-4])]++;
		counts[tlsh_model_hash(13, p[0], p[-3], p[-4])]++;
	}
}

/* Whether there is a digest; digits: two for each byte of the text. */
static inline bool tlsh_model(struct bytes b, char text[73])
{
	uint32_t counts[256] = { 0 }, sorted[128], used = 0;
	uint8_t checksum = 0, length = 0;
	char *at = text;
	int k;

	tlsh_model_count(b, counts, &checksum);
	for (k = 0; k < 128; k++)
		used += counts[k] > 0;
	if (b.len < 50 || used < 65)
		return false;
	memcpy(sorted, counts, sizeof(sorted));
	qsort(sorted, 128, sizeof(*sorted), tlsh_model_order);
	while (b.len > tlsh_lengths[length])
		length++;
	at += snprintf(at, (size_t)(text + 73 - at), "T1%X%X%X%X%X%X",
		       checksum & 15U, checksum / 16U, length & 15U,
		       length / 16U, 100 * sorted[31] / sorted[95] % 16,
		       100 * sorted[63] / sorted[95] % 16);
	for (k = 127; k > 0; k -= 2) {
		unsigned code = 0;
		int i;

		for (i = 31; i < 96; i += 32)
			code += 4 * (counts[k] > sorted[i]) +
				(counts[k - 1] > sorted[i]);
		at += snprintf(at, (size_t)(text + 73 - at), "%X", code);
	}
	return true;
}

#endif

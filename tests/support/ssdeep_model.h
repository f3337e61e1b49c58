/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_SSDEEP_MODEL_H
#define TESTS_SUPPORT_SSDEEP_MODEL_H

#include "tests/support/vectors.h"

/* ssdeep's signature, one block size at a time, from the whole file. */

#define SSDEEP_MODEL_TEXT 160

/* Writes the characters of a block size, at most max, and a NUL; returns the
 * triggers. */
static inline size_t ssdeep_model_part(struct bytes b, uint32_t block_size,
				       size_t max, char *out)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijkl"
				       "mnopqrstuvwxyz0123456789+/";
	uint32_t h1 = 0, h2 = 0, h3 = 0, fnv = 0x28021967;
	size_t i, triggers = 0, count = 0;
	char last = '\0';

	for (i = 0; i < b.len; i++) {
		h2 = h2 - h1 + 7u * b.data[i];
		h1 = h1 + b.data[i] - (i < 7 ? 0 : b.data[i - 7]);
		h3 = h3 << 5 ^ b.data[i];
		fnv = fnv * 0x01000193 ^ b.data[i];
		if ((h1 + h2 + h3) % block_size != block_size - 1)
			continue;
		triggers++;
		if (count < max - 1) {
			out[count++] = alphabet[fnv % 64];
			fnv = 0x28021967;
		} else {
			last = alphabet[fnv % 64];
		}
	}
	if (h1 + h2 + h3 != 0)
		last = alphabet[fnv % 64];
	out[count] = last;
	out[count + 1] = '\0';
	return triggers;
}

static inline void ssdeep_model(struct bytes b, char out[SSDEEP_MODEL_TEXT])
{
	char leading[65], secondary[33];
	unsigned level = 0;

	while (UINT64_C(192) << level < b.len)
		level++;
	while (ssdeep_model_part(b, 3u << level, 64, leading) < 32 && level > 0)
		level--;
	(void)ssdeep_model_part(b, 6u << level, 32, secondary);
	(void)snprintf(out, SSDEEP_MODEL_TEXT, "%u:%s:%s", 3u << level, leading,
		       secondary);
}

#endif

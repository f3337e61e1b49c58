/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_VARINT_H
#define CORE_BASE_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers on disk whose small values take few bytes (LEB128): 7 bits a byte,
 * the lowest first; the highest bit says that more follow. */
#define VARINT_BYTES 10 /* at most */

static inline size_t store_varint(uint8_t *p, uint64_t v)
{
	size_t len = 0;

	for (; v > 127; v >>= 7)
		p[len++] = (uint8_t)(v | 128);
	p[len++] = (uint8_t)v;
	return len;
}

/* Moves *at behind the number.  False where there is none before end. */
static inline bool load_varint(const uint8_t **at, const uint8_t *end,
			       uint64_t *out)
{
	uint64_t v = 0;
	unsigned shift;
	uint8_t byte;

	for (shift = 0; shift < 64 && *at < end; shift += 7) {
		byte = *(*at)++;
		if (shift == 63 && byte > 1)
			return false;
		v |= (uint64_t)(byte & 127) << shift;
		if (byte < 128) {
			*out = v;
			return true;
		}
	}
	return false;
}

#endif

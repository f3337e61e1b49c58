/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/ctph.h"

#include <errno.h>

int ctph_pack(const uint16_t *pieces, size_t count, unsigned bits,
	      struct buf *out)
{
	size_t bytes = (count * bits + 7) / 8, i;
	int err = buf_reserve(out, bytes + 1);
	uint32_t left = 0;
	unsigned left_bits = 0;
	uint8_t *at;

	if (err)
		return err;
	at = (uint8_t *)out->data + out->len;
	for (i = 0; i < count; i++) {
		left = left << bits | pieces[i];
		for (left_bits += bits; left_bits >= 8; left_bits -= 8)
			*at++ = (uint8_t)(left >> (left_bits - 8));
	}
	if (left_bits)
		*at++ = (uint8_t)(left << (8 - left_bits));
	*at = 0;
	out->len += bytes;
	return 0;
}

bool ctph_unpack(const uint8_t **at, const uint8_t *end, size_t count,
		 unsigned bits, uint16_t *out)
{
	uint32_t left = 0;
	unsigned left_bits = 0;
	size_t i;

	if ((size_t)(end - *at) < (count * bits + 7) / 8)
		return false;
	for (i = 0; i < count; i++) {
		for (; left_bits < bits; left_bits += 8)
			left = left << 8 | *(*at)++;
		left_bits -= bits;
		out[i] = (uint16_t)(left >> left_bits & ((1u << bits) - 1));
	}
	return !(left & ((1u << left_bits) - 1));
}

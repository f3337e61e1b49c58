/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sketch/sketch.h"

#include <errno.h>
#include <string.h>

#include "core/base/text.h"

#define PREFIX "sif4:"

/* In base64 (RFC 4648), of six bytes at a time. */
int sketch_format(const struct sketch *sketch, struct buf *out)
{
	uint8_t bytes[SKETCH_PACKED_MAX];
	const size_t len = sketch_pack(sketch, bytes);
	const size_t text_len = (4 * len + 2) / 3;
	int err = buf_reserve(out, sizeof(PREFIX) + text_len + 8);
	size_t i;

	if (!err)
		err = buf_append_text(out, PREFIX);
	if (err)
		return err;
	for (i = 0; i < len; i += 6) {
		uint8_t six[6] = { 0 };

		memcpy(six, bytes + i, len - i < 6 ? len - i : 6);
		base64_spell((uint64_t)load_be32(six) << 16 |
				     (uint64_t)six[4] << 8 | six[5],
			     out->data + out->len + i / 6 * 8);
	}
	out->len += text_len;
	out->data[out->len] = '\0';
	return 0;
}

/* bytes has room for as many as there are characters. */
static bool read_base64(const char *text, size_t len, uint8_t *bytes,
			size_t *len_out)
{
	uint32_t bits = 0;
	size_t i, n = 0;
	uint8_t code;

	for (i = 0; i < len; i++) {
		code = base64_codes[(uint8_t)text[i]];
		if (!code)
			return false;
		bits = bits << 6 | (code - 1u);
		if (i % 4)
			bytes[n++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
	}
	*len_out = n;
	/* Bits that are left over are 0, and fewer than six. */
	return len % 4 == 0 ||
	       (len % 4 > 1 && (bits & (len % 4 == 2 ? 15 : 3)) == 0);
}

int sketch_parse(const char *text, size_t len, struct sketch *out)
{
	uint8_t bytes[(SKETCH_PACKED_MAX + 2) / 3 * 4];
	const size_t prefix_len = sizeof(PREFIX) - 1;
	size_t packed_len;

	if (len < prefix_len || memcmp(text, PREFIX, prefix_len) != 0 ||
	    len - prefix_len > sizeof(bytes) ||
	    !read_base64(text + prefix_len, len - prefix_len, bytes,
			 &packed_len))
		return -EINVAL;
	return sketch_unpack(bytes, packed_len, out);
}

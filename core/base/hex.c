/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/hex.h"

#include <errno.h>

void hex_encode(const uint8_t *bytes, size_t len, char *text)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < len; i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	text[2 * len] = '\0';
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

int hex_decode(const char *text, size_t text_len, uint8_t *bytes, size_t len)
{
	size_t i;

	if (text_len != 2 * len)
		return -EINVAL;
	for (i = 0; i < text_len; i++)
		if (digit_value(text[i]) < 0)
			return -EINVAL;
	for (i = 0; i < len; i++)
		bytes[i] = (uint8_t)(digit_value(text[2 * i]) * 16 +
				     digit_value(text[2 * i + 1]));
	return 0;
}

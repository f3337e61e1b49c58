/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest/tlsh/tlsh_impl.h"

enum { BYTES = 3 + TLSH_BUCKETS / 4, DIGITS = 2 * BYTES };

static uint8_t swap_digits(uint8_t byte)
{
	return (uint8_t)(byte << 4 | byte >> 4);
}

/* ---- text ---- */

int tlsh_format(const struct tlsh_digest *d, struct buf *out)
{
	static const char digits[] = "0123456789ABCDEF";
	uint8_t bytes[BYTES] = { swap_digits(d->checksum),
				 swap_digits(d->length),
				 (uint8_t)(d->ratios[0] << 4 | d->ratios[1]) };
	char text[2 + DIGITS] = "T1";
	size_t i;

	for (i = 3; i < BYTES; i++)
		bytes[i] = d->codes[BYTES - 1 - i];
	for (i = 0; i < BYTES; i++) {
		text[2 + 2 * i] = digits[bytes[i] >> 4];
		text[3 + 2 * i] = digits[bytes[i] & 15];
	}
	return buf_append(out, text, sizeof(text));
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int tlsh_parse(const char *text, size_t len, struct tlsh_digest *out)
{
	uint8_t bytes[BYTES];
	size_t i;

	if (len == 2 + DIGITS && !memcmp(text, "T1", 2)) {
		text += 2;
		len -= 2;
	}
	if (len != DIGITS)
		return -EINVAL;
	for (i = 0; i < BYTES; i++) {
		int high = digit_value(text[2 * i]);
		int low = digit_value(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return -EINVAL;
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	out->checksum = swap_digits(bytes[0]);
	out->length = swap_digits(bytes[1]);
	out->ratios[0] = bytes[2] >> 4;
	out->ratios[1] = bytes[2] & 15;
	for (i = 3; i < BYTES; i++)
		out->codes[BYTES - 1 - i] = bytes[i];
	return 0;
}

/* ---- distance ---- */

/* On a ring of that size. */
static int ring_distance(int a, int b, int size)
{
	int d = abs(a - b);

	return d < size - d ? d : size - d;
}

static int codes_distance(unsigned a, unsigned b)
{
	int d, sum = 0, i;

	for (i = 0; i < 4; i++, a >>= 2, b >>= 2) {
		d = abs((int)(a & 3) - (int)(b & 3));
		sum += d == 3 ? 6 : d;
	}
	return sum;
}

int tlsh_distance(const struct tlsh_digest *a, const struct tlsh_digest *b)
{
	int d = ring_distance(a->length, b->length, 256);
	int sum = d <= 1 ? d : 12 * d;
	size_t i;

	for (i = 0; i < 2; i++) {
		d = ring_distance(a->ratios[i], b->ratios[i], 16);
		sum += d <= 1 ? d : 12 * (d - 1);
	}
	sum += a->checksum != b->checksum;
	for (i = 0; i < sizeof(a->codes); i++)
		sum += codes_distance(a->codes[i], b->codes[i]);
	return sum;
}

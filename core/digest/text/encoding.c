/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/text/encoding.h"

#include <string.h>

/* ---- telling them apart ---- */

struct byte_order_mark {
	size_t len;
	enum encoding encoding;
	uint8_t bytes[4];
};

/* UTF-32 first: its mark begins with that of UTF-16. */
static const struct byte_order_mark marks[] = {
	{ 4, ENCODING_UTF32LE, { 0xff, 0xfe, 0, 0 } },
	{ 4, ENCODING_UTF32BE, { 0, 0, 0xfe, 0xff } },
	{ 2, ENCODING_UTF16LE, { 0xff, 0xfe } },
	{ 2, ENCODING_UTF16BE, { 0xfe, 0xff } },
};

/* Of so many units, one at least must be of ASCII. */
enum { UNITS_PER_ASCII = 8 };

/* The zero bytes in each of four places, of whole units of four bytes. */
static void count_zeros(const uint8_t *bytes, size_t len, size_t zeros_out[4])
{
	size_t i;

	for (i = 0; i < len; i++)
		zeros_out[i % 4] += bytes[i] == 0;
}

static bool is_utf32(const size_t zeros[4], size_t units, size_t highest)
{
	size_t lowest = 3 - highest;
	size_t middle = highest ? 1 : 2; /* the second byte from the lowest */
	size_t upper = 3 - middle;

	return zeros[highest] == units && !zeros[lowest] &&
	       zeros[upper] >= units - units / UNITS_PER_ASCII &&
	       zeros[middle] * UNITS_PER_ASCII >= units;
}

static bool is_utf16(const size_t zeros[4], size_t units, size_t high)
{
	size_t low = 1 - high;

	return !zeros[low] && !zeros[low + 2] &&
	       (zeros[high] + zeros[high + 2]) * UNITS_PER_ASCII >= units;
}

enum encoding encoding_detect(const uint8_t *bytes, size_t len)
{
	size_t zeros[4] = { 0 }, i;

	for (i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (len >= marks[i].len &&
		    !memcmp(bytes, marks[i].bytes, marks[i].len))
			return marks[i].encoding;
	if (!memchr(bytes, 0, len))
		return ENCODING_ASCII;
	count_zeros(bytes, len - len % 4, zeros);
	if (len >= 4 && is_utf32(zeros, len / 4, 3))
		return ENCODING_UTF32LE;
	if (len >= 4 && is_utf32(zeros, len / 4, 0))
		return ENCODING_UTF32BE;
	count_zeros(bytes + len - len % 4, len % 4 & 2, zeros);
	if (is_utf16(zeros, len / 2, 1))
		return ENCODING_UTF16LE;
	if (is_utf16(zeros, len / 2, 0))
		return ENCODING_UTF16BE;
	return ENCODING_NONE;
}

/* ---- decoding ---- */

enum { MOST_CODE = 0x10ffff };

static bool is_surrogate(uint32_t code)
{
	return code >= 0xd800 && code <= 0xdfff;
}

static size_t encode_utf8(uint32_t code, uint8_t *out)
{
	if (code < 0x80) {
		out[0] = (uint8_t)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (uint8_t)(0xc0 | code >> 6);
		out[1] = (uint8_t)(0x80 | (code & 63));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (uint8_t)(0xe0 | code >> 12);
		out[1] = (uint8_t)(0x80 | (code >> 6 & 63));
		out[2] = (uint8_t)(0x80 | (code & 63));
		return 3;
	}
	out[0] = (uint8_t)(0xf0 | code >> 18);
	out[1] = (uint8_t)(0x80 | (code >> 12 & 63));
	out[2] = (uint8_t)(0x80 | (code >> 6 & 63));
	out[3] = (uint8_t)(0x80 | (code & 63));
	return 4;
}

static uint32_t load_unit16(const uint8_t *p, bool big)
{
	return big ? (uint32_t)p[0] << 8 | p[1] : (uint32_t)p[1] << 8 | p[0];
}

/* Each reads a character: its length, 0: more bytes are needed.  A code of 0:
 * it cannot be. */
static size_t read_utf16(const uint8_t *p, size_t len, bool big, uint32_t *out)
{
	uint32_t high, low;

	if (len < 2)
		return 0;
	high = load_unit16(p, big);
	*out = high;
	if (!is_surrogate(high))
		return 2;
	*out = 0;
	if (high >= 0xdc00)
		return 2;
	if (len < 4)
		return 0;
	low = load_unit16(p + 2, big);
	if (low >= 0xdc00 && low <= 0xdfff)
		*out = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
	return 4;
}

static size_t read_utf32(const uint8_t *p, size_t len, bool big, uint32_t *out)
{
	uint32_t first, second;

	if (len < 4)
		return 0;
	first = load_unit16(p, big);
	second = load_unit16(p + 2, big);
	*out = big ? first << 16 | second : second << 16 | first;
	if (*out > MOST_CODE || is_surrogate(*out))
		*out = 0;
	return 4;
}

static size_t read_character(enum encoding encoding, const uint8_t *p,
			     size_t len, uint32_t *out)
{
	switch (encoding) {
	case ENCODING_UTF16LE:
		return read_utf16(p, len, false, out);
	case ENCODING_UTF16BE:
		return read_utf16(p, len, true, out);
	case ENCODING_UTF32LE:
		return read_utf32(p, len, false, out);
	case ENCODING_UTF32BE:
		return read_utf32(p, len, true, out);
	default:
		*out = len ? p[0] : 0;
		return len ? 1 : 0;
	}
}

void encoding_decode(enum encoding encoding, const uint8_t *bytes, size_t len,
		     uint8_t *out, size_t room,
		     struct encoding_progress *progress_out)
{
	struct encoding_progress p = { 0 };
	uint32_t code;
	size_t size;

	while (p.written + ENCODING_CHARACTER <= room) {
		size = read_character(encoding, bytes + p.used, len - p.used,
				      &code);
		if (!size)
			break;
		p.is_bad = code == 0;
		if (p.is_bad)
			break;
		p.written += encode_utf8(code, out + p.written);
		p.used += size;
	}
	*progress_out = p;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sise.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			       "abcdefghijklmnopqrstuvwxyz0123456789+/";

/* ---- writing ---- */

static int format_part(const struct sise_part *part, struct buf *out)
{
	char *text;
	size_t i;
	int err;

	err = buf_append_format(out,
				"%" PRIu64 "(%" PRIu64 "):", part->block_size,
				part->mod_value);
	if (!err)
		err = buf_reserve(out, 2 * part->count);
	if (err)
		return err;
	text = out->data + out->len;
	for (i = 0; i < part->count; i++) {
		*text++ = alphabet[part->pairs[i] >> 6];
		*text++ = alphabet[part->pairs[i] & 63];
	}
	*text = '\0';
	out->len += 2 * part->count;
	return 0;
}

int sise_format(const struct sise_signature *sig, struct buf *out)
{
	int err;

	err = format_part(&sig->leading, out);
	if (!err)
		err = buf_append_text(out, "::");
	if (!err)
		err = format_part(&sig->secondary, out);
	return err;
}

/* ---- reading ---- */

struct cursor {
	const char *at;
	const char *end;
};

static bool skip(struct cursor *c, char wanted)
{
	if (c->at == c->end || *c->at != wanted)
		return false;
	c->at++;
	return true;
}

/* A number as it is printed: no sign, no leading zeros. */
static bool read_number(struct cursor *c, uint64_t *out)
{
	const char *start = c->at;
	uint64_t value = 0;
	unsigned digit;

	while (c->at < c->end && *c->at >= '0' && *c->at <= '9') {
		digit = (unsigned)(*c->at++ - '0');
		if (value > (UINT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	if (c->at == start || (*start == '0' && c->at > start + 1))
		return false;
	*out = value;
	return true;
}

/* One more than the value of a character; 0: not in the alphabet. */
static const uint8_t codes[256] = {
	['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,
	['G'] = 7,  ['H'] = 8,  ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12,
	['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16, ['Q'] = 17, ['R'] = 18,
	['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
	['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30,
	['e'] = 31, ['f'] = 32, ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36,
	['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40, ['o'] = 41, ['p'] = 42,
	['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
	['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54,
	['2'] = 55, ['3'] = 56, ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60,
	['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64,
};

static bool decode_pairs(const char *text, size_t count, uint16_t *out)
{
	unsigned high, low, bad = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		high = codes[(uint8_t)text[2 * i]];
		low = codes[(uint8_t)text[2 * i + 1]];
		bad |= (high == 0) | (low == 0);
		out[i] = (uint16_t)((high - 1) << 6 | (low - 1));
	}
	return !bad;
}

/* All characters up to a colon or the end are checked, the first
 * SISE_MAX_PAIRS pairs kept. */
static bool read_pairs(struct cursor *c, struct sise_part *out)
{
	size_t len = (size_t)(c->end - c->at), i;
	const char *colon = memchr(c->at, ':', len), *start = c->at;

	if (colon)
		len = (size_t)(colon - start);
	if (len == 0 || len % 2)
		return false;
	out->count = len / 2 < SISE_MAX_PAIRS ? len / 2 : SISE_MAX_PAIRS;
	for (i = 2 * out->count; i < len; i++)
		if (!codes[(uint8_t)start[i]])
			return false;
	c->at += len;
	return decode_pairs(start, out->count, out->pairs);
}

static bool read_part(struct cursor *c, struct sise_part *out)
{
	return read_number(c, &out->block_size) && skip(c, '(') &&
	       read_number(c, &out->mod_value) && skip(c, ')') &&
	       skip(c, ':') && read_pairs(c, out);
}

int sise_parse(const char *text, size_t len, struct sise_signature *out)
{
	struct cursor c = { text, text + len };

	if (!read_part(&c, &out->leading) || !skip(&c, ':') || !skip(&c, ':') ||
	    !read_part(&c, &out->secondary) || c.at != c.end)
		return -EINVAL;
	return 0;
}

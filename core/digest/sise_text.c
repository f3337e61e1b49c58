/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sise.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>

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

static int character_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

/* All pairs are checked, the first SISE_MAX_PAIRS kept. */
static bool read_pairs(struct cursor *c, struct sise_part *out)
{
	int high, low;

	out->count = 0;
	while (c->end - c->at >= 2) {
		high = character_value(c->at[0]);
		if (high < 0)
			break;
		low = character_value(c->at[1]);
		if (low < 0)
			return false;
		if (out->count < SISE_MAX_PAIRS)
			out->pairs[out->count++] = (uint16_t)(high << 6 | low);
		c->at += 2;
	}
	return out->count > 0;
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

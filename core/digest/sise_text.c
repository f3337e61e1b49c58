/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sise.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/text.h"

/* ---- writing ---- */

/* Four pairs at a time, then those that are left. */
static char *spell_pairs(const uint16_t *pairs, size_t count, char *text)
{
	size_t i;

	for (i = 0; i + 4 <= count; i += 4, text += 8)
		base64_spell((uint64_t)pairs[i] << 36 |
				     (uint64_t)pairs[i + 1] << 24 |
				     (uint64_t)pairs[i + 2] << 12 |
				     pairs[i + 3],
			     text);
	for (; i < count; i++) {
		*text++ = base64_digits[pairs[i] >> 6];
		*text++ = base64_digits[pairs[i] & 63];
	}
	return text;
}

static int format_part(const struct sise_part *part, struct buf *out)
{
	int err = buf_append_format(out, "%" PRIu64 "(%" PRIu64 "):",
				    part->block_size, part->mod_value);

	if (!err)
		err = buf_reserve(out, 2 * part->count);
	if (err)
		return err;
	*spell_pairs(part->pairs, part->count, out->data + out->len) = '\0';
	out->len += 2 * part->count;
	return 0;
}

int sise_format(const struct sise_signature *sig, struct buf *out)
{
	int err = buf_reserve(out, 4 * TEXT_NUMBER + sizeof("():::():") +
					   2 * sig->leading.count +
					   2 * sig->secondary.count);

	if (!err)
		err = format_part(&sig->leading, out);
	if (!err)
		err = buf_append_text(out, "::");
	if (!err)
		err = format_part(&sig->secondary, out);
	return err;
}

/* ---- reading ---- */

struct sise_cursor {
	const char *at;
	const char *end;
};

static bool skip(struct sise_cursor *c, char wanted)
{
	if (c->at == c->end || *c->at != wanted)
		return false;
	c->at++;
	return true;
}

static bool decode_pairs(const char *text, size_t count, uint16_t *out)
{
	unsigned high, low, bad = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		high = base64_codes[(uint8_t)text[2 * i]];
		low = base64_codes[(uint8_t)text[2 * i + 1]];
		bad |= (high == 0) | (low == 0);
		out[i] = (uint16_t)((high - 1) << 6 | (low - 1));
	}
	return !bad;
}

/* All characters up to a colon or the end are checked, the first
 * SISE_MAX_PAIRS pairs kept. */
static bool read_pairs(struct sise_cursor *c, struct sise_part *out)
{
	size_t len = (size_t)(c->end - c->at), i;
	const char *colon = memchr(c->at, ':', len), *start = c->at;

	if (colon)
		len = (size_t)(colon - start);
	if (len == 0 || len % 2)
		return false;
	out->count = len / 2 < SISE_MAX_PAIRS ? len / 2 : SISE_MAX_PAIRS;
	for (i = 2 * out->count; i < len; i++)
		if (!base64_codes[(uint8_t)start[i]])
			return false;
	c->at += len;
	return decode_pairs(start, out->count, out->pairs);
}

static bool read_part(struct sise_cursor *c, struct sise_part *out)
{
	return text_number(&c->at, c->end, &out->block_size) && skip(c, '(') &&
	       text_number(&c->at, c->end, &out->mod_value) && skip(c, ')') &&
	       skip(c, ':') && read_pairs(c, out);
}

int sise_parse(const char *text, size_t len, struct sise_signature *out)
{
	struct sise_cursor c = { text, text + len };

	if (!read_part(&c, &out->leading) || !skip(&c, ':') || !skip(&c, ':') ||
	    !read_part(&c, &out->secondary) || c.at != c.end)
		return -EINVAL;
	return 0;
}

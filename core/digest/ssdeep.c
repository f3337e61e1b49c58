/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/ssdeep.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/text.h"

#define CHAR_MASK 0x3f

/* ---- the result ---- */

/*
 * The characters of a level, at most max.  The last is of the piece that the
 * end of the file cuts off.  Where the rolling value is 0, ssdeep takes this
 * for no piece at all, and a full part ends with the one before.
 */
static void copy_level(const struct ctph *c, unsigned level, size_t max,
		       const struct ctph_tail *tail, struct ssdeep_part *out)
{
	bool full = c->triggers[level] >= max;
	size_t i, count = full ? max - 1 : (size_t)c->triggers[level];

	for (i = 0; i < count; i++)
		out->chars[i] = c->pieces[level][i] & CHAR_MASK;
	if (ctph_rolling_value(c) != 0)
		out->chars[count++] =
			(full ? tail->state : c->states[level]) & CHAR_MASK;
	else if (full)
		out->chars[count++] = tail->last & CHAR_MASK;
	out->count = count;
}

int ssdeep_read(const struct ctph *c, struct ssdeep_signature *out)
{
	unsigned level = c->ssdeep_low;

	if (c->size > SSDEEP_MAX_SIZE)
		return -EOVERFLOW;
	while (ctph_starts_at_or_above(c->size, level + 1))
		level++;
	while (level > c->ssdeep_low && c->triggers[level] < SSDEEP_HALF_CHARS)
		level--;
	out->block_size = UINT64_C(3) << level;
	copy_level(c, level, SSDEEP_MAX_CHARS, &c->whole[level], &out->leading);
	copy_level(c, level + 1, SSDEEP_HALF_CHARS, &c->half[level + 1],
		   &out->secondary);
	return 0;
}

/* ---- text ---- */

static int format_part(const struct ssdeep_part *part, struct buf *out)
{
	char text[SSDEEP_MAX_CHARS];
	size_t i;

	for (i = 0; i < part->count; i++)
		text[i] = base64_digits[part->chars[i]];
	return buf_append(out, text, part->count);
}

int ssdeep_format(const struct ssdeep_signature *sig, struct buf *out)
{
	int err = buf_reserve(out, TEXT_NUMBER + 1 + sig->leading.count +
					   sig->secondary.count);

	if (!err)
		err = buf_append_format(out, "%" PRIu64 ":", sig->block_size);
	if (!err)
		err = format_part(&sig->leading, out);
	if (!err)
		err = buf_append_text(out, ":");
	if (!err)
		err = format_part(&sig->secondary, out);
	return err;
}

/* Characters up to end. */
static bool read_part(const char *at, const char *end, struct ssdeep_part *out)
{
	uint8_t code;

	out->count = 0;
	if (end - at > SSDEEP_MAX_CHARS)
		return false;
	for (; at < end; at++) {
		code = base64_codes[(uint8_t)*at];
		if (!code)
			return false;
		out->chars[out->count++] = code - 1;
	}
	return true;
}

int ssdeep_parse(const char *text, size_t len, struct ssdeep_signature *out)
{
	const char *end = text + len;
	const char *colon;

	if (!text_number(&text, end, &out->block_size) || !out->block_size ||
	    text == end || *text++ != ':')
		return -EINVAL;
	colon = memchr(text, ':', (size_t)(end - text));
	if (!colon || !read_part(text, colon, &out->leading) ||
	    !read_part(colon + 1, end, &out->secondary))
		return -EINVAL;
	return 0;
}

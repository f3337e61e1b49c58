/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sif/sif.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/base/text.h"
#include "core/digest/sif/sif_impl.h"

#define PREFIX "sif3:"

/* ---- base64 (RFC 4648) without padding ---- */

static size_t text_length(size_t len)
{
	return (4 * len + 2) / 3;
}

/* bytes have 5 more behind them, which are 0, and text has room for a whole
 * number of 8 characters. */
static void write_base64(const uint8_t *bytes, size_t len, char *text)
{
	size_t i;

	for (i = 0; i < len; i += 6, text += 8)
		base64_spell((uint64_t)load_be32(bytes + i) << 16 |
				     (uint64_t)bytes[i + 4] << 8 | bytes[i + 5],
			     text);
}

/* The value of up to four characters, as if there were four; a bit above these
 * is set when one is none. */
static uint32_t read_four(const char *text, size_t len)
{
	uint32_t value = 0;
	size_t i;

	for (i = 0; i < 4; i++)
		value = value << 6 |
			(i < len ? base64_codes[(uint8_t)text[i]] - 1u : 0);
	return value;
}

/* The bits that no byte needs are 0.  bytes has room for 2 more. */
static bool read_base64(const char *text, size_t len, uint8_t *bytes,
			size_t *len_out)
{
	const size_t count = 3 * len / 4;
	uint32_t four = 0;
	size_t i, j;

	if (len % 4 == 1)
		return false;
	for (i = j = 0; i < len; i += 4, j += 3) {
		four = read_four(text + i, len - i);
		if (four >> 24)
			return false;
		bytes[j] = (uint8_t)(four >> 16);
		bytes[j + 1] = (uint8_t)(four >> 8);
		bytes[j + 2] = (uint8_t)four;
	}
	*len_out = count;
	return len % 4 == 0 || (four & (len % 4 == 2 ? 0xffff : 0xff)) == 0;
}

/* ---- sketches ---- */

static int format_places(const struct sif_sketch *sketch, struct buf *out)
{
	size_t i;
	int err = buf_append_text(out, ":");

	if (!err)
		err = buf_reserve(out, sketch->count);
	if (err)
		return err;
	for (i = 0; i < sketch->count; i++)
		out->data[out->len++] =
			base64_digits[sketch->places[i] & (SIF_PLACES - 1)];
	out->data[out->len] = '\0';
	return 0;
}

int sif_format(const struct sif_sketch *sketch, struct buf *out)
{
	uint8_t body[SIF_PACKED_MAX + SIF_PACKED_SPARE];
	const size_t len = sif_pack_body(sketch, body);
	int err;

	memset(body + len, 0, SIF_PACKED_SPARE);
	err = buf_reserve(out, sizeof(PREFIX) + 2 * TEXT_NUMBER +
				       text_length(len) + 8);
	if (!err)
		err = buf_append_format(out, PREFIX "%u:%" PRIu64 ":",
					sketch->window, sketch->distinct);
	if (err)
		return err;
	write_base64(body, len, out->data + out->len);
	out->len += text_length(len);
	out->data[out->len] = '\0';
	return sketch->is_placed ? format_places(sketch, out) : 0;
}

/* A number and a colon. */
static bool read_number(const char **at, const char *end, uint64_t *out)
{
	return text_number(at, end, out) && *at < end && *(*at)++ == ':';
}

static bool is_ascending(const struct sif_sketch *sketch)
{
	const uint64_t *values = sketch->values;
	uint64_t last = 0;
	size_t i;

	for (i = 1; i < sketch->count; i++)
		if (values[i] <= values[i - 1])
			return false;
	if (sketch->rest)
		last = values[sketch->count - 1] >>
		       sketch->rest_shift << sketch->rest_shift;
	for (; i < sketch->count + sketch->rest; i++) {
		if (values[i] < last)
			return false;
		last = values[i];
	}
	return true;
}

/* Characters that stand for a number each. */
static bool read_places(const char *at, size_t count, uint8_t *out)
{
	unsigned code, bad = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		code = base64_codes[(uint8_t)at[i]];
		bad |= code == 0;
		out[i] = (uint8_t)(code - 1);
	}
	return !bad;
}

bool sif_is_sound(const struct sif_sketch *sketch)
{
	size_t all;

	if (sketch->window < SIF_MIN_WINDOW ||
	    sketch->window > SIF_MAX_WINDOW || sketch->count > SIF_MAX_VALUES ||
	    sketch->rest > SIF_MAX_VALUES - sketch->count ||
	    (sketch->rest && !sketch->count) || !is_ascending(sketch))
		return false;
	all = sketch->count + sketch->rest;
	if (sketch->windows && sketch->windows < all)
		return false;
	/* Values that are left out are larger than those that are not. */
	return sketch->distinct == all || (sketch->distinct > all && all >= 2);
}

/* The parts of a text, without a look at what the body says. */
struct sif_text {
	unsigned window;
	uint64_t distinct;
	size_t body_len;
	bool is_placed;
	size_t place_count;
	uint8_t body[SIF_PACKED_MAX + 2];
	uint8_t places[SIF_MAX_VALUES];
};

static bool read_text(const char *text, size_t len, struct sif_text *out)
{
	const char *at = text, *end = text + len, *places;
	const size_t prefix_len = sizeof(PREFIX) - 1;
	uint64_t window;
	size_t rest;

	if (len < prefix_len || memcmp(text, PREFIX, prefix_len) != 0)
		return false;
	at += prefix_len;
	if (!read_number(&at, end, &window) ||
	    !read_number(&at, end, &out->distinct) || window > SIF_MAX_WINDOW)
		return false;
	out->window = (unsigned)window;
	places = memchr(at, ':', (size_t)(end - at));
	out->is_placed = places != NULL;
	rest = (size_t)((places ? places : end) - at);
	if (rest > text_length(SIF_PACKED_MAX) ||
	    !read_base64(at, rest, out->body, &out->body_len))
		return false;
	out->place_count = places ? (size_t)(end - places - 1) : 0;
	return !places ||
	       (out->place_count && out->place_count <= SIF_MAX_VALUES &&
		read_places(places + 1, out->place_count, out->places));
}

int sif_parse(const char *text, size_t len, struct sif_sketch *out)
{
	struct sif_text parts;

	if (!read_text(text, len, &parts))
		return -EINVAL;
	out->window = parts.window;
	out->distinct = parts.distinct;
	out->is_placed = parts.is_placed;
	if (!sif_unpack_body(parts.body, parts.body_len, out) ||
	    (parts.is_placed && parts.place_count != out->count))
		return -EINVAL;
	if (parts.is_placed)
		memcpy(out->places, parts.places, parts.place_count);
	return 0;
}

size_t sif_pack_text(const char *text, size_t len, uint8_t *bytes)
{
	struct sif_text parts;
	uint8_t *p = bytes;

	if (!read_text(text, len, &parts) ||
	    parts.body_len > SIF_PACKED_MAX - SIF_HEAD_MAX - SIF_MAX_VALUES)
		return 0;
	p += sif_pack_head(parts.window, parts.is_placed, parts.distinct, p);
	memcpy(p, parts.body, parts.body_len);
	p += parts.body_len;
	p += sif_pack_places(parts.places, parts.place_count, p);
	return (size_t)(p - bytes);
}

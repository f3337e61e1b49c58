/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sif/sif.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/text.h"

#define PREFIX "sif1:"
#define VALUE_CHARS (SIF_BITS / 6)

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
	const size_t chars = sketch->count * VALUE_CHARS;
	char *text;
	size_t i;
	int err;

	err = buf_reserve(out, sizeof(PREFIX) + 2 * TEXT_NUMBER + chars);
	if (!err)
		err = buf_append_format(out, PREFIX "%u:%" PRIu64 ":",
					sketch->window, sketch->distinct);
	if (err)
		return err;
	text = out->data + out->len;
	for (i = 0; i < sketch->count; i++, text += VALUE_CHARS)
		base64_spell(sketch->values[i], text);
	*text = '\0';
	out->len += chars;
	return sketch->is_placed ? format_places(sketch, out) : 0;
}

/* A number and a colon. */
static bool read_number(const char **at, const char *end, uint64_t *out)
{
	return text_number(at, end, out) && *at < end && *(*at)++ == ':';
}

static bool read_value(const char *at, uint64_t *out)
{
	uint64_t value = 0;
	unsigned i, code, bad = 0;

	for (i = 0; i < VALUE_CHARS; i++) {
		code = base64_codes[(uint8_t)at[i]];
		bad |= code == 0;
		value = value << 6 | (code - 1);
	}
	*out = value;
	return !bad;
}

static bool read_values(const char *at, size_t count, struct sif_sketch *out)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!read_value(at + i * VALUE_CHARS, &out->values[i]))
			return false;
	out->count = count;
	return true;
}

static bool read_places(const char *at, size_t count, struct sif_sketch *out)
{
	unsigned code, bad = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		code = base64_codes[(uint8_t)at[i]];
		bad |= code == 0;
		out->places[i] = (uint8_t)(code - 1);
	}
	return !bad && count > 0 && count == out->count;
}

bool sif_is_sound(const struct sif_sketch *sketch)
{
	size_t i;

	if (sketch->window < SIF_MIN_WINDOW ||
	    sketch->window > SIF_MAX_WINDOW || sketch->count > SIF_MAX_VALUES)
		return false;
	for (i = 1; i < sketch->count; i++)
		if (sketch->values[i] <= sketch->values[i - 1])
			return false;
	/* What is left out is larger than what is not. */
	return sketch->distinct == sketch->count ||
	       (sketch->distinct > sketch->count && sketch->count >= 2);
}

int sif_parse(const char *text, size_t len, struct sif_sketch *out)
{
	const char *at = text, *end = text + len;
	const size_t prefix_len = sizeof(PREFIX) - 1;
	const char *places;
	uint64_t window;
	size_t rest;

	if (len < prefix_len || memcmp(text, PREFIX, prefix_len) != 0)
		return -EINVAL;
	at += prefix_len;
	if (!read_number(&at, end, &window) ||
	    !read_number(&at, end, &out->distinct) || window > SIF_MAX_WINDOW)
		return -EINVAL;
	out->window = (unsigned)window;
	places = memchr(at, ':', (size_t)(end - at));
	out->is_placed = places != NULL;
	rest = (size_t)((places ? places : end) - at);
	if (rest % VALUE_CHARS || rest / VALUE_CHARS > SIF_MAX_VALUES ||
	    !read_values(at, rest / VALUE_CHARS, out))
		return -EINVAL;
	if (places && !read_places(places + 1, (size_t)(end - places - 1), out))
		return -EINVAL;
	return sif_is_sound(out) ? 0 : -EINVAL;
}

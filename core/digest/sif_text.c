/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sif.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define PREFIX "sif1:"
#define VALUE_CHARS (SIF_BITS / 6)

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			       "abcdefghijklmnopqrstuvwxyz0123456789+/";

int sif_format(const struct sif_sketch *sketch, struct buf *out)
{
	size_t i;
	unsigned shift;
	char *text;
	int err;

	err = buf_append_format(out, PREFIX "%u:%" PRIu64 ":", sketch->window,
				sketch->distinct);
	if (!err)
		err = buf_reserve(out, sketch->count * VALUE_CHARS);
	if (err)
		return err;
	text = out->data + out->len;
	for (i = 0; i < sketch->count; i++)
		for (shift = SIF_BITS; shift > 0; shift -= 6)
			*text++ =
				alphabet[sketch->values[i] >> (shift - 6) & 63];
	*text = '\0';
	out->len += sketch->count * VALUE_CHARS;
	return 0;
}

/* A number as it is printed, and a colon.  Returns what follows, NULL when it
 * is something else. */
static const char *read_number(const char *at, const char *end, uint64_t *out)
{
	const char *start = at;
	uint64_t value = 0;
	unsigned digit;

	while (at < end && *at >= '0' && *at <= '9') {
		digit = (unsigned)(*at++ - '0');
		if (value > (UINT64_MAX - digit) / 10)
			return NULL;
		value = value * 10 + digit;
	}
	if (at == start || (*start == '0' && at > start + 1) || at == end ||
	    *at != ':')
		return NULL;
	*out = value;
	return at + 1;
}

static bool read_value(const char *at, uint64_t *out)
{
	const char *c;
	uint64_t value = 0;
	unsigned i;

	for (i = 0; i < VALUE_CHARS; i++) {
		c = memchr(alphabet, at[i], sizeof(alphabet) - 1);
		if (!c)
			return false;
		value = value << 6 | (uint64_t)(c - alphabet);
	}
	*out = value;
	return true;
}

static bool read_values(const char *at, size_t count, struct sif_sketch *out)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (!read_value(at + i * VALUE_CHARS, &out->values[i]) ||
		    (i > 0 && out->values[i] <= out->values[i - 1]))
			return false;
	}
	out->count = count;
	return true;
}

int sif_parse(const char *text, size_t len, struct sif_sketch *out)
{
	const char *at = text, *end = text + len;
	const size_t prefix_len = sizeof(PREFIX) - 1;
	uint64_t window;
	size_t rest;

	if (len < prefix_len || memcmp(text, PREFIX, prefix_len) != 0)
		return -EINVAL;
	at = read_number(at + prefix_len, end, &window);
	if (at)
		at = read_number(at, end, &out->distinct);
	if (!at || window < SIF_MIN_WINDOW || window > SIF_MAX_WINDOW)
		return -EINVAL;
	out->window = (unsigned)window;
	rest = (size_t)(end - at);
	if (rest % VALUE_CHARS || rest / VALUE_CHARS > SIF_MAX_VALUES ||
	    !read_values(at, rest / VALUE_CHARS, out))
		return -EINVAL;
	/* What is left out is larger than what is not. */
	if (out->distinct < out->count ||
	    (out->distinct > out->count && out->count < 2))
		return -EINVAL;
	return 0;
}

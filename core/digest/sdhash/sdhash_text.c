/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sdhash/sdhash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include <openssl/evp.h>

#include "core/base/hex.h"
#include "core/base/text.h"

#define STREAM_MAGIC "sdbf:03:"
#define BLOCK_MAGIC "sdbf-dd:03:"
/* Of all digests of this version: hash, filter size, hashes, bit mask. */
#define FIXED_FIELDS ":sha1:256:5:7ff:"

/* Filters that fill their base64 without padding. */
#define GROUP 3
#define GROUP_BYTES (GROUP * SDHASH_FILTER_BYTES)
#define GROUP_TEXT 1024
#define FILTER_TEXT 344 /* of a filter by itself */

/* Of GROUP filters at most. */
static size_t group_text(size_t filters)
{
	return (filters * SDHASH_FILTER_BYTES + 2) / 3 * 4;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* ---- names ---- */

int sdhash_set_name(struct sdhash_digest *d, const char *path)
{
	struct buf name = { 0 };
	unsigned char c;
	size_t i;
	int err;

	err = buf_append_text(&name, *path ? path : "_");
	if (err)
		return err;
	for (i = 0; i < name.len; i++) {
		c = (unsigned char)name.data[i];
		if (c < ' ' || c == 0x7f || c == ':')
			name.data[i] = '_';
	}
	buf_release(&d->name);
	d->name = name;
	return 0;
}

/* ---- writing ---- */

static size_t digits(uint64_t value)
{
	size_t count = 1;

	for (; value >= 10; value /= 10)
		count++;
	return count;
}

size_t sdhash_text_length(const struct sdhash_digest *d)
{
	size_t text = digits(d->name.len) + strlen(":") + d->name.len +
		      strlen(":") + digits(d->size) + strlen(FIXED_FIELDS) +
		      digits(d->count);

	if (d->block_size)
		return text + strlen(BLOCK_MAGIC) + strlen("192::") +
		       digits(d->block_size) +
		       d->count * (strlen(":00:") + FILTER_TEXT);
	return text + strlen(STREAM_MAGIC) + strlen("160:::") +
	       digits(d->filters[d->count - 1].count) + group_text(d->count);
}

static int append_group(const struct sdhash_filter *filters, size_t count,
			struct buf *out)
{
	uint8_t bytes[GROUP_BYTES], text[GROUP_TEXT + 1];
	size_t i;

	for (i = 0; i < count; i++)
		memcpy(bytes + i * SDHASH_FILTER_BYTES, filters[i].bits,
		       SDHASH_FILTER_BYTES);
	(void)EVP_EncodeBlock(text, bytes, (int)(count * SDHASH_FILTER_BYTES));
	return buf_append(out, text, group_text(count));
}

static int append_header(const struct sdhash_digest *d, struct buf *out)
{
	int err;

	err = buf_append_format(
		out, "%s%zu:", d->block_size ? BLOCK_MAGIC : STREAM_MAGIC,
		d->name.len);
	if (!err)
		err = buf_append(out, d->name.data, d->name.len);
	if (!err)
		err = buf_append_format(out, ":%" PRIu64 FIXED_FIELDS, d->size);
	return err;
}

static int append_stream(const struct sdhash_digest *d, struct buf *out)
{
	size_t i, count;
	int err;

	err = buf_append_format(out, "%d:%zu:%u:", SDHASH_STREAM_FEATURES,
				d->count, d->filters[d->count - 1].count);
	for (i = 0; i < d->count && !err; i += count) {
		count = least(d->count - i, GROUP);
		err = append_group(&d->filters[i], count, out);
	}
	return err;
}

static int append_blocks(const struct sdhash_digest *d, struct buf *out)
{
	size_t i;
	int err;

	err = buf_append_format(out, "%d:%zu:%" PRIu32, SDHASH_BLOCK_FEATURES,
				d->count, d->block_size);
	for (i = 0; i < d->count && !err; i++) {
		err = buf_append_format(out, ":%02x:", d->filters[i].count);
		if (!err)
			err = append_group(&d->filters[i], 1, out);
	}
	return err;
}

int sdhash_format(const struct sdhash_digest *d, struct buf *out)
{
	size_t start = out->len;
	int err;

	if (d->count == 0)
		return -ENODATA;
	err = append_header(d, out);
	if (!err && d->block_size)
		err = append_blocks(d, out);
	else if (!err)
		err = append_stream(d, out);
	if (err && out->data) {
		out->len = start;
		out->data[start] = '\0';
	}
	return err;
}

/* ---- reading ---- */

struct sdhash_cursor {
	const char *at, *end;
};

static size_t left(const struct sdhash_cursor *c)
{
	return (size_t)(c->end - c->at);
}

static bool skip(struct sdhash_cursor *c, const char *wanted)
{
	size_t len = strlen(wanted);

	if (left(c) < len || memcmp(c->at, wanted, len) != 0)
		return false;
	c->at += len;
	return true;
}

static bool read_number(struct sdhash_cursor *c, uint64_t least, uint64_t most,
			uint64_t *out)
{
	return text_number(&c->at, c->end, out) && *out >= least &&
	       *out <= most;
}

static bool read_header(struct sdhash_cursor *c, bool blocks,
			struct sdhash_digest *d, uint64_t *count_out,
			uint64_t *last_out)
{
	uint64_t block = 0;

	if (!read_number(c, 0, UINT64_MAX, &d->size) ||
	    !skip(c, FIXED_FIELDS) || !skip(c, blocks ? "192:" : "160:") ||
	    !read_number(c, 1, left(c), count_out) || !skip(c, ":"))
		return false;
	if (!blocks)
		return read_number(c, 0, SDHASH_STREAM_FEATURES, last_out) &&
		       skip(c, ":") &&
		       left(c) == *count_out / GROUP * GROUP_TEXT +
					  group_text(*count_out % GROUP);
	if (!read_number(c, 1, SDHASH_MAX_BLOCK, &block) ||
	    block % SDHASH_BLOCK_UNIT ||
	    left(c) != *count_out * (strlen(":00:") + FILTER_TEXT))
		return false;
	d->block_size = (uint32_t)block;
	return true;
}

static bool read_count(struct sdhash_cursor *c, uint16_t *out)
{
	uint8_t count;

	if (!skip(c, ":") || left(c) < 2 || hex_decode(c->at, 2, &count, 1) ||
	    count > SDHASH_BLOCK_FEATURES)
		return false;
	*out = count;
	c->at += 2;
	return skip(c, ":");
}

static bool read_group(struct sdhash_cursor *c, struct sdhash_filter *filters,
		       size_t count)
{
	size_t i, len = group_text(count);
	uint8_t bytes[GROUP_BYTES];

	if (left(c) < len || EVP_DecodeBlock(bytes, (const uint8_t *)c->at,
					     (int)len) != (int)(len / 4 * 3))
		return false;
	for (i = 0; i < count; i++)
		memcpy(filters[i].bits, bytes + i * SDHASH_FILTER_BYTES,
		       SDHASH_FILTER_BYTES);
	c->at += len;
	return true;
}

/* All that could be read wrong in memory is refused. */
static int read_digest(const char *text, size_t len, struct sdhash_digest *d)
{
	struct sdhash_cursor c = { text, text + len };
	const bool blocks = skip(&c, BLOCK_MAGIC);
	uint64_t name, count, last = 0;
	size_t i, part;
	int err;

	if (!(blocks || skip(&c, STREAM_MAGIC)) ||
	    !read_number(&c, 0, left(&c), &name) || !skip(&c, ":") ||
	    name > left(&c))
		return -EINVAL;
	err = buf_append(&d->name, c.at, name);
	if (err)
		return err;
	c.at += name;
	if (!skip(&c, ":") || !read_header(&c, blocks, d, &count, &last))
		return -EINVAL;
	err = sdhash_add_filters(d, count);
	if (err)
		return err;
	for (i = 0; i < count; i += part) {
		part = blocks ? 1 : least(count - i, GROUP);
		if ((blocks && !read_count(&c, &d->filters[i].count)) ||
		    !read_group(&c, &d->filters[i], part))
			return -EINVAL;
	}
	for (i = 0; i < count && !blocks; i++)
		d->filters[i].count = SDHASH_STREAM_FEATURES;
	if (!blocks)
		d->filters[count - 1].count = (uint16_t)last;
	sdhash_weigh(d);
	return 0;
}

/* The decoders forgive much: only the line that the digest has passes. */
static int read_line(const char *text, size_t len, struct sdhash_digest *d)
{
	struct buf again = { 0 };
	int err = read_digest(text, len, d);

	if (!err)
		err = sdhash_format(d, &again);
	if (!err && (again.len != len || memcmp(again.data, text, len) != 0))
		err = -EINVAL;
	buf_release(&again);
	return err;
}

/* ---- segments ---- */

#define FIRST_SEGMENT ".0000M"

/* Whether d goes on where the segments in whole end. */
static bool continues(const struct sdhash_digest *whole,
		      const struct sdhash_digest *d)
{
	const struct buf *first = &whole->name;
	size_t len = first->len - strlen(FIRST_SEGMENT);
	struct buf name = { 0 };
	bool same;

	if (!whole->block_size || d->block_size != whole->block_size ||
	    whole->size % whole->block_size ||
	    first->len <= strlen(FIRST_SEGMENT) ||
	    memcmp(first->data + len, FIRST_SEGMENT, strlen(FIRST_SEGMENT)) !=
		    0)
		return false;
	same = !buf_append(&name, first->data, len) &&
	       !buf_append_format(&name, ".%04" PRIu64 "M",
				  whole->size >> 20) &&
	       d->name.len == name.len &&
	       !memcmp(d->name.data, name.data, name.len);
	buf_release(&name);
	return same;
}

static int join(struct sdhash_digest *whole, const struct sdhash_digest *d)
{
	size_t count = whole->count;
	int err = continues(whole, d) ? 0 : -EINVAL;

	if (!err)
		err = sdhash_add_filters(whole, d->count);
	if (!err) {
		memcpy(&whole->filters[count], d->filters,
		       d->count * sizeof(*d->filters));
		whole->size += d->size;
	}
	return err;
}

int sdhash_parse(const char *text, size_t len, struct sdhash_digest *out)
{
	const char *end = text + len, *stop;
	struct sdhash_digest whole = { 0 }, d = { 0 };
	int err;

	if (len == 0)
		return -EINVAL;
	stop = memchr(text, '\n', len);
	stop = stop ? stop : end;
	err = read_line(text, (size_t)(stop - text), &whole);
	while (!err && stop != end) {
		text = stop + 1;
		stop = memchr(text, '\n', (size_t)(end - text));
		stop = stop ? stop : end;
		err = read_line(text, (size_t)(stop - text), &d);
		if (!err)
			err = join(&whole, &d);
		sdhash_digest_release(&d);
	}
	sdhash_digest_release(err ? &whole : out);
	if (!err)
		*out = whole;
	return err;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sdhash/sdhash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include <openssl/evp.h>

#include "core/base/hex.h"
#include "core/base/text.h"
#include "core/digest/sdhash/sdhash_impl.h"

#define STREAM_MAGIC "sdbf:03:"
#define BLOCK_MAGIC "sdbf-dd:03:"
/* Of all digests of this version: hash, filter size, hashes, bit mask. */
#define FIXED_FIELDS ":sha1:256:5:7ff:"

/* Filters that fill their base64 without padding. */
#define GROUP 3
#define GROUP_BYTES (GROUP * SDHASH_FILTER_BYTES)
#define GROUP_TEXT 1024
#define FILTER_TEXT 344 /* of a filter by itself */

#define NOT_BASE64 "a filter is not in base64"

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

/* text_out has room for a NUL as well. */
static void encode_group(const struct sdhash_filter *filters, size_t count,
			 uint8_t *text_out)
{
	uint8_t bytes[GROUP_BYTES];
	size_t i;

	for (i = 0; i < count; i++)
		memcpy(bytes + i * SDHASH_FILTER_BYTES, filters[i].bits,
		       SDHASH_FILTER_BYTES);
	(void)EVP_EncodeBlock(text_out, bytes,
			      (int)(count * SDHASH_FILTER_BYTES));
}

static int append_group(const struct sdhash_filter *filters, size_t count,
			struct buf *out)
{
	uint8_t text[GROUP_TEXT + 1];

	encode_group(filters, count, text);
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
	const char *at;
	const char *end;
	const char *reason; /* why reading failed */
};

/* Whether it is fine; the first that is not gives the reason. */
static bool check(struct sdhash_cursor *c, bool fine, const char *reason)
{
	if (!fine && !c->reason)
		c->reason = reason;
	return fine;
}

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

static bool read_number(struct sdhash_cursor *c, uint64_t max, uint64_t *out)
{
	return text_number(&c->at, c->end, out) && *out <= max;
}

static bool read_count(struct sdhash_cursor *c, uint16_t *out)
{
	uint8_t count;

	if (left(c) < 2 || hex_decode(c->at, 2, &count, 1) ||
	    count > SDHASH_BLOCK_FEATURES)
		return false;
	*out = count;
	c->at += 2;
	return true;
}

/* The decoder forgives much: only what the encoder would write passes. */
static bool read_group(struct sdhash_cursor *c, struct sdhash_filter *filters,
		       size_t count)
{
	uint8_t bytes[GROUP_BYTES], text[GROUP_TEXT + 1];
	size_t i, len = group_text(count);

	if (!check(c,
		   left(c) >= len &&
			   EVP_DecodeBlock(bytes, (const uint8_t *)c->at,
					   (int)len) == (int)(len / 4 * 3),
		   NOT_BASE64))
		return false;
	for (i = 0; i < count; i++)
		memcpy(filters[i].bits, bytes + i * SDHASH_FILTER_BYTES,
		       SDHASH_FILTER_BYTES);
	encode_group(filters, count, text);
	if (!check(c, memcmp(text, c->at, len) == 0, NOT_BASE64))
		return false;
	c->at += len;
	return true;
}

static bool read_header(struct sdhash_cursor *c, struct sdhash_digest *out,
			const char **name_out, size_t *name_len_out)
{
	uint64_t len;

	if (!check(c,
		   read_number(c, left(c), &len) && skip(c, ":") &&
			   left(c) >= len,
		   "no length of a name"))
		return false;
	*name_out = c->at;
	*name_len_out = len;
	c->at += len;
	return check(c, skip(c, ":"), "the name has another length") &&
	       check(c, read_number(c, UINT64_MAX, &out->size),
		     "no size of the input") &&
	       check(c, skip(c, FIXED_FIELDS), "not made with sha1:256:5:7ff");
}

static int read_stream(struct sdhash_cursor *c, struct sdhash_digest *out)
{
	uint64_t count, last;
	size_t i, part;
	int err;

	if (!check(c, skip(c, "160:"), "not 160 features to a filter") ||
	    !check(c,
		   read_number(c, left(c), &count) && count > 0 && skip(c, ":"),
		   "no number of filters") ||
	    !check(c,
		   read_number(c, SDHASH_STREAM_FEATURES, &last) &&
			   skip(c, ":"),
		   "no count of the last filter") ||
	    !check(c,
		   left(c) == count / GROUP * GROUP_TEXT +
				      group_text(count % GROUP),
		   "not as long as its filters"))
		return -EINVAL;
	err = sdhash_add_filters(out, count);
	if (err)
		return err;
	for (i = 0; i < count; i += part) {
		part = least(count - i, GROUP);
		if (!read_group(c, &out->filters[i], part))
			return -EINVAL;
	}
	for (i = 0; i < count; i++)
		out->filters[i].count = SDHASH_STREAM_FEATURES;
	out->filters[count - 1].count = (uint16_t)last;
	return 0;
}

static int read_blocks(struct sdhash_cursor *c, struct sdhash_digest *out)
{
	uint64_t count, block;
	size_t i;
	int err;

	if (!check(c, skip(c, "192:"), "not 192 features to a filter") ||
	    !check(c,
		   read_number(c, left(c), &count) && count > 0 && skip(c, ":"),
		   "no number of filters") ||
	    !check(c,
		   read_number(c, SDHASH_MAX_BLOCK, &block) && block > 0 &&
			   block % SDHASH_BLOCK_UNIT == 0,
		   "no block size that is known") ||
	    !check(c, left(c) == count * (strlen(":00:") + FILTER_TEXT),
		   "not as long as its filters"))
		return -EINVAL;
	out->block_size = (uint32_t)block;
	err = sdhash_add_filters(out, count);
	if (err)
		return err;
	for (i = 0; i < count; i++)
		if (!check(c,
			   skip(c, ":") &&
				   read_count(c, &out->filters[i].count) &&
				   skip(c, ":"),
			   "no count of a filter") ||
		    !read_group(c, &out->filters[i], 1))
			return -EINVAL;
	return 0;
}

static int read_digest(struct sdhash_cursor *c, struct sdhash_digest *out)
{
	bool blocks = skip(c, BLOCK_MAGIC);
	const char *name;
	size_t name_len;
	int err;

	if (!check(c, blocks || skip(c, STREAM_MAGIC),
		   "neither sdbf:03 nor sdbf-dd:03") ||
	    !read_header(c, out, &name, &name_len))
		return -EINVAL;
	err = blocks ? read_blocks(c, out) : read_stream(c, out);
	if (!err)
		err = buf_append(&out->name, name, name_len);
	return err;
}

int sdhash_parse(const char *text, size_t len, struct sdhash_digest *d_out,
		 const char **reason_out)
{
	struct sdhash_cursor c = { text, text + len, NULL };
	struct sdhash_digest d = { 0 };
	int err;

	err = read_digest(&c, &d);
	if (err) {
		*reason_out = c.reason;
		sdhash_digest_release(&d);
		return err;
	}
	sdhash_weigh(&d);
	sdhash_digest_release(d_out);
	*d_out = d;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/digest.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stddef.h>
#include <string.h>

#include "core/base/text.h"
#include "core/digest/sketch/sketch.h"

/* The digit is that of the form; sketches of earlier ones had other windows. */
#define PREFIX "sif5:"

/* In base64 (RFC 4648), without the padding that stands behind it. */
int sketch_format(const struct sketch *sketch, struct buf *out)
{
	uint8_t bytes[SKETCH_PACKED_MAX];
	const size_t len = sketch_pack(sketch, bytes);
	const size_t text_len = (4 * len + 2) / 3;
	int err = buf_reserve(out, sizeof(PREFIX) + text_len + 4);

	if (!err)
		err = buf_append_text(out, PREFIX);
	if (err)
		return err;
	(void)EVP_EncodeBlock((uint8_t *)out->data + out->len, bytes, (int)len);
	out->len += text_len;
	out->data[out->len] = '\0';
	return 0;
}

/* bytes has room for as many as there are characters. */
static bool read_base64(const char *text, size_t len, uint8_t *bytes,
			size_t *len_out)
{
	uint32_t bits = 0;
	size_t i, n = 0;
	uint8_t code;

	for (i = 0; i < len; i++) {
		code = base64_codes[(uint8_t)text[i]];
		if (!code)
			return false;
		bits = bits << 6 | (code - 1u);
		if (i % 4)
			bytes[n++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
	}
	*len_out = n;
	/* Bits that are left over are 0, and fewer than six. */
	return len % 4 == 0 ||
	       (len % 4 > 1 && (bits & (len % 4 == 2 ? 15 : 3)) == 0);
}

static bool is_of_earlier_form(const char *text, size_t len)
{
	const size_t digit = sizeof(PREFIX) - 3;

	return len > digit + 1 && !memcmp(text, PREFIX, digit) &&
	       text[digit] >= '1' && text[digit] < PREFIX[digit] &&
	       text[digit + 1] == ':';
}

int sketch_parse(const char *text, size_t len, struct sketch *out)
{
	uint8_t bytes[(SKETCH_PACKED_MAX + 2) / 3 * 4];
	const size_t prefix_len = sizeof(PREFIX) - 1;
	size_t packed_len;

	if (is_of_earlier_form(text, len))
		return -EPROTONOSUPPORT;
	if (len < prefix_len || memcmp(text, PREFIX, prefix_len) != 0 ||
	    len - prefix_len > sizeof(bytes) ||
	    !read_base64(text + prefix_len, len - prefix_len, bytes,
			 &packed_len))
		return -EINVAL;
	return sketch_unpack(bytes, packed_len, out);
}

/* One stream gives two digests: the sketch and the SimHash of its sample. */

struct sampling {
	struct sketch_stream stream;
	bool is_final; /* sketch and simhash are those of the stream */
	struct sketch sketch;
	uint64_t simhash;
};

static int begin(void *state, const struct digest_stream *stream)
{
	struct sampling *s = state;

	s->is_final = false;
	sketch_begin(&s->stream, stream->size);
	return 0;
}

static int update(void *state, const void *data, size_t len)
{
	struct sampling *s = state;

	sketch_update(&s->stream, data, len);
	return 0;
}

/* NUL is left out of the folded content. */
static int zeros(void *state, uint64_t len)
{
	(void)state;
	(void)len;
	return 0;
}

static const struct sampling *finish(struct sampling *s)
{
	if (!s->is_final)
		sketch_final(&s->stream, &s->sketch, &s->simhash);
	s->is_final = true;
	return s;
}

static const struct digest_part part = {
	.size = sizeof(struct sampling),
	.begin = begin,
	.update = update,
	.zeros = zeros,
};

int digests_sketch(const struct digests *d, struct sketch *out)
{
	struct digest_value v = digest_value_of(d, DIGEST_SIF);
	int err = v.bytes ? sketch_unpack(v.bytes, v.len, out) : -ENODATA;

	if (!err)
		out->bytes = d->size;
	return err;
}

int digests_text_sketch(const struct digests *d, struct sketch *out)
{
	return d->text.bytes ? sketch_unpack(d->text.bytes, d->text.len, out) :
			       -ENODATA;
}

/* ---- the row ---- */

static int append_packed(const struct sketch *sketch, struct buf *out)
{
	uint8_t bytes[SKETCH_PACKED_MAX];

	return buf_append(out, bytes, sketch_pack(sketch, bytes));
}

static int sif_final(void *state, struct buf *out)
{
	return append_packed(&finish(state)->sketch, out);
}

static int sif_format(struct digest_value v, struct buf *out)
{
	struct sketch sketch;
	int err = sketch_unpack(v.bytes, v.len, &sketch);

	return err ? err : sketch_format(&sketch, out);
}

static int sif_parse(const char *text, size_t len, struct buf *out)
{
	struct sketch sketch;
	int err = sketch_parse(text, len, &sketch);

	return err ? err : append_packed(&sketch, out);
}

static int sif_check(struct digest_value v)
{
	struct sketch sketch;

	return sketch_unpack(v.bytes, v.len, &sketch);
}

static int sif_compare(struct digest_value a, struct digest_value b,
		       int *score_out)
{
	struct sketch x, y;
	struct sketch_shares shares;
	int err = sketch_unpack(a.bytes, a.len, &x);

	if (!err)
		err = sketch_unpack(b.bytes, b.len, &y);
	if (err)
		return err;
	sketch_shares(&x, &y, &shares);
	if (!shares.a_samples && !shares.b_samples)
		return -ENODATA;
	*score_out = (int)(100 * shares.of_larger + 0.5);
	return 0;
}

const struct digest_ops digest_sif = {
	.id = DIGEST_SIF,
	.name = "sif",
	.attribute = "user.sif",
	.flags = DIGEST_IS_KEPT | DIGEST_IS_DEFAULT,
	.listed = 8,
	.part = &part,
	.final = sif_final,
	.format = sif_format,
	.parse = sif_parse,
	.check = sif_check,
	.compare = sif_compare,
};

/* ---- the SimHash ---- */

enum { SIMHASH_BYTES = 8 };

static int simhash_final(void *state, struct buf *out)
{
	uint8_t bytes[SIMHASH_BYTES];

	store_be64(bytes, finish(state)->simhash);
	return buf_append(out, bytes, sizeof(bytes));
}

static int simhash_compare(struct digest_value a, struct digest_value b,
			   int *score_out)
{
	uint64_t differ = load_be64(a.bytes) ^ load_be64(b.bytes);

	*score_out = 100 * (64 - __builtin_popcountll(differ)) / 64;
	return 0;
}

const struct digest_ops digest_simhash = {
	.id = DIGEST_SIMHASH,
	.name = "simhash",
	.attribute = "user.simhash",
	.flags = DIGEST_IS_KEPT | DIGEST_IS_DEFAULT,
	.listed = 1,
	.len = SIMHASH_BYTES,
	.offset = offsetof(struct digests, simhash),
	.part = &part,
	.final = simhash_final,
	.compare = simhash_compare,
};

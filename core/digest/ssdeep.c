/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/ssdeep.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/text.h"
#include "core/digest/sise.h"

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
		out->chars[out->count++] = (uint16_t)(code - 1);
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

enum { BITS = 6 };

int ssdeep_pack(const struct ssdeep_signature *sig, struct buf *out)
{
	uint8_t head[3 + VARINT_BYTES];
	size_t len = 0;
	int err;

	head[len++] = (uint8_t)ctph_level_of(sig->block_size);
	if (head[0] == CTPH_FOREIGN)
		len += store_varint(head + len, sig->block_size);
	head[len++] = (uint8_t)sig->leading.count;
	head[len++] = (uint8_t)sig->secondary.count;
	err = buf_append(out, head, len);
	if (!err)
		err = ctph_pack(sig->leading.chars, sig->leading.count, BITS,
				out);
	return err ? err :
		     ctph_pack(sig->secondary.chars, sig->secondary.count, BITS,
			       out);
}

static bool take_block(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
	unsigned level;

	if (*at == end)
		return false;
	level = *(*at)++;
	if (level == CTPH_FOREIGN)
		return load_varint(at, end, out) && *out &&
		       ctph_level_of(*out) == CTPH_FOREIGN;
	*out = UINT64_C(3) << (level % 64);
	return level < CTPH_BLOCKS;
}

static bool take_part(const uint8_t **at, const uint8_t *end,
		      struct ssdeep_part *part)
{
	return part->count <= SSDEEP_MAX_CHARS &&
	       ctph_unpack(at, end, part->count, BITS, part->chars);
}

/* -EINVAL when it is no binary form of a signature; out is not specified
 * then. */
static int ssdeep_unpack(struct digest_value v, struct ssdeep_signature *out)
{
	const uint8_t *at = v.bytes, *end = at + v.len;

	if (!take_block(&at, end, &out->block_size) || end - at < 2)
		return -EINVAL;
	out->leading.count = *at++;
	out->secondary.count = *at++;
	return take_part(&at, end, &out->leading) &&
			       take_part(&at, end, &out->secondary) &&
			       at == end ?
		       0 :
		       -EINVAL;
}

/* ---- the short form ---- */

/*
 * A character of ssdeep is the lower half of SiSe's pair at the same block size,
 * up to the last one, which may stand for more.  So the characters with which
 * the leading part begins as SiSe's part of that block size does are left out;
 * their number, a byte, stands before the rest.
 */

/* SiSe's part of the block size, unpacked to sig; NULL: there is none. */
static const struct sise_part *part_like(uint64_t block_size,
					 const struct sise_signature *sig)
{
	return sig->leading.block_size == block_size   ? &sig->leading :
	       sig->secondary.block_size == block_size ? &sig->secondary :
							 NULL;
}

int ssdeep_shorten(struct digest_value v, struct digest_value sise,
		   struct buf *out)
{
	struct ssdeep_signature sig;
	struct sise_signature other;
	const struct sise_part *like;
	struct ssdeep_part *part = &sig.leading;
	uint8_t same = 0;
	int err;

	if (ssdeep_unpack(v, &sig) || sise_unpack(sise, &other))
		return -EINVAL;
	like = part_like(sig.block_size, &other);
	while (like && same < part->count && same < like->count &&
	       part->chars[same] == (like->pairs[same] & 63))
		same++;
	part->count -= same;
	memmove(part->chars, part->chars + same,
		part->count * sizeof(*part->chars));
	err = buf_append(out, &same, 1);
	return err ? err : ssdeep_pack(&sig, out);
}

int ssdeep_complete(struct digest_value shortened, struct digest_value sise,
		    struct buf *out)
{
	struct ssdeep_signature sig;
	struct sise_signature other;
	const struct sise_part *like;
	struct ssdeep_part *part = &sig.leading;
	const size_t same = shortened.len ? *shortened.bytes++ : SIZE_MAX;
	size_t i;

	shortened.len--;
	if (same > SSDEEP_MAX_CHARS || ssdeep_unpack(shortened, &sig) ||
	    part->count + same > SSDEEP_MAX_CHARS || sise_unpack(sise, &other))
		return -EINVAL;
	like = part_like(sig.block_size, &other);
	if (same > (like ? like->count : 0))
		return -EINVAL;
	memmove(part->chars + same, part->chars,
		part->count * sizeof(*part->chars));
	for (i = 0; i < same; i++)
		part->chars[i] = like->pairs[i] & 63;
	part->count += same;
	return ssdeep_pack(&sig, out);
}

/* ---- the row ---- */

static int final(void *state, struct buf *out)
{
	struct ssdeep_signature sig;
	int err = ssdeep_read(state, &sig);

	if (err == -EOVERFLOW)
		return -ENODATA;
	return err ? err : ssdeep_pack(&sig, out);
}

static int format(struct digest_value v, struct buf *out)
{
	struct ssdeep_signature sig;
	int err = ssdeep_unpack(v, &sig);

	return err ? err : ssdeep_format(&sig, out);
}

static int parse(const char *text, size_t len, struct buf *out)
{
	struct ssdeep_signature sig;
	int err = ssdeep_parse(text, len, &sig);

	return err ? err : ssdeep_pack(&sig, out);
}

static int check(struct digest_value v)
{
	struct ssdeep_signature sig;

	return ssdeep_unpack(v, &sig);
}

static int compare(struct digest_value a, struct digest_value b, int *score_out)
{
	struct ssdeep_signature x, y;
	int err = ssdeep_unpack(a, &x);

	if (!err)
		err = ssdeep_unpack(b, &y);
	if (!err)
		*score_out = ssdeep_score(&x, &y);
	return err;
}

const struct digest_ops digest_ssdeep = {
	.id = DIGEST_SSDEEP,
	.name = "ssdeep",
	.attribute = "user.ssdeep",
	.flags = DIGEST_IS_KEPT | DIGEST_IS_DEFAULT,
	.listed = 4,
	.part = &ctph_part,
	.final = final,
	.format = format,
	.parse = parse,
	.check = check,
	.compare = compare,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sise.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/text.h"

#define WHOLE (CTPH_ROWS - 1)

int sise_init_from(struct ctph *c, uint64_t block_size)
{
	const unsigned level = ctph_level_of(block_size);

	if (level >= CTPH_LEVELS)
		return -EINVAL;
	ctph_init(c, CTPH_SISE);
	c->sise_start = level;
	return 0;
}

/* The pairs of a level and the one that the end of the file makes. */
static void copy_level(const struct ctph *c, unsigned level,
		       struct sise_part *out)
{
	size_t count = SISE_MAX_PAIRS;

	if (c->triggers[level] < SISE_MAX_PAIRS)
		count = (size_t)c->triggers[level];
	memcpy(out->pairs, c->pieces[level], count * sizeof(out->pairs[0]));
	if (count < SISE_MAX_PAIRS)
		out->pairs[count++] = c->states[level];
	out->block_size = UINT64_C(3) << level;
	out->mod_value = out->block_size - 1;
	out->count = count;
}

/* What stands below the smallest block size: the file in one piece. */
static void copy_whole(const struct ctph *c, struct sise_part *out)
{
	out->block_size = 1;
	out->mod_value = 0;
	out->count = 1;
	out->pairs[0] = c->states[WHOLE];
}

static bool has_enough(const struct ctph *c, unsigned level)
{
	/* The end of the file makes one pair more. */
	return c->triggers[level] + 1 >= SISE_MIN_PAIRS;
}

void sise_read(const struct ctph *c, struct sise_signature *out)
{
	unsigned level = CTPH_LEVELS - 1;

	while (level > c->sise_low &&
	       !(has_enough(c, level) && ctph_sise_comes_by(c, c->size, level)))
		level--;
	copy_level(c, level, &out->leading);
	if (level > 0)
		copy_level(c, level - 1, &out->secondary);
	else if (has_enough(c, 0))
		copy_whole(c, &out->secondary);
	else
		copy_level(c, 0, &out->secondary);
}

/* ---- writing ---- */

static int format_part(const struct sise_part *part, struct buf *out)
{
	int err = buf_append_format(out, "%" PRIu64 "(%" PRIu64 "):",
				    part->block_size, part->mod_value);
	char *text;
	size_t i;

	if (!err)
		err = buf_reserve(out, 2 * part->count);
	if (err)
		return err;
	text = out->data + out->len;
	for (i = 0; i < part->count; i++) {
		*text++ = base64_digits[part->pairs[i] >> 6];
		*text++ = base64_digits[part->pairs[i] & 63];
	}
	*text = '\0';
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

/*
 * The binary form.  The first byte says what the block sizes are:
 *
 *   0..60    the leading part has 3 * 2^byte, the secondary one half of that
 *            (rounded down), both with the modulus of our signatures
 *   TWICE    both have 3, and the same pairs, which are stored once: a file
 *            that is too small for two block sizes
 *   FOREIGN  others: block size and modulus of the leading part, and of the
 *            secondary one, four varints
 *
 * Then come the number of pairs in each part, as varints, and the pairs, 12
 * bits each, of each part from a new byte on.
 */
enum { TWICE = 64, BITS = 12 };

static void set_block(struct sise_part *part, uint64_t block_size)
{
	part->block_size = block_size;
	part->mod_value = block_size - 1;
}

static bool is_block(const struct sise_part *part, uint64_t block_size)
{
	return part->block_size == block_size &&
	       part->mod_value == block_size - 1;
}

static bool equal_pairs(const struct sise_part *a, const struct sise_part *b)
{
	return a->count == b->count &&
	       !memcmp(a->pairs, b->pairs, a->count * sizeof(*a->pairs));
}

/* By the block sizes alone. */
static unsigned level_of(const struct sise_signature *sig)
{
	const uint64_t block_size = sig->leading.block_size;

	return is_block(&sig->leading, block_size) &&
			       is_block(&sig->secondary, block_size / 2) ?
		       ctph_level_of(block_size) :
		       CTPH_FOREIGN;
}

static unsigned form_of(const struct sise_signature *sig)
{
	if (is_block(&sig->leading, 3) && is_block(&sig->secondary, 3) &&
	    equal_pairs(&sig->leading, &sig->secondary))
		return TWICE;
	return level_of(sig);
}

int sise_pack(const struct sise_signature *sig, struct buf *out)
{
	const struct sise_part *a = &sig->leading, *b = &sig->secondary;
	uint8_t head[1 + 6 * VARINT_BYTES];
	unsigned form = form_of(sig);
	size_t len = 0;
	int err;

	head[len++] = (uint8_t)form;
	if (form == CTPH_FOREIGN) {
		len += store_varint(head + len, a->block_size);
		len += store_varint(head + len, a->mod_value);
		len += store_varint(head + len, b->block_size);
		len += store_varint(head + len, b->mod_value);
	}
	len += store_varint(head + len, a->count);
	if (form != TWICE)
		len += store_varint(head + len, b->count);
	err = buf_append(out, head, len);
	if (!err)
		err = ctph_pack(a->pairs, a->count, BITS, out);
	if (!err && form != TWICE)
		err = ctph_pack(b->pairs, b->count, BITS, out);
	return err;
}

static bool take_count(const uint8_t **at, const uint8_t *end,
		       struct sise_part *part)
{
	uint64_t count;

	if (!load_varint(at, end, &count) || !count || count > SISE_MAX_PAIRS)
		return false;
	part->count = (size_t)count;
	return true;
}

static bool take_pairs(const uint8_t **at, const uint8_t *end,
		       struct sise_part *part)
{
	return ctph_unpack(at, end, part->count, BITS, part->pairs);
}

static bool take_blocks(const uint8_t **at, const uint8_t *end, unsigned form,
			struct sise_signature *out)
{
	struct sise_part *a = &out->leading, *b = &out->secondary;

	if (form == CTPH_FOREIGN)
		return load_varint(at, end, &a->block_size) &&
		       load_varint(at, end, &a->mod_value) &&
		       load_varint(at, end, &b->block_size) &&
		       load_varint(at, end, &b->mod_value) &&
		       level_of(out) == CTPH_FOREIGN;
	if (form >= CTPH_BLOCKS)
		return false;
	set_block(a, UINT64_C(3) << form);
	set_block(b, a->block_size / 2);
	return true;
}

int sise_unpack(struct digest_value v, struct sise_signature *out)
{
	const uint8_t *at = v.bytes, *end = at + v.len;
	unsigned form;

	if (!v.len)
		return -EINVAL;
	form = *at++;
	if (form == TWICE) {
		set_block(&out->leading, 3);
		if (!take_count(&at, end, &out->leading) ||
		    !take_pairs(&at, end, &out->leading))
			return -EINVAL;
		out->secondary = out->leading;
	} else if (!take_blocks(&at, end, form, out) ||
		   !take_count(&at, end, &out->leading) ||
		   !take_count(&at, end, &out->secondary) ||
		   !take_pairs(&at, end, &out->leading) ||
		   !take_pairs(&at, end, &out->secondary)) {
		return -EINVAL;
	}
	return at == end ? 0 : -EINVAL;
}

/* ---- the row ---- */

static int final(void *state, struct buf *out)
{
	struct sise_signature sig;

	sise_read(state, &sig);
	return sise_pack(&sig, out);
}

static int format(struct digest_value v, struct buf *out)
{
	struct sise_signature sig;
	int err = sise_unpack(v, &sig);

	return err ? err : sise_format(&sig, out);
}

static int parse(const char *text, size_t len, struct buf *out)
{
	struct sise_signature sig;
	int err = sise_parse(text, len, &sig);

	return err ? err : sise_pack(&sig, out);
}

static int check(struct digest_value v)
{
	struct sise_signature sig;

	return sise_unpack(v, &sig);
}

static int compare(struct digest_value a, struct digest_value b, int *score_out)
{
	struct sise_signature x, y;
	int err = sise_unpack(a, &x);

	if (!err)
		err = sise_unpack(b, &y);
	if (!err)
		*score_out = sise_score(&x, &y);
	return err;
}

const struct digest_ops digest_sise = {
	.id = DIGEST_SISE,
	.name = "sise",
	.attribute = "user.sise",
	.flags = DIGEST_IS_KEPT | DIGEST_IS_DEFAULT,
	.listed = 7,
	.part = &ctph_part,
	.final = final,
	.format = format,
	.parse = parse,
	.check = check,
	.compare = compare,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sise.h"

#include <errno.h>
#include <string.h>

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
enum { LEVELS = 61, TWICE = 64, FOREIGN = 255, BITS = 12 };

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
	unsigned level;

	for (level = 0; level < LEVELS; level++)
		if (is_block(&sig->leading, UINT64_C(3) << level) &&
		    is_block(&sig->secondary, (UINT64_C(3) << level) / 2))
			return level;
	return FOREIGN;
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
	if (form == FOREIGN) {
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

	if (form == FOREIGN)
		return load_varint(at, end, &a->block_size) &&
		       load_varint(at, end, &a->mod_value) &&
		       load_varint(at, end, &b->block_size) &&
		       load_varint(at, end, &b->mod_value) &&
		       level_of(out) == FOREIGN;
	if (form >= LEVELS)
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

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/digest.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hex.h"

const struct digest_ops *const digest_table[DIGEST_ROWS] = {
	[DIGEST_SISE] = &digest_sise,
	[DIGEST_SIMHASH] = &digest_simhash,
	[DIGEST_RDC] = &digest_rdc,
	[DIGEST_SIF] = &digest_sif,
	[DIGEST_SSDEEP] = &digest_ssdeep,
	[DIGEST_XXH128] = &digest_xxh128,
	[DIGEST_SDHASH] = &digest_sdhash,
	[DIGEST_TLSH] = &digest_tlsh,
	[DIGEST_SHA256] = &digest_sha256,
	[DIGEST_PDQ] = &digest_pdq,
	[DIGEST_MD5] = &digest_md5,
	[DIGEST_SI2] = &digest_si2,
	[DIGEST_SIF_CLASSIC] = &digest_sif_classic,
	[DIGEST_RDC_SIGNATURES] = &digest_rdc_signatures,
	[DIGEST_IDENTITY] = &digest_identity,
};

/* ---- names ---- */

uint32_t digests_with(unsigned flags)
{
	uint32_t set = 0;
	size_t i;

	for (i = 0; i < DIGEST_COUNT; i++)
		if (digest_table[i]->flags & flags)
			set |= DIGEST_BIT(i);
	return set;
}

static bool is_named(const struct digest_ops *ops, const char *name)
{
	return strcmp(ops->name, name) == 0 ||
	       strcmp(ops->attribute, name) == 0 ||
	       strcmp(ops->attribute + strlen("user."), name) == 0;
}

const struct digest_ops *digest_find(const char *name)
{
	size_t i;

	for (i = 0; i < DIGEST_COUNT; i++)
		if (is_named(digest_table[i], name))
			return digest_table[i];
	return NULL;
}

int digest_parse_set(const char *names, uint32_t *set_out)
{
	uint32_t set = DIGEST_BIT(DIGEST_XXH128);
	const struct digest_ops *ops;
	char name[32];
	size_t len;

	while (*names) {
		len = strcspn(names, ":,");
		if (len >= sizeof(name))
			return -EINVAL;
		memcpy(name, names, len);
		name[len] = '\0';
		ops = digest_find(name);
		if (!ops)
			return -EINVAL;
		set |= DIGEST_BIT(ops->id);
		names += len;
		names += *names != '\0';
	}
	*set_out = set;
	return 0;
}

/* ---- bytes ---- */

void digests_release(struct digests *d)
{
	size_t i;

	for (i = 0; i < DIGEST_ROWS; i++)
		free(d->blocks[i].bytes);
	free(d->text.bytes);
	*d = (struct digests){ 0 };
}

int digests_copy(const struct digests *from, struct digests *out)
{
	struct digests copy = { .set = from->set,
				.size = from->size,
				.picture = from->picture };
	int id, err = 0;

	for (id = 0; id < DIGEST_ROWS && !err; id++)
		if (from->set & DIGEST_BIT(id))
			err = digest_put(&copy, id, digest_value_of(from, id));
	memcpy(copy.xxh128, from->xxh128, sizeof(copy.xxh128));
	if (!err && from->text.bytes)
		err = digests_put_text(&copy, from->text.bytes, from->text.len);
	if (err)
		digests_release(&copy);
	else
		*out = copy;
	return err;
}

bool digests_are_of_one(const struct digests *a, const struct digests *b)
{
	return a->size == b->size &&
	       !memcmp(a->xxh128, b->xxh128, sizeof(a->xxh128)) &&
	       (!(a->set & b->set & DIGEST_BIT(DIGEST_IDENTITY)) ||
		!memcmp(a->identity, b->identity, sizeof(a->identity)));
}

struct digest_value digest_value_of(const struct digests *d, enum digest_id id)
{
	const struct digest_ops *ops = digest_table[id];
	struct digest_value v = { d->blocks[id].bytes, d->blocks[id].len };

	if (!(d->set & DIGEST_BIT(id)))
		v = (struct digest_value){ NULL, 0 };
	else if (ops->offset)
		v = (struct digest_value){ (const uint8_t *)d + ops->offset,
					   ops->len };
	return v;
}

bool digest_is_valid(enum digest_id id, struct digest_value v)
{
	const struct digest_ops *ops = digest_table[id];

	return (!ops->len || v.len == ops->len) &&
	       (!ops->check || !ops->check(v));
}

static int set_block(struct digest_block *block, const void *bytes, size_t len)
{
	uint8_t *copy = malloc(len + 1);

	if (!copy)
		return -ENOMEM;
	if (len)
		memcpy(copy, bytes, len);
	free(block->bytes);
	*block = (struct digest_block){ copy, len };
	return 0;
}

int digest_put(struct digests *d, enum digest_id id, struct digest_value v)
{
	const struct digest_ops *ops = digest_table[id];
	int err = 0;

	if (ops->offset)
		memcpy((uint8_t *)d + ops->offset, v.bytes, ops->len);
	else
		err = set_block(&d->blocks[id], v.bytes, v.len);
	if (!err)
		d->set |= DIGEST_BIT(id);
	return err;
}

int digests_put_text(struct digests *d, const void *packed, size_t len)
{
	return set_block(&d->text, packed, len);
}

void digests_put_picture(struct digests *d, const struct picture_hashes *p)
{
	d->picture = *p;
	if (p->has & PICTURE_EXCHANGE)
		d->set |= DIGEST_BIT(DIGEST_PDQ);
}

/* ---- text ---- */

int digest_format(const struct digests *d, enum digest_id id, struct buf *out)
{
	const struct digest_ops *ops = digest_table[id];

	if (!(d->set & DIGEST_BIT(id)))
		return -ENODATA;
	return (ops->format ? ops->format :
			      digest_format_hex)(digest_value_of(d, id), out);
}

int digest_parse(enum digest_id id, const char *text, size_t len,
		 struct digests *d)
{
	const struct digest_ops *ops = digest_table[id];
	struct digest_value v;
	struct buf bytes = { 0 };
	int err = ops->parse ? ops->parse(text, len, &bytes) :
			       digest_parse_hex(text, len, ops->len, &bytes);

	v = (struct digest_value){ (const uint8_t *)bytes.data, bytes.len };
	if (!err && !ops->parse && !digest_is_valid(id, v))
		err = -EINVAL;
	if (!err)
		err = digest_put(d, id, v);
	buf_release(&bytes);
	return err;
}

int digest_format_bytes(struct digest_value v, struct buf *out)
{
	return buf_append(out, v.bytes, v.len);
}

int digest_format_hex(struct digest_value v, struct buf *out)
{
	int err = buf_reserve(out, 2 * v.len + 1);

	if (err)
		return err;
	hex_encode(v.bytes, v.len, out->data + out->len);
	out->len += 2 * v.len;
	return 0;
}

int digest_parse_hex(const char *text, size_t text_len, size_t len,
		     struct buf *out)
{
	int err = buf_reserve(out, len);

	if (!err)
		err = hex_decode(text, text_len,
				 (uint8_t *)out->data + out->len, len);
	if (err)
		return err;
	out->len += len;
	out->data[out->len] = '\0';
	return 0;
}

/* Sets the sketch of the text by its text form, which is that of the digest sif. */
static int parse_text(struct digests *d, const char *text, size_t len)
{
	struct buf packed = { 0 };
	int err = digest_sif.parse(text, len, &packed);

	if (!err)
		err = digests_put_text(d, packed.data, packed.len);
	buf_release(&packed);
	return err;
}

/* ---- comparing ---- */

int digest_compare(enum digest_id id, const struct digests *a,
		   const struct digests *b, int *score_out)
{
	const struct digest_ops *ops = digest_table[id];

	if (!(a->set & b->set & DIGEST_BIT(id)) || !ops->compare)
		return -ENODATA;
	/* The size is part of the identity. */
	if (id == DIGEST_XXH128 && a->size != b->size) {
		*score_out = 0;
		return 0;
	}
	return ops->compare(digest_value_of(a, id), digest_value_of(b, id),
			    score_out);
}

int digest_compare_equal(struct digest_value a, struct digest_value b,
			 int *score_out)
{
	*score_out =
		a.len == b.len && !memcmp(a.bytes, b.bytes, a.len) ? 100 : 0;
	return 0;
}

json_t *digests_to_json(const struct digests *d, uint32_t set)
{
	json_t *texts = json_object();
	struct buf text = { 0 };
	int id, err = texts ? 0 : -ENOMEM;

	for (id = 0; id < DIGEST_COUNT && !err; id++) {
		if (!(d->set & set & DIGEST_BIT(id)))
			continue;
		buf_clear(&text);
		err = digest_format(d, (enum digest_id)id, &text);
		if (!err && json_object_set_new(texts, digest_table[id]->name,
						json_string(text.data)))
			err = -ENOMEM;
	}
	buf_clear(&text);
	if (!err && d->text.bytes)
		err = digest_sif.format(
			(struct digest_value){ d->text.bytes, d->text.len },
			&text);
	if (!err && text.len &&
	    json_object_set_new(texts, DIGEST_TEXT_NAME,
				json_stringn(text.data, text.len)))
		err = -ENOMEM;
	buf_release(&text);
	if (!err)
		return texts;
	json_decref(texts);
	return NULL;
}

int digests_from_json(json_t *texts, struct digests *d)
{
	const struct digest_ops *ops;
	json_t *text;
	const char *name;
	int err = 0;

	json_object_foreach(texts, name, text) {
		ops = digest_find(name);
		if (err || !json_is_string(text))
			continue;
		if (ops)
			err = digest_parse(ops->id, json_string_value(text),
					   json_string_length(text), d);
		else if (!strcmp(name, DIGEST_TEXT_NAME))
			err = parse_text(d, json_string_value(text),
					 json_string_length(text));
	}
	/* Exports and questions have a version of their own. */
	return err == -EPROTONOSUPPORT ? -EINVAL : err;
}

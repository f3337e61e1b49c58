/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/digest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/base/hex.h"
#include "core/digest/rdc.h"
#include "core/digest/sise.h"

const struct digest_info digest_infos[DIGEST_COUNT] = {
	[DIGEST_SISE] = { DIGEST_SISE, "sise", "user.sise",
			  "SiSe similarity signature" },
	[DIGEST_SIMHASH] = { DIGEST_SIMHASH, "simhash", "user.simhash",
			     "64-bit SimHash of 8-byte shingles" },
	[DIGEST_RDC] = { DIGEST_RDC, "rdc", "user.rdc.traits",
			 "RDC similarity traits" },
	[DIGEST_XXH128] = { DIGEST_XXH128, "xxh128", "user.xxh128",
			    "XXH3 128-bit hash of the content" },
};

const struct digest_info *digest_find(const char *name)
{
	size_t i;

	for (i = 0; i < DIGEST_COUNT; i++)
		if (strcmp(digest_infos[i].name, name) == 0 ||
		    strcmp(digest_infos[i].attribute, name) == 0)
			return &digest_infos[i];
	return NULL;
}

void digests_release(struct digests *d)
{
	free(d->sise);
	*d = (struct digests){ 0 };
}

int digests_copy(const struct digests *from, struct digests *out)
{
	char *sise = NULL;

	if (from->sise) {
		sise = strdup(from->sise);
		if (!sise)
			return -ENOMEM;
	}
	*out = *from;
	out->sise = sise;
	return 0;
}

/* ---- text forms ---- */

static int format_hex(const uint8_t *bytes, size_t len, struct buf *out)
{
	char text[2 * 16 + 1];

	hex_encode(bytes, len, text);
	return buf_append(out, text, 2 * len);
}

int digest_format(const struct digests *d, enum digest_id id, struct buf *out)
{
	uint8_t bytes[8];

	if (!(d->set & DIGEST_BIT(id)))
		return -ENODATA;
	switch (id) {
	case DIGEST_SISE:
		return buf_append_text(out, d->sise);
	case DIGEST_SIMHASH:
		store_be64(bytes, d->simhash);
		return format_hex(bytes, sizeof(bytes), out);
	case DIGEST_RDC:
		return format_hex(d->traits, sizeof(d->traits), out);
	case DIGEST_XXH128:
		return format_hex(d->xxh128, sizeof(d->xxh128), out);
	case DIGEST_COUNT:
		break;
	}
	return -ENODATA;
}

/* Read and written again, so that a foreign signature of any length becomes
 * one of ours. */
static int parse_sise(const char *text, size_t len, struct digests *d)
{
	struct buf canonical = { 0 };
	struct sise_signature sig;
	int err;

	err = sise_parse(text, len, &sig);
	if (!err)
		err = sise_format(&sig, &canonical);
	if (err) {
		buf_release(&canonical);
		return err;
	}
	free(d->sise);
	d->sise = buf_take(&canonical);
	return 0;
}

static int parse_simhash(const char *text, size_t len, struct digests *d)
{
	uint8_t bytes[8];
	int err = hex_decode(text, len, bytes, sizeof(bytes));

	if (!err)
		d->simhash = load_be64(bytes);
	return err;
}

static int parse_traits(const char *text, size_t len, struct digests *d)
{
	uint8_t bytes[RDC_TRAITS];
	int err = hex_decode(text, len, bytes, sizeof(bytes));
	size_t i;

	if (err)
		return err;
	for (i = 0; i < RDC_TRAITS; i++)
		if (bytes[i] > 0x3f)
			return -EINVAL;
	memcpy(d->traits, bytes, sizeof(bytes));
	return 0;
}

int digest_parse(enum digest_id id, const char *text, size_t len,
		 struct digests *d)
{
	int err = -EINVAL;

	switch (id) {
	case DIGEST_SISE:
		err = parse_sise(text, len, d);
		break;
	case DIGEST_SIMHASH:
		err = parse_simhash(text, len, d);
		break;
	case DIGEST_RDC:
		err = parse_traits(text, len, d);
		break;
	case DIGEST_XXH128:
		err = hex_decode(text, len, d->xxh128, sizeof(d->xxh128));
		break;
	case DIGEST_COUNT:
		break;
	}
	if (!err)
		d->set |= DIGEST_BIT(id);
	return err;
}

/* ---- comparing ---- */

static int compare_sise(const char *a, const char *b, int *score_out)
{
	struct sise_signature *sigs = malloc(2 * sizeof(*sigs));
	int err;

	if (!sigs)
		return -ENOMEM;
	err = sise_parse(a, strlen(a), &sigs[0]);
	if (!err)
		err = sise_parse(b, strlen(b), &sigs[1]);
	if (!err)
		*score_out = sise_score(&sigs[0], &sigs[1]);
	free(sigs);
	return err;
}

static int compare_simhashes(uint64_t a, uint64_t b)
{
	return 100 * (64 - __builtin_popcountll(a ^ b)) / 64;
}

static int compare_traits(const uint8_t a[RDC_TRAITS],
			  const uint8_t b[RDC_TRAITS])
{
	static const uint8_t none[RDC_TRAITS];
	int i, equal = 0;

	if (memcmp(a, none, sizeof(none)) == 0 ||
	    memcmp(b, none, sizeof(none)) == 0)
		return 0;
	for (i = 0; i < RDC_TRAITS; i++)
		equal += a[i] == b[i];
	return 100 * equal / RDC_TRAITS;
}

static int compare_contents(const struct digests *a, const struct digests *b)
{
	if (a->size != b->size ||
	    memcmp(a->xxh128, b->xxh128, sizeof(a->xxh128)) != 0)
		return 0;
	return 100;
}

int digest_compare(enum digest_id id, const struct digests *a,
		   const struct digests *b, int *score_out)
{
	if (!(a->set & b->set & DIGEST_BIT(id)))
		return -ENODATA;
	switch (id) {
	case DIGEST_SISE:
		return compare_sise(a->sise, b->sise, score_out);
	case DIGEST_SIMHASH:
		*score_out = compare_simhashes(a->simhash, b->simhash);
		return 0;
	case DIGEST_RDC:
		*score_out = compare_traits(a->traits, b->traits);
		return 0;
	case DIGEST_XXH128:
		*score_out = compare_contents(a, b);
		return 0;
	case DIGEST_COUNT:
		break;
	}
	return -ENODATA;
}

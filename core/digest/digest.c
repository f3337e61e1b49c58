/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/digest.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/base/hex.h"
#include "core/digest/rdc/rdc.h"
#include "core/digest/sdhash/sdhash.h"
#include "core/digest/short_sketch.h"
#include "core/digest/sif/sif.h"
#include "core/digest/sise.h"
#include "core/digest/ssdeep.h"
#include "core/digest/tlsh/tlsh.h"

const struct digest_info digest_infos[DIGEST_COUNT] = {
	[DIGEST_SISE] = { DIGEST_SISE, "sise", "user.sise" },
	[DIGEST_SIMHASH] = { DIGEST_SIMHASH, "simhash", "user.simhash" },
	[DIGEST_RDC] = { DIGEST_RDC, "rdc", "user.rdc.traits" },
	[DIGEST_SIF] = { DIGEST_SIF, "sif", "user.sif" },
	[DIGEST_SSDEEP] = { DIGEST_SSDEEP, "ssdeep", "user.ssdeep" },
	[DIGEST_XXH128] = { DIGEST_XXH128, "xxh128", "user.xxh128" },
	[DIGEST_SDHASH] = { DIGEST_SDHASH, "sdhash", "user.sdhash" },
	[DIGEST_TLSH] = { DIGEST_TLSH, "tlsh", "user.tlsh" },
	[DIGEST_SHA256] = { DIGEST_SHA256, "sha256", "user.sha256" },
	[DIGEST_TEXT] = { DIGEST_TEXT, "text", "user.text.sif" },
	[DIGEST_SIF8] = { DIGEST_SIF8, "sif8", "user.sif8" },
};

static bool is_named(const struct digest_info *info, const char *name)
{
	return strcmp(info->name, name) == 0 ||
	       strcmp(info->attribute, name) == 0 ||
	       strcmp(info->attribute + strlen("user."), name) == 0;
}

const struct digest_info *digest_find(const char *name)
{
	size_t i;

	for (i = 0; i < DIGEST_COUNT; i++)
		if (is_named(&digest_infos[i], name))
			return &digest_infos[i];
	return NULL;
}

int digest_parse_set(const char *names, uint32_t *set_out)
{
	uint32_t set = DIGEST_BIT(DIGEST_XXH128);
	const struct digest_info *info;
	char name[32];
	size_t len;

	while (*names) {
		len = strcspn(names, ":,");
		if (len >= sizeof(name))
			return -EINVAL;
		memcpy(name, names, len);
		name[len] = '\0';
		info = digest_find(name);
		if (!info)
			return -EINVAL;
		set |= DIGEST_BIT(info->id);
		names += len;
		names += *names != '\0';
	}
	*set_out = set;
	return 0;
}

const struct digest_info *digest_named(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < DIGEST_COUNT; i++)
		if (strlen(digest_infos[i].name) == len &&
		    !memcmp(digest_infos[i].name, name, len))
			return &digest_infos[i];
	return NULL;
}

void digests_release(struct digests *d)
{
	size_t i;

	for (i = 0; i < DIGEST_COUNT; i++)
		free(d->text[i]);
	*d = (struct digests){ 0 };
}

int digests_copy(const struct digests *from, struct digests *out)
{
	struct digests copy = *from;
	int err = 0;
	size_t i;

	for (i = 0; i < DIGEST_COUNT; i++) {
		copy.text[i] = NULL;
		if (from->text[i] && !err) {
			copy.text[i] = strdup(from->text[i]);
			err = copy.text[i] ? 0 : -ENOMEM;
		}
	}
	if (err)
		digests_release(&copy);
	else
		*out = copy;
	return err;
}

bool digests_short_sketch(const struct digests *d, struct short_sketch *out)
{
	const char *text = d->text[DIGEST_SIF8];

	return (d->set & DIGEST_BIT(DIGEST_SIF8)) && text &&
	       !short_sketch_parse(text, strlen(text), out);
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
	if (DIGEST_TEXTS & DIGEST_BIT(id))
		return buf_append_text(out, d->text[id]);
	switch (id) {
	case DIGEST_SIMHASH:
		store_be64(bytes, d->simhash);
		return format_hex(bytes, sizeof(bytes), out);
	case DIGEST_RDC:
		return format_hex(d->traits, sizeof(d->traits), out);
	case DIGEST_XXH128:
		return format_hex(d->xxh128, sizeof(d->xxh128), out);
	default:
		return -ENODATA;
	}
}

static int append_line(const struct digests *d, enum digest_id id,
		       struct buf *out)
{
	int err = buf_append_format(out, "%s=", digest_infos[id].name);

	if (!err)
		err = digest_format(d, id, out);
	return err ? err : buf_append_text(out, "\n");
}

int digests_format_lines(const struct digests *d, uint32_t set, struct buf *out)
{
	int id, err = 0;

	for (id = 0; id < DIGEST_COUNT && !err; id++)
		if (d->set & set & DIGEST_BIT(id))
			err = append_line(d, (enum digest_id)id, out);
	return err;
}

int digest_line_next(const char **at, struct digest_line *out)
{
	const char *line = *at, *sign = strchr(line, '=');
	const char *stop = strchr(line, '\n');

	if (!*line)
		return 0;
	if (!stop || !sign || sign > stop)
		return -EINVAL;
	*out = (struct digest_line){
		.name = line,
		.name_len = (size_t)(sign - line),
		.text = sign + 1,
		.text_len = (size_t)(stop - sign) - 1,
	};
	*at = stop + 1;
	return 1;
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

static int canonical_sise(const char *text, size_t len, struct buf *out)
{
	struct sise_signature sig;
	int err = sise_parse(text, len, &sig);

	return err ? err : sise_format(&sig, out);
}

static int canonical_sif(const char *text, size_t len, struct buf *out)
{
	struct sif_sketch sketch;
	int err = sif_parse(text, len, &sketch);

	return err ? err : sif_format(&sketch, out);
}

static int canonical_ssdeep(const char *text, size_t len, struct buf *out)
{
	struct ssdeep_signature sig;
	int err = ssdeep_parse(text, len, &sig);

	return err ? err : ssdeep_format(&sig, out);
}

/* One line, or those of the segments of a file. */
static int canonical_sdhash(const char *text, size_t len, struct buf *out)
{
	struct sdhash_set set = { 0 };
	struct sdhash_digest joined = { 0 };
	struct sdhash_fault fault;
	size_t i;
	int err = sdhash_set_parse(text, len, &set, &fault);

	if (!err)
		err = sdhash_set_join(&set, &joined);
	for (i = 0; i < set.count && !err; i++) {
		if (i)
			err = buf_append_text(out, "\n");
		if (!err)
			err = sdhash_format(&set.digests[i], out);
	}
	sdhash_digest_release(&joined);
	sdhash_set_release(&set);
	return err;
}

static int canonical_tlsh(const char *text, size_t len, struct buf *out)
{
	struct tlsh_digest digest;
	int err = tlsh_parse(text, len, &digest);

	return err ? err : tlsh_format(&digest, out);
}

static int canonical_sha256(const char *text, size_t len, struct buf *out)
{
	uint8_t bytes[32];
	int err = hex_decode(text, len, bytes, sizeof(bytes));

	return err ? err : buf_append(out, text, len);
}

static int canonical_sif8(const char *text, size_t len, struct buf *out)
{
	struct short_sketch sketch;
	int err = short_sketch_parse(text, len, &sketch);

	return err ? err : short_sketch_format(&sketch, out);
}

static bool is_text(const struct buf *b, const char *text, size_t len)
{
	return b->len == len && b->data && memcmp(b->data, text, len) == 0;
}

/* Read and written again, so that a value has one text.  Only SiSe's may be
 * longer than ours, and TLSH's of another case. */
static int parse_text(enum digest_id id, const char *text, size_t len,
		      struct digests *d)
{
	struct buf canonical = { 0 };
	int err;

	if (id == DIGEST_SISE)
		err = canonical_sise(text, len, &canonical);
	else if (id == DIGEST_SIF || id == DIGEST_TEXT)
		err = canonical_sif(text, len, &canonical);
	else if (id == DIGEST_SDHASH)
		err = canonical_sdhash(text, len, &canonical);
	else if (id == DIGEST_TLSH)
		err = canonical_tlsh(text, len, &canonical);
	else if (id == DIGEST_SHA256)
		err = canonical_sha256(text, len, &canonical);
	else if (id == DIGEST_SIF8)
		err = canonical_sif8(text, len, &canonical);
	else
		err = canonical_ssdeep(text, len, &canonical);
	if (!err && id != DIGEST_SISE && id != DIGEST_TLSH &&
	    !is_text(&canonical, text, len))
		err = -EINVAL;
	if (err) {
		buf_release(&canonical);
		return err;
	}
	free(d->text[id]);
	d->text[id] = buf_take(&canonical);
	return 0;
}

int digest_parse(enum digest_id id, const char *text, size_t len,
		 struct digests *d)
{
	int err = -EINVAL;

	switch (id) {
	case DIGEST_SISE:
	case DIGEST_SIF:
	case DIGEST_SSDEEP:
	case DIGEST_SDHASH:
	case DIGEST_TLSH:
	case DIGEST_SHA256:
	case DIGEST_TEXT:
	case DIGEST_SIF8:
		err = parse_text(id, text, len, d);
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

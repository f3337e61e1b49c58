/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/fingerprint.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hex.h"
#include "core/base/xxh3.h"
#include "core/digest/rdc/rdc.h"
#include "core/digest/sdhash/sdhash.h"
#include "core/digest/short_sketch.h"
#include "core/digest/sif/sif.h"
#include "core/digest/simhash.h"
#include "core/digest/sise.h"
#include "core/digest/ssdeep.h"
#include "core/digest/text/text_sif.h"
#include "core/digest/tlsh/tlsh.h"

/* Every digest goes over this much before the next: it stays in the second
 * cache, and samples that guess where they end guess best from many bytes. */
#define SLICE 262144

struct fingerprint {
	uint32_t set;
	uint64_t size;
	uint64_t expected; /* no more bytes will come */
	XXH3_state_t *xxh; /* owned */
	struct ctph ctph;  /* for SiSe and ssdeep */
	struct simhash simhash;
	struct rdc rdc;
	struct sif sif;
	struct sdhash_input *sdhash; /* owned; NULL when not wanted */
	struct buf sdhash_lines;
	struct tlsh tlsh;
	EVP_MD_CTX *sha256; /* owned; NULL when not wanted */
	struct text_sif text;
	union { /* here to keep stacks small */
		struct sise_signature sise;
		struct sif_sketch sif;
		struct ssdeep_signature ssdeep;
		struct tlsh_digest tlsh;
		struct short_sketch sif8;
	} result;
};

static bool wants(const struct fingerprint *fp, enum digest_id id)
{
	return fp->set & DIGEST_BIT(id);
}

int fingerprint_new(uint32_t digest_set, struct fingerprint **out)
{
	struct fingerprint *fp = malloc(sizeof(*fp));
	int err = 0;

	if (!fp)
		return -ENOMEM;
	fp->set = (digest_set & DIGEST_ALL) | DIGEST_BIT(DIGEST_XXH128);
	fp->sdhash = NULL;
	fp->sdhash_lines = (struct buf){ 0 };
	fp->sha256 = NULL;
	fp->xxh = XXH3_createState();
	if (!fp->xxh)
		err = -ENOMEM;
	else if (wants(fp, DIGEST_RDC))
		err = rdc_init(&fp->rdc, RDC_WINDOW, RDC_HORIZON);
	if (!err && wants(fp, DIGEST_SIF))
		err = sif_init(&fp->sif, SIF_WINDOW, SIF_MAX_VALUES);
	if (!err && wants(fp, DIGEST_TEXT))
		err = text_sif_init(&fp->text);
	if (!err && wants(fp, DIGEST_SDHASH)) {
		fp->sdhash = calloc(1, sizeof(*fp->sdhash));
		err = fp->sdhash ? 0 : -ENOMEM;
	}
	if (!err && wants(fp, DIGEST_SHA256)) {
		fp->sha256 = EVP_MD_CTX_new();
		err = fp->sha256 ? 0 : -ENOMEM;
	}
	if (err) {
		fingerprint_free(fp);
		return err;
	}
	*out = fp;
	return 0;
}

void fingerprint_free(struct fingerprint *fp)
{
	if (!fp)
		return;
	if (fp->sdhash)
		sdhash_input_release(fp->sdhash);
	free(fp->sdhash);
	buf_release(&fp->sdhash_lines);
	EVP_MD_CTX_free(fp->sha256);
	(void)XXH3_freeState(fp->xxh);
	free(fp);
}

static int begin(struct fingerprint *fp, uint64_t expected)
{
	fp->size = 0;
	fp->expected = expected;
	(void)XXH3_128bits_reset(fp->xxh);
	if (fingerprint_has_part(fp, FINGERPRINT_PIECES))
		ctph_init(&fp->ctph,
			  (wants(fp, DIGEST_SISE) ? CTPH_SISE : 0) |
				  (wants(fp, DIGEST_SSDEEP) ? CTPH_SSDEEP : 0));
	if (fingerprint_has_part(fp, FINGERPRINT_SHINGLES))
		simhash_init(&fp->simhash);
	if (wants(fp, DIGEST_SIF))
		sif_begin(&fp->sif, sif_samples(expected));
	if (wants(fp, DIGEST_TEXT))
		text_sif_begin(&fp->text, expected);
	if (wants(fp, DIGEST_RDC)) {
		rdc_begin(&fp->rdc);
		rdc_expect(&fp->rdc, expected);
	}
	if (wants(fp, DIGEST_TLSH))
		tlsh_begin(&fp->tlsh);
	if (fp->sha256 && !EVP_DigestInit_ex(fp->sha256, EVP_sha256(), NULL))
		return -ENOMEM;
	return 0;
}

static int add_sdhash(void *arg, struct sdhash_digest *digest)
{
	struct buf *lines = arg;
	int err = lines->len ? buf_append_text(lines, "\n") : 0;

	return err ? err : sdhash_format(digest, lines);
}

static int begin_sdhash(struct fingerprint *fp, const char *name, uint64_t size,
			size_t most)
{
	sdhash_input_release(fp->sdhash);
	buf_clear(&fp->sdhash_lines);
	return sdhash_input_begin(fp->sdhash, name, size, most, add_sdhash,
				  &fp->sdhash_lines);
}

int fingerprint_begin_file(struct fingerprint *fp, const char *name,
			   uint64_t size, size_t sdhash_most)
{
	int err = 0;

	if (fp->sdhash)
		err = begin_sdhash(fp, name, size, sdhash_most);
	if (err)
		return err;
	err = begin(fp, size);
	if (!err && fingerprint_has_part(fp, FINGERPRINT_PIECES))
		ctph_expect(&fp->ctph, size);
	return err;
}

int fingerprint_begin(struct fingerprint *fp)
{
	if (fp->sdhash)
		return -EINVAL;
	return begin(fp, UINT64_MAX);
}

/* ---- the parts ---- */

static int update_identity(struct fingerprint *fp, const void *data, size_t len)
{
	fp->size += len;
	(void)XXH3_128bits_update(fp->xxh, data, len);
	return fp->size > fp->expected ? -ESTALE : 0;
}

bool fingerprint_has_part(const struct fingerprint *fp,
			  enum fingerprint_part part)
{
	static const uint32_t sets[FINGERPRINT_PARTS] = {
		[FINGERPRINT_PIECES] =
			DIGEST_BIT(DIGEST_SISE) | DIGEST_BIT(DIGEST_SSDEEP),
		[FINGERPRINT_CHUNKS] = DIGEST_BIT(DIGEST_RDC),
		[FINGERPRINT_SHINGLES] =
			DIGEST_BIT(DIGEST_SIMHASH) | DIGEST_BIT(DIGEST_SIF8),
		[FINGERPRINT_SAMPLES] = DIGEST_BIT(DIGEST_SIF),
		[FINGERPRINT_IDENTITY] = DIGEST_BIT(DIGEST_XXH128),
		[FINGERPRINT_FEATURES] = DIGEST_BIT(DIGEST_SDHASH),
		[FINGERPRINT_TRIPLETS] = DIGEST_BIT(DIGEST_TLSH),
		[FINGERPRINT_EVIDENCE] = DIGEST_BIT(DIGEST_SHA256),
		[FINGERPRINT_TEXT] = DIGEST_BIT(DIGEST_TEXT),
	};

	return fp->set & sets[part];
}

int fingerprint_update_part(struct fingerprint *fp, enum fingerprint_part part,
			    const void *data, size_t len)
{
	if (!fingerprint_has_part(fp, part))
		return 0;
	switch (part) {
	case FINGERPRINT_PIECES:
		ctph_update(&fp->ctph, data, len);
		return 0;
	case FINGERPRINT_CHUNKS:
		rdc_update(&fp->rdc, data, len);
		return 0;
	case FINGERPRINT_SHINGLES:
		simhash_update(&fp->simhash, data, len);
		return 0;
	case FINGERPRINT_SAMPLES:
		sif_update(&fp->sif, data, len);
		return 0;
	case FINGERPRINT_IDENTITY:
		return update_identity(fp, data, len);
	case FINGERPRINT_FEATURES:
		return sdhash_input_update(fp->sdhash, data, len);
	case FINGERPRINT_TRIPLETS:
		tlsh_update(&fp->tlsh, data, len);
		return 0;
	case FINGERPRINT_EVIDENCE:
		return EVP_DigestUpdate(fp->sha256, data, len) ? 0 : -ENOMEM;
	case FINGERPRINT_TEXT:
		text_sif_update(&fp->text, data, len);
		return 0;
	case FINGERPRINT_PARTS:
		break;
	}
	return -EINVAL;
}

static int update_slice(struct fingerprint *fp, const void *data, size_t len)
{
	int part, err = 0;

	for (part = 0; part < FINGERPRINT_PARTS && !err; part++)
		err = fingerprint_update_part(fp, (enum fingerprint_part)part,
					      data, len);
	return err;
}

int fingerprint_update(struct fingerprint *fp, const void *data, size_t len)
{
	const uint8_t *bytes = data;
	size_t part;
	int err;

	while (len > 0) {
		part = len < SLICE ? len : SLICE;
		err = update_slice(fp, bytes, part);
		if (err)
			return err;
		bytes += part;
		len -= part;
	}
	return 0;
}

static int update_each(struct fingerprint *fp, enum fingerprint_part part,
		       const void *zeros, size_t size, uint64_t len)
{
	size_t some;
	int err = 0;

	for (; len > 0 && !err; len -= some) {
		some = len < size ? (size_t)len : size;
		err = fingerprint_update_part(fp, part, zeros, some);
	}
	return err;
}

int fingerprint_update_zeros(struct fingerprint *fp, uint64_t len)
{
	static const uint8_t zeros[SLICE];
	int err;

	if (fingerprint_has_part(fp, FINGERPRINT_PIECES))
		ctph_update_zeros(&fp->ctph, len);
	if (fingerprint_has_part(fp, FINGERPRINT_CHUNKS))
		rdc_update_zeros(&fp->rdc, len);
	if (fingerprint_has_part(fp, FINGERPRINT_SHINGLES))
		simhash_update_zeros(&fp->simhash, len);
	if (fingerprint_has_part(fp, FINGERPRINT_SAMPLES))
		sif_update_zeros(&fp->sif, len);
	if (fingerprint_has_part(fp, FINGERPRINT_TRIPLETS))
		tlsh_update_zeros(&fp->tlsh, len);
	if (fingerprint_has_part(fp, FINGERPRINT_TEXT))
		text_sif_update_zeros(&fp->text, len);
	err = update_each(fp, FINGERPRINT_IDENTITY, zeros, SLICE, len);
	if (!err)
		err = update_each(fp, FINGERPRINT_FEATURES, zeros, SLICE, len);
	return err ? err :
		     update_each(fp, FINGERPRINT_EVIDENCE, zeros, SLICE, len);
}

/* ---- the result ---- */

static int format_sise(struct fingerprint *fp, struct buf *out)
{
	sise_read(&fp->ctph, &fp->result.sise);
	return sise_format(&fp->result.sise, out);
}

static int format_sif(struct fingerprint *fp, struct buf *out)
{
	sif_final(&fp->sif, &fp->result.sif);
	sif_cut(&fp->result.sif, sif_samples(fp->size));
	sif_thin(&fp->result.sif, sif_values(fp->size));
	sif_round_values(&fp->result.sif);
	return sif_format(&fp->result.sif, out);
}

static int format_text(struct fingerprint *fp, struct buf *out)
{
	int err = text_sif_final(&fp->text, &fp->result.sif);

	return err ? err : sif_format(&fp->result.sif, out);
}

/* The sample is sorted, which SimHash is not changed by. */
static int format_sif8(struct fingerprint *fp, struct buf *out)
{
	short_sketch_read(&fp->simhash, &fp->result.sif8);
	return short_sketch_format(&fp->result.sif8, out);
}

static int format_ssdeep(struct fingerprint *fp, struct buf *out)
{
	int err = ssdeep_read(&fp->ctph, &fp->result.ssdeep);

	return err ? err : ssdeep_format(&fp->result.ssdeep, out);
}

static int format_tlsh(struct fingerprint *fp, struct buf *out)
{
	int err = tlsh_final(&fp->tlsh, &fp->result.tlsh);

	return err ? err : tlsh_format(&fp->result.tlsh, out);
}

static int format_sha256(struct fingerprint *fp, struct buf *out)
{
	uint8_t hash[EVP_MAX_MD_SIZE];
	char text[2 * EVP_MAX_MD_SIZE + 1];
	unsigned len;

	if (!EVP_DigestFinal_ex(fp->sha256, hash, &len))
		return -ENOMEM;
	hex_encode(hash, len, text);
	return buf_append_text(out, text);
}

static int format_sdhash(struct fingerprint *fp, struct buf *out)
{
	int err = sdhash_input_final(fp->sdhash);

	return err ? err :
		     buf_append(out, fp->sdhash_lines.data,
				fp->sdhash_lines.len);
}

/* Content that is too large for a digest, or too small, goes without it. */
static int finish_text(struct fingerprint *fp, enum digest_id id,
		       int (*format)(struct fingerprint *fp, struct buf *out),
		       struct digests *d)
{
	struct buf text = { 0 };
	int err;

	if (!wants(fp, id))
		return 0;
	err = format(fp, &text);
	if (!err)
		d->text[id] = buf_take(&text);
	else
		buf_release(&text);
	if (err != -EOVERFLOW && err != -ENODATA)
		return err;
	d->set &= ~DIGEST_BIT(id);
	return 0;
}

int fingerprint_final(struct fingerprint *fp, struct digests *out)
{
	static const struct {
		enum digest_id id;
		int (*format)(struct fingerprint *fp, struct buf *out);
	} texts[] = {
		{ DIGEST_SISE, format_sise },
		{ DIGEST_SIF, format_sif },
		{ DIGEST_SIF8, format_sif8 },
		{ DIGEST_SSDEEP, format_ssdeep },
		{ DIGEST_SDHASH, format_sdhash },
		{ DIGEST_TLSH, format_tlsh },
		{ DIGEST_SHA256, format_sha256 },
		{ DIGEST_TEXT, format_text },
	};
	struct digests d = { .set = fp->set, .size = fp->size };
	XXH128_canonical_t canonical;
	size_t i;
	int err = 0;

	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(fp->xxh));
	memcpy(d.xxh128, canonical.digest, sizeof(d.xxh128));
	if (wants(fp, DIGEST_SIMHASH))
		d.simhash = simhash_final(&fp->simhash);
	if (wants(fp, DIGEST_RDC))
		rdc_final(&fp->rdc, d.traits);
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]) && !err; i++)
		err = finish_text(fp, texts[i].id, texts[i].format, &d);
	if (err)
		digests_release(&d);
	else
		*out = d;
	return err;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/fingerprint.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core/digest/rdc.h"
#include "core/digest/simhash.h"
#include "core/digest/sise.h"

/* Every digest goes over this much before the next: it stays in the nearest
 * cache. */
#define SLICE 16384

struct fingerprint {
	uint32_t set;
	uint64_t size;
	XXH3_state_t *xxh; /* owned */
	struct sise sise;
	struct simhash simhash;
	struct rdc rdc;
	struct sise_signature signature; /* here to keep stacks small */
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
	fp->xxh = XXH3_createState();
	if (!fp->xxh)
		err = -ENOMEM;
	else if (wants(fp, DIGEST_RDC))
		err = rdc_init(&fp->rdc, RDC_WINDOW, RDC_HORIZON);
	if (err) {
		(void)XXH3_freeState(fp->xxh);
		free(fp);
		return err;
	}
	*out = fp;
	return 0;
}

void fingerprint_free(struct fingerprint *fp)
{
	if (!fp)
		return;
	if (wants(fp, DIGEST_RDC))
		rdc_release(&fp->rdc);
	(void)XXH3_freeState(fp->xxh);
	free(fp);
}

int fingerprint_begin(struct fingerprint *fp)
{
	fp->size = 0;
	(void)XXH3_128bits_reset(fp->xxh);
	if (wants(fp, DIGEST_SISE))
		sise_init(&fp->sise);
	if (wants(fp, DIGEST_SIMHASH))
		simhash_init(&fp->simhash);
	return wants(fp, DIGEST_RDC) ? rdc_begin(&fp->rdc) : 0;
}

static int update_slice(struct fingerprint *fp, const uint8_t *data, size_t len)
{
	fp->size += len;
	(void)XXH3_128bits_update(fp->xxh, data, len);
	if (wants(fp, DIGEST_SISE))
		sise_update(&fp->sise, data, len);
	if (wants(fp, DIGEST_SIMHASH))
		simhash_update(&fp->simhash, data, len);
	return wants(fp, DIGEST_RDC) ? rdc_update(&fp->rdc, data, len) : 0;
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

static int finish_sise(struct fingerprint *fp, char **out)
{
	struct buf text = { 0 };
	int err;

	sise_final(&fp->sise, &fp->signature);
	err = sise_format(&fp->signature, &text);
	if (err) {
		buf_release(&text);
		return err;
	}
	*out = buf_take(&text);
	return 0;
}

int fingerprint_final(struct fingerprint *fp, struct digests *out)
{
	struct digests d = { .set = fp->set, .size = fp->size };
	XXH128_canonical_t canonical;
	int err = 0;

	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(fp->xxh));
	memcpy(d.xxh128, canonical.digest, sizeof(d.xxh128));
	if (wants(fp, DIGEST_SIMHASH))
		d.simhash = simhash_final(&fp->simhash);
	if (wants(fp, DIGEST_RDC))
		err = rdc_final(&fp->rdc, d.traits);
	if (!err && wants(fp, DIGEST_SISE))
		err = finish_sise(fp, &d.sise);
	if (err)
		return err;
	*out = d;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_DIGEST_MODELS_H
#define TESTS_SUPPORT_DIGEST_MODELS_H

#include <openssl/evp.h>
#include <xxhash.h>

#include "core/digest/rdc/rdc.h"
#include "tests/support/digest_values.h"
#include "tests/support/rdc_model.h"
#include "tests/support/sise_model.h"
#include "tests/support/sketch_model.h"
#include "tests/support/ssdeep_model.h"

/* Digests of a content as the models have them, and XXH128 and SHA-256 of the
 * libraries' one call. */

#define DIGESTS_MODELLED (DIGEST_DEFAULT | DIGEST_BIT(DIGEST_SHA256))

static inline void model_put(struct digests *d, enum digest_id id,
			     const void *bytes, size_t len)
{
	assert_int_equal(digest_put(d, id, (struct digest_value){ bytes, len }),
			 0);
}

static inline void model_put_text(struct digests *d, enum digest_id id,
				  const char *text)
{
	assert_int_equal(digest_parse(id, text, strlen(text), d), 0);
}

static inline void model_put_sketch(struct digests *d, struct bytes b)
{
	static uint8_t packed[SKETCH_PACKED_MAX];
	static struct model_sample sample;
	static struct sketch sketch;
	uint8_t simhash[8];

	model_sample(b, &sample);
	model_sketch(&sample, &sketch);
	store_be64(simhash, sample.simhash);
	model_put(d, DIGEST_SIMHASH, simhash, sizeof(simhash));
	model_put(d, DIGEST_SIF, packed, sketch_pack(&sketch, packed));
}

static inline void model_put_traits(struct digests *d, struct bytes b)
{
	struct buf chunks = { 0 };
	uint8_t traits[16];

	rdc_model(b, RDC_WINDOW, RDC_HORIZON, &chunks, traits);
	model_put(d, DIGEST_RDC, traits, sizeof(traits));
	buf_release(&chunks);
}

/* Those of set, of DIGESTS_MODELLED. */
static inline struct digests model_digests(struct bytes b, uint32_t set)
{
	struct digests d = { .size = b.len };
	char ssdeep[SSDEEP_MODEL_TEXT], *sise;
	XXH128_canonical_t xxh128;
	uint8_t sha256[32];

	XXH128_canonicalFromHash(&xxh128, XXH3_128bits(b.data, b.len));
	model_put(&d, DIGEST_XXH128, xxh128.digest, sizeof(xxh128.digest));
	if (set & DIGEST_BIT(DIGEST_SHA256)) {
		assert_int_equal(EVP_Digest(b.data, b.len, sha256, NULL,
					    EVP_sha256(), NULL),
				 1);
		model_put(&d, DIGEST_SHA256, sha256, sizeof(sha256));
	}
	if (set & DIGEST_BIT(DIGEST_SISE)) {
		sise = model_signature(b.data, b.len,
				       (size_t)2 * SISE_MAX_PAIRS);
		model_put_text(&d, DIGEST_SISE, sise);
		free(sise);
	}
	if (set & DIGEST_BIT(DIGEST_SSDEEP)) {
		ssdeep_model(b, ssdeep);
		model_put_text(&d, DIGEST_SSDEEP, ssdeep);
	}
	if (set & (DIGEST_BIT(DIGEST_SIMHASH) | DIGEST_BIT(DIGEST_SIF)))
		model_put_sketch(&d, b);
	if (set & DIGEST_BIT(DIGEST_RDC))
		model_put_traits(&d, b);
	return d;
}

#endif

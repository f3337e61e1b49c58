/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/fingerprint.h"

#include <openssl/evp.h>
#include <xxhash.h>

#include "core/base/hex.h"
#include "core/digest/rdc/rdc.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/digest_values.h"
#include "tests/support/rdc_model.h"
#include "tests/support/sdhash_model.h"
#include "tests/support/sise_model.h"
#include "tests/support/sketch_model.h"
#include "tests/support/ssdeep_model.h"
#include "tests/support/tlsh_model.h"

static void update(void *arg, const void *data, size_t len)
{
	assert_int_equal(fingerprint_update(arg, data, len), 0);
}

static void assert_hash(struct bytes b, const uint8_t xxh128[16])
{
	XXH128_canonical_t want;

	XXH128_canonicalFromHash(&want, XXH3_128bits(b.data, b.len));
	assert_memory_equal(xxh128, want.digest, sizeof(want.digest));
}

static void assert_traits(struct bytes b, const uint8_t traits[16])
{
	struct buf chunks = { 0 };
	uint8_t want[16];

	rdc_model(b, RDC_WINDOW, RDC_HORIZON, &chunks, want);
	assert_memory_equal(traits, want, sizeof(want));
	buf_release(&chunks);
}

static void assert_text(const struct digests *d, enum digest_id id,
			const char *want)
{
	char *have = digest_text_of(d, id);

	assert_string_equal(have, want);
	free(have);
}

static void assert_sise(struct bytes b, const struct digests *d)
{
	char *want = model_signature(b.data, b.len, (size_t)2 * SISE_MAX_PAIRS);

	assert_text(d, DIGEST_SISE, want);
	free(want);
}

static void assert_ssdeep(struct bytes b, const struct digests *d)
{
	char want[SSDEEP_MODEL_TEXT];

	ssdeep_model(b, want);
	assert_text(d, DIGEST_SSDEEP, want);
}

static void assert_sketch(struct bytes b, const struct digests *d)
{
	static struct model_sample sample;
	static struct sketch want, have;

	model_sample(b, &sample);
	if (d->set & DIGEST_BIT(DIGEST_SIMHASH))
		assert_true(digests_simhash(d) == model_simhash(&sample));
	if (!(d->set & DIGEST_BIT(DIGEST_SIF)))
		return;
	model_sketch(&sample, &want);
	assert_int_equal(digests_sketch(d, &have), 0);
	assert_true(sketches_are_same(&have, &want));
}

static void assert_sdhash(struct bytes b, const struct digests *digests)
{
	char *have = digest_text_of(digests, DIGEST_SDHASH);
	struct sdhash_model want = sdhash_model(b, SDHASH_4_0, 0);
	struct sdhash_digest d = { 0 };
	const char *reason;

	assert_int_equal(sdhash_parse(have, strlen(have), &d, &reason), 0);
	assert_int_equal(d.size, b.len);
	assert_true(sdhash_model_agrees(&want, &d));
	sdhash_digest_release(&d);
	free(have);
	free(want.filters);
}

static void assert_tlsh(struct bytes b, const struct digests *d)
{
	char want[73];

	if (tlsh_model(b, want))
		assert_text(d, DIGEST_TLSH, want);
	else
		assert_false(d->set & DIGEST_BIT(DIGEST_TLSH));
}

static void assert_sha256(struct bytes b, const struct digests *d)
{
	uint8_t hash[32];
	char want[65];

	assert_int_equal(
		EVP_Digest(b.data, b.len, hash, NULL, EVP_sha256(), NULL), 1);
	hex_encode(hash, sizeof(hash), want);
	assert_text(d, DIGEST_SHA256, want);
}

static void assert_digests(struct bytes b, const struct digests *d)
{
	assert_int_equal(d->size, b.len);
	assert_hash(b, d->xxh128);
	assert_sketch(b, d);
	if (d->set & DIGEST_BIT(DIGEST_RDC))
		assert_traits(b, d->traits);
	if (d->set & DIGEST_BIT(DIGEST_SISE))
		assert_sise(b, d);
	if (d->set & DIGEST_BIT(DIGEST_SSDEEP))
		assert_ssdeep(b, d);
	if (d->set & DIGEST_BIT(DIGEST_SDHASH))
		assert_sdhash(b, d);
	if (d->set & DIGEST_BIT(DIGEST_SHA256))
		assert_sha256(b, d);
}

static void begin(struct fingerprint *fp, size_t len)
{
	assert_int_equal(fingerprint_begin_file(fp, "name", len, SIZE_MAX), 0);
}

/* First own byte: which digests, 0 for all.  The second: whether another
 * content comes first. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz f = fuzz_begin(data, len);
	uint32_t set = f.own[0] ? f.own[0] & DIGEST_ALL : DIGEST_ALL;
	struct fingerprint *fp;
	struct digests d;

	assert_int_equal(fingerprint_new(set, &fp), 0);
	if (f.own[1] & 1) {
		begin(fp, len);
		update(fp, data, len);
	}
	begin(fp, f.content.len);
	fuzz_feed(&f, update, fp);
	assert_int_equal(fingerprint_final(fp, &d), 0);
	if (f.content.len < SDHASH_MIN_SIZE)
		set &= ~DIGEST_BIT(DIGEST_SDHASH);
	if (set & DIGEST_BIT(DIGEST_TLSH))
		assert_tlsh(f.content, &d);
	assert_int_equal((d.set ^ set) & ~(DIGEST_BIT(DIGEST_XXH128) |
					   DIGEST_BIT(DIGEST_TLSH)),
			 0);
	assert_digests(f.content, &d);
	digests_release(&d);
	fingerprint_free(fp);
	fuzz_end(&f);
	return 0;
}

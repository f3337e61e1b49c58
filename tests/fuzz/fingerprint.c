/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/fingerprint.h"

#include <openssl/evp.h>

#include "core/base/hex.h"
#include "core/digest/rdc/rdc.h"
#include "core/digest/text/text_sif.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/rdc_model.h"
#include "tests/support/sdhash_model.h"
#include "tests/support/sif_model.h"
#include "tests/support/simhash_model.h"
#include "tests/support/sise_model.h"
#include "tests/support/ssdeep_model.h"
#include "tests/support/text_model.h"
#include "tests/support/tlsh_model.h"

struct part {
	struct fingerprint *fp;
	enum fingerprint_part part;
};

static void update(void *arg, const void *data, size_t len)
{
	assert_int_equal(fingerprint_update(arg, data, len), 0);
}

static void update_part(void *arg, const void *data, size_t len)
{
	const struct part *p = arg;

	assert_int_equal(fingerprint_update_part(p->fp, p->part, data, len), 0);
}

/* One part after the other goes over the whole content. */
static void feed_parts(const struct fuzz *f, struct fingerprint *fp)
{
	struct part p = { .fp = fp };

	for (p.part = 0; p.part < FINGERPRINT_PARTS; p.part++)
		if (fingerprint_has_part(fp, p.part))
			fuzz_feed(f, update_part, &p);
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

static void assert_sise(struct bytes b, const char *have)
{
	char *want = model_signature(b.data, b.len, (size_t)2 * SISE_MAX_PAIRS);

	assert_string_equal(have, want);
	free(want);
}

static void assert_ssdeep(struct bytes b, const char *have)
{
	char want[SSDEEP_MODEL_TEXT];

	ssdeep_model(b, want);
	assert_string_equal(have, want);
}

static void assert_sif(struct bytes b, const char *have)
{
	struct values windows = windows_of(b, SIF_WINDOW, model_value);
	struct sif_sketch want =
		model_sketch(windows, SIF_WINDOW, sif_samples(b.len));
	struct sif_sketch sketch;

	model_thin(&want, sif_values(b.len));
	model_round_values(&want);
	assert_int_equal(sif_parse(have, strlen(have), &sketch), 0);
	assert_true(same(&sketch, &want));
	free(windows.v);
}

static void assert_sdhash(struct bytes b, const char *have)
{
	struct sdhash_model want = sdhash_model(b, SDHASH_4_0, 0);
	struct sdhash_digest d = { 0 };
	const char *reason;

	assert_int_equal(sdhash_parse(have, strlen(have), &d, &reason), 0);
	assert_int_equal(d.size, b.len);
	assert_true(sdhash_model_agrees(&want, &d));
	sdhash_digest_release(&d);
	free(want.filters);
}

static void assert_tlsh(struct bytes b, const struct digests *d)
{
	char want[73];

	if (tlsh_model(b, want))
		assert_string_equal(d->text[DIGEST_TLSH], want);
	else
		assert_false(d->set & DIGEST_BIT(DIGEST_TLSH));
}

static void assert_sha256(struct bytes b, const char *have)
{
	uint8_t hash[32];
	char want[65];

	assert_int_equal(
		EVP_Digest(b.data, b.len, hash, NULL, EVP_sha256(), NULL), 1);
	hex_encode(hash, sizeof(hash), want);
	assert_string_equal(have, want);
}

/* Only a text has it; NULL: it is none. */
static void assert_text_sketch(struct bytes b, const char *have)
{
	struct model_text m = model_text_of(b);
	struct values windows = windows_of(m.text, SIF_WINDOW, model_value);
	struct sif_sketch sketch,
		want = model_sketch(windows, SIF_WINDOW,
				    text_sif_values(m.text.len));

	model_round_values(&want);
	assert_int_equal(have != NULL, want.count > 0);
	if (have) {
		assert_int_equal(sif_parse(have, strlen(have), &sketch), 0);
		assert_true(same(&sketch, &want));
	}
	free(windows.v);
	free(m.text.data);
}

static void assert_digests(struct bytes b, const struct digests *d)
{
	assert_int_equal(d->size, b.len);
	assert_hash(b, d->xxh128);
	if (d->set & DIGEST_BIT(DIGEST_SIMHASH))
		assert_true(d->simhash == simhash_model(b));
	if (d->set & DIGEST_BIT(DIGEST_RDC))
		assert_traits(b, d->traits);
	if (d->set & DIGEST_BIT(DIGEST_SISE))
		assert_sise(b, d->text[DIGEST_SISE]);
	if (d->set & DIGEST_BIT(DIGEST_SSDEEP))
		assert_ssdeep(b, d->text[DIGEST_SSDEEP]);
	if (d->set & DIGEST_BIT(DIGEST_SIF))
		assert_sif(b, d->text[DIGEST_SIF]);
	if (d->set & DIGEST_BIT(DIGEST_SDHASH))
		assert_sdhash(b, d->text[DIGEST_SDHASH]);
	if (d->set & DIGEST_BIT(DIGEST_SHA256))
		assert_sha256(b, d->text[DIGEST_SHA256]);
}

static void begin(struct fingerprint *fp, size_t len)
{
	assert_int_equal(fingerprint_begin_file(fp, "name", len, SIZE_MAX), 0);
}

/* First own byte: which digests, 0 for all.  The second: whether another
 * content comes first, and whether the parts are done by themselves. */
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
	if (f.own[1] & 2)
		feed_parts(&f, fp);
	else
		fuzz_feed(&f, update, fp);
	assert_int_equal(fingerprint_final(fp, &d), 0);
	if (f.content.len < SDHASH_MIN_SIZE)
		set &= ~DIGEST_BIT(DIGEST_SDHASH);
	if (set & DIGEST_BIT(DIGEST_TLSH))
		assert_tlsh(f.content, &d);
	assert_int_equal((d.set ^ set) & ~(DIGEST_BIT(DIGEST_XXH128) |
					   DIGEST_BIT(DIGEST_TLSH) |
					   DIGEST_BIT(DIGEST_TEXT)),
			 0);
	assert_digests(f.content, &d);
	if (set & DIGEST_BIT(DIGEST_TEXT))
		assert_text_sketch(f.content, d.text[DIGEST_TEXT]);
	digests_release(&d);
	fingerprint_free(fp);
	fuzz_end(&f);
	return 0;
}

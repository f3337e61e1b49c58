/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/fingerprint.h"

#include "tests/fuzz/fuzz.h"
#include "tests/support/digest_models.h"

static void begin(struct fingerprint *fp, size_t len)
{
	assert_int_equal(fingerprint_begin_file(fp, "name", len, SIZE_MAX), 0);
}

static void update(void *arg, const void *data, size_t len)
{
	assert_int_equal(fingerprint_update(arg, data, len), 0);
}

static void assert_alike(const struct digests *have, const struct digests *want)
{
	const char *id = digests_differ(have, want);

	if (id)
		fail_msg("%s differs", id);
}

/* First own byte: which digests, 0 for all.  The second: whether another
 * content comes first. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz f = fuzz_begin(data, len);
	uint32_t set = f.own[0] ? f.own[0] & DIGEST_ALL : DIGEST_ALL;
	struct digests have, whole, want = model_digests(f.content, set);
	struct fingerprint *fp;

	set |= DIGEST_BIT(DIGEST_XXH128);
	set &= ~DIGEST_BIT(DIGEST_PDQ); /* no stream tells it */
	assert_int_equal(fingerprint_new(set, &fp), 0);
	if (f.own[1] & 1) {
		begin(fp, len);
		update(fp, data, len);
	}
	begin(fp, f.content.len);
	fuzz_feed(&f, update, fp);
	assert_int_equal(fingerprint_final(fp, &have), 0);
	/* Some contents have no such digests. */
	assert_int_equal((have.set ^ set) & ~(DIGEST_BIT(DIGEST_SDHASH) |
					      DIGEST_BIT(DIGEST_TLSH)),
			 0);
	assert_alike(&have, &want);
	/* Those without a model: in one piece. */
	begin(fp, f.content.len);
	update(fp, f.content.data, f.content.len);
	assert_int_equal(fingerprint_final(fp, &whole), 0);
	assert_int_equal(have.set, whole.set);
	assert_alike(&have, &whole);
	digests_release(&have);
	digests_release(&whole);
	digests_release(&want);
	fingerprint_free(fp);
	fuzz_end(&f);
	return 0;
}

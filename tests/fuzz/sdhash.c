/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sdhash/sdhash.h"

#include <errno.h>

#include "tests/fuzz/fuzz.h"
#include "tests/support/sdhash_model.h"

static struct sdhash sdhash;

static void update(void *arg, const void *data, size_t len)
{
	assert_int_equal(sdhash_update(arg, data, len), 0);
}

/* Own bytes: rules and block size in KiB, 0 for a stream digest. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz f = fuzz_begin(data, len);
	enum sdhash_rules rules = f.own[0] % 2 ? SDHASH_3_4 : SDHASH_4_0;
	uint32_t block_size = f.own[1] % 17 * SDHASH_BLOCK_UNIT;
	struct sdhash_model want = sdhash_model(f.content, rules, block_size);
	struct sdhash_digest have = { 0 };

	assert_int_equal(sdhash_begin(&sdhash, rules, block_size, &have), 0);
	fuzz_feed(&f, update, &sdhash);
	assert_int_equal(sdhash_final(&sdhash),
			 f.content.len < 512 ? -ENODATA : 0);
	if (f.content.len >= 512) {
		assert_int_equal(have.size, f.content.len);
		assert_true(sdhash_model_agrees(&want, &have));
	}
	sdhash_digest_release(&have);
	free(want.filters);
	fuzz_end(&f);
	return 0;
}

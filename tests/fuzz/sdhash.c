/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/digest/sdhash/sdhash.h"
#include "tests/fuzz/fuzz.h"

static struct sdhash sdhash;

static void update(void *arg, const void *data, size_t len)
{
	assert_int_equal(sdhash_update(arg, data, len), 0);
}

/* However it is cut, a content has one digest.  Own bytes: none, and the block
 * size in KiB, 0 for a stream digest. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz f = fuzz_begin(data, len);
	uint32_t block_size = f.own[1] % 17 * SDHASH_BLOCK_UNIT;
	struct sdhash_digest want = { 0 }, have = { 0 };
	int err = f.content.len < SDHASH_MIN_SIZE ? -ENODATA : 0;

	assert_int_equal(sdhash_begin(&sdhash, block_size, SIZE_MAX, &want), 0);
	update(&sdhash, f.content.data, f.content.len);
	assert_int_equal(sdhash_final(&sdhash), err);
	assert_int_equal(sdhash_begin(&sdhash, block_size, SIZE_MAX, &have), 0);
	fuzz_feed(&f, update, &sdhash);
	assert_int_equal(sdhash_final(&sdhash), err);
	if (!err) {
		assert_int_equal(have.size, f.content.len);
		assert_int_equal(have.count, want.count);
		assert_memory_equal(have.filters, want.filters,
				    have.count * sizeof(*have.filters));
	}
	sdhash_digest_release(&have);
	sdhash_digest_release(&want);
	fuzz_end(&f);
	return 0;
}

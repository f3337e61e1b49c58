/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/simhash.h"

#include "tests/fuzz/fuzz.h"
#include "tests/support/simhash_model.h"

static struct simhash simhash;

static void update(void *arg, const void *data, size_t len)
{
	simhash_update(arg, data, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz f = fuzz_begin(data, len);

	simhash_init(&simhash);
	fuzz_feed(&f, update, &simhash);
	assert_true(simhash_final(&simhash) == simhash_model(f.content));
	fuzz_end(&f);
	return 0;
}

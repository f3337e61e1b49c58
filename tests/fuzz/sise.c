/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sise.h"

#include "tests/fuzz/fuzz.h"
#include "tests/support/sise_model.h"

static struct ctph sise;

static void update(void *arg, const void *data, size_t len)
{
	ctph_update(arg, data, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct sise_signature sig;
	struct fuzz f = fuzz_begin(data, len);
	struct buf have = { 0 };
	char *want;

	ctph_init(&sise, CTPH_SISE);
	fuzz_feed(&f, update, &sise);
	sise_read(&sise, &sig);
	assert_int_equal(sise_format(&sig, &have), 0);
	want = model_signature(f.content.data, f.content.len,
			       (size_t)2 * SISE_MAX_PAIRS);
	assert_string_equal(have.data, want);
	assert_int_equal(sise_parse(have.data, have.len, &sig), 0);
	free(want);
	buf_release(&have);
	fuzz_end(&f);
	return 0;
}

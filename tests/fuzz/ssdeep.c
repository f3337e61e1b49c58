/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/ssdeep.h"

#include "tests/fuzz/fuzz.h"
#include "tests/support/ssdeep_model.h"

static struct ctph ssdeep;

static void update(void *arg, const void *data, size_t len)
{
	ctph_update(arg, data, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz f = fuzz_begin(data, len);
	char want[SSDEEP_MODEL_TEXT];
	struct ssdeep_signature sig;
	struct buf have = { 0 };

	ctph_init(&ssdeep, CTPH_SSDEEP);
	fuzz_feed(&f, update, &ssdeep);
	assert_int_equal(ssdeep_read(&ssdeep, &sig), 0);
	assert_int_equal(ssdeep_format(&sig, &have), 0);
	ssdeep_model(f.content, want);
	assert_string_equal(have.data, want);
	assert_int_equal(ssdeep_parse(have.data, have.len, &sig), 0);
	buf_release(&have);
	fuzz_end(&f);
	return 0;
}

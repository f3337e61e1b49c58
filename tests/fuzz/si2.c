/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/reference/si2.h"

#include "tests/fuzz/fuzz.h"
#include "tests/support/si2_model.h"

static void update(void *arg, const void *data, size_t len)
{
	assert_int_equal(si2_update(arg, data, len), 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz f = fuzz_begin(data, len);
	struct si2 s;

	assert_int_equal(si2_init(&s), 0);
	fuzz_feed(&f, update, &s);
	assert_true(si2_final(&s) == si2_model(f.content));
	si2_release(&s);
	fuzz_end(&f);
	return 0;
}

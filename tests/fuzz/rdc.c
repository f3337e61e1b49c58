/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/rdc/rdc.h"

#include "tests/fuzz/fuzz.h"
#include "tests/support/rdc_model.h"

static struct rdc rdc;

static void update(void *arg, const void *data, size_t len)
{
	rdc_update(arg, data, len);
}

/* Own bytes: window and horizon; 0 is what DFSR uses. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz f = fuzz_begin(data, len);
	unsigned window = f.own[0] ? 2 + f.own[0] % 95 : RDC_WINDOW;
	unsigned horizon = f.own[1] ? 128 + f.own[1] * 3 : RDC_HORIZON;
	struct buf have = { 0 }, want = { 0 };
	uint8_t traits[16], want_traits[16];

	assert_int_equal(rdc_init(&rdc, window, horizon), 0);
	rdc.records = &have;
	rdc_begin(&rdc);
	fuzz_feed(&f, update, &rdc);
	rdc_final(&rdc, traits);
	rdc_model(f.content, window, horizon, &want, want_traits);
	assert_int_equal(have.len, want.len);
	if (want.len > 0)
		assert_memory_equal(have.data, want.data, want.len);
	assert_memory_equal(traits, want_traits, sizeof(traits));
	buf_release(&have);
	buf_release(&want);
	fuzz_end(&f);
	return 0;
}

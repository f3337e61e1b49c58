/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/reference/sif_classic.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/sif_classic_model.h"

static void update(void *arg, const void *data, size_t len)
{
	assert_int_equal(sif_classic_update(arg, data, len), 0);
}

/* Own bytes: base and zero bits; 0 is the default. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz f = fuzz_begin(data, len);
	uint32_t base = f.own[0] ? f.own[0] * 16843009u : SIF_CLASSIC_BASE;
	unsigned zero_bits = f.own[1] ? f.own[1] % 31 : SIF_CLASSIC_ZERO_BITS;
	size_t have_count, want_count;
	uint32_t *want =
		sif_classic_model(f.content, base, zero_bits, &want_count);
	const uint32_t *have;
	struct sif_classic s;

	assert_int_equal(sif_classic_init(&s, base, zero_bits), 0);
	fuzz_feed(&f, update, &s);
	have = sif_classic_values(&s, &have_count);
	assert_int_equal(have_count, want_count);
	if (want_count > 0)
		assert_memory_equal(have, want, want_count * sizeof(*want));
	sif_classic_release(&s);
	free(want);
	fuzz_end(&f);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sif/sif.h"

#include "tests/fuzz/fuzz.h"
#include "tests/support/sif_model.h"

static struct sif sif;

static void update(void *arg, const void *data, size_t len)
{
	sif_update(arg, data, len);
}

/* Own bytes: window and number of values; 0 is ours. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct sif_sketch have, want;
	struct fuzz f = fuzz_begin(data, len);
	unsigned window = f.own[0] ? 4 + f.own[0] % 29 : SIF_WINDOW;
	size_t max = f.own[1] ? 2 + f.own[1] * 4 : SIF_SAMPLES;
	struct values windows = windows_of(f.content, window, model_value);

	assert_int_equal(sif_init(&sif, window, max), 0);
	fuzz_feed(&f, update, &sif);
	sif_final(&sif, &have);
	want = model_sketch(windows, window, max);
	assert_true(same(&have, &want));
	sif_thin(&have, 2 + max / 3);
	model_thin(&want, 2 + max / 3);
	assert_true(same(&have, &want));
	sif_round_values(&have);
	model_round_values(&want);
	assert_true(same(&have, &want));
	free(windows.v);
	fuzz_end(&f);
	return 0;
}

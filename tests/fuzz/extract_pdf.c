/* SPDX-License-Identifier: Apache-2.0 */

/* Any bytes as a PDF.  The fuzzer opens files itself, so the library finds those
 * of its own where they are, not in poppler_data.c. */
int serve_main(void);
#define main serve_main
#include "core/extract/pdf.c"
#undef main

#include "core/base/banned.h"
#include "tests/fuzz/fuzz.h"

bool poppler_data_missed;

int poppler_data_load(void)
{
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct extract_output out = { .fd = -1 };
	const struct extract_input in = { .fd = -1, .data = data, .size = len };
	static bool is_warm;

	if (!is_warm)
		assert_int_equal(reader_warm_up(), 0);
	is_warm = true;
	out.limits = extract_limits_default;
	out.limits.text = 1 << 20;
	reader_read(&out, &in);
	return 0;
}

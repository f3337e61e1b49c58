/* SPDX-License-Identifier: Apache-2.0 */

/* Any bytes as a picture, without the process around it. */
int serve_main(void);
#define main serve_main
#include "core/extract/picture/main.c"
#undef main

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct extract_output out = { .fd = -1 };
	const struct extract_input in = { .fd = -1, .data = data, .size = len };

	reader_read(&out, &in);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/extract_document.h"

/* Any bytes as a document. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	fuzz_document(data, len);
	return 0;
}

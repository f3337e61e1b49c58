/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FUZZ_EXTRACT_DOCUMENT_H
#define TESTS_FUZZ_EXTRACT_DOCUMENT_H

#include "core/extract/parsers.h"

#include "tests/fuzz/fuzz.h"

/* Reads bytes as a document, without the process around it: what comes out is
 * within the limits. */
static inline void fuzz_document(const uint8_t *data, size_t len)
{
	static struct extract_output out = { .fd = -1 };
	const struct extract_input in = { .fd = -1, .data = data, .size = len };
	static bool is_warm;
	struct document d;

	if (!is_warm)
		assert_int_equal(reader_warm_up(), 0);
	is_warm = true;
	out.limits = extract_limits_default;
	out.limits.text = 1 << 20;
	out.limits.inflated = 16 << 20;
	out.limits.members = 100;
	out.inflated = out.members = 0;
	d = document_new(&out, 0);
	d.result.status = document_read(&d, &in);
	assert_true(d.result.status < EXTRACT_STATUS_COUNT);
	assert_true(d.result.kind < EXTRACT_KIND_COUNT);
	if (d.result.status == EXTRACT_OK)
		assert_true(d.result.size <= out.limits.text);
	document_release(&d);
}

#endif

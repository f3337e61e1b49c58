/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/ssdeep.h"

#include <errno.h>

#include "tests/fuzz/fuzz.h"

/* What is read is what would be written. */
static bool read_line(struct bytes line, struct ssdeep_signature *out)
{
	int err = ssdeep_parse((const char *)line.data, line.len, out);
	struct buf text = { 0 };

	assert_true(err == 0 || err == -EINVAL);
	if (err)
		return false;
	assert_int_equal(ssdeep_format(out, &text), 0);
	assert_int_equal(text.len, line.len);
	assert_memory_equal(text.data, line.data, line.len);
	assert_int_equal(ssdeep_score(out, out), 100);
	buf_release(&text);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_lines lines = fuzz_split(data, len);
	struct ssdeep_signature a, b;
	int score;

	if (read_line(lines.line[0], &a) && read_line(lines.line[1], &b)) {
		score = ssdeep_score(&a, &b);
		assert_in_range(score, 0, 100);
		assert_int_equal(ssdeep_score(&b, &a), score);
	}
	fuzz_free_lines(&lines);
	return 0;
}

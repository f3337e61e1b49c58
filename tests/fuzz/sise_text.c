/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sise.h"

#include <errno.h>

#include "tests/fuzz/fuzz.h"
#include "tests/support/sise_model.h"

/* The model's table takes the product of the lengths. */
#define MODEL_MAX_PAIRS 100

static bool read_line(struct bytes line, struct sise_signature *out)
{
	static struct sise_signature again;
	struct buf text = { 0 }, second = { 0 };
	int err = sise_parse((const char *)line.data, line.len, out);

	assert_true(err == 0 || err == -EINVAL);
	if (err)
		return false;
	assert_int_equal(sise_format(out, &text), 0);
	assert_true(text.len <= line.len);
	assert_int_equal(sise_parse(text.data, text.len, &again), 0);
	assert_int_equal(sise_format(&again, &second), 0);
	assert_string_equal(text.data, second.data);
	assert_int_equal(sise_score(out, &again), 100);
	buf_release(&text);
	buf_release(&second);
	return true;
}

static bool is_small(const struct sise_signature *sig)
{
	return sig->leading.count <= MODEL_MAX_PAIRS &&
	       sig->secondary.count <= MODEL_MAX_PAIRS;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct sise_signature a, b;
	struct fuzz_lines lines = fuzz_split(data, len);
	int score, there, back;

	if (read_line(lines.line[0], &a) && read_line(lines.line[1], &b)) {
		score = sise_score(&a, &b);
		assert_in_range(score, 0, 100);
		assert_int_equal(sise_score(&b, &a), score);
		if (is_small(&a) && is_small(&b)) {
			there = model_compare(&a, &b);
			back = model_compare(&b, &a);
			assert_int_equal(score, there > back ? there : back);
		}
	}
	fuzz_free_lines(&lines);
	return 0;
}

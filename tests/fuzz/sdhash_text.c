/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/digest/sdhash/sdhash.h"
#include "tests/fuzz/fuzz.h"

/* What is read is what would be written. */
static bool read_line(struct bytes line, struct sdhash_digest *out)
{
	const char *reason = NULL;
	int err = sdhash_parse((const char *)line.data, line.len, out, &reason);
	struct buf text = { 0 };

	assert_true(err == 0 || err == -EINVAL);
	if (err) {
		assert_null(out->filters);
		assert_non_null(reason);
		return false;
	}
	assert_int_equal(sdhash_format(out, &text), 0);
	assert_int_equal(text.len, line.len);
	assert_memory_equal(text.data, line.data, line.len);
	buf_release(&text);
	return true;
}

static void compare(const struct sdhash_digest *a,
		    const struct sdhash_digest *b)
{
	static const enum sdhash_measure measures[] = {
		SDHASH_SCORE,
		SDHASH_SCORE_4_0,
		SDHASH_SCORE_3_4,
	};
	size_t i;

	for (i = 0; i < sizeof(measures) / sizeof(measures[0]); i++)
		assert_true(sdhash_score(a, b, measures[i]) >= -1 &&
			    sdhash_score(a, b, measures[i]) <= 100);
	assert_int_equal(sdhash_score(a, b, SDHASH_SCORE),
			 sdhash_score(b, a, SDHASH_SCORE));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_lines lines = fuzz_split(data, len);
	struct sdhash_digest a = { 0 }, b = { 0 };

	if (read_line(lines.line[0], &a)) {
		compare(&a, &a);
		if (read_line(lines.line[1], &b))
			compare(&a, &b);
	}
	sdhash_digest_release(&a);
	sdhash_digest_release(&b);
	fuzz_free_lines(&lines);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ignore/ignore.h"
#include "tests/fuzz/fuzz.h"

/* The file of ignored pairs, which people and merges write. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct ignore_set set, again;
	struct buf first = { 0 }, second = { 0 };
	struct ignore_line line = { 0 };

	assert_int_equal(ignore_set_parse((const char *)data, len, &set), 0);
	while (ignore_next_line(&set.text, &line))
		if (line.is_pair)
			assert_true(ignore_set_has(&set, &line.pair.b,
						   &line.pair.a));
	assert_int_equal(ignore_set_format(&set, &first), 0);
	assert_int_equal(ignore_set_parse(first.data, first.len, &again), 0);
	assert_int_equal(again.damaged, set.damaged);
	assert_int_equal(ignore_set_format(&again, &second), 0);
	assert_int_equal(second.len, first.len);
	if (first.len)
		assert_memory_equal(second.data, first.data, first.len);
	buf_release(&first);
	buf_release(&second);
	ignore_set_release(&set);
	ignore_set_release(&again);
	return 0;
}

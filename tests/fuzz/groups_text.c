/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/similar/groups_text.h"

#include <errno.h>

#include "core/base/hex.h"
#include "tests/fuzz/fuzz.h"

/* What anybody may write to .query as a query for groups. */

static void print(const struct file_groups_query *q, struct buf *out)
{
	size_t i;

	assert_int_equal(
		buf_append_format(
			out, "relation=groups\nexact=%d\nmin_size=%llu\n",
			q->rules.exact, (unsigned long long)q->min_size),
		0);
	if (q->rules.threshold)
		assert_int_equal(buf_append_format(out, "threshold=%d\n",
						   q->rules.threshold),
				 0);
	for (i = 0; i < q->within.count; i++) {
		size_t len = strlen(q->within.paths[i]);
		char *hex = malloc(2 * len + 1);

		assert_non_null(hex);
		hex_encode((const uint8_t *)q->within.paths[i], len, hex);
		assert_int_equal(buf_append_format(out, "within=%s\n", hex), 0);
		free(hex);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct file_groups_query q, again;
	struct buf first = { 0 }, second = { 0 };
	int err = groups_text_parse((const char *)data, len, &q);

	assert_true(err == 0 || err == -EINVAL);
	if (err)
		return 0;
	assert_in_range(q.rules.threshold, 0, 100);
	print(&q, &first);
	assert_int_equal(groups_text_parse(first.data, first.len, &again), 0);
	print(&again, &second);
	assert_string_equal(first.data, second.data);
	groups_text_release(&q);
	groups_text_release(&again);
	buf_release(&first);
	buf_release(&second);
	return 0;
}

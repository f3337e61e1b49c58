/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/watch/watch_impl.h"
#include "tests/support/test.h"

/* What waits for the resolver of core/watch. */

static struct pending_set set;
static const union {
	struct file_handle handle;
	char room[sizeof(struct file_handle) + 8];
} some = { .handle = { .handle_bytes = 8, .handle_type = 1 } };

static int add(uint64_t id, bool written, int64_t now_ms)
{
	const struct pending_news news = {
		.id = id,
		.written = written,
		.file = &some.handle,
	};

	return pending_add(&set, &news, now_ms);
}

/* The id of the next one that is due; 0: none. */
static uint64_t take(int64_t now_ms)
{
	struct pending_file *p = pending_take(&set, now_ms);
	uint64_t id = p ? p->id : 0;

	free(p);
	return id;
}

static int begin(void **state)
{
	(void)state;
	pending_init(&set);
	return 0;
}

static int end(void **state)
{
	(void)state;
	pending_release(&set);
	return 0;
}

#define WITH_FIXTURE(name) TEST_WITH(name, begin, end)

WITH_FIXTURE(is_due_after_a_moment)
{
	assert_int_equal(pending_due_ms(&set), INT64_MAX);
	assert_int_equal(add(3, false, 1000), 0);
	assert_int_equal(pending_due_ms(&set), 1000 + SETTLE_MS);
	assert_int_equal(take(1000 + SETTLE_MS - 1), 0);
	assert_int_equal(take(1000 + SETTLE_MS), 3);
	assert_int_equal(take(INT64_MAX), 0);
}

WITH_FIXTURE(events_of_one_file_are_one)
{
	assert_int_equal(add(3, false, 0), 0);
	assert_int_equal(add(5, false, 10), 0);
	assert_int_equal(add(3, false, 20), 0);
	assert_int_equal(take(SETTLE_MS), 3);
	assert_int_equal(take(1000), 5);
	assert_int_equal(take(INT64_MAX), 0);
}

WITH_FIXTURE(what_is_written_to_waits_for_its_end)
{
	assert_int_equal(add(3, true, 0), 0);
	assert_int_equal(add(3, true, 5000), 0);
	assert_int_equal(take(SETTLE_WRITTEN_MS), 0);
	assert_int_equal(take(5000 + SETTLE_WRITTEN_MS), 3);
}

WITH_FIXTURE(the_close_ends_the_wait)
{
	assert_int_equal(add(3, true, 0), 0);
	assert_int_equal(add(3, false, 100), 0);
	assert_int_equal(add(3, true, 110), 0);
	assert_int_equal(take(100 + SETTLE_MS), 3);
	assert_int_equal(take(INT64_MAX), 0);
}

WITH_FIXTURE(there_is_a_limit)
{
	uint64_t id;

	for (id = 1; id <= PENDING_MAX; id++)
		assert_int_equal(add(2 * id + 1, false, 0), 0);
	assert_int_equal(add(1, false, 0), -ENOSPC);
	assert_int_equal(add(3, false, 0), 0);
	assert_int_equal(take(INT64_MAX), 3);
	assert_int_equal(add(1, false, 0), 0);
}

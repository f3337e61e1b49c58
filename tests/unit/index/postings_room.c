/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

/*
 * Memory fails, one allocation after the other.  The postings are compiled in
 * here, with allocations that may be told to fail; what the library has of them
 * is not linked then.
 */
static unsigned allocations;
static unsigned failing; /* the one that fails, from 1; 0: none */

static void *try_malloc(size_t size)
{
	return ++allocations == failing ? NULL : malloc(size);
}

#define malloc(size) try_malloc(size)
/* NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "core/index/postings.c"
#include "tests/support/test.h"
#undef malloc

/* In few buckets, so that each grows often. */
enum { CONTENTS = 3000, KEYS = 3 };

static uint32_t key(uint32_t content, uint32_t i)
{
	return (content * 40503 + i * 8191) % (1u << 15) * BUCKETS +
	       content % 3;
}

static int add(struct postings *p, uint32_t content)
{
	uint32_t keys[KEYS], i;

	for (i = 0; i < KEYS; i++)
		keys[i] = key(content, i);
	return postings_add(p, content, keys, KEYS, 1);
}

static size_t times(const struct postings *p, uint32_t content, uint32_t i)
{
	uint32_t found[16];
	size_t count = postings_find(p, key(content, i), found, 16);
	size_t at, have = 0;

	assert_in_range(count, 0, 16);
	for (at = 0; at < count; at++)
		have += found[at] == content;
	return have;
}

static void check_all(const struct postings *p, uint32_t contents)
{
	uint32_t content, i;

	assert_int_equal(p->count, contents * KEYS);
	for (content = 0; content < contents; content++)
		for (i = 0; i < KEYS; i++)
			assert_int_equal(times(p, content, i), 1);
}

/* What is added again after a failure is there once. */
static void fail_at(unsigned which)
{
	struct postings *p;
	uint32_t content;
	int err, failed = 0;

	allocations = 0;
	failing = which;
	assert_int_equal(postings_new(1u << 20, &p), 0);
	for (content = 0; content < CONTENTS; content++) {
		err = add(p, content);
		if (!err)
			continue;
		assert_int_equal(err, -ENOMEM);
		failed++;
		assert_int_equal(add(p, content), 0);
	}
	assert_int_equal(failed, which > 0);
	check_all(p, CONTENTS);
	postings_free(p);
}

TEST(test_after_a_failure_all_can_be_added)
{
	unsigned which, most;

	fail_at(0);
	most = allocations;
	assert_true(most > 50);
	for (which = 1; which <= most; which++)
		fail_at(which);
}

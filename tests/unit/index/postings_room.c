/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core/index/postings_impl.h"

/*
 * Memory fails, one allocation after the other.  The parts of the postings
 * are compiled in here, with allocations that may be told to fail; what the
 * library has of them is not linked then.
 */
static unsigned allocations;
static unsigned failing; /* the one that fails, from 1; 0: none */

static int fails(void)
{
	allocations++;
	return allocations == failing;
}

static void *try_malloc(size_t size)
{
	return fails() ? NULL : malloc(size);
}

static void *try_mmap(size_t size)
{
	return fails() ? MAP_FAILED :
			 mmap(NULL, size, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Less room is always granted. */
static void *try_mremap(void *at, size_t from, size_t to)
{
	return to > from && fails() ? MAP_FAILED :
				      mremap(at, from, to, MREMAP_MAYMOVE);
}

#define malloc(size) try_malloc(size)
#define mmap(at, size, protection, flags, fd, offset) try_mmap(size)
#define mremap(at, from, to, flags) try_mremap(at, from, to)
/* NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "core/index/postings_part.c"
#include "tests/support/test.h"
#undef malloc
#undef mmap
#undef mremap

/* One part has them all, so that there is a merge every now and then. */
enum { CONTENTS = 200000, KEYS = 3 };

static uint32_t key(uint32_t content, uint32_t i)
{
	return (content * 40503 + i * 8191) % (1u << 23) * POSTINGS_PARTS;
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
		assert_int_equal(times(p, content, 0), 0);
		check_all(p, content);
		assert_int_equal(add(p, content), 0);
	}
	assert_int_equal(failed, which > 0);
	check_all(p, CONTENTS);
	postings_free(p);
}

TEST(test_a_failure_changes_nothing)
{
	unsigned which, most;

	fail_at(0);
	most = allocations;
	assert_true(most > 50);
	for (which = 1; which <= most; which++)
		fail_at(which);
}

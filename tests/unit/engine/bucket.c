/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The bucket that limits background hashing, with a made-up clock.
 */

#include "tests/support/test.h"

#include "core/queue/throttle.h"

#define SECOND INT64_C(1000000000)
#define MB UINT64_C(1000000)

/* Takes pieces whenever that is allowed, for as long; what it got. */
static uint64_t greedy(struct token_bucket *b, int64_t *now, int64_t duration,
		       uint64_t piece)
{
	int64_t end = *now + duration;
	uint64_t taken = 0;

	while (*now < end) {
		if (bucket_due_ns(b) > *now) {
			*now = bucket_due_ns(b);
		} else {
			bucket_take(b, piece, *now);
			taken += piece;
		}
	}
	return taken;
}

/* The rate is right to what was saved before and the last piece. */
static void assert_rate(uint64_t rate, uint64_t piece)
{
	int64_t now = 5 * SECOND, saved = BUCKET_SAVED_NS;
	uint64_t least = 10 * rate, taken;
	struct token_bucket b;

	bucket_init(&b, rate, 0);
	taken = greedy(&b, &now, 10 * SECOND, piece);
	assert_true(taken >= least);
	assert_true(taken <=
		    least + rate * (uint64_t)saved / SECOND + 2 * piece);
}

TEST(test_rate)
{
	static const uint64_t rates[] = { MB, 3 * MB, 20 * MB, 1000 * MB };
	static const uint64_t pieces[] = { 4096, 5000, 262144, 1 << 20 };
	size_t i, k;

	for (i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		for (k = 0; k < sizeof(pieces) / sizeof(pieces[0]); k++)
			assert_rate(rates[i], pieces[k]);
}

TEST(test_no_limit)
{
	struct token_bucket b;
	int i;

	bucket_init(&b, 0, 7);
	for (i = 0; i < 1000; i++) {
		assert_true(bucket_due_ns(&b) <= 7);
		bucket_take(&b, UINT64_C(1) << 32, 7);
	}
}

TEST(test_first_is_free)
{
	struct token_bucket b;

	bucket_init(&b, MB, 3 * SECOND);
	assert_true(bucket_due_ns(&b) <= 3 * SECOND);
	bucket_take(&b, 2 * MB, 3 * SECOND);
	assert_int_equal(bucket_due_ns(&b), 5 * SECOND);
}

/* An hour without work gives no hour without a limit. */
TEST(test_saves_little)
{
	int64_t now = 3600 * SECOND;
	struct token_bucket b;

	bucket_init(&b, MB, 0);
	bucket_take(&b, MB, now);
	assert_int_equal(bucket_due_ns(&b), now + SECOND - BUCKET_SAVED_NS);
}

/* However it is divided: nanoseconds are not lost, a third of one at a time.
 */
TEST(test_split)
{
	struct token_bucket one, many;
	int i;

	bucket_init(&one, 3000 * MB, 0);
	bucket_init(&many, 3000 * MB, 0);
	bucket_take(&one, 3000000, 0);
	for (i = 0; i < 3000000; i++)
		bucket_take(&many, 1, 0);
	assert_int_equal(bucket_due_ns(&one), SECOND / 1000);
	assert_int_equal(bucket_due_ns(&many), bucket_due_ns(&one));
}

/* The largest rate and the largest piece, for years. */
TEST(test_extremes)
{
	int64_t now = INT64_C(20) * 365 * 86400 * SECOND;
	struct token_bucket b;
	int i;

	bucket_init(&b, UINT64_C(1000000) * MB, now);
	for (i = 0; i < 1000; i++)
		bucket_take(&b, UINT64_C(1) << 32, now);
	/* 2^32 * 1000 bytes at 10^12 a second, in nanoseconds */
	assert_int_equal(bucket_due_ns(&b) - now, INT64_C(4294967296));
	bucket_init(&b, 1, now);
	bucket_take(&b, UINT64_C(1) << 32, now);
	assert_int_equal(bucket_due_ns(&b) - now, (INT64_C(1) << 32) * SECOND);
}

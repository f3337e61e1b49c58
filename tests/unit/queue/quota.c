/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include <errno.h>
#include <stdlib.h>

#include "core/queue/quota.h"

enum { MOST = 120, PLACES_MAX = 4096, USERS = 7, STEPS = 20000 };

/* Takes all that uid gets; returns how many. */
static size_t take_all(struct quota *s, uid_t uid)
{
	uint64_t turn;
	size_t count = 0;
	int err;

	while (!(err = quota_take(s, uid, &turn)))
		count++;
	assert_int_equal(err, -EAGAIN);
	return count;
}

static void give(struct quota *s, uid_t uid, size_t count)
{
	while (count--)
		quota_give(s, uid);
}

TEST(test_quotas)
{
	struct quota s = { .most = MOST };
	size_t first, second;

	first = take_all(&s, 1000);
	assert_int_equal(first, MOST / 2);
	second = take_all(&s, 1000 + QUOTA_BUCKETS); /* in the same bucket */
	assert_int_equal(second, MOST / 4);
	give(&s, 1000, first - MOST / 3);
	second += take_all(&s, 1000 + QUOTA_BUCKETS);
	assert_int_equal(second, MOST / 3);
	assert_int_equal(take_all(&s, 1000), 0);
	give(&s, 1000, MOST / 3);
	give(&s, 1000 + QUOTA_BUCKETS, second);
	assert_int_equal(s.used, 0);
	assert_int_equal(take_all(&s, 0), MOST / 2);
	give(&s, 0, MOST / 2);
}

TEST(test_turns)
{
	struct quota s = { .most = 4 * MOST };
	uint64_t turn, first, other;
	int i;

	assert_int_equal(quota_take(&s, 1, &first), 0);
	for (i = 1; i < MOST; i++) {
		assert_int_equal(quota_take(&s, 1, &turn), 0);
		assert_true(turn > first);
	}
	quota_serve(&s, first);
	assert_int_equal(quota_take(&s, 2, &other), 0);
	assert_true(other <= first + 1);
	quota_serve(&s, turn);
	assert_int_equal(quota_take(&s, 3, &other), 0);
	assert_int_equal(other, turn);
	give(&s, 1, MOST);
	give(&s, 2, 1);
	give(&s, 3, 1);
}

struct place {
	uid_t uid;
	uint64_t turn;
};

/* The place to serve: the least turn, the oldest of equal ones. */
static size_t least(const struct place *places, size_t count)
{
	size_t at = 0, i;

	for (i = 1; i < count; i++)
		if (places[i].turn < places[at].turn)
			at = i;
	return at;
}

/* Those who came with hundreds, one after the other, are served in rotation. */
TEST(test_rotation)
{
	struct quota s = { .most = PLACES_MAX };
	static struct place places[PLACES_MAX];
	size_t count = 0, at, i, served[USERS] = { 0 };
	uint64_t turn;

	for (i = 0; i < USERS; i++)
		while (count < (i + 1) * 300 &&
		       !quota_take(&s, (uid_t)i, &turn))
			places[count++] = (struct place){ (uid_t)i, turn };
	for (i = 0; i < 100 * USERS; i++) {
		at = least(places, count);
		quota_serve(&s, places[at].turn);
		quota_give(&s, places[at].uid);
		served[places[at].uid]++;
		places[at] = places[--count];
	}
	for (i = 0; i < USERS; i++)
		assert_int_equal(served[i], 100);
	while (count)
		quota_give(&s, places[--count].uid);
}

/* Whatever happens: who holds less than is left gets a place, who does not,
 * does not. */
TEST(test_random)
{
	struct quota s = { .most = MOST };
	size_t held[USERS] = { 0 }, used = 0;
	uint64_t turn;
	int i, err;

	srandom(1);
	for (i = 0; i < STEPS; i++) {
		size_t u = (size_t)random() % USERS;

		if (random() % 3 == 0 && held[u]) {
			quota_give(&s, (uid_t)u);
			held[u]--;
			used--;
			continue;
		}
		err = quota_take(&s, (uid_t)u, &turn);
		assert_int_equal(err, held[u] < MOST - used ? 0 : -EAGAIN);
		held[u] += !err;
		used += !err;
		assert_true(used < MOST);
	}
	for (i = 0; i < USERS; i++)
		give(&s, (uid_t)i, held[i]);
	assert_int_equal(s.used, 0);
}

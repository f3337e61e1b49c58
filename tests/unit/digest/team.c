/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/digest/team.h"
#include "tests/support/recipe.h"

#define LEN ((size_t)5 << 20)

/* A stream that comes in pieces of odd sizes, or fails at a place. */
struct stream {
	struct bytes b;
	size_t at;
	size_t fails_at;
	struct draws d;
};

static ssize_t fill(void *arg, void *buffer, size_t len)
{
	struct stream *s = arg;
	size_t part = 1 + draw(&s->d) % len;

	if (s->at >= s->fails_at)
		return -EIO;
	if (part > s->b.len - s->at)
		part = s->b.len - s->at;
	memcpy(buffer, s->b.data + s->at, part);
	s->at += part;
	return (ssize_t)part;
}

static struct digests alone(struct fingerprint *fp, struct bytes b)
{
	struct digests d;

	assert_int_equal(fingerprint_begin(fp), 0);
	assert_int_equal(fingerprint_update(fp, b.data, b.len), 0);
	assert_int_equal(fingerprint_final(fp, &d), 0);
	return d;
}

static struct digests together(struct team *t, struct fingerprint *fp,
			       struct bytes b, uint64_t seed)
{
	struct stream s = { b, 0, SIZE_MAX, draws_of(seed) };
	struct digests d;

	assert_int_equal(fingerprint_begin(fp), 0);
	assert_int_equal(team_update(t, fp, fill, &s), 0);
	assert_int_equal(fingerprint_final(fp, &d), 0);
	return d;
}

static void assert_same(const struct digests *a, const struct digests *b)
{
	struct buf x = { 0 }, y = { 0 };
	int id;

	assert_int_equal(a->set, b->set);
	assert_int_equal(a->size, b->size);
	for (id = 0; id < DIGEST_COUNT; id++) {
		buf_clear(&x);
		buf_clear(&y);
		assert_int_equal(digest_format(a, (enum digest_id)id, &x),
				 digest_format(b, (enum digest_id)id, &y));
		if (x.len || y.len)
			assert_string_equal(x.data, y.data);
	}
	buf_release(&x);
	buf_release(&y);
}

static void check(unsigned helpers, uint32_t set, struct bytes b)
{
	struct fingerprint *fp;
	struct digests want, have;
	struct team *t;
	uint64_t seed;

	assert_int_equal(fingerprint_new(set, &fp), 0);
	assert_int_equal(team_new(helpers, NULL, NULL, &t), 0);
	want = alone(fp, b);
	for (seed = 1; seed <= 3; seed++) {
		have = together(t, fp, b, seed);
		assert_same(&have, &want);
		digests_release(&have);
	}
	digests_release(&want);
	team_free(t);
	fingerprint_free(fp);
}

static void a_team_says_what_one_says(void **state)
{
	struct bytes b = recipe_random(1, LEN), none = bytes_new(0);
	unsigned helpers;

	(void)state;
	for (helpers = 0; helpers < 8; helpers += 1 + helpers)
		check(helpers, DIGEST_DEFAULT, b);
	check(2, DIGEST_BIT(DIGEST_RDC) | DIGEST_BIT(DIGEST_SSDEEP), b);
	check(2, DIGEST_DEFAULT, none);
	free(b.data);
	free(none.data);
}

/* And the team can be used again. */
static void a_failure_is_given_back(void **state)
{
	struct bytes b = recipe_random(2, LEN);
	struct stream s = { b, 0, LEN / 2, draws_of(4) };
	struct digests want, have;
	struct fingerprint *fp;
	struct team *t;

	(void)state;
	assert_int_equal(fingerprint_new(DIGEST_DEFAULT, &fp), 0);
	assert_int_equal(team_new(2, NULL, NULL, &t), 0);
	assert_int_equal(fingerprint_begin(fp), 0);
	assert_int_equal(team_update(t, fp, fill, &s), -EIO);
	want = alone(fp, b);
	have = together(t, fp, b, 5);
	assert_same(&have, &want);
	digests_release(&have);
	digests_release(&want);
	team_free(t);
	team_free(NULL);
	fingerprint_free(fp);
	free(b.data);
}

static void count(void *arg)
{
	__atomic_add_fetch((int *)arg, 1, __ATOMIC_SEQ_CST);
}

static void every_helper_enters(void **state)
{
	struct team *t;
	int entered = 0;

	(void)state;
	assert_int_equal(team_new(3, count, &entered, &t), 0);
	team_free(t);
	assert_int_equal(entered, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_team_says_what_one_says),
		cmocka_unit_test(a_failure_is_given_back),
		cmocka_unit_test(every_helper_enters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off: cmocka wants these four before it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <string.h>

#include "core/digest/fingerprint.h"
#include "core/index/frequency.h"
#include "core/index/index.h"

/*
 * What very many contents have in common does not make two of them alike, and
 * takes nothing from those that are alike in other ways.
 */
enum { HEADER = 6000, BODY = 3000, LEN = HEADER + BODY };

struct state {
	struct index *ix;
	struct fingerprint *fp;
	uint32_t next;
};

static void make_text(char *out, size_t len, uint64_t seed)
{
	uint64_t s = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	size_t i;

	for (i = 0; i < len; i++) {
		s ^= s << 13;
		s ^= s >> 7;
		s ^= s << 17;
		out[i] = (char)('a' + (s >> 32) % 26);
	}
}

static void digest(struct state *s, const char *text, size_t len,
		   struct digests *out)
{
	assert_int_equal(fingerprint_begin(s->fp), 0);
	assert_int_equal(fingerprint_update(s->fp, text, len), 0);
	assert_int_equal(fingerprint_final(s->fp, out), 0);
}

/* A content with the header that all have and a body of its own. */
static void digest_with_header(struct state *s, uint64_t seed,
			       struct digests *out)
{
	char text[LEN];

	make_text(text, HEADER, 1);
	make_text(text + HEADER, BODY, seed);
	digest(s, text, LEN, out);
}

static void add(struct state *s, const struct digests *d)
{
	assert_int_equal(index_add(s->ix, ++s->next, d), 0);
}

static void add_with_header(struct state *s, unsigned count)
{
	struct digests d;
	unsigned i;

	for (i = 0; i < count; i++) {
		digest_with_header(s, 1000 + i, &d);
		add(s, &d);
		digests_release(&d);
	}
}

static int score_of(struct state *s, const struct digests *a,
		    const struct digests *b)
{
	struct index_subject *subject;
	int score;

	assert_int_equal(index_subject_new(s->ix, a, &subject), 0);
	assert_int_equal(index_score(subject, b, &score), 0);
	index_subject_free(subject);
	return score;
}

static int score(struct state *s, const struct digests *a,
		 const struct digests *b)
{
	int have = score_of(s, a, b);

	assert_int_equal(score_of(s, b, a), have);
	return have;
}

static int set_up(void **state)
{
	static struct state s;

	memset(&s, 0, sizeof(s));
	assert_int_equal(index_new(&s.ix), 0);
	assert_int_equal(fingerprint_new(DIGEST_DEFAULT, &s.fp), 0);
	*state = &s;
	return 0;
}

static int tear_down(void **state)
{
	struct state *s = *state;

	index_free(s->ix);
	fingerprint_free(s->fp);
	return 0;
}

static void test_a_header_of_few_counts(void **state)
{
	struct state *s = *state;
	struct digests a, b;

	add_with_header(s, FREQUENCY_COMMON_MIN / 2);
	digest_with_header(s, 2, &a);
	digest_with_header(s, 3, &b);
	assert_in_range(score(s, &a, &b), 55, 80);
	digests_release(&a);
	digests_release(&b);
}

static void test_a_header_of_many_does_not(void **state)
{
	struct state *s = *state;
	struct digests a, b;

	add_with_header(s, FREQUENCY_COMMON_MIN);
	digest_with_header(s, 2, &a);
	digest_with_header(s, 3, &b);
	assert_in_range(score(s, &a, &b), 1, 30);
	digests_release(&a);
	digests_release(&b);
}

static void test_alike_beyond_the_header_stays_alike(void **state)
{
	struct state *s = *state;
	struct digests a, b;
	char text[LEN];

	add_with_header(s, FREQUENCY_COMMON_MIN);
	make_text(text, HEADER, 1);
	make_text(text + HEADER, BODY, 2);
	digest(s, text, LEN, &a);
	make_text(text + HEADER + BODY - 300, 300, 99);
	digest(s, text, LEN, &b);
	assert_in_range(score(s, &a, &b), 75, 99);
	digests_release(&a);
	digests_release(&b);
}

static void test_nothing_but_header_stays_alike(void **state)
{
	struct state *s = *state;
	struct digests a, b;
	char text[LEN];

	add_with_header(s, FREQUENCY_COMMON_MIN);
	make_text(text, HEADER, 1);
	digest(s, text, HEADER, &a);
	digest(s, text, HEADER - 200, &b);
	assert_in_range(score(s, &a, &b), 85, 99);
	assert_int_equal(score(s, &a, &a), 100);
	digests_release(&a);
	digests_release(&b);
}

static void test_common_is_a_share_of_all(void **state)
{
	struct state *s = *state;
	struct digests a, b, d;
	char text[200];
	unsigned i;

	/* So many others that the header is none of a large share any more. */
	add_with_header(s, FREQUENCY_COMMON_MIN);
	for (i = 0; i < FREQUENCY_COMMON_MIN * FREQUENCY_COMMON_SHARE; i++) {
		make_text(text, sizeof(text), 50000 + i);
		digest(s, text, sizeof(text), &d);
		add(s, &d);
		digests_release(&d);
	}
	digest_with_header(s, 2, &a);
	digest_with_header(s, 3, &b);
	assert_in_range(score(s, &a, &b), 55, 80);
	digests_release(&a);
	digests_release(&b);
}

static void test_malformed_signatures_are_refused(void **state)
{
	struct digests good = { .set = DIGEST_BIT(DIGEST_SISE), .size = 9 };
	struct digests bad = good;
	struct state *s = *state;
	struct index_subject *subject;
	int have = 7;

	good.text[DIGEST_SISE] = (char *)"3(2):ln::3(2):ln";
	bad.text[DIGEST_SISE] = (char *)"3(2):ln";
	assert_int_equal(index_learn(s->ix, &bad), -EINVAL);
	assert_int_equal(index_subject_new(s->ix, &bad, &subject), -EINVAL);
	assert_int_equal(index_subject_new(s->ix, &good, &subject), 0);
	assert_int_equal(index_score(subject, &bad, &have), -EINVAL);
	assert_int_equal(have, 7);
	index_subject_free(subject);
}

/* One scored against many gives what each of them alone gives. */
static void test_a_subject_forgets_what_it_was_scored_against(void **state)
{
	enum { COUNT = 12 };
	struct state *s = *state;
	struct digests all[COUNT];
	struct index_subject *subject;
	char text[LEN];
	int i, have;

	add_with_header(s, FREQUENCY_COMMON_MIN);
	for (i = 0; i < COUNT; i++) {
		make_text(text, HEADER, (uint64_t)i % 3);
		make_text(text + HEADER, BODY, (uint64_t)i % 4);
		digest(s, text, LEN - (size_t)(i % 5) * 1700, &all[i]);
	}
	digests_release(&all[7]); /* no digest at all */
	assert_int_equal(index_subject_new(s->ix, &all[0], &subject), 0);
	for (i = 0; i < COUNT; i++) {
		assert_int_equal(index_score(subject, &all[i], &have), 0);
		assert_int_equal(have, score_of(s, &all[i], &all[0]));
	}
	index_subject_free(subject);
	for (i = 0; i < COUNT; i++)
		digests_release(&all[i]);
}

static void parse(const char *text, struct sise_signature *out)
{
	assert_int_equal(sise_parse(text, strlen(text), out), 0);
}

static void test_a_feature_is_three_pairs_in_order_at_their_size(void **state)
{
	static struct sise_signature counted, same, swapped, other;
	static struct weighed weighed;
	struct frequency *f;
	int i;

	(void)state;
	parse("6(5):aAbBcCdD::3(2):ln", &counted);
	parse("6(5):xxbBcCdD::3(2):ln", &same);
	parse("6(5):aAbBdDcC::3(2):ln", &swapped);
	parse("12(11):aAbBcCdD::6(5):ln", &other);
	assert_int_equal(frequency_new(&f), 0);
	for (i = 0; i < FREQUENCY_COMMON_MIN; i++) {
		frequency_prepare(f, 1, &counted, &weighed);
		assert_false(weighed.has_common[0]);
		frequency_add(f, &counted);
	}
	frequency_prepare(f, 1, &same, &weighed);
	assert_true(weighed.has_common[0]);
	assert_false(weighed.has_common[1]);
	frequency_prepare(f, 1, &swapped, &weighed);
	assert_false(weighed.has_common[0]);
	frequency_prepare(f, 1, &other, &weighed);
	assert_false(weighed.has_common[0]);
	frequency_free(f);
}

#define WITH_INDEX(test) \
	cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_INDEX(test_a_header_of_few_counts),
		WITH_INDEX(test_a_header_of_many_does_not),
		WITH_INDEX(test_alike_beyond_the_header_stays_alike),
		WITH_INDEX(test_nothing_but_header_stays_alike),
		WITH_INDEX(test_common_is_a_share_of_all),
		cmocka_unit_test(
			test_a_feature_is_three_pairs_in_order_at_their_size),
		WITH_INDEX(test_malformed_signatures_are_refused),
		WITH_INDEX(test_a_subject_forgets_what_it_was_scored_against),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

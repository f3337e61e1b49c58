/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/engine/fixture.h"

/*
 * Listings by each measure: a near-duplicate scores what the digests of the
 * two say, a copy 100, and nothing else does.
 */
enum { LEN = 40000, THRESHOLD = 70 };

struct sample {
	const char *path;
	char text[LEN];
	size_t len;
};

struct tree {
	struct fixture f;
	struct sample samples[5];
};

static void add_sample(struct tree *t, size_t i, const char *path, size_t len)
{
	struct sample *s = &t->samples[i];

	s->path = path;
	s->len = len;
	memcpy(s->text, t->samples[0].text, len);
}

static void make_samples(struct tree *t)
{
	make_text(t->samples[0].text, LEN, 1);
	add_sample(t, 0, "a", LEN);
	add_sample(t, 1, "copy", LEN);
	add_sample(t, 2, "edited", LEN);
	make_text(t->samples[2].text + 10000, 1000, 2);
	add_sample(t, 3, "shorter", LEN - 3000);
	add_sample(t, 4, "unrelated", LEN);
	make_text(t->samples[4].text, LEN, 3);
}

static int set_up(void **state)
{
	struct tree *t = calloc(1, sizeof(*t));
	size_t i;

	assert_non_null(t);
	fixture_make(&t->f);
	t->f.options.threshold = THRESHOLD;
	make_samples(t);
	for (i = 0; i < 5; i++)
		write_file(&t->f, t->samples[i].path, t->samples[i].text,
			   t->samples[i].len);
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct tree *t = *state;

	fixture_remove(&t->f);
	free(t);
	return 0;
}

static int score_of(const struct sample *a, const struct sample *b,
		    enum digest_id measure)
{
	struct digests x, y;
	int score;

	digest_bytes(a->text, a->len, &x);
	digest_bytes(b->text, b->len, &y);
	assert_int_equal(digest_compare(measure, &x, &y, &score), 0);
	digests_release(&x);
	digests_release(&y);
	return score < 99 ? score : 99;
}

/* Descending scores; those of the same by path. */
static void assert_in_order(const struct search_hits *hits)
{
	size_t i;

	for (i = 1; i < hits->count; i++) {
		assert_true(hits->hits[i - 1].verdict.score >=
			    hits->hits[i].verdict.score);
		if (hits->hits[i - 1].verdict.score ==
		    hits->hits[i].verdict.score)
			assert_true(strcmp(hits->hits[i - 1].path,
					   hits->hits[i].path) < 0);
	}
}

static void assert_listed(struct tree *t, enum digest_id measure)
{
	const struct search_hit *hit;
	struct search_hits hits;
	size_t i, near = 0;
	int want;

	find_similar(&t->f, "a", &hits);
	assert_in_order(&hits);
	hit = find_hit(&hits, "copy");
	assert_non_null(hit);
	assert_int_equal(hit->verdict.score, 100);
	for (i = 2; i < 5; i++) {
		want = score_of(&t->samples[0], &t->samples[i], measure);
		hit = find_hit(&hits, t->samples[i].path);
		assert_int_equal(hit ? hit->verdict.score : 0,
				 want >= THRESHOLD ? want : 0);
		near += hit != NULL;
	}
	/* Else this would say nothing. */
	assert_in_range(near, 1, 2);
	assert_int_equal(hits.count, 1 + near);
	search_hits_release(&hits);
}

static void list_by(struct tree *t, enum digest_id measure)
{
	t->f.options.measure = measure;
	fixture_open(&t->f);
	wait_idle(&t->f);
	assert_listed(t, measure < DIGEST_COUNT ? measure : DIGEST_SIF);
	fixture_close(&t->f);
	/* And with what the catalog says. */
	fixture_open(&t->f);
	wait_idle(&t->f);
	assert_int_equal(hashed_files(&t->f), 0);
	assert_listed(t, measure < DIGEST_COUNT ? measure : DIGEST_SIF);
}

static void test_by_sise(void **state)
{
	list_by(*state, DIGEST_SISE);
}

static void test_by_simhash(void **state)
{
	list_by(*state, DIGEST_SIMHASH);
}

static void test_by_rdc(void **state)
{
	list_by(*state, DIGEST_RDC);
}

static void test_by_sif(void **state)
{
	list_by(*state, DIGEST_SIF);
}

static void test_by_ssdeep(void **state)
{
	list_by(*state, DIGEST_SSDEEP);
}

/* Nothing is common here, so the best one is sif. */
static void test_by_the_best(void **state)
{
	list_by(*state, DIGEST_COUNT);
}

/* Candidates come from the columns of the index then. */
static void test_a_measure_alone_is_enough(void **state)
{
	static const enum digest_id measures[] = { DIGEST_SIMHASH, DIGEST_RDC };
	struct tree *t = *state;
	size_t i;

	for (i = 0; i < 2; i++) {
		t->f.options.digest_set =
			DIGEST_BIT(DIGEST_XXH128) | DIGEST_BIT(measures[i]);
		t->f.options.measure = measures[i];
		fixture_open(&t->f);
		wait_idle(&t->f);
		assert_listed(t, measures[i]);
		fixture_close(&t->f);
	}
}

/* Of a header in many files only sif as it is takes notice. */
static void test_only_the_best_measure_discounts(void **state)
{
	enum { FILES = 600, BODY = 500, SIZE = 4 * BODY };
	struct tree *t = *state;
	struct search_hits hits;
	char text[SIZE], name[32];
	int i;

	for (i = 0; i < FILES; i++) {
		make_text(text, SIZE - BODY, 10);
		make_text(text + SIZE - BODY, BODY, 1000 + (uint64_t)i);
		(void)snprintf(name, sizeof(name), "f%d", i);
		write_file(&t->f, name, text, SIZE);
	}
	t->f.options.digest_set =
		DIGEST_BIT(DIGEST_XXH128) | DIGEST_BIT(DIGEST_SIF);
	fixture_open(&t->f);
	wait_idle(&t->f);
	find_similar(&t->f, "f7", &hits);
	assert_int_equal(hits.count, 0);
	search_hits_release(&hits);
	fixture_close(&t->f);
	t->f.options.measure = DIGEST_SIF;
	fixture_open(&t->f);
	wait_idle(&t->f);
	find_similar(&t->f, "f7", &hits);
	assert_int_equal(hits.count, t->f.options.limit);
	assert_in_range(hits.hits[0].verdict.score, 71, 99);
	assert_true(hits.cut);
	search_hits_release(&hits);
}

#define WITH_TREE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREE(test_by_sise),
		WITH_TREE(test_by_simhash),
		WITH_TREE(test_by_rdc),
		WITH_TREE(test_by_sif),
		WITH_TREE(test_by_ssdeep),
		WITH_TREE(test_by_the_best),
		WITH_TREE(test_a_measure_alone_is_enough),
		WITH_TREE(test_only_the_best_measure_discounts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

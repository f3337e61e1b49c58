/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/index/fixture.h"

#include <math.h>

#include "core/index/weight.h"
#include "core/index/judge_rules.h"

/*
 * A passage that very many contents have does not make two of them alike, and
 * takes nothing from those that are alike in other ways.  The score is what they
 * share in any case.
 */
enum { HEADER = 6000, BODY = 3000, LEN = HEADER + BODY };

enum { FEW = WEIGHT_FULL / 2, MANY = 8 * WEIGHT_FULL };

struct state {
	struct index *ix;
	uint32_t next;
};

static void add(struct state *s, const char *text, size_t len)
{
	static struct sketch sketch;

	sketch_text(text, len, &sketch);
	add_sketch(s->ix, ++s->next, &sketch);
}

/* A content with the header that all have and a body of its own. */
static void make_with_header(char text[LEN], uint64_t seed)
{
	make_text(text, HEADER, 1);
	make_text(text + HEADER, BODY, seed);
}

static void add_with_header(struct state *s, unsigned count)
{
	char text[LEN];
	unsigned i;

	for (i = 0; i < count; i++) {
		make_with_header(text, 1000 + i);
		add(s, text, LEN);
	}
}

static struct verdict verdict_of(struct state *s, const struct sketch *a,
				 const struct sketch *b)
{
	const struct judge_rules rules = { .threshold = 1 };
	const struct verdict v = judge_bytes(s->ix, a, b, &rules);
	const struct verdict reverse = judge_bytes(s->ix, b, a, &rules);

	assert_same_verdict(&v, &reverse);
	return v;
}

static struct verdict judge_texts(struct state *s, const char *a, size_t a_len,
				  const char *b, size_t b_len)
{
	static struct sketch x, y;

	sketch_text(a, a_len, &x);
	sketch_text(b, b_len, &y);
	return verdict_of(s, &x, &y);
}

/* Two contents with the header, and bodies of their own. */
static struct verdict judge_with_header(struct state *s)
{
	char a[LEN], b[LEN];

	make_with_header(a, 2);
	make_with_header(b, 3);
	return judge_texts(s, a, LEN, b, LEN);
}

static void assert_alike(const struct verdict *m, int least, int most)
{
	assert_in_range(m->score, least, most);
	assert_int_equal(m->reason, VERDICT_LISTED);
}

static int set_up(void **state)
{
	static struct state s;

	memset(&s, 0, sizeof(s));
	assert_int_equal(index_new(&s.ix), 0);
	*state = &s;
	return 0;
}

static int tear_down(void **state)
{
	struct state *s = *state;

	index_free(s->ix);
	return 0;
}

#define WITH_INDEX(name) TEST_WITH(name, set_up, tear_down)

WITH_INDEX(test_a_header_of_few_counts)
{
	struct state *s = *state;
	struct verdict m;

	add_with_header(s, FEW);
	m = judge_with_header(s);
	assert_alike(&m, 55, 78);
	assert_int_equal(m.distinctive, m.score);
}

/* 6000 bytes at a 512th are 12 of 3012. */
WITH_INDEX(test_a_header_of_many_does_not)
{
	struct state *s = *state;
	struct verdict m;

	add_with_header(s, MANY);
	m = judge_with_header(s);
	assert_in_range(m.score, 55, 78);
	assert_in_range(m.distinctive, 0, 3);
	assert_int_equal(m.reason, VERDICT_BOILERPLATE);
}

/* There is no number of contents at which the share would leap. */
WITH_INDEX(test_the_more_have_it_the_less_it_counts)
{
	struct state *s = *state;
	int share, before = 100, steps;

	add_with_header(s, WEIGHT_FULL - 10);
	for (steps = 0; steps < 40; steps++) {
		add_with_header(s, 2);
		share = judge_with_header(s).distinctive;
		assert_true(share <= before);
		assert_true(steps == 0 || share >= before - 12);
		before = share;
	}
	assert_true(before < 10);
}

WITH_INDEX(test_alike_beyond_the_header_stays_alike)
{
	struct state *s = *state;
	char a[LEN], b[LEN];
	struct verdict m;

	add_with_header(s, MANY);
	make_with_header(a, 2);
	make_with_header(b, 2);
	make_text(b + LEN - 300, 300, 99);
	m = judge_texts(s, a, LEN, b, LEN);
	assert_alike(&m, 85, 99);
}

WITH_INDEX(test_nothing_but_header_stays_alike)
{
	struct state *s = *state;
	char text[HEADER];
	struct verdict m;

	add_with_header(s, MANY);
	make_text(text, HEADER, 1);
	m = judge_texts(s, text, HEADER, text, HEADER - 200);
	assert_alike(&m, 90, 99);
	m = judge_texts(s, text, HEADER, text, HEADER);
	assert_alike(&m, 99, 99);
	m = judge_texts(s, text, HEADER, text, HEADER / 2);
	assert_alike(&m, 40, 60);
}

/* A form that is filled in: what all have is the content. */
WITH_INDEX(test_little_but_header_stays_alike)
{
	enum { OWN = 120 };
	struct state *s = *state;
	char a[HEADER], b[HEADER];
	struct verdict m;
	unsigned i;

	make_text(a, HEADER, 1);
	make_text(b, HEADER, 1);
	for (i = 0; i < 4 * MANY; i++) {
		make_text(a + HEADER / 2, OWN, 1000 + i);
		add(s, a, HEADER);
	}
	make_text(a + HEADER / 2, OWN, 2);
	make_text(b + HEADER / 2, OWN, 3);
	m = judge_texts(s, a, HEADER, b, HEADER);
	assert_alike(&m, 93, 99);
}

/* ---- small files with a licence ---- */

enum { SMALL = 2000, PAIRS = 400 };

/* Two versions of a file have the same bytes after the licence, `same` many. */
struct licensed {
	size_t licence, same;
};

static void make_version(const struct licensed *l, uint64_t file,
			 uint64_t version, char text[SMALL])
{
	size_t own = SMALL - l->licence - l->same;

	make_text(text, l->licence, 1);
	make_text(text + l->licence, l->same, 1000 + 2 * file);
	make_text(text + SMALL - own, own, (1000 + 2 * file) * 1000 + version);
}

static void add_unrelated(struct state *s, size_t licence, unsigned count)
{
	const struct licensed l = { .licence = licence };
	char text[SMALL];
	unsigned i;

	for (i = 0; i < count; i++) {
		make_version(&l, PAIRS + i, 0, text);
		add(s, text, SMALL);
	}
}

/* Of PAIRS pairs of versions, those with a score below most that are alike in
 * more than the licence. */
static unsigned count_below(struct state *s, size_t licence, size_t same,
			    int most)
{
	const struct licensed l = { licence, same };
	char a[SMALL], b[SMALL];
	unsigned count = 0, i;
	struct verdict v;

	for (i = 0; i < PAIRS; i++) {
		make_version(&l, i, 1, a);
		make_version(&l, i, 2, b);
		v = judge_texts(s, a, SMALL, b, SMALL);
		count += v.reason == VERDICT_LISTED && v.score < most;
	}
	return count;
}

static unsigned count_alike(struct state *s, size_t licence, size_t same)
{
	return count_below(s, licence, same, 100);
}

WITH_INDEX(test_versions_below_a_licence_are_alike)
{
	struct state *s = *state;

	add_unrelated(s, 1335, MANY);
	assert_true(count_alike(s, 1335, 400) == PAIRS);
	assert_true(count_alike(s, 1335, 250) >= PAIRS * 99 / 100);
	assert_true(count_alike(s, 1335, 160) >= PAIRS * 95 / 100);
}

WITH_INDEX(test_unrelated_below_a_licence_are_not)
{
	struct state *s = *state;
	size_t licence;

	for (licence = 400; licence <= 1600; licence += 400) {
		add_unrelated(s, licence, MANY);
		/* Of the longest one, some seem to be a form. */
		assert_int_equal(count_below(s, licence, 0, JUDGE_SURE), 0);
		assert_true(licence == 1600 || !count_alike(s, licence, 0));
	}
}

/* The licence is in files of many sizes: most of its values that two small files
 * sample are not in the sketches of the larger ones. */
WITH_INDEX(test_unrelated_below_a_licence_of_many_sizes_are_not)
{
	enum { LICENCE = 1200, SIZES = 16 };
	struct state *s = *state;
	static char text[SIZES * LICENCE];
	unsigned i;
	size_t len;

	for (i = 0; i < MANY; i++) {
		len = LICENCE * (2 + i % (SIZES - 1));
		make_text(text, LICENCE, 1);
		make_text(text + LICENCE, len - LICENCE, 5000000 + i);
		add(s, text, len);
	}
	/* By chance there is one whose own values are hardly sampled. */
	assert_in_range(count_alike(s, LICENCE, 0), 0, PAIRS / 200);
	assert_true(count_alike(s, LICENCE, 400) >= PAIRS * 96 / 100);
}

/* Contents below one licence, from little more than the licence on: near the end
 * of the sketch of a small one, the licence is in fewer and fewer sketches, and
 * seems rare at last. */
WITH_INDEX(test_unrelated_below_a_licence_that_fades_are_not)
{
	enum { LICENCE = 1500, LEAST = 300, STEP = 8 };
	struct state *s = *state;
	static char text[LICENCE + LEAST + STEP * MANY];
	unsigned i;
	size_t len;

	for (i = 0; i < MANY; i++) {
		len = LICENCE + LEAST + STEP * (size_t)i;
		make_text(text, LICENCE, 1);
		make_text(text + LICENCE, len - LICENCE, 5000000 + i);
		add(s, text, len);
	}
	assert_int_equal(count_alike(s, LICENCE, 0), 0);
	assert_true(count_alike(s, LICENCE, 250) >= PAIRS * 99 / 100);
	/* Of 15 values that the two share beside the licence, few are left up to
	 * where the licence is known. */
	assert_true(count_alike(s, LICENCE, 120) >= PAIRS * 75 / 100);
}

/* A header that few contents have says as much when there are many others. */
WITH_INDEX(test_others_do_not_make_a_header_common)
{
	struct state *s = *state;
	static struct sketch sketch;
	struct random r = { 5 };
	struct verdict before, after;
	int i;

	add_with_header(s, FEW);
	before = judge_with_header(s);
	for (i = 0; i < 20000; i++) {
		sketch.count = 0;
		while (sketch.count < 20)
			sketch_add(&sketch, value_of(random_next(&r)));
		add_sketch(s->ix, ++s->next, &sketch);
	}
	after = judge_with_header(s);
	assert_same_verdict(&after, &before);
}

/* ---- weights ---- */

/* Of the nth made-up value, which that many contents get. */
static double weight_after(struct frequency *f, uint64_t n, unsigned contents)
{
	static struct sketch one;

	one.count = 0;
	sketch_add(&one, value_of(n));
	while (contents--)
		frequency_add(f, &one);
	return (double)weight_of_contents(frequency_contents(f, value_of(n))) /
	       WEIGHT_ONE;
}

static void assert_near(double have, double want, double tolerance)
{
	if (fabs(have - want) > tolerance)
		fail_msg("%f, not %f", have, want);
}

TEST(test_weights_fall_as_the_number_grows)
{
	struct frequency *f;

	assert_int_equal(frequency_new(&f), 0);
	assert_near(weight_after(f, 0, 0), 1, 0);
	assert_near(weight_after(f, 1, 1), 1, 0);
	assert_near(weight_after(f, 2, WEIGHT_FULL), 1, 0);
	assert_near(weight_after(f, 3, 128), 0.036, 1e-3);
	assert_near(weight_after(f, 4, 2 * WEIGHT_FULL), 0, 1e-4);
	/* A counter at its end. */
	assert_near(weight_after(f, 5, 100000), 1.0 / WEIGHT_ONE, 0);
	frequency_free(f);
}

/* Of 120 million other values about 30 are in the same counter.  They are
 * taken off again but for chance, a standard deviation of 5.4. */
TEST(test_what_shares_a_counter_by_chance_is_taken_off)
{
	static struct sketch others = { .count = SKETCH_MOST };
	struct random r = { 9 };
	struct frequency *f;
	unsigned i, k;

	assert_int_equal(frequency_new(&f), 0);
	for (i = 0; i < 120000; i++) {
		for (k = 0; k < SKETCH_MOST; k++)
			others.values[k] = value_of(random_next(&r));
		frequency_add(f, &others);
	}
	assert_near(weight_after(f, 1, WEIGHT_FULL * 3 / 4), 1, 0);
	assert_near(weight_after(f, 2, 2 * WEIGHT_FULL), 0, 1e-3);
	frequency_free(f);
}

/* Adds so many contents of SKETCH_LEAST values that no other has. */
static void add_others(struct frequency *f, unsigned contents, struct random *r)
{
	static struct sketch others = { .count = SKETCH_LEAST };
	unsigned k;

	while (contents--) {
		for (k = 0; k < SKETCH_LEAST; k++)
			others.values[k] = value_of(random_next(r));
		frequency_add(f, &others);
	}
}

static size_t bytes_after(struct frequency *f, unsigned contents,
			  struct random *r)
{
	add_others(f, contents, r);
	return frequency_bytes(f);
}

/* The counts from before stay, and hardly another value seems common. */
TEST(test_counters_are_as_many_as_there_is_to_count)
{
	struct random r = { 10 };
	struct frequency *f;
	unsigned i, common = 0;

	assert_int_equal(frequency_new(&f), 0);
	assert_in_range(frequency_bytes(f), 0, 40 << 10);
	for (i = 0; i < 50; i++)
		assert_near(weight_after(f, 100 + i, 115), 0.2, 0.03);
	assert_in_range(bytes_after(f, 1000, &r), 100 << 10, 1 << 20);
	assert_in_range(bytes_after(f, 40000, &r), 8 << 20, 9 << 20);
	assert_int_equal(bytes_after(f, 40000, &r), bytes_after(f, 1, &r));
	for (i = 0; i < 50; i++)
		assert_near(weight_after(f, 100 + i, 0), 0.2, 0.3);
	for (i = 0; i < 10000; i++)
		common += weight_after(f, 1000 + i, 0) < 1;
	assert_in_range(common, 0, 50);
	frequency_free(f);
}

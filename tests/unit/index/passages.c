/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/index/fixture.h"

#include <math.h>

#include "core/index/licences.h"
#include "core/index/judge_rules.h"
#include "core/index/weight.h"

/* Contents that share a passage (INDEX_SHARES), with sketches in memory. */
enum { CONTENTS = 1500, BYTES = 512 << 10, PASSAGE = 26 << 10 };

struct passage_shelf {
	struct index *ix;
	struct sketch *sketches[CONTENTS + 1]; /* by id */
	uint32_t last;
	struct index_match matches[CONTENTS];
	size_t count;
	struct index_visibility *visibility; /* of the next searches */
	char text[2 * BYTES];
};

static int set_up(void **state)
{
	struct passage_shelf *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	assert_int_equal(index_new(&s->ix), 0);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct passage_shelf *s = *state;
	uint32_t id;

	index_free(s->ix);
	for (id = 0; id <= s->last; id++)
		free(s->sketches[id]);
	free(s->visibility);
	free(s);
	return 0;
}

static int fetch(void *arg, uint32_t content, struct sketch *out)
{
	struct passage_shelf *s = arg;

	*out = *s->sketches[content];
	return 0;
}

/* A content of so many bytes that no other one has, but for a passage of a text
 * with a seed of its own, at a place that depends on both. */
static uint32_t put(struct passage_shelf *s, size_t size, size_t passage,
		    uint64_t seed)
{
	struct sketch *sketch = calloc(1, sizeof(*sketch));
	uint32_t id = ++s->last;

	assert_non_null(sketch);
	assert_true(id <= CONTENTS && size <= sizeof(s->text));
	make_text(s->text, size, 1000000 + id);
	if (passage)
		make_text(s->text + 7919 * id % (size - passage + 1), passage,
			  seed);
	sketch_text(s->text, size, sketch);
	s->sketches[id] = sketch;
	add_sketch(s->ix, id, sketch);
	return id;
}

static void search(struct passage_shelf *s, uint32_t self, uint64_t share_min)
{
	const struct index_store store = { .sketch = fetch, .arg = s };
	struct index_query q = { .subject = subject_of_bytes(s->sketches[self]),
				 .rules = { .relation = INDEX_SHARES,
					    .share_min = share_min },
				 .self = self,
				 .most = CONTENTS,
				 .visibility = s->visibility };

	assert_int_equal(index_search(s->ix, &q, &store, s->matches, &s->count),
			 0);
}

static const struct index_match *match_of(const struct passage_shelf *s,
					  uint32_t id)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		if (s->matches[i].content == id)
			return &s->matches[i];
	return NULL;
}

static void assert_bytes(const struct index_match *m, double bytes,
			 double error)
{
	assert_non_null(m);
	assert_true(fabs((double)m->verdict.bytes - bytes) <= error * bytes);
}

/* ---- one passage ---- */

#define WITH_FIXTURE(name) TEST_WITH(name, set_up, tear_down)

WITH_FIXTURE(test_the_score_is_the_percentage_of_the_query)
{
	struct passage_shelf *s = *state;
	uint32_t small = put(s, BYTES / 8, BYTES / 16, 1);
	uint32_t large = put(s, BYTES, BYTES / 16, 1);

	search(s, small, INDEX_SHARE_MIN);
	assert_in_range(match_of(s, large)->verdict.score, 35, 65);
	search(s, large, INDEX_SHARE_MIN);
	assert_in_range(match_of(s, small)->verdict.score, 4, 9);
}

/* Of the larger content a quarter of a percent is shared. */
WITH_FIXTURE(test_what_is_a_tiny_part_is_not_told_from_chance)
{
	struct passage_shelf *s = *state;
	uint32_t a = put(s, BYTES / 8, 2600, 1);

	(void)put(s, 2 * BYTES, 2600, 1);
	search(s, a, INDEX_SHARE_LEAST);
	assert_int_equal(s->count, 0);
}

/* A run of one byte has no windows. */
static uint32_t put_padded(struct passage_shelf *s)
{
	struct sketch *sketch = calloc(1, sizeof(*sketch));
	uint32_t id = ++s->last;

	assert_non_null(sketch);
	make_text(s->text, 16 << 10, 1000000 + id);
	make_text(s->text + 1000 * id, 3 << 10, 1);
	memset(s->text + (16 << 10), 'x', BYTES - (16 << 10));
	sketch_text(s->text, BYTES, sketch);
	s->sketches[id] = sketch;
	add_sketch(s->ix, id, sketch);
	return id;
}

WITH_FIXTURE(test_padding_does_not_enlarge_what_is_shared)
{
	struct passage_shelf *s = *state;
	uint32_t a = put_padded(s), b = put_padded(s);

	search(s, a, INDEX_SHARE_MIN);
	assert_int_equal(s->count, 0);
	search(s, a, INDEX_SHARE_LEAST);
	assert_bytes(match_of(s, b), 3 << 10, 0.3);
}

/* ---- phrases ---- */

/* So many pieces of a text, each at a random place. */
static uint32_t put_phrases(struct passage_shelf *s, size_t count, size_t len,
			    bool is_placed)
{
	struct sketch *sketch = calloc(1, sizeof(*sketch));
	uint32_t id = ++s->last;
	struct random r = { id };
	size_t i;

	assert_non_null(sketch);
	make_text(s->text, BYTES, 1000000 + id);
	for (i = 0; i < count; i++)
		make_text(s->text + random_below(&r, BYTES - len), len, i);
	sketch_text(s->text, BYTES, sketch);
	sketch->is_placed = is_placed;
	s->sketches[id] = sketch;
	add_sketch(s->ix, id, sketch);
	return id;
}

WITH_FIXTURE(test_phrases_that_are_spread_are_no_passage)
{
	struct passage_shelf *s = *state;
	uint32_t a = put_phrases(s, 400, 80, true);

	(void)put_phrases(s, 400, 80, true);
	search(s, a, INDEX_SHARE_MIN);
	assert_int_equal(s->count, 0);
}

WITH_FIXTURE(test_without_places_phrases_add_up)
{
	struct passage_shelf *s = *state;
	uint32_t a = put_phrases(s, 400, 80, true);
	uint32_t b = put_phrases(s, 400, 80, false);

	search(s, a, INDEX_SHARE_MIN);
	assert_bytes(match_of(s, b), 400 * 65, 0.5);
}

WITH_FIXTURE(test_passages_add_up)
{
	struct passage_shelf *s = *state;
	uint32_t a = put_phrases(s, 3, 10 << 10, true);
	uint32_t b = put_phrases(s, 3, 10 << 10, true);

	search(s, a, INDEX_SHARE_MIN);
	assert_bytes(match_of(s, b), 30 << 10, 0.4);
}

/* ---- tables ---- */

/* A content of which so much is a table with records of length bytes.  The first
 * shared of them depend on the number of the record alone, the next repeated
 * ones on nothing, and others are in no other content. */
static uint32_t put_table(struct passage_shelf *s, size_t bytes, size_t length,
			  size_t shared, size_t repeated)
{
	struct sketch *sketch = calloc(1, sizeof(*sketch));
	uint32_t id = ++s->last;
	size_t at;

	assert_non_null(sketch);
	make_text(s->text, BYTES, 1000000 + id);
	for (at = 0; at + length <= bytes; at += length) {
		make_text(s->text + 70000 * id + at, shared, at);
		make_text(s->text + 70000 * id + at + shared, repeated, 7);
	}
	sketch_text(s->text, BYTES, sketch);
	s->sketches[id] = sketch;
	add_sketch(s->ix, id, sketch);
	return id;
}

/* Two in three of its windows are of a few, which are not in the sample. */
WITH_FIXTURE(test_a_passage_may_repeat_much)
{
	struct passage_shelf *s = *state;
	uint32_t a = put_table(s, PASSAGE, 200, 70, 130);
	uint32_t b = put_table(s, PASSAGE, 200, 70, 130);

	search(s, a, PASSAGE / 4);
	assert_bytes(match_of(s, b), PASSAGE, 0.6);
}

WITH_FIXTURE(test_tables_of_one_kind_are_no_passage)
{
	struct passage_shelf *s = *state;
	uint32_t a = put_table(s, 4 * PASSAGE, 64, 34, 0);

	(void)put_table(s, 4 * PASSAGE, 64, 34, 0);
	search(s, a, INDEX_SHARE_MIN);
	assert_int_equal(s->count, 0);
}

/* ---- many contents ---- */

/* The passage is in all versions of the file, and in one other content. */
WITH_FIXTURE(test_versions_do_not_crowd_a_passage_out)
{
	struct passage_shelf *s = *state;
	struct sketch *first;
	uint32_t self = put(s, BYTES / 4, PASSAGE, 1), unrelated, id;

	first = s->sketches[self];
	unrelated = put(s, BYTES / 4, PASSAGE, 1);
	for (id = unrelated + 1; id <= WEIGHT_FULL - 2; id++) {
		s->sketches[id] = calloc(1, sizeof(*first));
		assert_non_null(s->sketches[id]);
		*s->sketches[id] = *first;
		s->last = id;
		add_sketch(s->ix, id, first);
	}
	search(s, self, INDEX_SHARE_MIN);
	assert_int_equal(s->count, WEIGHT_FULL - 3);
	assert_bytes(match_of(s, unrelated), PASSAGE, 0.5);
}

WITH_FIXTURE(test_boilerplate_is_no_passage)
{
	struct passage_shelf *s = *state;

	while (s->last < 8 * WEIGHT_FULL)
		(void)put(s, 40 << 10, 20 << 10, 1);
	search(s, 1, INDEX_SHARE_MIN);
	assert_int_equal(s->count, 0);
}

static bool sees_odd(void *arg, uint32_t content, uint32_t sketch)
{
	(void)arg;
	(void)sketch;
	return content % 2;
}

/* Boilerplate that a caller does not see is none, and no invisible content is a
 * match. */
WITH_FIXTURE(test_invisible_contents_have_no_influence)
{
	struct passage_shelf *s = *state;
	uint32_t id;

	for (id = 1; id <= 8 * WEIGHT_FULL; id++)
		(void)put(s, 40 << 10, 20 << 10,
			  id % 2 && id > 2 * 16 ? 1000 + id : 1);
	s->visibility = calloc(1, sizeof(*s->visibility));
	assert_non_null(s->visibility);
	s->visibility->is_visible = sees_odd;
	search(s, 1, INDEX_SHARE_MIN);
	assert_int_equal(s->count, 15);
	for (id = 3; id < 2 * 16; id += 2)
		assert_bytes(match_of(s, id), 20 << 10, 0.3);
}

/* ---- all there are ---- */

/* The values that two sketches share, in the range of both. */
struct common_values {
	size_t count;
	int a[SKETCH_MOST], b[SKETCH_MOST]; /* places */
	double windows[SKETCH_MOST];        /* of both */
	/* 0 of the few made-up windows whose values are those of licences. */
	double weights[SKETCH_MOST];
};

static void find_common(const struct sketch *x, const struct sketch *y,
			struct common_values *out)
{
	size_t count = sketch_count_at_level(x, sketch_joint_level(x, y)), i, j;

	out->count = 0;
	for (i = 0; i < count; i++)
		for (j = 0; j < y->count; j++)
			if (x->values[i] == y->values[j]) {
				out->windows[out->count] =
					fmin(x->times[i], y->times[j]);
				out->weights[out->count] =
					!licence_has(x->values[i]);
				out->a[out->count] = x->places[i];
				out->b[out->count++] = y->places[j];
			}
}

static bool has_neighbours(const struct common_values *c, size_t i,
			   double unit_a, double unit_b, unsigned level)
{
	const double least = 4.0 * (1 << level);
	size_t near = 0, j;

	for (j = 0; j < c->count; j++) {
		double unit = fmax(fmax(unit_a, unit_b), least);
		int a = (int)(c->a[j] * (unit_a / unit)) -
			(int)(c->a[i] * (unit_a / unit));
		int b = (int)(c->b[j] * (unit_b / unit)) -
			(int)(c->b[i] * (unit_b / unit));

		near += j != i && abs(a) <= 1 && abs(b) <= 1;
	}
	return near >= 4;
}

/* Whether so many of the values at each place of a content are most of them, as
 * far as these are so many. */
static bool are_dense(const struct sketch *x, unsigned level,
		      const double *shared)
{
	double all[SKETCH_PLACES] = { 0 }, sum = 0, squares = 0, part;
	size_t count = sketch_count_at_level(x, level), i;

	for (i = 0; i < count; i++)
		all[x->places[i]]++;
	for (i = 0; i < SKETCH_PLACES; i++) {
		part = shared[i] > 0 ? shared[i] / all[i] : 0;
		sum += part;
		squares += part * part;
	}
	return squares >= 0.5 * sum * fmin(1, sum);
}

/* As judge_impl.h defines it, of two sketches with places of which no value is
 * common. */
static double bytes_in_common(const struct passage_shelf *s, uint32_t a,
			      uint32_t b)
{
	const struct sketch *x = s->sketches[a], *y = s->sketches[b];
	const unsigned level = sketch_joint_level(x, y);
	double unit_a = (double)x->folded / 64, unit_b = (double)y->folded / 64;
	double of_a[64] = { 0 }, of_b[64] = { 0 }, values = 0;
	double all = 0, counted = 0;
	struct sketch_shares shares;
	struct common_values c;
	size_t i;

	find_common(x, y, &c);
	for (i = 0; i < c.count; i++) {
		all += c.windows[i];
		if (!has_neighbours(&c, i, unit_a, unit_b, level))
			continue;
		counted += c.windows[i] * c.weights[i];
		values += c.weights[i];
		of_a[c.a[i]]++;
		of_b[c.b[i]]++;
	}
	if (values < 6 || !are_dense(x, level, of_a) ||
	    !are_dense(y, level, of_b))
		return 0;
	sketch_shares(x, y, &shares);
	return shares.windows * counted / all;
}

WITH_FIXTURE(test_a_search_finds_what_comparing_all_finds)
{
	struct passage_shelf *s = *state;
	struct random r = { 5 };
	uint32_t a, b;
	size_t i;

	while (s->last < 120) {
		size_t size = 8192 + random_below(&r, 200000);

		(void)put(s, size, 1 + random_below(&r, size),
			  1 + random_below(&r, 10));
	}
	for (a = 1; a <= s->last; a++) {
		uint64_t least = 2048 + random_below(&r, 40000);

		search(s, a, least);
		for (i = 1; i < s->count; i++)
			assert_true(s->matches[i - 1].verdict.score >=
				    s->matches[i].verdict.score);
		for (b = 1; b <= s->last; b++) {
			double bytes = bytes_in_common(s, a, b);

			if (a == b)
				assert_null(match_of(s, b));
			else if (bytes >= (double)least)
				/* To a byte, which is how they are kept. */
				assert_bytes(match_of(s, b), bytes,
					     1.5 / bytes);
			else
				assert_null(match_of(s, b));
		}
	}
}

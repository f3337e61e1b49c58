/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/index/fixture.h"

#include "core/index/judge_rules.h"
#include "core/index/index_impl.h"
#include "core/index/weight.h"

/* Searches in an index whose sketches are in memory. */
enum { CONTENTS = 3000 };

struct shelf {
	struct index *ix;
	struct sketch *sketches[CONTENTS + 1]; /* by id */
	uint32_t last;
	uint32_t missing, broken; /* -ENOENT and -EIO from the store */
	struct index_match matches[CONTENTS];
	size_t count, most; /* most: of the next searches; 0: the default */
};

static int set_up(void **state)
{
	struct shelf *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	assert_int_equal(index_new(&s->ix), 0);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct shelf *s = *state;
	uint32_t id;

	index_free(s->ix);
	for (id = 0; id <= s->last; id++)
		free(s->sketches[id]);
	free(s);
	return 0;
}

static int fetch(void *arg, uint32_t content, struct sketch *out)
{
	struct shelf *s = arg;

	if (content == s->broken)
		return -EIO;
	if (content == s->missing || !s->sketches[content])
		return -ENOENT;
	*out = *s->sketches[content];
	return 0;
}

static struct sketch *new_sketch(void)
{
	struct sketch *sketch = calloc(1, sizeof(*sketch));

	assert_non_null(sketch);
	return sketch;
}

/* Takes the sketch. */
static uint32_t put(struct shelf *s, struct sketch *sketch)
{
	uint32_t id = ++s->last;

	assert_true(id <= CONTENTS);
	s->sketches[id] = sketch;
	add_sketch(s->ix, id, sketch);
	return id;
}

static uint32_t put_text(struct shelf *s, const char *text, size_t len)
{
	struct sketch *sketch = new_sketch();

	sketch_text(text, len, sketch);
	return put(s, sketch);
}

/* Contents with nothing in common with anything. */
static void put_unrelated(struct shelf *s, unsigned count)
{
	char text[4000];
	unsigned i;

	for (i = 0; i < count; i++) {
		make_text(text, sizeof(text), 1000000 + s->last);
		(void)put_text(s, text, sizeof(text));
	}
}

static int search_least(struct shelf *s, uint32_t self,
			enum index_relation relation, int least)
{
	const struct index_store store = { .sketch = fetch, .arg = s };
	struct index_query q = { .subject = subject_of_bytes(s->sketches[self]),
				 .rules = { .relation = relation,
					    .threshold = least },
				 .self = self,
				 .most = s->most };

	return index_search(s->ix, &q, &store, s->matches, &s->count);
}

static void search(struct shelf *s, uint32_t self, enum index_relation relation)
{
	assert_int_equal(search_least(s, self, relation, 60), 0);
}

static void assert_only_match(const struct shelf *s, uint32_t content,
			      int least, int most)
{
	assert_int_equal(s->count, 1);
	assert_int_equal(s->matches[0].content, content);
	assert_in_range(s->matches[0].verdict.score, least, most);
}

/* ---- parts and wholes ---- */

/* Both ways, and that they are not alike. */
static void assert_part(struct shelf *s, uint32_t part, uint32_t whole)
{
	search(s, part, INDEX_WITHIN);
	assert_only_match(s, whole, 90, 99);
	search(s, whole, INDEX_CONTAINS);
	assert_only_match(s, part, 90, 99);
	search(s, part, INDEX_CONTAINS);
	assert_int_equal(s->count, 0);
	search(s, whole, INDEX_WITHIN);
	assert_int_equal(s->count, 0);
	search(s, part, INDEX_ALIKE);
	assert_int_equal(s->count, 0);
}

#define WITH_SHELF(name) TEST_WITH(name, set_up, tear_down)

WITH_SHELF(test_a_chapter_is_found_in_its_book)
{
	enum { BOOK = 2000000, CHAPTER = 20000, AT = 700000 };
	struct shelf *s = *state;
	char *text = malloc(BOOK);
	uint32_t book, chapter;

	assert_non_null(text);
	put_unrelated(s, 300);
	make_text(text, BOOK, 1);
	chapter = put_text(s, text + AT, CHAPTER);
	put_unrelated(s, 300);
	book = put_text(s, text, BOOK);
	assert_part(s, chapter, book);
	free(text);
}

/* Too few values of the part tell whether it is in the whole. */
static void assert_uncertain(struct shelf *s, uint32_t part, uint32_t whole)
{
	const struct judge_rules rules = { INDEX_WITHIN, 60, 0, false };
	const struct verdict v = judge_bytes(s->ix, s->sketches[part],
					     s->sketches[whole], &rules);

	assert_int_equal(v.reason, VERDICT_UNCERTAIN);
	assert_in_range(v.score, 90, 99);
}

/* Wherever in it, whatever it is, but for a few of which chance has left three
 * values or fewer in the sample of the whole, where eight are usual. */
WITH_SHELF(test_a_function_is_found_in_a_file_of_functions)
{
	enum { PARTS = 100, PART = 4096 };
	static char text[PARTS * PART];
	struct shelf *s = *state;
	uint32_t whole, first, i;
	size_t k, found = 0, within = 0;

	put_unrelated(s, 300);
	make_text(text, sizeof(text), 2);
	whole = put_text(s, text, sizeof(text));
	first = s->last + 1;
	for (i = 0; i < PARTS; i++)
		(void)put_text(s, text + PART * i, PART);
	for (i = 0; i < PARTS; i++) {
		search(s, first + i, INDEX_WITHIN);
		within += s->count;
		if (s->count)
			assert_only_match(s, whole, 90, 99);
		else
			assert_uncertain(s, first + i, whole);
	}
	assert_in_range(within, PARTS * 90 / 100, PARTS);
	search(s, whole, INDEX_CONTAINS);
	assert_int_equal(s->count, within);
	for (k = 0; k < s->count; k++)
		found += s->matches[k].content >= first &&
			 s->matches[k].content < first + PARTS;
	assert_int_equal(found, within);
}

/* Neither is more of the other than the other of it. */
WITH_SHELF(test_nothing_is_within_what_is_no_larger)
{
	struct sketch *a = new_sketch(), *b = new_sketch();
	struct shelf *s = *state;
	uint32_t id;
	int i;

	for (i = 0; i < 50; i++) {
		sketch_add(a, value_of((uint64_t)i));
		sketch_add(b, value_of((uint64_t)i + 5));
	}
	id = put(s, a);
	(void)put(s, b);
	search(s, id, INDEX_ALIKE);
	assert_only_match(s, id + 1, 90, 90);
	search(s, id, INDEX_WITHIN);
	assert_int_equal(s->count, 0);
	search(s, id, INDEX_CONTAINS);
	assert_int_equal(s->count, 0);
}

/* ---- all there are ---- */

/* In some, some windows occur very often. */
static void repeat_windows(struct random *r, struct sketch *sketch)
{
	bool often = random_below(r, 2);
	size_t i;

	sketch->windows = 0;
	for (i = 0; i < sketch->count; i++) {
		if (often && random_below(r, 4) == 0)
			sketch->times[i] += (uint32_t)random_below(r, 15);
		sketch->windows += sketch->times[i];
	}
	sketch->folded = sketch->windows + SKETCH_WINDOW - 1;
}

static uint32_t put_random(struct shelf *s, struct random *r)
{
	uint64_t family = 1000 * random_below(r, 20), first, i;
	struct sketch *sketch = new_sketch();
	uint64_t count = 1 + random_below(r, 90);

	first = random_below(r, 20);
	for (i = 0; i < count; i++)
		if (random_below(r, 12))
			sketch_add(sketch, value_of(family + first + i));
	for (i = 0; i < count / 5; i++)
		sketch_add(sketch, value_of(random_next(r)));
	repeat_windows(r, sketch);
	return put(s, sketch);
}

static int by_score(const void *a, const void *b)
{
	const struct index_match *x = a, *y = b;

	if (x->verdict.score != y->verdict.score)
		return y->verdict.score - x->verdict.score;
	if (x->verdict.distinctive != y->verdict.distinctive)
		return y->verdict.distinctive - x->verdict.distinctive;
	if (x->verdict.bytes != y->verdict.bytes)
		return x->verdict.bytes < y->verdict.bytes ? 1 : -1;
	return x->content < y->content ? -1 : 1;
}

static size_t compare_all(struct shelf *s, uint32_t self,
			  enum index_relation relation, int least,
			  struct index_match *out)
{
	const struct judge_rules rules = { relation, least, 0, false };
	size_t count = 0;
	uint32_t id;

	for (id = 1; id <= s->last; id++) {
		out[count].content = id;
		out[count].verdict = judge_bytes(s->ix, s->sketches[self],
						 s->sketches[id], &rules);
		count += id != self && judge_lists(&rules, &out[count].verdict);
	}
	qsort(out, count, sizeof(*out), by_score);
	return count;
}

WITH_SHELF(test_a_search_finds_what_comparing_all_finds)
{
	static struct index_match want[CONTENTS + 1];
	struct shelf *s = *state;
	struct random r = { 11 };
	size_t count, i;
	int round;

	while (s->last < CONTENTS)
		(void)put_random(s, &r);
	for (round = 0; round < 300; round++) {
		uint32_t self = 1 + (uint32_t)random_below(&r, CONTENTS);
		enum index_relation relation = (enum index_relation)(round % 3);
		int least = 1 + (int)random_below(&r, 99);

		count = compare_all(s, self, relation, least, want);
		assert_int_equal(search_least(s, self, relation, least), 0);
		assert_int_equal(s->count, count);
		for (i = 0; i < count; i++) {
			assert_int_equal(s->matches[i].content,
					 want[i].content);
			assert_same_verdict(&s->matches[i].verdict,
					    &want[i].verdict);
		}
	}
}

/* ---- plainly ---- */

WITH_SHELF(test_plain_scores_count_what_is_common)
{
	struct shelf *s = *state;
	struct sketch *sketch;
	uint32_t id;
	uint64_t i;

	/* 40 of all, 20 of its own */
	for (id = 1; id <= 8 * WEIGHT_FULL; id++) {
		sketch = new_sketch();
		for (i = 0; i < 40; i++)
			sketch_add(sketch, value_of(i));
		for (i = 0; i < 20; i++)
			sketch_add(sketch, value_of(1000 * id + i));
		(void)put(s, sketch);
	}
	search(s, 7, INDEX_ALIKE);
	assert_int_equal(s->count, 0);
	assert_int_equal(search_least(s, 7, INDEX_ALL, 60), 0);
	assert_int_equal(s->count, INDEX_MATCHES);
	assert_int_equal(s->matches[0].verdict.score, 67);
}

/* ---- many matches ---- */

static bool sees_odd(void *arg, uint32_t content, uint32_t sketch)
{
	(void)arg;
	(void)sketch;
	return content % 2;
}

WITH_SHELF(test_as_many_matches_as_are_wanted)
{
	struct index_visibility *odd = calloc(1, sizeof(*odd));
	struct shelf *s = *state;
	const struct index_store store = { .sketch = fetch, .arg = s };
	struct index_query q = { .rules = { .threshold = 60 },
				 .self = 7,
				 .most = 2000 };
	struct sketch *sketch;
	uint32_t id;
	uint64_t i;

	assert_non_null(odd);
	odd->is_visible = sees_odd;
	for (id = 1; id <= 2600; id++) {
		sketch = new_sketch();
		for (i = 0; i < 57; i++)
			sketch_add(sketch, value_of(i));
		for (i = 0; i < 3; i++)
			sketch_add(sketch, value_of(1000 * id + i));
		(void)put(s, sketch);
	}
	search(s, 7, INDEX_ALIKE);
	assert_int_equal(s->count, INDEX_MATCHES);
	s->most = 2000;
	search(s, 7, INDEX_ALIKE);
	assert_int_equal(s->count, 2000);
	s->most = CONTENTS;
	search(s, 7, INDEX_ALIKE);
	assert_int_equal(s->count, 2599);
	/* A caller who sees every other one. */
	q.subject.sketches[SUBJECT_BYTES] = s->sketches[7];
	q.visibility = odd;
	assert_int_equal(index_search(s->ix, &q, &store, s->matches, &s->count),
			 0);
	assert_int_equal(s->count, 1299);
	free(odd);
}

/* ---- what a caller sees ---- */

/* So many contents with the value and one of their own. */
static void put_with_value(struct shelf *s, uint64_t value, unsigned count)
{
	struct sketch *sketch;
	unsigned i;

	for (i = 0; i < count; i++) {
		sketch = new_sketch();
		sketch_add(sketch, value);
		sketch_add(sketch, value_of(1000 + s->last));
		(void)put(s, sketch);
	}
}

/* From WEIGHT_FEW on, it changes what the caller is told whether they are few,
 * so those that are hidden do not count. */
WITH_SHELF(test_contents_that_are_hidden_are_not_counted)
{
	struct index_visibility *odd = calloc(1, sizeof(*odd));
	struct shelf *s = *state;
	struct visible_index v = { .ix = s->ix, .visibility = odd };

	assert_non_null(odd);
	odd->is_visible = sees_odd;
	put_with_value(s, value_of(1), 2 * WEIGHT_FEW);
	put_with_value(s, value_of(2), 8 * WEIGHT_FULL);
	put_with_value(s, value_of(3), 4);
	v.limit = visible_limit(s->ix);
	assert_int_equal(visible_contents(&v, value_of(1)), WEIGHT_FEW);
	assert_int_equal(visible_contents(&v, value_of(2)), 4 * WEIGHT_FULL);
	assert_in_range(visible_contents(&v, value_of(3)), 1, WEIGHT_FEW);
	assert_int_equal(v.err, 0);
	free(odd);
}

static bool sees_no_text(void *arg, uint32_t content, uint32_t sketch)
{
	(void)arg;
	return sketch == content;
}

/* A text may be hidden of a content that is not: it does not count either. */
WITH_SHELF(test_texts_that_are_hidden_are_not_counted)
{
	struct index_visibility *v = calloc(1, sizeof(*v));
	struct shelf *s = *state;
	struct visible_index all = { .ix = s->ix, .visibility = v };
	struct sketch text = { 0 };
	uint32_t documents, id;

	assert_non_null(v);
	v->is_visible = sees_no_text;
	put_with_value(s, value_of(1), 2 * WEIGHT_FEW);
	put_with_value(s, value_of(2), 2 * WEIGHT_FEW);
	documents = s->last;
	sketch_add(&text, value_of(1));
	for (id = WEIGHT_FEW; id < documents; id++)
		assert_int_equal(
			index_add_text(s->ix, documents + id, id + 1, &text),
			0);
	all.limit = visible_limit(s->ix);
	assert_int_equal(visible_contents(&all, value_of(1)), 2 * WEIGHT_FEW);
	free(v);
}

/* ---- the store ---- */

static void put_three_alike(struct shelf *s)
{
	char text[5000];
	int i;

	make_text(text, sizeof(text), 3);
	for (i = 0; i < 3; i++) {
		make_text(text, 100, 100 + (uint64_t)i);
		(void)put_text(s, text, sizeof(text));
	}
}

WITH_SHELF(test_what_is_not_there_any_more_is_passed_over)
{
	struct shelf *s = *state;

	put_three_alike(s);
	s->missing = 2;
	search(s, 1, INDEX_ALIKE);
	assert_only_match(s, 3, 90, 99);
	s->missing = 3;
	search(s, 1, INDEX_ALIKE);
	assert_only_match(s, 2, 90, 99);
}

WITH_SHELF(test_errors_of_the_store_are_passed_on)
{
	struct shelf *s = *state;

	put_three_alike(s);
	s->broken = 2;
	s->count = 77;
	assert_int_equal(search_least(s, 1, INDEX_ALIKE, 60), -EIO);
	assert_int_equal(s->count, 77);
}

/* ---- without sketches ---- */

/* The store is not asked: SimHash and traits do not say what is alike. */
WITH_SHELF(test_without_windows_nothing_is_found)
{
	struct shelf *s = *state;
	uint32_t self;
	int relation;

	put_three_alike(s);
	self = put(s, new_sketch());
	s->broken = 2;
	for (relation = 0; relation < INDEX_RELATIONS; relation++) {
		assert_int_equal(
			search_least(s, self, (enum index_relation)relation, 1),
			0);
		assert_int_equal(s->count, 0);
	}
	free(s->sketches[self]);
	s->sketches[self] = NULL;
	assert_int_equal(search_least(s, self, INDEX_ALIKE, 1), 0);
	assert_int_equal(s->count, 0);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/index/fixture.h"
#include "tests/support/index_count.h"

#include "core/index/index_impl.h"
#include "core/index/postings.h"

/* Candidates by values that they have in common, by SimHash and by traits, against
 * a model that looks at all contents. */
enum {
	CONTENTS = 2500,
	FAMILIES = 60,
	FAMILY_VALUES = 50,
	CAPACITY_MAX = 64,
};

/* The contents that the index should hold, kept the simple way. */
struct model {
	struct sketch sketches[CONTENTS + 1]; /* by id */
	bool is_there[CONTENTS + 1];
	uint32_t last;
	struct random random;
};

static size_t count_common(const struct sketch *a, const struct sketch *b)
{
	size_t i, k, common = 0;

	for (i = 0; i < a->count; i++)
		for (k = 0; k < b->count; k++)
			common += a->values[i] == b->values[k];
	return common;
}

static size_t model_candidates(const struct model *m,
			       const struct index_query *q,
			       struct index_candidate *out)
{
	size_t count = 0, common;
	uint32_t id;

	for (id = 1; id <= m->last; id++) {
		if (!m->is_there[id] || id == q->self)
			continue;
		common = count_common(q->subject.sketches[SUBJECT_BYTES],
				      &m->sketches[id]);
		if (common)
			out[count++] = (struct index_candidate){
				.content = id,
				.rank = (uint16_t)(VALUE_RANK * common)
			};
	}
	qsort(out, count, sizeof(*out), candidate_order);
	return count;
}

/* Values of one family, or of two, and some of its own. */
static void random_sketch(struct random *r, struct sketch *out)
{
	uint64_t family = random_below(r, FAMILIES);
	size_t values = random_below(r, 30), i;

	out->count = 0;
	for (i = 0; i < values; i++) {
		if (random_below(r, 8) == 0)
			family = random_below(r, FAMILIES);
		sketch_add(out, value_of(family * FAMILY_VALUES +
					 random_below(r, FAMILY_VALUES)));
	}
	for (i = 0; i < values / 4; i++)
		sketch_add(out, value_of(random_next(r)));
}

/* Some ids are left out. */
static void model_add(struct model *m, struct index *ix)
{
	struct random *r = &m->random;
	uint32_t id = m->last + 1 + (uint32_t)random_below(r, 3);

	random_sketch(r, &m->sketches[id]);
	m->is_there[id] = true;
	m->last = id;
	assert_int_equal(index_add(ix, id, &m->sketches[id]), 0);
}

static void model_remove(struct model *m, struct index *ix)
{
	uint32_t id = 1 + (uint32_t)random_below(&m->random, m->last);

	index_remove(ix, id);
	m->is_there[id] = false;
}

static void compare_query(struct model *m, struct index *ix)
{
	static struct index_candidate want[CONTENTS];
	struct index_candidate have[CAPACITY_MAX];
	uint32_t self = 1 + (uint32_t)random_below(&m->random, m->last);
	struct index_query q = { .subject =
					 subject_of_bytes(&m->sketches[self]),
				 .self = self };
	size_t capacity = random_below(&m->random, CAPACITY_MAX + 1);
	size_t want_count, have_count, i;

	want_count = model_candidates(m, &q, want);
	if (want_count > capacity)
		want_count = capacity;
	assert_int_equal(
		index_candidates(ix, &q, false, have, capacity, &have_count),
		0);
	assert_int_equal(have_count, want_count);
	for (i = 0; i < want_count; i++) {
		assert_int_equal(have[i].content, want[i].content);
		assert_int_equal(have[i].rank, want[i].rank);
	}
}

static size_t model_count(const struct model *m)
{
	size_t count = 0;
	uint32_t id;

	for (id = 1; id <= m->last; id++)
		count += m->is_there[id];
	return count;
}

static void random_changes(uint64_t seed, unsigned remove_percent)
{
	struct model *m = calloc(1, sizeof(*m));
	struct index *ix;
	unsigned i;

	assert_non_null(m);
	m->random.state = seed;
	print_message("seed %llu\n", (unsigned long long)seed);
	assert_int_equal(index_new(&ix), 0);
	while (m->last < CONTENTS - 3) {
		model_add(m, ix);
		if (random_below(&m->random, 100) < remove_percent)
			for (i = 0; i < 3; i++)
				model_remove(m, ix);
		if (random_below(&m->random, 4) == 0)
			compare_query(m, ix);
	}
	assert_int_equal(index_count(ix), model_count(m));
	index_free(ix);
	free(m);
}

TEST(test_candidates_are_the_best_of_all_contents)
{
	random_changes(1, 0);
	random_changes(2, 10);
	random_changes(3, 33);
}

/* ---- what many contents have ---- */

enum { MANY = 50000, HEADER = 20 };

static void query_sketch(struct index *ix, const struct sketch *sketch,
			 uint32_t self, struct index_candidate *out,
			 size_t capacity, size_t *count_out)
{
	struct index_query q = { .subject = subject_of_bytes(sketch),
				 .self = self };

	assert_int_equal(
		index_candidates(ix, &q, false, out, capacity, count_out), 0);
}

/* The same values in all, and one that only two neighbours have. */
static void make_with_header(uint32_t id, struct sketch *out)
{
	uint64_t i;

	out->count = 0;
	for (i = 0; i < HEADER; i++)
		sketch_add(out, value_of(i));
	sketch_add(out, value_of(1000 + id / 2));
}

TEST(test_a_rare_value_is_found_among_many_common_ones)
{
	static struct sketch sketch;
	struct index_candidate found[INDEX_MATCHES];
	struct index *ix;
	size_t count;
	uint32_t id;

	assert_int_equal(index_new(&ix), 0);
	for (id = 1; id <= MANY; id++) {
		make_with_header(id, &sketch);
		add_sketch(ix, id, &sketch);
	}
	for (id = 3; id < MANY; id += 997) {
		make_with_header(id, &sketch);
		query_sketch(ix, &sketch, id, found, INDEX_MATCHES, &count);
		assert_int_equal(count, INDEX_MATCHES);
		assert_int_equal(found[0].content, id ^ 1);
		query_sketch(ix, &sketch, 0, found, 2, &count);
		assert_int_equal(count, 2);
		assert_int_equal(found[0].content, id & ~1u);
		assert_int_equal(found[1].content, id | 1);
	}
	index_free(ix);
}

/* Where nothing else is known, what all have is better than nothing. */
TEST(test_only_common_values_still_give_candidates)
{
	static struct sketch sketch;
	struct index_candidate found[INDEX_MATCHES];
	struct index *ix;
	size_t count;
	uint32_t id;

	sketch_add(&sketch, value_of(1));
	assert_int_equal(index_new(&ix), 0);
	for (id = 1; id <= MANY; id++)
		add_sketch(ix, id, &sketch);
	query_sketch(ix, &sketch, 0, found, INDEX_MATCHES, &count);
	assert_int_equal(count, INDEX_MATCHES);
	index_free(ix);
}

/* ---- what shares enough ---- */

/* So many values from first on, of which at most count are kept. */
static void sample(uint64_t first, size_t distinct, size_t count,
		   struct sketch *out)
{
	size_t i;

	*out = (struct sketch){ 0 };
	for (i = 0; i < distinct; i++)
		sketch_add(out, value_of(first + i));
	sketch_cut(out, count);
}

static size_t count_by_share(struct index *ix, const struct sketch *sketch,
			     enum index_relation relation)
{
	struct index_candidate found[INDEX_MATCHES];
	struct index_query q = { .subject = subject_of_bytes(sketch),
				 .rules = { .relation = relation,
					    .threshold = 60 } };
	size_t count;

	assert_int_equal(
		index_candidates(ix, &q, true, found, INDEX_MATCHES, &count),
		0);
	return count;
}

TEST(test_what_shares_little_is_no_candidate_by_share)
{
	static struct sketch asked, other;
	struct index *ix;
	uint32_t id;

	sample(0, 200, 200, &asked);
	assert_int_equal(index_new(&ix), 0);
	for (id = 1; id <= 20; id++) {
		sample(10 * (id - 1), 200, 200, &other);
		add_sketch(ix, id, &other);
	}
	/* 200, 190, ... 120 of 200 are in common, and a few less may be by
	 * chance. */
	assert_in_range(count_by_share(ix, &asked, INDEX_ALIKE), 9, 14);
	assert_int_equal(count_by_share(ix, &asked, INDEX_CONTAINS), 20);
	index_free(ix);
}

/* Each window occurs so often. */
static void repeat(struct sketch *sketch, uint32_t times)
{
	size_t i;

	sketch->windows *= times;
	for (i = 0; i < sketch->count; i++)
		sketch->times[i] = times;
}

/* A part of the larger one is shared, so much of the smaller one. */
TEST(test_what_is_too_large_or_too_small_is_no_candidate)
{
	static const size_t counts[] = { 90, 130, 200, 300, 450, 1000 };
	static struct sketch asked, other;
	struct index *ix;
	uint32_t id;

	sample(0, 200, 200, &asked);
	repeat(&asked, 10);
	assert_int_equal(index_new(&ix), 0);
	for (id = 1; id <= 6; id++) {
		sample(0, counts[id - 1], counts[id - 1], &other);
		repeat(&other, 10);
		add_sketch(ix, id, &other);
	}
	/* 130 to 300 */
	assert_int_equal(count_by_share(ix, &asked, INDEX_ALIKE), 3);
	asked.windows = 0;
	assert_in_range(count_by_share(ix, &asked, INDEX_ALIKE), 5, 6);
	index_free(ix);
}

/* Of what is sampled more thinly, as many values as of the whole cannot be
 * asked for. */
TEST(test_a_thin_sketch_shares_all_that_it_could)
{
	static struct sketch fine, thin;
	struct index *ix;

	sample(0, 1000, 900, &fine);
	sample(0, 900, 100, &thin);
	assert_int_equal(index_new(&ix), 0);
	add_sketch(ix, 1, &thin);
	add_sketch(ix, 2, &thin);
	assert_int_equal(count_by_share(ix, &fine, INDEX_ALIKE), 2);
	index_free(ix);
}

/* ---- what is none ---- */

TEST(test_nothing_is_no_candidate_of_nothing)
{
	static struct sketch empty, one;
	struct index_candidate found[4];
	struct index *ix;
	size_t count = 7;

	sketch_add(&one, value_of(1));
	assert_int_equal(index_new(&ix), 0);
	add_sketch(ix, 1, &empty);
	add_sketch(ix, 2, &one);
	query_sketch(ix, &empty, 0, found, 4, &count);
	assert_int_equal(count, 0);
	query_sketch(ix, NULL, 0, found, 4, &count);
	assert_int_equal(count, 0);
	query_sketch(ix, &one, 0, found, 0, &count);
	assert_int_equal(count, 0);
	query_sketch(ix, &one, 0, found, 4, &count);
	assert_int_equal(count, 1);
	assert_int_equal(found[0].content, 2);
	index_free(ix);
}

TEST(test_postings_of_removed_contents_are_reclaimed)
{
	static struct sketch sketch;
	struct index *ix;
	uint32_t id;

	assert_int_equal(index_new(&ix), 0);
	for (id = 1; id <= 20000; id++) {
		sketch.count = 0;
		sketch_add(&sketch, value_of(id));
		sketch_add(&sketch, value_of(id / 2));
		add_sketch(ix, id, &sketch);
	}
	for (id = 1; id <= 19000; id++)
		index_remove(ix, id);
	assert_true(postings_count(ix->postings) < 4000);
	index_free(ix);
}

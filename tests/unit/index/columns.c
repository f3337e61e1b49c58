/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/index/fixture.h"

#define MODEL_ROWS 6000
#define CAPACITY_MAX 64

/* What the index should hold, kept the simple way. */
struct model {
	struct digests
		digests[MODEL_ROWS + 1]; /* by content id; size 0: none */
	uint32_t last;
};

static struct random randoms;

static int has_simhash(const struct digests *d)
{
	return (d->set & DIGEST_BIT(DIGEST_SIMHASH)) && digests_simhash(d);
}

static uint16_t model_score(enum digest_id id, const struct digests *a,
			    const struct digests *b)
{
	int score;

	return digest_compare(id, a, b, &score) ? 0 : (uint16_t)score;
}

static uint16_t model_rank(const struct digests *a, const struct digests *b,
			   enum index_source source)
{
	if (source == INDEX_BY_TRAITS)
		return model_score(DIGEST_RDC, a, b);
	return has_simhash(a) && has_simhash(b) ?
		       model_score(DIGEST_SIMHASH, a, b) :
		       0;
}

static size_t model_candidates(const struct model *m,
			       const struct index_query *q,
			       enum index_source source,
			       struct index_candidate *out)
{
	int least = q->rules.threshold > 1 ? q->rules.threshold : 1;
	size_t count = 0;
	uint32_t id;

	for (id = q->first_content; id <= m->last; id++) {
		if (!m->digests[id].size || id == q->self)
			continue;
		out[count] = (struct index_candidate){
			.content = id,
			.rank = model_rank(q->digests, &m->digests[id], source),
		};
		if (out[count].rank >= least)
			count++;
	}
	qsort(out, count, sizeof(*out), candidate_order);
	return count;
}

static struct digests random_digests(void)
{
	struct digests d = { .set = DIGEST_DEFAULT };
	int i;

	d.size = 1 + random_next(&randoms) % 100000;
	store_be64(d.simhash, random_next(&randoms));
	for (i = 0; i < 16; i++)
		d.traits[i] = random_next(&randoms) & 63;
	if (random_next(&randoms) % 16 == 0)
		d.set &= ~DIGEST_BIT(DIGEST_SIMHASH);
	if (random_next(&randoms) % 16 == 0)
		memset(d.traits, 0, 16);
	if (random_next(&randoms) % 64 == 0)
		store_be64(d.simhash, 0);
	return d;
}

/* A relative of an earlier content, so that queries find something. */
static struct digests relative_of(const struct digests *from)
{
	struct digests d = *from;
	int i, flips = (int)(random_next(&randoms) % 14);

	for (i = 0; i < flips; i++)
		d.simhash[random_next(&randoms) % 8] ^=
			(uint8_t)(1 << random_next(&randoms) % 8);
	for (i = 0; i < flips; i++)
		d.traits[random_next(&randoms) % 16] =
			random_next(&randoms) & 63;
	d.size += random_next(&randoms) % 1000;
	return d;
}

static void model_add(struct model *m, struct index *ix, uint32_t id)
{
	uint32_t old =
		m->last ? 1 + (uint32_t)(random_next(&randoms) % m->last) : 0;
	struct digests d = random_digests();

	if (old && m->digests[old].size && random_next(&randoms) % 2)
		d = relative_of(&m->digests[old]);
	assert_int_equal(index_add(ix, id, &d, NULL), 0);
	m->digests[id] = d;
	m->last = id;
}

static void model_remove(struct model *m, struct index *ix)
{
	uint32_t id = 1 + (uint32_t)(random_next(&randoms) % m->last);

	index_remove(ix, id);
	m->digests[id].size = 0;
}

static void compare_source(const struct model *m, struct index *ix,
			   const struct index_query *q,
			   enum index_source source, size_t capacity)
{
	static struct index_candidate want[MODEL_ROWS];
	struct index_candidate have[CAPACITY_MAX];
	size_t want_count = model_candidates(m, q, source, want);
	size_t have_count, i;

	if (want_count > capacity)
		want_count = capacity;
	assert_int_equal(
		index_candidates(ix, q, source, have, capacity, &have_count),
		0);
	assert_int_equal(have_count, want_count);
	for (i = 0; i < want_count; i++) {
		assert_int_equal(have[i].content, want[i].content);
		assert_int_equal(have[i].rank, want[i].rank);
	}
}

static void compare_query(const struct model *m, struct index *ix)
{
	uint32_t self = 1 + (uint32_t)(random_next(&randoms) % m->last);
	struct digests d = m->digests[self];
	struct index_query q = { .digests = &d,
				 .self = self,
				 .first_content = 1 };
	size_t capacity = random_next(&randoms) % (CAPACITY_MAX + 1);

	q.rules.threshold = (int)(random_next(&randoms) % 101);
	if (!d.size)
		d.size = 5000;
	if (random_next(&randoms) % 4 == 0)
		q.first_content =
			1 + (uint32_t)(random_next(&randoms) % m->last);
	compare_source(m, ix, &q, INDEX_BY_SIMHASH, capacity);
	compare_source(m, ix, &q, INDEX_BY_TRAITS, capacity);
}

static size_t model_count(const struct model *m)
{
	size_t count = 0;
	uint32_t id;

	for (id = 1; id <= m->last; id++)
		count += m->digests[id].size != 0;
	return count;
}

static void random_changes(uint64_t seed, unsigned remove_percent)
{
	struct model *m = calloc(1, sizeof(*m));
	struct index *ix;
	unsigned i;

	assert_non_null(m);
	randoms.state = seed;
	print_message("seed %llu\n", (unsigned long long)seed);
	assert_int_equal(index_new(&ix), 0);
	while (m->last < MODEL_ROWS - 4) {
		model_add(m, ix,
			  m->last + 1 + (uint32_t)(random_next(&randoms) % 3));
		if (random_next(&randoms) % 100 < remove_percent)
			for (i = 0; i < 3; i++)
				model_remove(m, ix);
		if (random_next(&randoms) % 16 == 0)
			compare_query(m, ix);
	}
	assert_int_equal(index_count(ix), model_count(m));
	index_free(ix);
	free(m);
}

TEST(test_queries_equal_a_full_search)
{
	random_changes(0x9e3779b97f4a7c15u, 0);
	random_changes(20260101, 5);
	random_changes(7, 40);
}

static struct digests plain_digests(uint64_t simhash)
{
	struct digests d = { .set = DIGEST_DEFAULT, .size = 10000 };

	store_be64(d.simhash, simhash);
	return d;
}

TEST(test_equal_ranks_come_by_id)
{
	struct digests d = plain_digests(0xff00ff00ff00ff00u);
	struct index_query query = { .digests = &d,
				     .rules = { .threshold = 1 },
				     .self = 2,
				     .first_content = 1 };
	struct index_candidate found[4];
	struct index *ix;
	size_t count;
	uint32_t id;

	assert_int_equal(index_new(&ix), 0);
	for (id = 1; id <= 100; id++)
		assert_int_equal(index_add(ix, id, &d, NULL), 0);
	assert_int_equal(index_candidates(ix, &query, INDEX_BY_SIMHASH, found,
					  4, &count),
			 0);
	assert_int_equal(count, 4);
	assert_int_equal(found[0].content, 1);
	assert_int_equal(found[1].content, 3);
	assert_int_equal(found[3].content, 5);
	index_free(ix);
}

TEST(test_order_and_emptiness_are_refused)
{
	struct digests d = plain_digests(1), empty = { .set = DIGEST_DEFAULT };
	struct index *ix;

	assert_int_equal(index_new(&ix), 0);
	assert_int_equal(index_add(ix, 5, &d, NULL), 0);
	assert_int_equal(index_add(ix, 5, &d, NULL), -EINVAL);
	assert_int_equal(index_add(ix, 4, &d, NULL), -EINVAL);
	assert_int_equal(index_add(ix, 6, &empty, NULL), -EINVAL);
	index_remove(ix, 77);
	assert_int_equal(index_count(ix), 1);
	index_free(ix);
}

TEST(test_an_id_is_not_taken_back)
{
	struct digests d = plain_digests(1);
	struct index *ix;
	uint32_t id;

	assert_int_equal(index_new(&ix), 0);
	for (id = 1; id <= 1000; id++)
		assert_int_equal(index_add(ix, id, &d, NULL), 0);
	for (id = 1; id <= 1000; id++)
		index_remove(ix, id);
	assert_int_equal(index_add(ix, 1000, &d, NULL), -EINVAL);
	assert_int_equal(index_add(ix, 1001, &d, NULL), 0);
	index_free(ix);
}

TEST(test_removed_rows_are_reclaimed)
{
	struct digests d = plain_digests(1);
	struct index *ix;
	size_t empty, full; /* what does not grow is in both */
	uint32_t id;

	assert_int_equal(index_new(&ix), 0);
	empty = index_bytes(ix);
	for (id = 1; id <= 100000; id++)
		assert_int_equal(index_add(ix, id, &d, NULL), 0);
	full = index_bytes(ix) - empty;
	assert_true(full < 100000 * 36 * 2);
	for (id = 1; id <= 99000; id++)
		index_remove(ix, id);
	assert_int_equal(index_count(ix), 1000);
	assert_true(index_bytes(ix) - empty < full / 10);
	index_free(ix);
}

TEST(test_every_change_is_counted)
{
	static struct sketch sketch;
	struct digests d = plain_digests(1);
	struct index *ix;
	uint64_t before;

	assert_int_equal(index_new(&ix), 0);
	before = index_change_count(ix);
	assert_int_equal(index_add(ix, 1, &d, NULL), 0);
	assert_true(index_change_count(ix) > before);
	before = index_change_count(ix);
	assert_int_equal(index_add_sketch(ix, 1, &sketch), 0);
	assert_true(index_change_count(ix) > before);
	before = index_change_count(ix);
	index_remove(ix, 1);
	assert_true(index_change_count(ix) > before);
	before = index_change_count(ix);
	assert_int_equal(index_load_begin(ix), 0);
	assert_int_equal(index_load_end(ix), 0);
	assert_true(index_change_count(ix) > before);
	index_free(ix);
}

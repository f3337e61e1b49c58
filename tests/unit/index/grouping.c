/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/grouping/grouping.h"

#include "core/index/weight.h"
#include "core/index/judge.h"
#include "tests/unit/index/fixture.h"

/*
 * Groups of random families of contents, compared with a naive model: the same
 * greedy clustering, with every pair compared.
 */
enum { CONTENTS_MAX = 3000 };

struct tree {
	struct group_content contents[CONTENTS_MAX];
	struct sketch *sketches;
	size_t count;
	uint32_t id_step; /* id of content i: (i + 1) * id_step */
	int fail_after;   /* the store fails then; -1: never */
	uint32_t without; /* the index of one without sketch, + 1 */
};

static struct tree tree;

static void tree_clear(void)
{
	if (!tree.sketches)
		tree.sketches = calloc(CONTENTS_MAX, sizeof(*tree.sketches));
	assert_non_null(tree.sketches);
	memset(tree.sketches, 0, CONTENTS_MAX * sizeof(*tree.sketches));
	tree.count = 0;
	tree.id_step = 1;
	tree.fail_after = -1;
	tree.without = 0;
}

static int fetch(void *arg, uint32_t content, struct sketch *out)
{
	size_t i = content / tree.id_step - 1;

	(void)arg;
	assert_true(i < tree.count);
	if (tree.fail_after >= 0 && tree.fail_after-- == 0)
		return -EIO;
	if (tree.without == i + 1)
		return -ENOENT;
	*out = tree.sketches[i];
	return 0;
}

static int spent(void *last, size_t work, unsigned done)
{
	(void)work;
	assert_in_range(done, *(unsigned *)last, 1000);
	*(unsigned *)last = done;
	return 0;
}

/* last: how far it was. */
static struct group_source source_of(unsigned *last)
{
	*last = 0;
	return (struct group_source){ .store = { .sketch = fetch },
				      .spent = spent,
				      .arg = last };
}

/* Sorted, which sketch_add() would do for each value. */
static struct sketch *add_content(uint64_t size, uint32_t files)
{
	struct group_content *c = &tree.contents[tree.count];
	uint64_t half = value_of(tree.count + 1000003) * 77;

	assert_true(tree.count < CONTENTS_MAX);
	*c = (struct group_content){ .size = size, .files = files };
	memcpy(c->xxh128, &half, sizeof(half));
	return &tree.sketches[tree.count++];
}

static void finish_sketch(struct sketch *s)
{
	(void)sketch_finish(s);
}

/* A member of a family: so many of `values` values are replaced by its own. */
static void add_member(uint64_t family, size_t values, size_t own,
		       uint32_t files)
{
	uint64_t seed = (uint64_t)tree.count << 40;
	struct sketch *s = add_content(1000 + 16 * values + own, files);
	size_t i;

	for (i = 0; i < values; i++)
		s->values[s->count++] =
			i < own ? value_of(seed + i) :
				  value_of(family * 100000 + i + 1);
	finish_sketch(s);
}

/* Which values are replaced differs from member to member. */
static void add_varied(struct random *r, uint64_t family, size_t values,
		       unsigned percent, uint32_t files)
{
	uint64_t seed = (uint64_t)tree.count << 40;
	struct sketch *s = add_content(1000 + random_below(r, 100000), files);
	size_t i;

	for (i = 0; i < values; i++)
		s->values[s->count++] =
			random_below(r, 100) < percent ?
				value_of(seed + i) :
				value_of(family * 100000 + i + 1);
	finish_sketch(s);
}

static struct group_set *group(const struct group_rules *rules,
			       const size_t *order)
{
	unsigned last;
	const struct group_source source = source_of(&last);
	struct grouping *g;
	struct group_set *set;
	size_t i;

	assert_int_equal(grouping_new(rules, &g), 0);
	for (i = 0; i < tree.count; i++) {
		size_t k = order ? order[i] : i;

		tree.contents[k].content = (uint32_t)(k + 1) * tree.id_step;
		assert_int_equal(grouping_add(g, &tree.contents[k]), 0);
	}
	assert_int_equal(grouping_run(g, &source, &set), 0);
	grouping_free(g);
	assert_non_null(set);
	return set;
}

static size_t index_of(uint32_t content)
{
	return content / tree.id_step - 1;
}

/* ---- the model ---- */

struct model {
	size_t rank[CONTENTS_MAX]; /* contents in order */
	size_t head[CONTENTS_MAX];
	int score[CONTENTS_MAX];
	struct frequency *frequency;
};

static struct model model;

static int by_rank(const void *a, const void *b)
{
	const struct group_content *x = &tree.contents[*(const size_t *)a];
	const struct group_content *y = &tree.contents[*(const size_t *)b];

	if (x->size != y->size)
		return x->size < y->size ? 1 : -1;
	return memcmp(x->xxh128, y->xxh128, sizeof(x->xxh128));
}

static bool is_member(size_t a, size_t b, int threshold, int *score_out)
{
	static struct weighed_subject weighed;
	const struct subject first = subject_of_bytes(&tree.sketches[a]);
	const struct subject second = subject_of_bytes(&tree.sketches[b]);
	const struct weigher w = { .frequency = model.frequency };
	const struct judge_rules rules = { .threshold = threshold };
	struct verdict v;

	weigh_subject(&w, &first, &weighed);
	judge_subjects(&w, &weighed, &second, &rules, &v);
	*score_out = v.score;
	return judge_lists(&rules, &v);
}

static void model_begin(void)
{
	size_t i;

	frequency_free(model.frequency);
	assert_int_equal(frequency_new(&model.frequency), 0);
	for (i = 0; i < tree.count; i++) {
		model.rank[i] = i;
		model.head[i] = SIZE_MAX;
		frequency_add(model.frequency, &tree.sketches[i]);
	}
	qsort(model.rank, tree.count, sizeof(model.rank[0]), by_rank);
}

static void model_group(int threshold)
{
	size_t i, k;

	model_begin();
	for (i = 0; i < tree.count; i++) {
		size_t head = model.rank[i];

		if (model.head[head] != SIZE_MAX)
			continue;
		model.head[head] = head;
		for (k = 0; k < tree.count; k++) {
			int score;

			if (model.head[k] == k)
				continue;
			if (!is_member(head, k, threshold, &score) ||
			    (model.head[k] != SIZE_MAX &&
			     score <= model.score[k]))
				continue;
			model.head[k] = head;
			model.score[k] = score;
		}
	}
}

/* ---- comparing ---- */

static void assert_same_as_model(const struct group_set *set)
{
	bool grouped[CONTENTS_MAX] = { false };
	size_t g, k, i;

	for (g = 0; g < set->count; g++) {
		const struct group_member *m =
			set->members + set->groups[g].first;

		for (k = 0; k < set->groups[g].count; k++) {
			i = index_of(m[k].content);
			assert_false(grouped[i]);
			grouped[i] = true;
			assert_int_equal(model.head[i], index_of(m[0].content));
			assert_int_equal(m[k].score, k ? model.score[i] : 100);
		}
	}
	for (i = 0; i < tree.count; i++)
		if (!grouped[i]) {
			assert_int_equal(model.head[i], i);
			assert_int_equal(tree.contents[i].files, 1);
			for (k = 0; k < tree.count; k++)
				assert_true(k == i || model.head[k] != i);
		}
}

static void assert_in_order(const struct group_set *set)
{
	uint64_t before = UINT64_MAX;
	size_t g, k;

	for (g = 0; g < set->count; g++) {
		const struct content_group *group = &set->groups[g];
		const struct group_member *m = set->members + group->first;
		uint64_t exact = 0, near = 0, files = 0;

		for (k = 0; k < group->count; k++) {
			const struct group_content *c =
				&tree.contents[index_of(m[k].content)];

			exact += c->size * (c->files - 1);
			near += k ? c->size : 0;
			files += c->files;
			assert_true(!k || m[k].score <= m[k - 1].score);
		}
		assert_int_equal(group->saved_exact, exact);
		assert_int_equal(group->saved_near, near);
		assert_int_equal(group->files, files);
		assert_true(files > 1);
		assert_true(exact + near <= before);
		before = exact + near;
	}
}

static void assert_equal_sets(const struct group_set *a, uint32_t a_step,
			      const struct group_set *b, uint32_t b_step)
{
	size_t g, k;

	assert_int_equal(a->count, b->count);
	assert_int_equal(a->member_count, b->member_count);
	for (g = 0; g < a->count; g++) {
		const struct content_group *x = &a->groups[g],
					   *y = &b->groups[g];

		assert_int_equal(x->count, y->count);
		assert_int_equal(x->saved_near, y->saved_near);
		for (k = 0; k < x->count; k++) {
			assert_int_equal(
				a->members[x->first + k].content / a_step,
				b->members[y->first + k].content / b_step);
			assert_int_equal(a->members[x->first + k].score,
					 b->members[y->first + k].score);
		}
	}
}

/* ---- tests ---- */

static void random_tree(uint64_t seed)
{
	struct random r = { seed };
	size_t families = 5 + random_below(&r, 40), f;

	tree_clear();
	for (f = 1; f <= families; f++) {
		size_t members = 1 + random_below(&r, 8);
		size_t values = 40 + random_below(&r, 88);

		for (; members; members--)
			add_varied(&r, f, values,
				   (unsigned)random_below(&r, 60),
				   1 + (uint32_t)(random_below(&r, 4) == 0));
	}
}

TEST(test_model)
{
	static const int thresholds[] = { 20, 40, 60, 75, 90, 99 };
	uint64_t seed;
	size_t t;

	for (seed = 1; seed <= 12; seed++)
		for (t = 0; t < 6; t++) {
			const struct group_rules rules = {
				.threshold = thresholds[t]
			};
			struct group_set *set;

			random_tree(seed);
			set = group(&rules, NULL);
			model_group(rules.threshold);
			assert_same_as_model(set);
			assert_in_order(set);
			group_set_free(set);
		}
}

TEST(test_order)
{
	const struct group_rules rules = { .threshold = 60 };
	struct group_set *set, *other;
	size_t order[CONTENTS_MAX], i;
	struct random r = { 99 };
	uint64_t seed;

	for (seed = 20; seed < 30; seed++) {
		random_tree(seed);
		set = group(&rules, NULL);
		for (i = 0; i < tree.count; i++)
			order[i] = i;
		for (i = tree.count; i > 1; i--) {
			size_t k = random_below(&r, i), last = order[i - 1];

			order[i - 1] = order[k];
			order[k] = last;
		}
		tree.id_step = 7;
		other = group(&rules, order);
		assert_equal_sets(set, 1, other, 7);
		group_set_free(set);
		group_set_free(other);
	}
}

/* No chain: 1 resembles 2 and 2 resembles 3, but 1 does not resemble 3. */
TEST(test_chain)
{
	const struct group_rules rules = { .threshold = 60 };
	struct group_set *set;
	struct sketch *s;
	size_t i, link;

	tree_clear();
	for (link = 0; link < 10; link++) {
		s = add_content(10000 - link, 1);
		for (i = 0; i < 100; i++)
			s->values[s->count++] = value_of(30 * link + i + 1);
		finish_sketch(s);
	}
	set = group(&rules, NULL);
	model_group(60);
	assert_same_as_model(set);
	assert_true(set->count > 1);
	group_set_free(set);
}

TEST(test_exact)
{
	const struct group_rules rules = { .threshold = 60, .exact = true };
	struct group_set *set;

	random_tree(5);
	tree.fail_after = 0; /* no sketch is read */
	set = group(&rules, NULL);
	for (size_t g = 0; g < set->count; g++) {
		assert_int_equal(set->groups[g].count, 1);
		assert_int_equal(set->groups[g].saved_near, 0);
	}
	assert_true(set->count > 3);
	assert_in_order(set);
	group_set_free(set);
}

/* A third of each is what all have in common. */
TEST(test_boilerplate)
{
	const struct group_rules rules = { .threshold = 30 };
	struct group_set *set;
	struct sketch *s;
	size_t i, k;

	tree_clear();
	for (k = 0; k < 2000; k++) {
		s = add_content(5000 + k % 7, 1);
		for (i = 0; i < 120; i++)
			s->values[s->count++] =
				value_of(i < 40 ? i + 1 : k * 1000 + 5000 + i);
		finish_sketch(s);
	}
	set = group(&rules, NULL);
	assert_int_equal(set->count, 0);
	group_set_free(set);
}

/* Values of very many versions are no boilerplate if they are all there is. */
TEST(test_large_family)
{
	const struct group_rules rules = { .threshold = 60 };
	struct group_set *set;
	size_t k;

	tree_clear();
	for (k = 0; k < 2500; k++)
		add_member(3, 128, 1 + k % 4, 1);
	for (k = 0; k < 100; k++)
		add_member(4 + k, 128, 0, 1);
	set = group(&rules, NULL);
	assert_int_equal(set->count, 1);
	assert_int_equal(set->groups[0].count, 2500);
	group_set_free(set);
}

/* One without sketch, or empty, is alike with nothing. */
TEST(test_without_sketch)
{
	const struct group_rules rules = { .threshold = 60 };
	struct group_set *set;

	tree_clear();
	add_member(1, 100, 0, 1);
	add_member(1, 100, 1, 1);
	add_member(1, 100, 2, 2);
	add_content(0, 5);
	add_content(3, 2);
	tree.without = 3;
	set = group(&rules, NULL);
	assert_int_equal(set->count, 3);
	assert_int_equal(set->groups[0].files, 2);
	assert_int_equal(set->groups[1].files, 2);
	assert_int_equal(set->groups[2].files, 2);
	assert_int_equal(set->groups[2].saved_exact, 3);
	group_set_free(set);
	tree_clear();
	set = group(&rules, NULL);
	assert_int_equal(set->count, 0);
	group_set_free(set);
}

TEST(test_errors)
{
	const struct group_rules rules = { .threshold = 60 };
	struct group_source source;
	struct group_set *set;
	struct grouping *g;
	unsigned last;
	int after, err = -EIO;
	size_t i;

	for (after = 0; err == -EIO; after += 7) {
		random_tree(8);
		tree.fail_after = after;
		assert_int_equal(grouping_new(&rules, &g), 0);
		for (i = 0; i < tree.count; i++) {
			tree.contents[i].content = (uint32_t)i + 1;
			assert_int_equal(grouping_add(g, &tree.contents[i]), 0);
		}
		source = source_of(&last);
		err = grouping_run(g, &source, &set);
		if (!err)
			group_set_free(set);
		grouping_free(g);
	}
	assert_int_equal(err, 0);
	assert_true((size_t)after > 3 * tree.count);
}

static int release(void **unused)
{
	(void)unused;
	free(tree.sketches);
	frequency_free(model.frequency);
	return 0;
}

int main(void)
{
	return test_run(NULL, release);
}

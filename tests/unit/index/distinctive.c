/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/judge_impl.h"

#include <math.h>

#include "core/index/weight.h"
#include "tests/unit/index/fixture.h"

/* What is distinctive of two contents, against sets that are counted. */
enum { SETS = 400, FULL = 64 };
/* A value that so many contents have counts fully; is in few; is common if more
 * have it. */
enum { FULLY = 104, FEW = 40, COMMON = 120 };

static void assert_share(double have, double want)
{
	if (fabs(have - want) > 1e-6)
		fail_msg("share %f, not %f", have, want);
}

static struct frequency *nothing_common(void)
{
	struct frequency *f;

	assert_int_equal(frequency_new(&f), 0);
	return f;
}

/* Whether anything is known; the same both ways. */
static bool parts_of(const struct frequency *f, const struct sketch *a,
		     const struct sketch *b, struct distinctive_parts *out)
{
	const struct weigher w = { .frequency = f };
	static struct weighed_sketch weighed;
	struct distinctive_parts reverse;
	bool known;

	weight_sketch(&w, b, &weighed);
	known = distinctive_find(&w, &weighed, a, &reverse);
	weight_sketch(&w, a, &weighed);
	assert_int_equal(distinctive_find(&w, &weighed, b, out), known);
	if (known) {
		assert_share(reverse.of_a, out->of_b);
		assert_share(reverse.of_b, out->of_a);
		assert_share(reverse.all_a, out->all_b);
		assert_share(reverse.all_b, out->all_a);
	}
	return known;
}

/* Values first..first+count-1 of those that are made up. */
static void make_set(uint64_t first, size_t count, struct sketch *out)
{
	size_t i;

	*out = (struct sketch){ 0 };
	for (i = 0; i < count; i++)
		sketch_add(out, value_of(first + i));
}

/* ---- of random sets, cut and weighed ---- */

struct model {
	double a, b, common;
};

static uint32_t contents_of(const struct frequency *f, uint64_t value)
{
	return weight_contents(&(struct weigher){ .frequency = f }, value);
}

/* In as many bits as weights have, and never 0. */
static double model_weight(const struct frequency *f, uint64_t value)
{
	double part = (double)FULLY / contents_of(f, value);

	return part >= 1 ? 1 :
			   (1 + floor(pow(part, 16) * WEIGHT_ONE)) / WEIGHT_ONE;
}

static bool has_value(const struct sketch *s, uint64_t value)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		if (s->values[i] == value)
			return true;
	return false;
}

static uint64_t joint_bound(const struct sketch *a, const struct sketch *b)
{
	return UINT64_C(1) << (48 -
			       (a->level > b->level ? a->level : b->level));
}

/* The values below end; of those that are shared, the ones of so many contents
 * at most. */
static struct model model_sums(const struct frequency *f, uint64_t end,
			       uint32_t contents, const struct sketch *a,
			       const struct sketch *b)
{
	struct model m = { 0 };
	double weight;
	size_t i;

	for (i = 0; i < a->count && a->values[i] < end; i++) {
		weight = f ? model_weight(f, a->values[i]) : 1;
		m.a += weight;
		if (has_value(b, a->values[i]) &&
		    (!f || contents_of(f, a->values[i]) <= contents))
			m.common += weight;
	}
	for (i = 0; i < b->count && b->values[i] < end; i++)
		m.b += f ? model_weight(f, b->values[i]) : 1;
	return m;
}

/* The shared values that more than so many contents have, and how many. */
struct frequent {
	uint64_t values[FULL * 2];
	double contents[FULL * 2];
	size_t count;
};

static struct frequent model_frequent(const struct frequency *f,
				      const struct sketch *a,
				      const struct sketch *b, uint32_t contents)
{
	struct frequent l = { .count = 0 };
	size_t i;

	for (i = 0; i < a->count && a->values[i] < joint_bound(a, b); i++) {
		if (!has_value(b, a->values[i]) ||
		    contents_of(f, a->values[i]) <= contents)
			continue;
		l.values[l.count] = a->values[i];
		l.contents[l.count++] = contents_of(f, a->values[i]);
	}
	return l;
}

/* The number of values from begin to end, and the sum of their contents. */
static size_t model_band(const struct frequent *l, uint64_t begin, uint64_t end,
			 double *contents_out)
{
	size_t count = 0, i;

	*contents_out = 0;
	for (i = 0; i < l->count; i++)
		if (l->values[i] >= begin && l->values[i] < end) {
			count++;
			*contents_out += l->contents[i];
		}
	return count;
}

/* The bounds of levels are halves of the range, quarters and so on.  From the
 * first one that has four values below it, the values between a bound and the
 * next must be as many as those below, within 2.2 standard deviations, and in at
 * least 0.7 times as many contents each. */
static uint64_t model_end(const struct frequency *f, const struct sketch *a,
			  const struct sketch *b, uint32_t contents)
{
	struct frequent l = model_frequent(f, a, b, contents);
	uint64_t end = joint_bound(a, b);
	double below_contents, contents_here, below, here;

	if (l.count < 8)
		return end;
	while (l.values[3] < end / 2)
		end /= 2;
	for (; end < joint_bound(a, b); end *= 2) {
		below = (double)model_band(&l, 0, end, &below_contents);
		here = (double)model_band(&l, end, 2 * end, &contents_here);
		if (below - here > 2.2 * sqrt(below + here) ||
		    contents_here * below < 0.7 * below_contents * here)
			return end;
	}
	return end;
}

/* Of the shared values below end, more than one in eight is neither of few
 * contents nor common. */
static bool model_is_family(const struct frequency *f, uint64_t end,
			    const struct sketch *a, const struct sketch *b)
{
	size_t shared = 0, middling = 0, i;
	uint32_t contents;

	for (i = 0; i < a->count && a->values[i] < end; i++) {
		if (!has_value(b, a->values[i]))
			continue;
		contents = contents_of(f, a->values[i]);
		shared++;
		middling += contents > FEW && contents <= COMMON;
	}
	return 8 * middling > shared;
}

/* Adds the values of few contents from begin to end. */
static void model_add_few(const struct frequency *f, uint64_t begin,
			  uint64_t end, const struct sketch *a,
			  const struct sketch *b, struct model *m)
{
	size_t i;

	for (i = 0; i < a->count; i++) {
		if (a->values[i] < begin || a->values[i] >= end ||
		    contents_of(f, a->values[i]) > FEW)
			continue;
		m->a++;
		m->common += has_value(b, a->values[i]);
	}
	for (i = 0; i < b->count; i++)
		m->b += b->values[i] >= begin && b->values[i] < end &&
			contents_of(f, b->values[i]) <= FEW;
}

static double divide(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

/* Of few values, so that there is much in common, cut to FULL. */
static void random_set(struct random *r, struct sketch *out)
{
	uint64_t first = random_below(r, 60), count = random_below(r, 100);
	uint64_t i;

	*out = (struct sketch){ 0 };
	for (i = first; i < first + count; i++)
		if (random_below(r, 16))
			sketch_add(out, value_of(i));
	sketch_cut(out, FULL);
}

static bool shares_common(const struct frequency *f, const struct sketch *a,
			  const struct sketch *b)
{
	return model_frequent(f, a, b, FULLY).count > 0;
}

/* A share of few values is drawn to half that of all, as if one value more said
 * that. */
static double draw(double part, double whole, double all)
{
	return (part + all / 2) / (whole + 1);
}

struct model_shares {
	double within, contains;
};

static struct model_shares model_weighed(const struct frequency *f,
					 const struct sketch *a,
					 const struct sketch *b)
{
	uint64_t bound = joint_bound(a, b);
	uint64_t end = model_end(f, a, b, COMMON);
	struct model m = model_sums(f, bound, UINT32_MAX, a, b);
	struct model_shares all = { divide(m.common, m.a),
				    divide(m.common, m.b) };

	if (end == bound)
		return all;
	m = model_sums(f, end, COMMON, a, b);
	if (!model_is_family(f, end, a, b))
		model_add_few(f, end, model_end(f, a, b, FEW), a, b, &m);
	return (struct model_shares){ draw(m.common, m.a, all.within),
				      draw(m.common, m.b, all.contains) };
}

/* Something is known only if a shared value is common. */
static void compare_with_model(const struct frequency *f,
			       const struct sketch *a, const struct sketch *b)
{
	struct model m = model_sums(NULL, joint_bound(a, b), 0, a, b);
	struct distinctive_parts have;
	struct model_shares want;

	if (!parts_of(f, a, b, &have)) {
		assert_false(shares_common(f, a, b));
		return;
	}
	assert_true(shares_common(f, a, b));
	want = model_weighed(f, a, b);
	assert_share(have.of_a, want.within);
	assert_share(have.of_b, want.contains);
	assert_share(have.all_a, divide(m.common, m.a));
	assert_share(have.all_b, divide(m.common, m.b));
}

/* So many contents have the first of 50 values, and one in `longer` of these has
 * all of them. */
static void compare_sets(uint64_t seed, unsigned with_common, unsigned longer)
{
	static struct sketch a, b, common;
	struct frequency *f = nothing_common();
	struct random r = { seed };
	unsigned i;

	print_message("seed %llu\n", (unsigned long long)seed);
	for (i = 0; i < with_common; i++) {
		make_set(0, 50, &common);
		if (i % longer)
			common.count = 4 + random_below(&r, 44);
		frequency_add(f, &common);
	}
	for (i = 0; i < SETS; i++) {
		random_set(&r, &a);
		random_set(&r, &b);
		compare_with_model(f, &a, &b);
	}
	frequency_free(f);
}

TEST(test_where_nothing_is_common_nothing_is_known)
{
	compare_sets(1, 0, 1);
}

TEST(test_what_is_common_is_weighed)
{
	compare_sets(2, 2 * FULLY, 1);
	compare_sets(3, 50 * FULLY, 1);
}

/* Sketches that end before others: what all have becomes rarer and rarer. */
TEST(test_what_fades_is_told_from_what_few_have)
{
	compare_sets(8, 3 * FULLY, 16);
	compare_sets(9, 8 * FULLY, 50);
	compare_sets(10, 50 * FULLY, 1000);
}

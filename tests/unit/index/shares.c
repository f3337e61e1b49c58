/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/index/fixture.h"

#include <math.h>

#include "core/index/score.h"

/* What of one content is in another one, against sets that are counted. */
enum { SETS = 400, FULL = 64 };
enum { COMMON = 203 }; /* more contents have what is seen to be common */

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

static struct score_shares shares_of(const struct frequency *f,
				     const struct sif_sketch *a,
				     const struct sif_sketch *b)
{
	static struct weighed_sketch weighed;
	struct score_shares shares, reverse, distinctive, distinctive_reverse;

	weight_sketch(&(struct weigher){ .frequency = f }, b, &weighed);
	assert_int_equal(score_compare_sketches(
				 &(struct weigher){ .frequency = f }, &weighed,
				 a, 0, &reverse, &distinctive_reverse),
			 0);
	weight_sketch(&(struct weigher){ .frequency = f }, a, &weighed);
	assert_int_equal(
		score_compare_sketches(&(struct weigher){ .frequency = f },
				       &weighed, b, 0, &shares, &distinctive),
		0);
	assert_share(reverse.within, shares.contains);
	assert_share(reverse.contains, shares.within);
	assert_share(reverse.larger, shares.larger);
	assert_share(distinctive_reverse.within, distinctive.contains);
	assert_share(distinctive_reverse.contains, distinctive.within);
	assert_share(distinctive_reverse.larger, distinctive.larger);
	return distinctive;
}

/* Values first..first+count-1 of those that are made up. */
static void make_set(uint64_t first, size_t count, struct sif_sketch *out)
{
	size_t i;

	*out = (struct sif_sketch){ .window = SIF_WINDOW };
	for (i = 0; i < count; i++)
		sketch_add(out, value_of(first + i));
}

/* ---- exact ---- */

static void test_shares_of_small_contents_are_exact(void **state)
{
	static struct sif_sketch a, b;
	struct frequency *f = nothing_common();
	struct score_shares have;

	(void)state;
	make_set(0, 40, &a);
	make_set(10, 120, &b);
	have = shares_of(f, &a, &b);
	assert_share(have.within, 30 / 40.0);
	assert_share(have.contains, 30 / 120.0);
	assert_share(have.larger, 30 / 120.0);
	have = shares_of(f, &a, &a);
	assert_share(have.within, 1);
	assert_share(have.larger, 1);
	make_set(1000, 40, &b);
	have = shares_of(f, &a, &b);
	assert_share(have.within, 0);
	assert_share(have.contains, 0);
	frequency_free(f);
}

/* Of one of them less is known. */
static void test_equal_ones_have_one_share(void **state)
{
	static struct sif_sketch a, b;
	struct frequency *f = nothing_common();

	(void)state;
	make_set(0, 40, &a);
	make_set(10, 120, &b);
	a.distinct = b.distinct;
	(void)shares_of(f, &a, &b);
	frequency_free(f);
}

static void test_an_empty_sketch_has_no_share(void **state)
{
	static struct sif_sketch a, none = { .window = SIF_WINDOW };
	struct frequency *f = nothing_common();
	struct score_shares have;

	(void)state;
	make_set(0, 40, &a);
	have = shares_of(f, &a, &none);
	assert_share(have.within, 0);
	assert_share(have.contains, 0);
	assert_share(have.larger, 0);
	have = shares_of(f, &none, &none);
	assert_share(have.larger, 0);
	frequency_free(f);
}

static void test_windows_that_differ_cannot_be_compared(void **state)
{
	static struct sif_sketch a, b;
	static struct weighed_sketch weighed;
	struct frequency *f = nothing_common();
	struct score_shares have = { .within = 7 };

	(void)state;
	make_set(0, 40, &a);
	make_set(0, 40, &b);
	b.window = SIF_WINDOW + 1;
	weight_sketch(&(struct weigher){ .frequency = f }, &a, &weighed);
	assert_int_equal(
		score_compare_sketches(&(struct weigher){ .frequency = f },
				       &weighed, &b, 0, &have, &have),
		-EINVAL);
	assert_share(have.within, 7);
	frequency_free(f);
}

/* ---- of random sets, cut and weighed ---- */

struct model {
	double a, b, common;
};

/* In as many bits as weights have. */
static double model_weight(const struct frequency *f, uint64_t value)
{
	double part = (double)WEIGHT_FULL / frequency_contents(f, value);

	return floor(fmin(1, pow(part, 3)) * WEIGHT_ONE) / WEIGHT_ONE;
}

static bool has_value(const struct sif_sketch *s, uint64_t value)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		if (s->values[i] == value)
			return true;
	return false;
}

/* Below the last value of a sketch that was cut nothing is unknown. */
static uint64_t model_bound(const struct sif_sketch *s)
{
	return s->distinct > s->count ? s->values[s->count - 1] : UINT64_MAX;
}

static uint64_t joint_bound(const struct sif_sketch *a,
			    const struct sif_sketch *b)
{
	uint64_t x = model_bound(a), y = model_bound(b);

	return x < y ? x : y;
}

/* The values below end; of those that are shared, the ones of so many contents
 * at most. */
static struct model model_sums(const struct frequency *f, uint64_t end,
			       uint32_t contents, const struct sif_sketch *a,
			       const struct sif_sketch *b)
{
	struct model m = { 0 };
	double weight;
	size_t i;

	for (i = 0; i < a->count && a->values[i] < end; i++) {
		weight = f ? model_weight(f, a->values[i]) : 1;
		m.a += weight;
		if (has_value(b, a->values[i]) &&
		    (!f || frequency_contents(f, a->values[i]) <= contents))
			m.common += weight;
	}
	for (i = 0; i < b->count && b->values[i] < end; i++)
		m.b += f ? model_weight(f, b->values[i]) : 1;
	return m;
}

static uint64_t certain_end(const struct sif_sketch *a,
			    const struct sif_sketch *b)
{
	uint64_t bound = joint_bound(a, b);

	return bound - bound / 8;
}

/* The shared values that more than so many contents have, and their weights. */
struct frequent {
	uint64_t values[FULL * 2];
	double weights[FULL * 2];
	size_t count;
};

static struct frequent model_frequent(const struct frequency *f,
				      const struct sif_sketch *a,
				      const struct sif_sketch *b,
				      uint32_t contents)
{
	struct frequent l = { .count = 0 };
	size_t i;

	for (i = 0; i < a->count && a->values[i] < joint_bound(a, b); i++) {
		if (!has_value(b, a->values[i]) ||
		    frequency_contents(f, a->values[i]) <= contents)
			continue;
		l.values[l.count] = a->values[i];
		l.weights[l.count++] = model_weight(f, a->values[i]);
	}
	return l;
}

/* The last quarter weighs more than four times what the first one weighs. */
static bool model_falls(const struct frequent *l)
{
	size_t quarter = l->count / 4, i;
	double first = 0, last = 0;

	for (i = 0; i < quarter; i++) {
		first += l->weights[i];
		last += l->weights[l->count - quarter + i];
	}
	return last > 4 * first;
}

/* The last eighth of the range does not count, nor what is greater than the
 * shared values of more contents, but for one in eight of them; unless these go
 * on to the end of the range, a seventh behind the last one, and do not fall. */
static uint64_t model_end(const struct frequency *f, const struct sif_sketch *a,
			  const struct sif_sketch *b, uint32_t contents)
{
	struct frequent l = model_frequent(f, a, b, contents);
	uint64_t certain = certain_end(a, b), end;

	if (l.count < 8)
		return certain;
	end = l.values[l.count - 1 - l.count / 8];
	if (end + end / 7 >= certain && !model_falls(&l))
		return certain;
	return end < certain ? end : certain;
}

/* Of the shared values below end, more than one in eight is neither of few
 * contents nor common. */
static bool model_is_family(const struct frequency *f, uint64_t end,
			    const struct sif_sketch *a,
			    const struct sif_sketch *b)
{
	size_t shared = 0, middling = 0, i;
	uint32_t contents;

	for (i = 0; i < a->count && a->values[i] < end; i++) {
		if (!has_value(b, a->values[i]))
			continue;
		contents = frequency_contents(f, a->values[i]);
		shared++;
		middling += contents > WEIGHT_FEW && contents <= COMMON;
	}
	return 8 * middling > shared;
}

/* Adds the values of few contents from begin to end. */
static void model_add_few(const struct frequency *f, uint64_t begin,
			  uint64_t end, const struct sif_sketch *a,
			  const struct sif_sketch *b, struct model *m)
{
	size_t i;

	for (i = 0; i < a->count; i++) {
		if (a->values[i] < begin || a->values[i] >= end ||
		    frequency_contents(f, a->values[i]) > WEIGHT_FEW)
			continue;
		m->a++;
		m->common += has_value(b, a->values[i]);
	}
	for (i = 0; i < b->count; i++)
		m->b += b->values[i] >= begin && b->values[i] < end &&
			frequency_contents(f, b->values[i]) <= WEIGHT_FEW;
}

static double divide(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

/* As score.c says: by weight up to 90 %. */
static double model_distinctive(double plain, double weighed)
{
	return plain < 0.9 ? weighed : plain;
}

/* Of few values, so that there is much in common, cut to FULL. */
static void random_set(struct random *r, struct sif_sketch *out)
{
	uint64_t first = random_below(r, 60), count = random_below(r, 100);
	uint64_t i;

	*out = (struct sif_sketch){ .window = SIF_WINDOW };
	for (i = first; i < first + count; i++)
		if (random_below(r, 16))
			sketch_add(out, value_of(i));
	if (out->count > FULL)
		sif_cut(out, FULL);
}

static bool shares_common(const struct frequency *f, const struct sif_sketch *a,
			  const struct sif_sketch *b)
{
	return model_frequent(f, a, b, WEIGHT_FULL).count > 0;
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
					 const struct sif_sketch *a,
					 const struct sif_sketch *b)
{
	uint64_t certain = certain_end(a, b);
	uint64_t end = model_end(f, a, b, COMMON);
	struct model m = model_sums(f, certain, UINT32_MAX, a, b);
	struct model_shares all = { divide(m.common, m.a),
				    divide(m.common, m.b) };

	if (end == certain)
		return all;
	m = model_sums(f, end, COMMON, a, b);
	if (!model_is_family(f, end, a, b))
		model_add_few(f, end, model_end(f, a, b, WEIGHT_FEW), a, b, &m);
	return (struct model_shares){ draw(m.common, m.a, all.within),
				      draw(m.common, m.b, all.contains) };
}

static void compare_with_model(const struct frequency *f,
			       const struct sif_sketch *a,
			       const struct sif_sketch *b)
{
	struct score_shares have = shares_of(f, a, b);
	struct model m = model_sums(NULL, joint_bound(a, b), 0, a, b);
	struct model_shares plain = { divide(m.common, m.a),
				      divide(m.common, m.b) };
	/* Only if a shared value is common. */
	struct model_shares by =
		shares_common(f, a, b) ? model_weighed(f, a, b) : plain;
	double within = model_distinctive(plain.within, by.within);
	double contains = model_distinctive(plain.contains, by.contains);
	double larger = a->distinct > b->distinct ? within : contains;

	if (a->distinct == b->distinct)
		larger = fmin(within, contains);
	assert_share(have.within, within);
	assert_share(have.contains, contains);
	assert_share(have.larger, larger);
}

/* So many contents have the first of 50 values, and one in `longer` of these has
 * all of them. */
static void compare_sets(uint64_t seed, unsigned with_common, unsigned longer)
{
	static struct sif_sketch a, b, common;
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

static void test_shares_are_counted(void **state)
{
	(void)state;
	compare_sets(1, 0, 1);
}

static void test_what_is_common_is_weighed(void **state)
{
	(void)state;
	compare_sets(2, 2 * WEIGHT_FULL, 1);
	compare_sets(3, 50 * WEIGHT_FULL, 1);
}

/* Sketches that end before others: what all have becomes rarer and rarer. */
static void test_what_fades_is_told_from_what_few_have(void **state)
{
	(void)state;
	compare_sets(8, 3 * WEIGHT_FULL, 16);
	compare_sets(9, 8 * WEIGHT_FULL, 50);
	compare_sets(10, 50 * WEIGHT_FULL, 1000);
}

/* plain: the share itself. */
static void assert_least(double all, double have, double plain, double least)
{
	assert_share(have, plain >= least ? all : plain);
}

static void test_a_least_share_changes_none_above_it(void **state)
{
	static struct sif_sketch a, b, common;
	static struct weighed_sketch weighed;
	struct frequency *f = nothing_common();
	struct score_shares all, have, plain;
	struct random r = { 4 };
	double least;
	unsigned i;

	(void)state;
	make_set(0, 50, &common);
	for (i = 0; i < 4 * WEIGHT_FULL; i++)
		frequency_add(f, &common);
	for (i = 0; i < SETS; i++) {
		random_set(&r, &a);
		random_set(&r, &b);
		least = (double)random_below(&r, 101) / 100;
		all = shares_of(f, &a, &b);
		weight_sketch(&(struct weigher){ .frequency = f }, &a,
			      &weighed);
		assert_int_equal(score_compare_sketches(
					 &(struct weigher){ .frequency = f },
					 &weighed, &b, least, &plain, &have),
				 0);
		assert_least(all.within, have.within, plain.within, least);
		assert_least(all.contains, have.contains, plain.contains,
			     least);
	}
	frequency_free(f);
}

/* ---- a percentage ---- */

static void test_a_percentage_ends_at_99(void **state)
{
	(void)state;
	assert_int_equal(score_percent(0), 0);
	assert_int_equal(score_percent(0.004), 0);
	assert_int_equal(score_percent(0.006), 1);
	assert_int_equal(score_percent(0.5), 50);
	assert_int_equal(score_percent(0.994), 99);
	assert_int_equal(score_percent(1), 99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares_of_small_contents_are_exact),
		cmocka_unit_test(test_equal_ones_have_one_share),
		cmocka_unit_test(test_an_empty_sketch_has_no_share),
		cmocka_unit_test(test_windows_that_differ_cannot_be_compared),
		cmocka_unit_test(test_shares_are_counted),
		cmocka_unit_test(test_what_is_common_is_weighed),
		cmocka_unit_test(test_what_fades_is_told_from_what_few_have),
		cmocka_unit_test(test_a_least_share_changes_none_above_it),
		cmocka_unit_test(test_a_percentage_ends_at_99),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

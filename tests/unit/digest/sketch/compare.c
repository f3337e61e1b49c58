/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tests/support/sketch_model.h"

/* Levels, unions, and what two contents share. */

static struct bytes joined(struct bytes a, struct bytes b)
{
	struct bytes all = bytes_new(a.len + b.len);

	memcpy(all.data, a.data, a.len);
	memcpy(all.data + a.len, b.data, b.len);
	return all;
}

TEST(a_raised_sketch_is_the_sample_of_its_level)
{
	static struct sketch s, raised;
	struct bytes b = recipe_random(5, 200000);
	unsigned level;
	size_t i, n;

	sketch_of(b, &s);
	for (level = s.level; level <= SKETCH_KEY_BITS; level++) {
		for (n = 0, i = 0; i < s.count; i++)
			n += s.values[i] < UINT64_C(1) << (48 - level);
		raised = s;
		sketch_raise(&raised, level);
		assert_int_equal(raised.count, n);
		assert_int_equal(sketch_count_at_level(&s, level), n);
		assert_int_equal(sketch_distinct(&raised),
				 (uint64_t)n << level);
		assert_int_equal(raised.is_placed, n > 0);
	}
	raised = s;
	sketch_cut(&raised, s.count);
	assert_int_equal(raised.level, s.level);
	sketch_cut(&raised, s.count - 1);
	assert_int_equal(raised.level, s.level + 1);
	sketch_cut(&raised, 0);
	assert_int_equal(raised.count, 0);
	free(b.data);
}

/* The values of all windows of some contents, by the definition. */
static void model_union(const struct bytes *parts, size_t count,
			struct sketch *out)
{
	static uint64_t values[1000000];
	size_t i, k, n = 0, distinct = 0;
	struct bytes b;

	*out = (struct sketch){ 0 };
	for (i = 0; i < count; i++) {
		b = model_fold(parts[i]);
		for (k = 0; k + 16 <= b.len; k++)
			if (!model_is_repeat(b.data + k))
				values[n++] =
					model_round(model_key(b.data + k), 24);
		out->folded += b.len;
		free(b.data);
	}
	for (i = 0; i < count; i++) {
		static struct sketch part;

		sketch_of(parts[i], &part);
		out->level = sketch_joint_level(out, &part);
	}
	for (;; out->level++) {
		for (distinct = 0, i = 0; i < n; i++) {
			if (values[i] >= sketch_bound(out->level))
				continue;
			for (k = 0; k < distinct && k < SKETCH_MOST; k++)
				if (out->values[k] == values[i])
					break;
			if (k == distinct && distinct++ < SKETCH_MOST)
				out->values[k] = values[i];
			if (distinct > SKETCH_MOST)
				break;
		}
		if (distinct <= SKETCH_MOST)
			break;
	}
	out->count = distinct;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

TEST(unions_are_of_all_windows_in_any_order)
{
	static struct sketch want, there, back, part;
	struct bytes parts[9];
	size_t i, n = 9;
	uint64_t seed;

	for (seed = 1; seed < 12; seed++) {
		for (i = 0; i < n; i++)
			parts[i] = recipe_text(seed * 3 + i % 7,
					       10 * seed * seed * (i * i + 1));
		model_union(parts, n, &want);
		qsort(want.values, want.count, sizeof(*want.values), by_value);
		there = back = (struct sketch){ 0 };
		for (i = 0; i < n; i++) {
			sketch_of(parts[i], &part);
			sketch_merge(&there, &part);
			sketch_of(parts[n - 1 - i], &part);
			sketch_merge(&back, &part);
		}
		assert_true(sketches_are_same(&want, &there));
		assert_true(sketches_are_same(&want, &back));
		for (i = 0; i < there.count; i++)
			assert_int_equal(there.times[i], 1);
		for (i = 0; i < n; i++)
			free(parts[i].data);
	}
}

/* ---- shares ---- */

static void share(struct bytes a, struct bytes b, struct sketch_shares *out)
{
	static struct sketch x, y;
	struct sketch_shares back;

	sketch_of(a, &x);
	sketch_of(b, &y);
	sketch_shares(&x, &y, out);
	sketch_shares(&y, &x, &back);
	assert_true(out->windows == back.windows && out->of_a == back.of_b &&
		    out->of_b == back.of_a && out->of_larger == back.of_larger);
	assert_true(out->a_samples == back.b_samples &&
		    out->b_samples == back.a_samples &&
		    out->matches == back.matches);
	assert_true(out->of_a >= 0 && out->of_a <= 1 && out->of_b >= 0 &&
		    out->of_b <= 1);
	assert_true(out->matches <= out->a_samples &&
		    out->matches <= out->b_samples);
}

/* Windows of both that can be put into pairs of equal ones. */
static double model_shared(struct bytes a, struct bytes b)
{
	struct bytes x = model_fold(a), y = model_fold(b);
	uint64_t *keys_a = calloc(x.len + 1, sizeof(*keys_a));
	uint64_t *keys_b = calloc(y.len + 1, sizeof(*keys_b));
	size_t i, j, n = 0, m = 0, shared = 0;

	assert_true(keys_a && keys_b);
	for (i = 0; i + 16 <= x.len; i++)
		if (!model_is_repeat(x.data + i))
			keys_a[n++] = model_key(x.data + i);
	for (i = 0; i + 16 <= y.len; i++)
		if (!model_is_repeat(y.data + i))
			keys_b[m++] = model_key(y.data + i);
	qsort(keys_a, n, sizeof(*keys_a), by_value);
	qsort(keys_b, m, sizeof(*keys_b), by_value);
	for (i = j = 0; i < n && j < m;) {
		shared += keys_a[i] == keys_b[j];
		if (keys_a[i] == keys_b[j])
			i++, j++;
		else if (keys_a[i] < keys_b[j])
			i++;
		else
			j++;
	}
	free(keys_a);
	free(keys_b);
	free(x.data);
	free(y.data);
	return (double)shared;
}

/* At level 0 all windows are known. */
TEST(small_contents_are_compared_exactly)
{
	struct sketch_shares s;
	struct bytes a, b;
	uint64_t seed;

	for (seed = 1; seed < 200; seed++) {
		a = recipe_random(seed, 40 + seed / 2);
		b = recipe_random(seed, 140);
		memcpy(b.data + 70, a.data, 30); /* twice */
		share(a, b, &s);
		assert_true(fabs(s.windows - model_shared(a, b)) < 0.1);
		free(a.data);
		free(b.data);
	}
}

TEST(a_content_shares_all_with_itself)
{
	struct sketch_shares s;
	struct bytes b;
	size_t len;

	for (len = 17; len < 3000000; len *= 3) {
		b = recipe_text(len, len);
		memset(b.data, 'x', len / 4);
		share(b, b, &s);
		/* Except where all that is left is of one byte. */
		if (s.matches)
			assert_true(s.of_larger > 0.9999);
		assert_int_equal(s.matches, s.a_samples);
		free(b.data);
	}
}

TEST(strangers_share_nothing)
{
	struct bytes a = recipe_random(1, 100000), none = bytes_new(0);
	struct bytes b = recipe_random(2, 3000000);
	struct sketch_shares s;

	share(a, b, &s);
	assert_true(s.windows == 0 && s.matches == 0 && s.of_larger == 0);
	share(a, none, &s);
	assert_true(s.windows == 0 && s.of_b == 0 && s.b_samples == 0);
	share(none, none, &s);
	assert_true(s.of_a == 0 && s.of_larger == 0);
	free(a.data);
	free(b.data);
	free(none.data);
}

/* Mean error of the part of the larger content, in per cent. */
TEST(shares_are_estimated_well)
{
	double sum = 0, truth, windows;
	struct sketch_shares s;
	struct bytes a, b, c;
	uint64_t seed;
	int runs = 0;

	for (seed = 1; seed <= 120; seed++, runs++) {
		a = recipe_text(seed, 4000 + seed * 300);
		c = recipe_text(seed + 500, seed * a.len / 150);
		b = joined(a, c);
		if (seed % 2)
			recipe_flip(&b, seed, 1 + seed / 4);
		share(a, b, &s);
		truth = model_shared(a, b);
		windows = fmax(model_shared(a, a), model_shared(b, b));
		sum += fabs(100 * (s.windows - truth) / windows);
		free(a.data);
		free(b.data);
		free(c.data);
	}
	assert_true(sum / runs < 2.5);
}

/* What is there n times counts log2(1 + n): in c it is there three times. */
TEST(passages_that_come_again_count_again)
{
	struct bytes a = recipe_random(3, 30000), b, c;
	struct sketch_shares s;

	b = joined(a, a);
	c = joined(b, a);
	share(a, c, &s);
	assert_true(fabs(s.of_larger - 1 / 2.0) < 0.01 && s.of_a > 0.99);
	share(b, c, &s);
	assert_true(fabs(s.of_larger - log2(3) / 2) < 0.01 && s.of_a > 0.99);
	free(a.data);
	free(b.data);
	free(c.data);
}

TEST(of_a_union_windows_count_once)
{
	static struct sketch whole, part, merged;
	struct bytes a = recipe_random(3, 30000), b = recipe_random(4, 30000);
	struct bytes all = joined(a, b);
	struct sketch_shares s;

	sketch_of(all, &whole);
	sketch_of(a, &part);
	sketch_merge(&merged, &part);
	sketch_of(b, &part);
	sketch_merge(&merged, &part);
	sketch_shares(&whole, &merged, &s);
	assert_true(s.of_larger > 0.98);
	sketch_shares(&part, &merged, &s);
	assert_true(fabs(s.of_larger - 0.5) < 0.1 && s.of_a > 0.99);
	free(a.data);
	free(b.data);
	free(all.data);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>

#include "tests/support/sif_model.h"

static struct values union_of(struct values a, struct values b)
{
	struct values s = { .v = calloc(a.count + b.count + 1, sizeof(*s.v)),
			    a.count + b.count };

	assert_non_null(s.v);
	memcpy(s.v, a.v, a.count * sizeof(*s.v));
	memcpy(s.v + a.count, b.v, b.count * sizeof(*s.v));
	make_set(&s);
	return s;
}

/* ---- estimates against all windows ---- */

/* Sums of errors, in standard deviations. */
struct errors {
	double sum;
	double squares;
	double largest;
	size_t count;
};

static void add_error(struct errors *e, double have, double want, double sd)
{
	double error = sd > 0 ? (have - want) / sd : 0;

	if (sd <= 0 && fabs(have - want) > 1e-9)
		error = 1e9;
	e->sum += error;
	e->squares += error * error;
	e->largest = fmax(e->largest, fabs(error));
	e->count++;
}

/* No bias, errors as large as they should be, and none that is absurd. */
static void check_errors(const char *what, const struct errors *e)
{
	double n = (double)e->count;

	print_message("%s: mean %.3f, mean square %.3f, largest %.2f of %zu\n",
		      what, e->sum / n, e->squares / n, e->largest, e->count);
	if (fabs(e->sum / n) > 4 / sqrt(n) || e->squares / n > 1.5 ||
	    e->largest > 5)
		fail_msg("%s is off", what);
}

/* Text or noise; two that share a random part of their content. */
static void make_pair(uint64_t seed, struct bytes *a_out, struct bytes *b_out)
{
	struct draws d = draws_of(seed);
	size_t shared = 20000 + draw(&d) % 100000;
	size_t own_a = draw(&d) % 100000, own_b = draw(&d) % 100000;
	struct bytes (*make)(uint64_t, size_t) =
		seed % 2 ? recipe_random : recipe_text;
	struct bytes common = make(seed, shared);
	struct bytes a = make(seed + 1000, own_a + shared);
	struct bytes b = make(seed + 2000, own_b + shared);

	memcpy(a.data + own_a / 2, common.data, shared);
	memcpy(b.data, common.data, shared);
	free(common.data);
	*a_out = a;
	*b_out = b;
}

static double deviation(double share, size_t samples)
{
	return sqrt(share * (1 - share) / (double)samples);
}

static double shared_windows(struct values a, struct values b)
{
	uint64_t shared = 0;
	size_t i = 0, j = 0;

	while (i < a.count && j < b.count) {
		if (a.v[i] == b.v[j]) {
			shared += a.times[i] < b.times[j] ? a.times[i] :
							    b.times[j];
			i++;
			j++;
		} else if (a.v[i] < b.v[j]) {
			i++;
		} else {
			j++;
		}
	}
	return (double)shared;
}

/* How many windows of the sketch both know of. */
static size_t samples_of(const struct sif_sketch *s,
			 const struct sif_sketch *other)
{
	uint64_t bound = sif_joint_bound(s, other);
	size_t count = 0;

	while (count < s->count && s->values[count] < bound)
		count++;
	return count;
}

static void estimates_are_as_good_as_promised(void **state)
{
	struct errors containment = { 0 }, size = { 0 };
	struct values wa, wb;
	struct sif_sketch sa, sb;
	struct sif_shares r;
	struct bytes a, b;
	double shared, want;
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 150; seed++) {
		make_pair(seed, &a, &b);
		wa = windows_of(a, 16, model_value);
		wb = windows_of(b, 16, model_value);
		sa = sketch_of(a, 16, 128, 0);
		sb = sketch_of(b, 16, 128, 0);
		shared = shared_windows(wa, wb);
		assert_int_equal(sif_find_shares(&sa, &sb, &r), 0);
		want = shared / (double)wa.all;
		add_error(&containment, r.of_a, want,
			  deviation(want, samples_of(&sa, &sb)));
		want = shared / (double)wb.all;
		add_error(&containment, r.of_b, want,
			  deviation(want, samples_of(&sb, &sa)));
		want = (double)wa.count;
		add_error(&size, (double)sa.distinct, want, want / sqrt(126));
		free(wa.v);
		free(wb.v);
		free(a.data);
		free(b.data);
	}
	check_errors("containment", &containment);
	check_errors("number of windows", &size);
}

/* ---- what two files share ---- */

static struct sif_sketch kept_sketch(struct bytes b)
{
	struct sif_sketch s = sketch_of(b, 16, sif_samples(b.len), 0);

	sif_thin(&s, sif_values(b.len));
	return s;
}

/* Points of 100 by which the larger share is off. */
static double share_error(struct bytes a, struct bytes b)
{
	struct values wa = windows_of(a, 16, model_value);
	struct values wb = windows_of(b, 16, model_value);
	struct sif_sketch sa = kept_sketch(a), sb = kept_sketch(b);
	double larger = (double)(wa.all > wb.all ? wa.all : wb.all);
	double want = 100 * shared_windows(wa, wb) / larger;
	struct sif_shares there, back;

	assert_int_equal(sif_find_shares(&sa, &sb, &there), 0);
	assert_int_equal(sif_find_shares(&sb, &sa, &back), 0);
	assert_true(there.of_larger == back.of_larger);
	assert_true(there.of_a == back.of_b && there.of_b == back.of_a);
	free(wa.v);
	free(wb.v);
	return 100 * there.of_larger - want;
}

/* Rows that are alike but for a few bytes, as in a table. */
static struct bytes make_rows(uint64_t seed, size_t len)
{
	static const char row[] =
		"{\"type\":\"feature\",\"visible\":true,\"name\":\"________\","
		"\"properties\":{\"stroke\":\"black\",\"fill\":\"none\","
		"\"opacity\":1.0},\"geometry\":{\"type\":\"point\","
		"\"coordinates\":[____,____]}}\n";
	struct draws d = draws_of(seed);
	struct bytes b =
		recipe_repeat((const uint8_t *)row, sizeof(row) - 1, len);
	size_t i;

	for (i = 0; i < len; i++)
		if (b.data[i] == '_')
			b.data[i] = (uint8_t)('a' + draw(&d) % 20);
	return b;
}

typedef struct bytes make_fn(uint64_t seed, size_t len);

/* Half of the sizes differ; what the two do not share is of the same kind. */
static void check_shares(const char *what, make_fn *make, double mean,
			 double most)
{
	double error, sum = 0, absolute = 0, largest = 0;
	struct bytes a, b;
	struct draws d;
	uint64_t seed;
	size_t shared;

	for (seed = 1; seed <= 200; seed++) {
		d = draws_of(seed);
		a = make(seed, 1500 + draw(&d) % (seed % 2 ? 4000 : 40000));
		b = make(seed + 1000,
			 seed % 4 < 2 ? a.len : a.len / (1 + seed % 9));
		shared = draw(&d) % b.len;
		memcpy(b.data, a.data + (a.len - shared) / 2, shared);
		error = share_error(a, b);
		sum += error;
		absolute += fabs(error);
		largest = fmax(largest, fabs(error));
		free(a.data);
		free(b.data);
	}
	print_message("%s: mean %.2f, mean error %.2f, largest %.2f\n", what,
		      sum / 200, absolute / 200, largest);
	if (fabs(sum / 200) > mean / 2 || absolute / 200 > mean ||
	    largest > most)
		fail_msg("shares of %s are off", what);
}

static void shares_are_near_the_truth(void **state)
{
	(void)state;
	check_shares("random bytes", recipe_random, 2.2, 10);
	check_shares("text", recipe_text, 2.2, 10);
}

static void shares_are_of_bytes_where_windows_repeat(void **state)
{
	(void)state;
	check_shares("rows", make_rows, 1.5, 7);
}

/* Two that are as one file but for its end: the sample knows all of it. */
static void what_repeats_counts_as_often(void **state)
{
	struct bytes a = recipe_repeat((const uint8_t *)"0123456789abcdefghij",
				       20, 20000);
	struct bytes b = a;

	(void)state;
	b.len = 5000;
	assert_true(fabs(share_error(a, b)) < 1);
	b.len = 19000;
	assert_true(fabs(share_error(a, b)) < 2);
	free(a.data);
}

/* Unrelated files share rounded values by chance; these are taken off. */
static void chance_is_not_shared(void **state)
{
	double sum = 0, largest = 0, error;
	struct bytes a, b;
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 100; seed++) {
		a = recipe_random(seed, 8000);
		b = recipe_random(seed + 1000, 8000 / (1 + seed % 6));
		error = share_error(a, b);
		sum += error;
		largest = fmax(largest, error);
		free(a.data);
		free(b.data);
	}
	assert_true(sum / 100 < 0.3);
	assert_true(largest < 2);
}

/* ---- exact ones ---- */

/* Files of fewer windows than the sketch has room for are compared exactly. */
static void small_files_are_exact(void **state)
{
	struct sif_sketch sa, sb;
	struct sif_shares r;
	struct bytes a, b;

	(void)state;
	a = recipe_random(1, 100);
	b = recipe_random(2, 80);
	memcpy(b.data, a.data, 40);
	sa = sketch_of(a, 16, 128, 0);
	sb = sketch_of(b, 16, 128, 0);
	assert_int_equal(sif_find_shares(&sa, &sb, &r), 0);
	assert_int_equal(r.samples, 85 + 65);
	assert_true(r.windows == 25);
	assert_true(r.of_a == 25.0 / 85);
	assert_true(r.of_b == 25.0 / 65);
	assert_true(r.of_larger == 25.0 / 85);
	assert_int_equal(sif_find_shares(&sb, &sa, &r), 0);
	assert_true(r.of_a == 25.0 / 65);
	/* Nothing to tell from. */
	b.len = 15;
	sb = sketch_of(b, 16, 128, 0);
	assert_int_equal(sif_find_shares(&sa, &sb, &r), 0);
	assert_true(r.windows == 0 && r.of_larger == 0 && r.of_b == 0);
	sb = sketch_of(a, 12, 128, 0);
	assert_int_equal(sif_find_shares(&sa, &sb, &r), -EINVAL);
	free(a.data);
	free(b.data);
}

/* A small file in one of 20 times its size. */
static void containment_in_a_large_file(void **state)
{
	struct errors errors = { 0 };
	struct bytes large, part;
	struct sif_sketch sa, sb;
	struct sif_shares r;
	size_t samples;
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 40; seed++) {
		large = recipe_random(seed, 200000);
		part = recipe_random(seed + 5000, 10000);
		memcpy(part.data, large.data + 70000, 7500);
		sa = sketch_of(part, 16, 1024, 0);
		sb = sketch_of(large, 16, 1024, 0);
		samples = samples_of(&sa, &sb);
		assert_true(samples > 20 && samples < 100);
		assert_int_equal(sif_find_shares(&sa, &sb, &r), 0);
		add_error(&errors, r.of_a, 0.75, deviation(0.75, samples));
		free(large.data);
		free(part.data);
	}
	check_errors("small in large", &errors);
}

/* ---- unions ---- */

static void check_merge(struct bytes a, struct bytes b, size_t max)
{
	struct values wa = windows_of(a, 16, model_value);
	struct values wb = windows_of(b, 16, model_value);
	struct values both = union_of(wa, wb);
	struct sif_sketch want = model_sketch(both, 16, max);
	struct sif_sketch sa = sketch_of(a, 16, max, 0), swapped = sa;
	struct sif_sketch sb = sketch_of(b, 16, max, 0);

	assert_int_equal(sif_merge(&sa, &sb, max), 0);
	assert_true(same(&sa, &want));
	assert_int_equal(sif_merge(&sb, &swapped, max), 0);
	assert_true(same(&sb, &want));
	free(wa.v);
	free(wb.v);
	free(both.v);
}

static void merged_sketches_are_those_of_the_union(void **state)
{
	struct draws d = draws_of(5);
	struct bytes a, b;
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 60; seed++) {
		a = recipe_random(seed, draw(&d) % (seed % 2 ? 200 : 20000));
		b = recipe_random(seed + 1, draw(&d) % (seed % 3 ? 200 : 9000));
		if (seed % 4 == 0)
			memcpy(a.data, b.data, a.len < b.len ? a.len : b.len);
		check_merge(a, b, 128);
		free(a.data);
		free(b.data);
	}
}

/* What is not known to be complete may not be taken for it. */
static void sketches_of_different_size_merge(void **state)
{
	struct bytes a = recipe_random(1, 50000), b = recipe_random(2, 50000);
	struct values wa = windows_of(a, 16, model_value);
	struct values wb = windows_of(b, 16, model_value);
	struct values both = union_of(wa, wb);
	struct sif_sketch sa = sketch_of(a, 16, 512, 0);
	struct sif_sketch sb = sketch_of(b, 16, 64, 0);
	uint64_t bound = sb.values[63];

	(void)state;
	assert_int_equal(sif_merge(&sa, &sb, 512), 0);
	assert_true(sa.count >= 64 && sa.count < 512);
	assert_true(sa.values[sa.count - 1] == bound);
	assert_memory_equal(sa.values, both.v, sa.count * sizeof(*both.v));
	assert_true(sa.distinct > 50000 && sa.distinct < 200000);
	assert_int_equal(sif_merge(&sa, &sb, 1), -EINVAL);
	sb.window = 12;
	assert_int_equal(sif_merge(&sa, &sb, 128), -EINVAL);
	free(wa.v);
	free(wb.v);
	free(both.v);
	free(a.data);
	free(b.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(estimates_are_as_good_as_promised),
		cmocka_unit_test(shares_are_near_the_truth),
		cmocka_unit_test(shares_are_of_bytes_where_windows_repeat),
		cmocka_unit_test(what_repeats_counts_as_often),
		cmocka_unit_test(chance_is_not_shared),
		cmocka_unit_test(small_files_are_exact),
		cmocka_unit_test(containment_in_a_large_file),
		cmocka_unit_test(merged_sketches_are_those_of_the_union),
		cmocka_unit_test(sketches_of_different_size_merge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

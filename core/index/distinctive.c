/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/judge_impl.h"

#include <math.h>
#include <string.h>

#include "core/index/judge_rules.h"

/* ---- what is shared ---- */

struct overlap_value {
	uint64_t value;
	uint32_t contents, weight;
};

/* The values of two sketches at their joint level. */
struct overlap {
	const struct weigher *weigher;
	const struct weighed_sketch *a;
	const struct sketch *b;
	uint64_t bound;          /* the end of the range */
	size_t a_count, b_count; /* values of each in the range */
	uint64_t weight;         /* of the shared values */
	bool found[SKETCH_MOST]; /* for each value of b: it is shared */
	size_t count;            /* of shared values */
	struct overlap_value shared[SKETCH_MOST + 1]; /* ascending */
};

/* Without a branch on the values, which could not be foreseen. */
static void overlap_init(struct overlap *o, const struct weigher *w,
			 const struct weighed_sketch *a, const struct sketch *b)
{
	const unsigned level = sketch_joint_level(a->sketch, b);
	const uint64_t *values = a->sketch->values;
	size_t i = 0, j = 0;

	o->weigher = w;
	o->a = a;
	o->b = b;
	o->bound = sketch_bound(level);
	o->a_count = sketch_count_at_level(a->sketch, level);
	o->b_count = sketch_count_at_level(b, level);
	o->weight = 0;
	o->count = 0;
	memset(o->found, 0, o->b_count * sizeof(o->found[0]));
	while (i < o->a_count && j < o->b_count) {
		const uint64_t x = values[i], y = b->values[j];

		o->shared[o->count] = (struct overlap_value){ x, a->contents[i],
							      a->weights[i] };
		o->found[j] = x == y;
		o->weight += x == y ? a->weights[i] : 0;
		o->count += x == y;
		i += x <= y;
		j += y <= x;
	}
}

/* ---- up to where it is known ---- */

/*
 * A sketch has a value only if its level is low enough for that, and the levels
 * of larger contents are higher.  So of a licence that is in contents of many
 * sizes a large value seems rarer than a small one: from one bound of a level to
 * the next fewer contents can have it.  For example, a licence is in 900
 * contents.  Of the values that two small ones of level 2 share, those below the
 * bound of level 4 are in 900 contents, those up to the bound of level 3 in 350,
 * and those up to their own bound in 35, as if they were of a few versions.
 *
 * But whatever the range, the same part of what is shared is the licence's.  So
 * values count only up to a bound up to which those that more than so many
 * contents have go on, as many between a bound and the next as below both, and
 * in about as many contents.  All values count if too few are common to tell.
 */

/* The shared values that more than so many contents have; returns how many. */
static size_t list_frequent(const struct overlap *o, uint32_t contents,
			    struct overlap_value *out)
{
	size_t count = 0, i;

	for (i = 0; i < o->count; i++) {
		out[count] = o->shared[i];
		count += o->shared[i].contents > contents;
	}
	return count;
}

/* Whether the one number is below the other, which should be equal, by more
 * than chance. */
static bool are_fewer(size_t here, size_t below)
{
	const double less = (double)below - (double)here;

	return less > COMMON_DEVIATIONS * sqrt((double)(below + here));
}

static uint64_t end_of_frequent(const struct overlap *o, uint32_t contents)
{
	struct overlap_value values[SKETCH_MOST + 1];
	size_t count = list_frequent(o, contents, values), below = 0, here;
	uint64_t end = o->bound, sum = 0, sum_here;

	if (count < COMMON_LEAST)
		return end;
	while (end / 2 > values[COMMON_LEAST / 2 - 1].value)
		end /= 2;
	for (; below < count && values[below].value < end; below++)
		sum += values[below].contents;
	for (; end < o->bound; end *= 2, below += here, sum += sum_here) {
		here = sum_here = 0;
		while (below + here < count &&
		       values[below + here].value < 2 * end)
			sum_here += values[below + here++].contents;
		if (are_fewer(here, below) ||
		    (double)sum_here * (double)below <
			    COMMON_FALLING * (double)sum * (double)here)
			break;
	}
	return end;
}

/* ---- how much of it is distinctive ---- */

struct weight_sums {
	uint64_t a, b, shared;
};

/* The weights of the values of b up to an index that are not shared.  Their
 * places are collected first, without a branch, so that their frequencies are
 * fetched from memory in parallel. */
static uint64_t weigh_other(const struct overlap *o, size_t b_end)
{
	uint16_t other[SKETCH_MOST + 1];
	size_t count = 0, j;
	uint64_t sum = 0;

	for (j = 0; j < b_end; j++) {
		other[count] = (uint16_t)j;
		count += !o->found[j];
	}
	for (j = 0; j < count; j++)
		sum += weight_of_contents(
			weight_contents(o->weigher, o->b->values[other[j]]));
	return sum;
}

/* The values below end; of the shared ones, those of at most so many
 * contents. */
static struct weight_sums weigh_overlap(const struct overlap *o, uint64_t end,
					uint32_t contents)
{
	size_t a_end =
		sketch_count_below(o->a->sketch->values, o->a_count, end);
	size_t b_end = sketch_count_below(o->b->values, o->b_count, end);
	struct weight_sums sums = { .a = o->a->sums[a_end],
				    .b = weigh_other(o, b_end) };
	size_t i;

	for (i = 0; i < o->count && o->shared[i].value < end; i++) {
		sums.b += o->shared[i].weight;
		if (o->shared[i].contents <= contents)
			sums.shared += o->shared[i].weight;
	}
	return sums;
}

/*
 * Of a large family, more than a few contents have also what is distinctive.
 * Then many shared values are neither of few contents nor common.
 */
static bool is_of_family(const struct overlap *o, uint64_t end)
{
	size_t between = 0, i;

	for (i = 0; i < o->count && o->shared[i].value < end; i++)
		between += o->shared[i].contents > WEIGHT_FEW &&
			   o->shared[i].contents <= WEIGHT_COMMON;
	return between * COMMON_STRAY > i;
}

static uint32_t one_if_few(uint32_t contents)
{
	return contents && contents <= WEIGHT_FEW ? WEIGHT_ONE : 0;
}

/* Adds the values from begin on that few contents have.  Of the others nothing
 * is known there. */
static void add_few(const struct overlap *o, uint64_t begin,
		    struct weight_sums *sums)
{
	const uint64_t *a = o->a->sketch->values, *b = o->b->values;
	uint64_t end = end_of_frequent(o, WEIGHT_FEW);
	size_t i;

	for (i = sketch_count_below(a, o->a_count, begin);
	     i < o->a_count && a[i] < end; i++)
		sums->a += one_if_few(o->a->contents[i]);
	for (i = sketch_count_below(b, o->b_count, begin);
	     i < o->b_count && b[i] < end; i++)
		if (!o->found[i])
			sums->b +=
				one_if_few(weight_contents(o->weigher, b[i]));
	for (i = 0; i < o->count && o->shared[i].value < end; i++) {
		if (o->shared[i].value < begin)
			continue;
		sums->b += one_if_few(o->shared[i].contents);
		sums->shared += one_if_few(o->shared[i].contents);
	}
}

static double divide(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

/*
 * If the values that are known are few, little is said by their share.  It is
 * drawn towards half the share of all values up to the certain end, which counts
 * as much as DISTINCTIVE_DRAWN values.
 */
static double draw(uint64_t shared, uint64_t known, double all)
{
	double drawn = DISTINCTIVE_DRAWN * WEIGHT_ONE;

	return ((double)shared + drawn * all / 2) / ((double)known + drawn);
}

static void find_parts(const struct overlap *o, struct distinctive_parts *out)
{
	uint64_t end = end_of_frequent(o, WEIGHT_COMMON);
	struct weight_sums sums = weigh_overlap(o, o->bound, UINT32_MAX);

	out->of_a = divide(sums.shared, sums.a);
	out->of_b = divide(sums.shared, sums.b);
	if (end == o->bound)
		return;
	sums = weigh_overlap(o, end, WEIGHT_COMMON);
	if (!is_of_family(o, end))
		add_few(o, end, &sums);
	out->of_a = draw(sums.shared, sums.a, out->of_a);
	out->of_b = draw(sums.shared, sums.b, out->of_b);
}

bool distinctive_find(const struct weigher *w, const struct weighed_sketch *a,
		      const struct sketch *b, struct distinctive_parts *out)
{
	struct overlap o;

	overlap_init(&o, w, a, b);
	if (!o.weight || o.weight == o.count * (uint64_t)WEIGHT_ONE)
		return false;
	out->all_a = divide(o.count, o.a_count);
	out->all_b = divide(o.count, o.b_count);
	find_parts(&o, out);
	return true;
}

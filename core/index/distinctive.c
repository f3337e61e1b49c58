/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/distinctive.h"

#include <string.h>

/* ---- what is shared ---- */

struct overlap_value {
	uint64_t value;
	uint32_t contents, weight;
};

/* The values of two sketches in the range that both cover. */
struct overlap {
	const struct weigher *weigher;
	const struct weighed_sketch *a;
	const struct sif_sketch *b;
	uint64_t bound;             /* the end of the range */
	size_t a_count, b_count;    /* values of each in the range */
	uint64_t weight;            /* of the shared values */
	bool found[SIF_MAX_VALUES]; /* for each value of b: it is shared */
	size_t count;               /* of shared values */
	struct overlap_value shared[SIF_MAX_VALUES + 1]; /* ascending */
};

/* The rest of two ascending arrays that are merged. */
struct merge_range {
	size_t i, i_end, j, j_end;
};

/* So many steps cannot pass the end of either array. */
static size_t safe_steps(const struct merge_range *w)
{
	size_t i = w->i_end - w->i, j = w->j_end - w->j;

	return i < j ? i : j;
}

/* Without a branch on the values, which could not be predicted. */
static inline uint32_t step(const struct weighed_sketch *a,
			    const uint64_t *values, const uint64_t *b,
			    size_t *i, size_t *j, bool *found)
{
	uint64_t x = values[*i], y = b[*j];
	uint32_t weight = a->weights[*i] & -(uint32_t)(x == y);

	found[*j] = x == y;
	*i += x <= y;
	*j += y <= x;
	return weight;
}

static void merge_rest(struct overlap *o, struct merge_range *w)
{
	const uint64_t *values = o->a->sketch->values;
	size_t steps;

	while ((steps = safe_steps(w)))
		while (steps--)
			o->weight += step(o->a, values, o->b->values, &w->i,
					  &w->j, o->found);
}

/*
 * Merges two ranges in turns: a step depends on the one before it in the same
 * range, so the processor can overlap steps of different ranges.
 */
static void merge_both(struct overlap *o, struct merge_range *v,
		       struct merge_range *w)
{
	const struct weighed_sketch *a = o->a;
	const uint64_t *values = a->sketch->values, *b = o->b->values;
	size_t i = v->i, j = v->j, k = w->i, l = w->j, steps, other;
	uint64_t weight = 0;

	for (;;) {
		steps = safe_steps(v);
		other = safe_steps(w);
		steps = steps < other ? steps : other;
		if (!steps)
			break;
		while (steps--) {
			weight += step(a, values, b, &i, &j, o->found);
			weight += step(a, values, b, &k, &l, o->found);
		}
		v->i = i;
		v->j = j;
		w->i = k;
		w->j = l;
	}
	o->weight = weight;
	merge_rest(o, v);
	merge_rest(o, w);
}

static void overlap_init(struct overlap *o, const struct weigher *w,
			 const struct weighed_sketch *a,
			 const struct sif_sketch *b)
{
	uint64_t bound = sif_joint_bound(a->sketch, b);
	const uint64_t *values = a->sketch->values;
	size_t half, b_half = 0, i;

	o->weigher = w;
	o->a = a;
	o->b = b;
	o->bound = bound;
	o->a_count = sif_count_below(values, a->sketch->count, bound);
	o->b_count = sif_count_below(b->values, b->count, bound);
	memset(o->found, 0, o->b_count * sizeof(o->found[0]));
	half = o->a_count / 2;
	if (half)
		b_half = sif_count_below(b->values, o->b_count, values[half]);
	merge_both(
		o, &(struct merge_range){ 0, half, 0, b_half },
		&(struct merge_range){ half, o->a_count, b_half, o->b_count });
	o->count = 0;
	for (i = 0; i < o->b_count; i++)
		o->count += o->found[i];
}

static void list_shared(struct overlap *o)
{
	const struct weighed_sketch *a = o->a;
	size_t i = 0, j, count = 0;

	for (j = 0; count < o->count; j++) {
		if (!o->found[j])
			continue;
		while (a->sketch->values[i] != o->b->values[j])
			i++;
		o->shared[count++] =
			(struct overlap_value){ o->b->values[j], a->contents[i],
						a->weights[i] };
	}
}

/* ---- up to where it is known ---- */

/*
 * Sketches of contents of one size do not all end at the same value.  A value
 * near the end of the range of two sketches is in few others, so it seems rarer
 * than it is.  So the last eighth of the range does not count.
 */
static uint64_t certain_end(const struct overlap *o)
{
	return o->bound - o->bound / 8;
}

/*
 * Sketches of larger contents end at smaller values.  If a licence is in
 * contents of many sizes, its values near the end of the range of two small
 * contents are in the sketches of small contents alone, and seem rare.  But
 * smaller values of that licence are in all of these sketches.  So a value
 * counts only up to the shared ones that more than COMMON contents have, but
 * for one in PASSED of these: the last ones are already in fewer contents, and
 * the very last may be there by accident.
 *
 * All of the range counts where these values are too few to tell, or go on to
 * its end, as far as follows from values that are uniform up to their end, and
 * the last of them weigh about what the first weigh.
 *
 * Behind that end the values of a licence are still in more than FEW contents,
 * up to another end.
 */
enum {
	COMMON = 203, /* the weight is a quarter */
	FEW = WEIGHT_FEW,
	FEWEST = 8,
	PASSED = 8,
	FALLING = 4,
};

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

/* Whether the last quarter is in far fewer contents than the first. */
static bool is_falling(const struct overlap_value *values, size_t count)
{
	uint64_t first = 0, last = 0;
	size_t i;

	for (i = 0; i < count / 4; i++) {
		first += values[i].weight;
		last += values[count - 1 - i].weight;
	}
	return last > FALLING * first;
}

/* The end of the shared values that more than so many contents have; at most
 * the certain end. */
static uint64_t end_of_frequent(const struct overlap *o, uint32_t contents)
{
	struct overlap_value values[SIF_MAX_VALUES + 1];
	size_t count = list_frequent(o, contents, values);
	uint64_t end = certain_end(o), last;

	if (count < FEWEST)
		return end;
	last = values[count - 1 - count / PASSED].value;
	if (last + last / (PASSED - 1) >= end && !is_falling(values, count))
		return end;
	return last < end ? last : end;
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
	uint16_t other[SIF_MAX_VALUES + 1];
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
	size_t a_end = sif_count_below(o->a->sketch->values, o->a_count, end);
	size_t b_end = sif_count_below(o->b->values, o->b_count, end);
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
		between += o->shared[i].contents > FEW &&
			   o->shared[i].contents <= COMMON;
	return between * PASSED > i;
}

static uint32_t one_if_few(uint32_t contents)
{
	return contents && contents <= FEW ? WEIGHT_ONE : 0;
}

/* Adds the values from begin on that few contents have.  Of the others nothing
 * is known there. */
static void add_few(const struct overlap *o, uint64_t begin,
		    struct weight_sums *sums)
{
	const uint64_t *a = o->a->sketch->values, *b = o->b->values;
	uint64_t end = end_of_frequent(o, FEW);
	size_t i;

	for (i = sif_count_below(a, o->a_count, begin);
	     i < o->a_count && a[i] < end; i++)
		sums->a += one_if_few(o->a->contents[i]);
	for (i = sif_count_below(b, o->b_count, begin);
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
 * as much as DRAWN values.
 */
#define DRAWN 1.0

static double draw(uint64_t shared, uint64_t known, double all)
{
	double drawn = DRAWN * WEIGHT_ONE;

	return ((double)shared + drawn * all / 2) / ((double)known + drawn);
}

static void find_parts(const struct overlap *o, struct distinctive_parts *out)
{
	uint64_t certain = certain_end(o), end = end_of_frequent(o, COMMON);
	struct weight_sums sums = weigh_overlap(o, certain, UINT32_MAX);

	out->of_a = divide(sums.shared, sums.a);
	out->of_b = divide(sums.shared, sums.b);
	if (end == certain)
		return;
	sums = weigh_overlap(o, end, COMMON);
	if (!is_of_family(o, end))
		add_few(o, end, &sums);
	out->of_a = draw(sums.shared, sums.a, out->of_a);
	out->of_b = draw(sums.shared, sums.b, out->of_b);
}

bool distinctive_find(const struct weigher *w, const struct weighed_sketch *a,
		      const struct sif_sketch *b, struct distinctive_parts *out)
{
	struct overlap o;

	overlap_init(&o, w, a, b);
	if (!o.weight || o.weight == o.count * (uint64_t)WEIGHT_ONE)
		return false;
	list_shared(&o);
	out->all_a = divide(o.count, o.a_count);
	out->all_b = divide(o.count, o.b_count);
	find_parts(&o, out);
	return true;
}

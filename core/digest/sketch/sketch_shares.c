/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sketch/sketch.h"

/*
 * How much two contents share, estimated from their sketches.
 *
 * At the joint level, both sketches are a sample of the windows of both, in
 * which each has the same chance p to be.  So a sum over the sample, divided by p,
 * estimates the sum over all windows: of the extents of a, of b and of what both
 * have, and of the numbers of windows that both have.  It errs as far as chance has
 * put many or few windows into the sample.  How far is known for the times in a and
 * in b, as the number of windows of each content is: so an estimate is corrected by
 * regression,
 *
 *	total = sum / p + fa * (windows of a - a / p)
 *			+ fb * (windows of b - b / p),
 *
 * with the sums a and b of the times over the sample and the factors that make the
 * variance of the total the least, which follow from the sums of the squares and
 * products.  (Cochran, Sampling Techniques, 1977, chapter 7.)  For two contents of
 * one size that share the part s, the variance is that of the plain estimate divided
 * by 1 + s.  Where a few windows occur very often, times and extents have little to
 * do with each other, and the correction is small.
 */

/* Of one content: sums over the sample. */
struct side_sums {
	double times, squares;    /* of how often windows occur in it */
	double extents, products; /* of extents and times */
	double crossed; /* products of its extents and the other one's times */
};

/* Of what both have; by_a: products with the times in a. */
struct common_sums {
	double sum, by_a, by_b;
};

struct sample_sums {
	struct side_sums a, b;
	double times; /* products of the times in a and in b */
	struct common_sums windows, extents;
};

struct share_match {
	uint16_t a, b; /* numbers of the values */
};

/* Without a branch on the values, which could not be foreseen.  out has room
 * for one more. */
static size_t find_matches(const struct sketch *a, size_t a_count,
			   const struct sketch *b, size_t b_count,
			   struct share_match *out)
{
	size_t i = 0, j = 0, found = 0;

	while (i < a_count && j < b_count) {
		uint64_t x = a->values[i], y = b->values[j];

		out[found] = (struct share_match){ (uint16_t)i, (uint16_t)j };
		found += x == y;
		i += x <= y;
		j += y <= x;
	}
	return found;
}

/* counts: how often windows occur is known of both contents. */
static void add_side(const struct sketch *s, size_t count, bool counts,
		     struct side_sums *out)
{
	double times, extent;
	size_t i;

	if (!counts)
		*out = (struct side_sums){ .times = (double)count,
					   .squares = (double)count,
					   .extents = (double)count,
					   .products = (double)count };
	for (i = 0; counts && i < count; i++) {
		times = s->times[i];
		extent = sketch_extent_of(times);
		out->times += times;
		out->squares += times * times;
		out->extents += extent;
		out->products += times * extent;
	}
}

static void add_common(double value, double x, double y,
		       struct common_sums *out)
{
	out->sum += value;
	out->by_a += x * value;
	out->by_b += y * value;
}

static void add_matches(const struct sketch *a, const struct sketch *b,
			const struct share_match *matches, size_t count,
			bool counts, struct sample_sums *out)
{
	double x, y, both;
	size_t i;

	for (i = 0; i < count; i++) {
		x = counts ? a->times[matches[i].a] : 1;
		y = counts ? b->times[matches[i].b] : 1;
		both = x < y ? x : y;
		add_common(both, x, y, &out->windows);
		add_common(sketch_extent_of(both), x, y, &out->extents);
		out->times += x * y;
		out->a.crossed += sketch_extent_of(x) * y;
		out->b.crossed += sketch_extent_of(y) * x;
	}
}

/* How far the sums of the times are below what they should be. */
struct shortfall {
	double a, b;
};

/* A sum over the sample, corrected; never below 0. */
static double corrected(const struct sample_sums *s, double sum, double by_a,
			double by_b, const struct shortfall *less)
{
	/* A little more than there is, as the two may be the same. */
	const double more = 1e-4 * (s->a.squares + s->b.squares);
	const double aa = s->a.squares + more, bb = s->b.squares + more;
	const double scale = aa * bb - s->times * s->times;

	if (scale > 0)
		sum += (by_a * bb - by_b * s->times) / scale * less->a +
		       (by_b * aa - by_a * s->times) / scale * less->b;
	return fmax(0, sum);
}

static double divide(double part, double whole)
{
	return whole > 0 ? fmin(1, part / whole) : 0;
}

double sketch_extent(const struct sketch *sketch)
{
	struct sample_sums s = { 0 };
	const double part = ldexp(1, -(int)sketch->level);
	struct shortfall less = { 0 };

	add_side(sketch, sketch->count, sketch->windows, &s.a);
	if (sketch->windows && sketch->level)
		less.a = (double)sketch->windows * part - s.a.times;
	return corrected(&s, s.a.extents, s.a.products, 0, &less) / part;
}

void sketch_shares(const struct sketch *a, const struct sketch *b,
		   struct sketch_shares *out)
{
	const bool counts = a->windows && b->windows;
	const unsigned level = sketch_joint_level(a, b);
	const size_t a_count = sketch_count_at_level(a, level);
	const size_t b_count = sketch_count_at_level(b, level);
	const double part = ldexp(1, -(int)level);
	struct share_match matches[SKETCH_MOST + 1];
	struct sample_sums s = { 0 };
	struct shortfall less = { 0 };
	double extent_a, extent_b, common;

	*out = (struct sketch_shares){ .a_samples = a_count,
				       .b_samples = b_count };
	out->matches = find_matches(a, a_count, b, b_count, matches);
	add_side(a, a_count, counts, &s.a);
	add_side(b, b_count, counts, &s.b);
	add_matches(a, b, matches, out->matches, counts, &s);
	/* At level 0 nothing is left to chance, and of a union the sample says
	 * how many windows there are. */
	if (counts && level)
		less = (struct shortfall){
			(double)a->windows * part - s.a.times,
			(double)b->windows * part - s.b.times,
		};
	extent_a = corrected(&s, s.a.extents, s.a.products, s.a.crossed, &less);
	extent_b = corrected(&s, s.b.extents, s.b.crossed, s.b.products, &less);
	common = corrected(&s, s.extents.sum, s.extents.by_a, s.extents.by_b,
			   &less);
	out->windows = corrected(&s, s.windows.sum, s.windows.by_a,
				 s.windows.by_b, &less) /
		       part;
	if (counts)
		out->windows =
			fmin(out->windows,
			     (double)(a->windows < b->windows ? a->windows :
								b->windows));
	out->of_a = divide(common, extent_a);
	out->of_b = divide(common, extent_b);
	out->of_larger = fmin(out->of_a, out->of_b);
}

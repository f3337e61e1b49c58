/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sketch/sketch.h"

#include <math.h>

/*
 * How much two contents share, estimated from their sketches.
 *
 * At the joint level, both sketches are a sample of the windows of both, in
 * which each has the same chance p to be.  Let the sums over the sample be
 *
 *	a, b     of the times in each content
 *	both     of the lesser of the two times
 *
 * Then both / p estimates what is shared, but errs as far as chance has put
 * many or few windows into the sample, and more so where some windows occur
 * very often.  How far is known for a and b, as the number of windows of each
 * content is: so the estimate is corrected by regression,
 *
 *	shared = both / p + fa * (windows of a - a / p)
 *			  + fb * (windows of b - b / p),
 *
 * with the factors that make its variance the least, which follow from the sums
 * of the squares and products of the times.  (Cochran, Sampling Techniques,
 * 1977, chapter 7.)  For two contents of one size that share the part s, the
 * variance is that of the plain estimate divided by 1 + s; for contents in which
 * a few windows occur very often, and in both, it is much smaller still.
 */

struct sample_sums {
	double a, b, both;
	double aa, bb, ab; /* of products */
	double a_both, b_both;
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
		     double *sum, double *squares)
{
	double times;
	size_t i;

	*sum = *squares = counts ? 0 : (double)count;
	for (i = 0; counts && i < count; i++) {
		times = s->times[i];
		*sum += times;
		*squares += times * times;
	}
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
		out->both += both;
		out->ab += x * y;
		out->a_both += x * both;
		out->b_both += y * both;
	}
}

static double estimate(const struct sample_sums *s, double part,
		       double windows_a, double windows_b)
{
	/* A little more than there is, as the two may be the same. */
	double more = 1e-4 * (s->aa + s->bb);
	double aa = s->aa + more, bb = s->bb + more;
	double scale = aa * bb - s->ab * s->ab, by_a, by_b;
	double shared = s->both;

	if (scale > 0) {
		by_a = (s->a_both * bb - s->b_both * s->ab) / scale;
		by_b = (s->b_both * aa - s->a_both * s->ab) / scale;
		shared += by_a * (windows_a * part - s->a) +
			  by_b * (windows_b * part - s->b);
	}
	return fmax(0, fmin(shared / part, fmin(windows_a, windows_b)));
}

static double divide(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

void sketch_shares(const struct sketch *a, const struct sketch *b,
		   struct sketch_shares *out)
{
	const bool counts = a->windows && b->windows;
	const unsigned level = sketch_joint_level(a, b);
	const size_t a_count = sketch_count_at_level(a, level);
	const size_t b_count = sketch_count_at_level(b, level);
	const double part = ldexp(1, -(int)level);
	/* Of a union, as many as the sample says: then nothing is corrected. */
	double of_a = counts ? (double)a->windows : (double)a_count / part;
	double of_b = counts ? (double)b->windows : (double)b_count / part;
	struct share_match matches[SKETCH_MOST + 1];
	struct sample_sums sums = { 0 };

	*out = (struct sketch_shares){ .a_samples = a_count,
				       .b_samples = b_count };
	out->matches = find_matches(a, a_count, b, b_count, matches);
	add_side(a, a_count, counts, &sums.a, &sums.aa);
	add_side(b, b_count, counts, &sums.b, &sums.bb);
	add_matches(a, b, matches, out->matches, counts, &sums);
	out->windows = estimate(&sums, part, of_a, of_b);
	out->of_a = divide(out->windows, of_a);
	out->of_b = divide(out->windows, of_b);
	out->of_larger = divide(out->windows, fmax(of_a, of_b));
}

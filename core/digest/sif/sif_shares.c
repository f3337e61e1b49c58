/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sif/sif.h"

#include <errno.h>
#include <math.h>

/*
 * How much two files share, estimated from their sketches.
 *
 * Up to an end that both sketches cover, all fingerprints of both files are
 * known: a sample of the windows of both, in which each has the same chance p
 * to be.  Let the sums over the sample be
 *
 *	a, b     of the times in each file
 *	both     of the lesser of the two times
 *
 * Then both / p estimates what is shared, but errs as far as chance has put
 * many or few windows into the sample, and more so where some windows occur
 * very often.  How far is known for a and b, as the number of windows of each
 * file is: so the estimate is corrected by regression,
 *
 *	shared = both / p + fa * (windows of a - a / p)
 *			  + fb * (windows of b - b / p),
 *
 * with the factors that make its variance the least, which follow from the sums
 * of the squares and products of the times.  (Cochran, Sampling Techniques,
 * 1977, chapter 7.)  For two files of one size that share the part s, the
 * variance is that of the plain estimate divided by 1 + s; for files in which a
 * few windows occur very often, and in both, it is much smaller still.
 */

/* The part of a sketch that is looked at. */
struct sif_side {
	const struct sif_sketch *s;
	size_t end;  /* values in the range */
	bool counts; /* times are known and of use */
	/* Of the values that are compared by their upper bits, those that no
	 * value of the other side equals, and the numbers that could. */
	size_t unmatched;
	double places;
};

struct share_sums {
	double a, b, both;
	double aa, bb, ab; /* of products */
	double a_both, b_both;
	size_t matches;
};

static uint64_t reach(const struct sif_sketch *s)
{
	size_t all = s->count + s->rest;

	return s->distinct == all ? UINT64_C(1) << SIF_BITS :
				    s->values[all - 1];
}

static unsigned shift_of(const struct sif_sketch *s)
{
	return s->rest ? s->rest_shift : 0;
}

/* The end of the range: of what both have in full or rounded alike. */
static uint64_t end_of_range(const struct sif_sketch *a,
			     const struct sif_sketch *b)
{
	uint64_t reach_a = reach(a), reach_b = reach(b);
	unsigned shift = shift_of(a) > shift_of(b) ? shift_of(a) : shift_of(b);

	return (reach_a < reach_b ? reach_a : reach_b) >> shift << shift;
}

static double times_at(const struct sif_side *side, size_t i)
{
	return side->counts ? side->s->times[i] : 1;
}

/* Up to where values from i on are rounded alike, and how. */
static size_t part_end(const struct sif_side *side, size_t i, unsigned *shift)
{
	if (i >= side->s->count) {
		*shift = side->s->rest_shift > *shift ? side->s->rest_shift :
							*shift;
		return side->end;
	}
	return side->s->count < side->end ? side->s->count : side->end;
}

struct sif_match {
	uint16_t a, b; /* places */
};

/* Without a branch on the values, which could not be predicted. */
static size_t match_part(const uint64_t *a, const uint64_t *b, size_t ends[2],
			 size_t at[2], unsigned shift, struct sif_match *out)
{
	size_t i = at[0], j = at[1], found = 0;

	while (i < ends[0] && j < ends[1]) {
		uint64_t x = a[i] >> shift, y = b[j] >> shift;

		out[found] = (struct sif_match){ (uint16_t)i, (uint16_t)j };
		found += x == y;
		i += x <= y;
		j += y <= x;
	}
	at[0] = i;
	at[1] = j;
	return found;
}

static void add_unmatched(struct sif_side *side, size_t count, unsigned shift)
{
	if (!shift)
		return;
	side->unmatched += count;
	side->places += ldexp((double)count, (int)shift);
}

/* The places of equal values, with room for one more. */
static size_t match_values(struct sif_side *a, struct sif_side *b,
			   struct sif_match *out)
{
	size_t at[2] = { 0 }, ends[2], old[2], found = 0, here;
	unsigned shift;

	a->unmatched = b->unmatched = 0;
	a->places = b->places = 0;
	while (at[0] < a->end && at[1] < b->end) {
		shift = 0;
		old[0] = at[0];
		old[1] = at[1];
		ends[0] = part_end(a, at[0], &shift);
		ends[1] = part_end(b, at[1], &shift);
		here = match_part(a->s->values, b->s->values, ends, at, shift,
				  out + found);
		found += here;
		add_unmatched(a, at[0] - old[0] - here, shift);
		add_unmatched(b, at[1] - old[1] - here, shift);
	}
	return found;
}

static void add_side(const struct sif_side *side, double *sum, double *squares)
{
	double times;
	size_t i;

	if (!side->counts) {
		*sum = *squares = (double)side->end;
		return;
	}
	for (i = 0; i < side->end; i++) {
		times = side->s->times[i];
		*sum += times;
		*squares += times * times;
	}
}

static void add_matches(const struct sif_side *a, const struct sif_side *b,
			const struct sif_match *matches, struct share_sums *out)
{
	double x, y, both;
	size_t i;

	for (i = 0; i < out->matches; i++) {
		/* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): filled */
		x = times_at(a, matches[i].a);
		y = times_at(b, matches[i].b);
		both = x < y ? x : y;
		out->both += both;
		out->ab += x * y;
		out->a_both += x * both;
		out->b_both += y * both;
	}
}

/* Rounded values that are equal by chance: the mean of what is expected for the
 * values of the one and for those of the other. */
static double chance_matches(const struct sif_side *a, const struct sif_side *b,
			     uint64_t end)
{
	return (a->places * (double)b->unmatched +
		b->places * (double)a->unmatched) /
	       (2 * (double)end);
}

/* The result is equal, bit for bit, when the two sketches change places. */
static double estimate(const struct share_sums *s, double part,
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

/* Of a union, as many as the sample says: then nothing is corrected. */
static double windows_of(const struct sif_side *side, double part)
{
	if (side->counts)
		return (double)side->s->windows;
	return part > 0 ? (double)side->end / part : (double)side->s->distinct;
}

static double divide(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

static double of_larger(const struct sif_shares *shares,
			const struct sif_side *a, const struct sif_side *b)
{
	uint64_t of_a = a->counts ? a->s->windows : a->s->distinct;
	uint64_t of_b = b->counts ? b->s->windows : b->s->distinct;

	if (of_a == of_b)
		return fmin(shares->of_a, shares->of_b);
	return of_a > of_b ? shares->of_a : shares->of_b;
}

int sif_find_shares(const struct sif_sketch *a, const struct sif_sketch *b,
		    struct sif_shares *out)
{
	bool counts = a->windows && b->windows;
	uint64_t end = end_of_range(a, b);
	struct sif_side sides[2] = {
		{ a, sif_count_below(a->values, a->count + a->rest, end),
		  counts, 0, 0 },
		{ b, sif_count_below(b->values, b->count + b->rest, end),
		  counts, 0, 0 }
	};
	double part = ldexp((double)end, -SIF_BITS);
	double of_a = windows_of(&sides[0], part);
	double of_b = windows_of(&sides[1], part);
	struct sif_match matches[SIF_MAX_VALUES + 1];
	struct share_sums sums = { 0 };
	double windows = 0;

	if (a->window != b->window)
		return -EINVAL;
	sums.matches = match_values(&sides[0], &sides[1], matches);
	if (sums.matches) {
		add_side(&sides[0], &sums.a, &sums.aa);
		add_side(&sides[1], &sums.b, &sums.bb);
		add_matches(&sides[0], &sides[1], matches, &sums);
		sums.both -= chance_matches(&sides[0], &sides[1], end);
		windows = estimate(&sums, part, of_a, of_b);
	}
	*out = (struct sif_shares){
		.windows = windows,
		.of_a = divide(windows, of_a),
		.of_b = divide(windows, of_b),
		.samples = sides[0].end + sides[1].end,
	};
	out->of_larger = of_larger(out, &sides[0], &sides[1]);
	return 0;
}

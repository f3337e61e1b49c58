/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/judge_impl.h"

#include <math.h>
#include <stdbool.h>

#include "core/index/judge_rules.h"

/* A shared value, with its places in each content. */
struct shared_value {
	double windows; /* the lesser of the two times */
	double weight;  /* 0..1; negative: not known */
	uint8_t a, b;   /* places */
	bool once;      /* the window occurs once in each */
	bool counts;
};

struct shared_values {
	size_t count;
	struct shared_value values[SKETCH_MOST];
	/* Of each content and place, the values at the joint level whose
	 * windows occur once. */
	uint16_t all_a[SKETCH_PLACES], all_b[SKETCH_PLACES];
	uint16_t near[SKETCH_PLACES][SKETCH_PLACES]; /* so many have these */
};

static uint8_t place_at(const struct sketch *s, size_t i)
{
	return s->is_placed ? s->places[i] : 0;
}

static void find_shared(const struct weighed_sketch *a, const struct sketch *b,
			struct shared_values *out)
{
	const struct sketch *own = a->sketch;
	const unsigned level = sketch_joint_level(own, b);
	const size_t a_count = sketch_count_at_level(own, level);
	const size_t b_count = sketch_count_at_level(b, level);
	size_t i = 0, j = 0, k;

	for (k = 0; k < a_count; k++)
		if (own->times[k] == 1)
			out->all_a[place_at(own, k)]++;
	for (k = 0; k < b_count; k++)
		if (b->times[k] == 1)
			out->all_b[place_at(b, k)]++;
	while (i < a_count && j < b_count) {
		const uint64_t x = own->values[i], y = b->values[j];

		if (x == y)
			out->values[out->count++] = (struct shared_value){
				.windows = fmin(own->times[i], b->times[j]),
				.weight = a->weights[i] ?
						  (double)a->weights[i] /
							  WEIGHT_ONE :
						  -1,
				.a = place_at(own, i),
				.b = place_at(b, j),
				.once = own->times[i] == 1 && b->times[j] == 1,
				.counts = true,
			};
		i += x <= y;
		j += y <= x;
	}
}

/* Values whose places are next to these in both contents. */
static size_t count_near(const struct shared_values *s, int a, int b)
{
	size_t count = 0;
	int i, j;

	for (i = a - 1; i <= a + 1; i++)
		for (j = b - 1; j <= b + 1; j++)
			if (i >= 0 && i < SKETCH_PLACES && j >= 0 &&
			    j < SKETCH_PLACES)
				count += s->near[i][j];
	return count;
}

/* Those that have no neighbours do not count.  Places are scaled to the larger
 * unit of the two, and such that one has PASSAGE_NEAR values on average. */
static void drop_spread(struct shared_values *s, double unit_a, double unit_b,
			unsigned level)
{
	const double unit =
		fmax(fmax(unit_a, unit_b), ldexp(PASSAGE_NEAR, (int)level));
	const double scale_a = unit_a / unit, scale_b = unit_b / unit;
	struct shared_value *v;

	for (v = s->values; v < s->values + s->count; v++)
		s->near[(int)(v->a * scale_a)][(int)(v->b * scale_b)]++;
	for (v = s->values; v < s->values + s->count; v++)
		v->counts = count_near(s, (int)(v->a * scale_a),
				       (int)(v->b * scale_b)) > PASSAGE_NEAR;
}

/* Whether the values that count are most of the values of their places, as far
 * as these are so many. */
static bool is_dense(const uint16_t counted[static SKETCH_PLACES],
		     const uint16_t all[static SKETCH_PLACES])
{
	double places = 0, squares = 0, part;
	size_t i;

	for (i = 0; i < SKETCH_PLACES; i++) {
		part = all[i] ? (double)counted[i] / all[i] : 0;
		places += part;
		squares += part * part;
	}
	return squares >= PASSAGE_DENSE * places * fmin(1, places);
}

uint64_t passage_bytes(const struct weighed_sketch *a, const struct sketch *b,
		       const struct sketch_shares *shares)
{
	const bool placed = a->sketch->is_placed && b->is_placed;
	struct shared_values s = { 0 };
	uint16_t in_a[SKETCH_PLACES] = { 0 }, in_b[SKETCH_PLACES] = { 0 };
	double all = 0, counted = 0, weights = 0, mean;
	size_t values = 0, known = 0;
	const struct shared_value *v;

	find_shared(a, b, &s);
	if (placed)
		drop_spread(&s, sketch_place_unit(a->sketch->folded),
			    sketch_place_unit(b->folded),
			    sketch_joint_level(a->sketch, b));
	for (v = s.values; v < s.values + s.count; v++) {
		all += v->windows;
		if (!v->counts || !v->once)
			continue;
		values++;
		in_a[v->a]++;
		in_b[v->b]++;
		weights += v->weight >= 0 ? v->weight : 0;
		known += v->weight >= 0;
	}
	/* The weight of those whose weight is not known. */
	mean = known ? weights / (double)known : 1;
	if (mean * (double)values < PASSAGE_VALUES ||
	    (placed && (!is_dense(in_a, s.all_a) || !is_dense(in_b, s.all_b))))
		return 0;
	for (v = s.values; v < s.values + s.count; v++)
		if (v->counts)
			counted += v->windows *
				   (v->weight >= 0 ? v->weight : mean);
	return all > 0 ? (uint64_t)(shares->windows * counted / all) : 0;
}

/*
 * If the content shares enough, at least so many of the values are shared.  The
 * listed ones are a sample of them; DEVIATIONS standard deviations allow for
 * its error.
 */
#define DEVIATIONS 4
/* Of the windows of a passage, at least so many times as many differ as on
 * average. */
#define LEAST_DIFFERENT 0.5

bool passage_is_likely(const struct sketch *own, uint64_t share_min,
		       size_t values, size_t listed, double found)
{
	double sampled, least, part;

	if (!values || !own->windows)
		return false;
	sampled = (double)values / (double)own->windows;
	least = fmax(PASSAGE_VALUES, LEAST_DIFFERENT * (double)share_min /
					     sketch_unfolded(own, 1) * sampled);
	part = (double)listed / (double)values;
	return found >=
	       part * least - DEVIATIONS * sqrt(part * (1 - part) * least);
}

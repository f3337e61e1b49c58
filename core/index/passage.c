/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/passage.h"

#include <errno.h>
#include <math.h>

/* The part of all windows that a sketch has values of, up to a bound. */
static double sampled_part(uint64_t bound)
{
	double all = (double)(UINT64_C(1) << SIF_BITS);

	return bound < UINT64_C(1) << SIF_BITS ? (double)bound / all : 1;
}

static double bytes_per_window(uint64_t size, const struct sif_sketch *sketch)
{
	if (!sketch->distinct)
		return 0;
	return fmin(PASSAGE_REPEAT, (double)size / (double)sketch->distinct);
}

/* The values that two sketches share. */
struct shared_values {
	size_t count;
	size_t weighed;  /* those whose weight is known, */
	uint64_t weight; /* and the sum of these weights */
};

static void find_shared(const struct weighed_sketch *a,
			const struct sif_sketch *b, uint64_t bound,
			struct shared_values *out)
{
	const struct sif_sketch *own = a->sketch;
	size_t i = 0, j = 0;

	*out = (struct shared_values){ 0 };
	while (i < own->count && j < b->count && own->values[i] < bound &&
	       b->values[j] < bound) {
		uint64_t x = own->values[i], y = b->values[j];

		if (x == y) {
			out->count++;
			out->weighed += a->weights[i] != 0;
			out->weight += a->weights[i];
		}
		i += x <= y;
		j += y <= x;
	}
}

/* Values whose weight is not known count as those whose weight is. */
static double count_distinctive(const struct shared_values *s)
{
	double mean = s->weighed ? (double)s->weight / (double)s->weighed :
				   WEIGHT_ONE;

	return (double)s->count * mean / WEIGHT_ONE;
}

/* At least 1 for what is worth listing, and 99 at most. */
static int percent_of(double bytes, uint64_t size)
{
	int percent = size ? score_percent(bytes / (double)size) : 0;

	return percent || bytes < 1 ? percent : 1;
}

int passage_compare(const struct weighed_sketch *a, uint64_t size_a,
		    const struct sif_sketch *b, uint64_t size_b,
		    struct index_match *out)
{
	uint64_t bound = sif_joint_bound(a->sketch, b);
	struct shared_values shared;
	double bytes = 0, values;
	int score;

	if (a->sketch->window != b->window)
		return -EINVAL;
	find_shared(a, b, bound, &shared);
	values = count_distinctive(&shared);
	if (values >= PASSAGE_VALUES)
		bytes = values / sampled_part(bound) *
			fmin(bytes_per_window(size_a, a->sketch),
			     bytes_per_window(size_b, b));
	bytes = fmin(bytes, (double)(size_a < size_b ? size_a : size_b));
	score = percent_of(bytes, size_a);
	out->bytes = (uint64_t)bytes;
	out->score = out->distinctive_score = score;
	out->is_boilerplate = false;
	return 0;
}

/*
 * If the content shares enough, at least so many of the values are shared.  The
 * listed ones are a sample of them; DEVIATIONS standard deviations allow for its
 * error.
 */
#define DEVIATIONS 4

bool passage_is_likely(const struct index_query *q,
		       const struct passage_sample *sample)
{
	const struct sif_sketch *sketch = q->sketch;
	double per_window = bytes_per_window(q->digests->size, sketch);
	double sampled, windows, least, part;

	if (!sample->values || per_window <= 0)
		return false;
	sampled = (double)sample->values / (double)sketch->distinct;
	/* A hundredth less: the range of the content is not known exactly. */
	windows = 0.99 * (double)q->share_min / per_window;
	least = fmax(PASSAGE_VALUES, windows * sampled);
	part = (double)sample->listed / (double)sample->values;
	return (double)sample->found >=
	       part * least - DEVIATIONS * sqrt(part * (1 - part) * least);
}

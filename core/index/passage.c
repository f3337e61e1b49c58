/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/passage.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* The part of all windows that a sketch has values of, up to a bound. */
static double sampled_part(uint64_t bound)
{
	double all = (double)(UINT64_C(1) << SIF_BITS);

	return bound < UINT64_C(1) << SIF_BITS ? (double)bound / all : 1;
}

/* A window that occurs several times in a content says nothing of a place, and
 * such windows are most of what two tables of one kind share. */
static bool occurs_once(const struct sif_sketch *sketch, size_t i)
{
	return !sketch->windows || sketch->times[i] == 1;
}

/* Of a content, for each of the windows that occur once. */
static double bytes_per_window(uint64_t size, const struct sif_sketch *sketch)
{
	double windows = (double)(sketch->windows ? sketch->windows : size);
	double most = sketch->windows ? PASSAGE_REPEAT_KNOWN : PASSAGE_REPEAT;
	size_t once = 0, i;

	for (i = 0; i < sketch->count; i++)
		once += occurs_once(sketch, i);
	if (!once)
		return 0;
	return fmin(most, windows * (double)sketch->count /
				  (double)sketch->distinct / (double)once);
}

/* The values that two sketches share, with their places in each, both in the
 * larger unit of the two. */
struct shared_values {
	size_t count;
	uint32_t weights[SIF_MAX_VALUES]; /* 0: not known */
	uint8_t a[SIF_MAX_VALUES], b[SIF_MAX_VALUES];
	uint16_t near[SIF_PLACES][SIF_PLACES]; /* so many have these places */
	double scale_a, scale_b; /* from the units of a sketch to that */
};

static uint8_t scaled(uint8_t place, double scale)
{
	return (uint8_t)(place % SIF_PLACES * scale);
}

static void find_shared(const struct weighed_sketch *a,
			const struct sif_sketch *b, uint64_t bound,
			struct shared_values *out)
{
	const struct sif_sketch *own = a->sketch;
	size_t i = 0, j = 0;

	out->count = 0;
	while (i < own->count && j < b->count && own->values[i] < bound &&
	       b->values[j] < bound) {
		uint64_t x = own->values[i], y = b->values[j];

		if (x == y && occurs_once(own, i) && occurs_once(b, j)) {
			out->weights[out->count] = a->weights[i];
			out->a[out->count] =
				scaled(own->places[i], out->scale_a);
			out->b[out->count++] =
				scaled(b->places[j], out->scale_b);
		}
		i += x <= y;
		j += y <= x;
	}
}

/* Values with places next to these that may be of one passage: as far from them
 * in the one content as in the other. */
static size_t count_near(const struct shared_values *s, int a, int b)
{
	size_t count = 0;
	int i, j;

	for (i = -1; i <= 1; i++) {
		if (a + i < 0 || a + i >= SIF_PLACES)
			continue;
		for (j = b + i - 1; j <= b + i + 1; j++)
			if (j >= 0 && j < SIF_PLACES)
				count += s->near[a + i][j];
	}
	return count;
}

/* Leaves those that have PASSAGE_NEAR others next to them. */
static void drop_scattered(struct shared_values *s)
{
	size_t i, kept = 0;

	memset(s->near, 0, sizeof(s->near));
	for (i = 0; i < s->count; i++)
		s->near[s->a[i]][s->b[i]]++;
	for (i = 0; i < s->count; i++) {
		s->weights[kept] = s->weights[i];
		kept += count_near(s, s->a[i], s->b[i]) > PASSAGE_NEAR;
	}
	s->count = kept;
}

/* Values whose weight is not known count as those whose weight is. */
static double count_distinctive(const struct shared_values *s)
{
	double sum = 0;
	size_t known = 0, i;

	for (i = 0; i < s->count; i++) {
		sum += s->weights[i];
		known += s->weights[i] != 0;
	}
	if (!known)
		return (double)s->count;
	return (double)s->count * sum / (double)known / WEIGHT_ONE;
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
	double unit_a = sif_place_unit(size_a), unit_b = sif_place_unit(size_b);
	double bytes = 0, values;
	struct shared_values shared;
	int score;

	if (a->sketch->window != b->window)
		return -EINVAL;
	shared.scale_a = fmin(1, unit_a / unit_b);
	shared.scale_b = fmin(1, unit_b / unit_a);
	find_shared(a, b, bound, &shared);
	if (a->sketch->is_placed && b->is_placed)
		drop_scattered(&shared);
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
 * listed ones are a sample of them; DEVIATIONS standard deviations allow for
 * its error.
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

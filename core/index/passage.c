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

/* A shared value, with its places in each content. */
struct shared_value {
	uint32_t weight; /* 0: not known */
	uint8_t a, b;
};

struct shared_values {
	size_t count;
	struct shared_value values[SIF_MAX_VALUES];
	/* Of each content and place, the values that may be shared. */
	uint16_t all_a[SIF_PLACES], all_b[SIF_PLACES];
	double scale_a, scale_b; /* from the units of a content to the larger */
	uint16_t near[SIF_PLACES][SIF_PLACES]; /* so many have these places */
};

static uint8_t place_at(const struct sif_sketch *sketch, size_t i)
{
	return sketch->is_placed ? sketch->places[i] % SIF_PLACES : 0;
}

static void add_shared(const struct weighed_sketch *a, size_t i,
		       const struct sif_sketch *b, size_t j,
		       struct shared_values *out)
{
	uint8_t place_a = place_at(a->sketch, i), place_b = place_at(b, j);

	if (!occurs_once(a->sketch, i) || !occurs_once(b, j))
		return;
	out->values[out->count++] =
		(struct shared_value){ a->weights[i], place_a, place_b };
	out->all_a[place_a]++;
	out->all_b[place_b]++;
}

static void find_shared(const struct weighed_sketch *a,
			const struct sif_sketch *b, uint64_t bound,
			struct shared_values *out)
{
	const struct sif_sketch *own = a->sketch;
	size_t i = 0, j = 0;

	for (;;) {
		uint64_t x = i < own->count ? own->values[i] : bound;
		uint64_t y = j < b->count ? b->values[j] : bound;

		if (x >= bound && y >= bound)
			break;
		if (x == y)
			add_shared(a, i, b, j, out);
		else if (x < y)
			out->all_a[place_at(own, i)] += occurs_once(own, i);
		else
			out->all_b[place_at(b, j)] += occurs_once(b, j);
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

/* Leaves those that have PASSAGE_NEAR others next to them, in the larger unit
 * of the two. */
static void drop_scattered(struct shared_values *s)
{
	size_t i, kept = 0;

	for (i = 0; i < s->count; i++)
		s->near[(int)(s->values[i].a * s->scale_a)]
		       [(int)(s->values[i].b * s->scale_b)]++;
	for (i = 0; i < s->count; i++) {
		const struct shared_value *v = &s->values[i];

		s->values[kept] = *v;
		kept += count_near(s, (int)(v->a * s->scale_a),
				   (int)(v->b * s->scale_b)) > PASSAGE_NEAR;
	}
	s->count = kept;
}

/* The weight of those whose weight is not known: the mean of the others. */
static double mean_weight(const struct shared_values *s)
{
	double sum = 0;
	size_t known = 0, i;

	for (i = 0; i < s->count; i++) {
		sum += s->values[i].weight;
		known += s->values[i].weight != 0;
	}
	return known ? sum / (double)known / WEIGHT_ONE : 1;
}

/* The values that are left, by their places in one of the contents. */
struct place_sums {
	size_t count[SIF_PLACES];
	double weight[SIF_PLACES];
};

static void sum_places(const struct shared_values *s, double mean,
		       struct place_sums *a, struct place_sums *b)
{
	const struct shared_value *v;
	double weight;
	size_t i;

	*a = *b = (struct place_sums){ 0 };
	for (i = 0; i < s->count; i++) {
		v = &s->values[i];
		weight = v->weight ? (double)v->weight / WEIGHT_ONE : mean;
		a->count[v->a]++;
		a->weight[v->a] += weight;
		b->count[v->b]++;
		b->weight[v->b] += weight;
	}
}

/* Of each place as large a part as of its values, but no more than most bytes
 * to a value. */
static double bytes_of_places(const struct place_sums *sums,
			      const uint16_t all[static SIF_PLACES],
			      uint64_t size, double most)
{
	double unit = sif_place_unit(size), sum = 0, length;
	size_t i;

	for (i = 0; i < SIF_PLACES; i++) {
		if (!all[i])
			continue;
		length = fmin(unit, (double)size - unit * (double)i);
		sum += fmin(most, length / all[i]) * sums->weight[i];
	}
	return sum;
}

/* Whether the shared values are most of the values of their places, as far as
 * these are so many. */
static bool is_dense(const struct place_sums *sums,
		     const uint16_t all[static SIF_PLACES])
{
	double places = 0, squares = 0, part;
	size_t i;

	for (i = 0; i < SIF_PLACES; i++) {
		if (!all[i])
			continue;
		part = (double)sums->count[i] / all[i];
		places += part;
		squares += part * part;
	}
	return squares >= PASSAGE_DENSE * places * fmin(1, places);
}

/* At least 1 for what is worth listing, and 99 at most. */
static int percent_of(double bytes, uint64_t size)
{
	int percent = size ? score_percent(bytes / (double)size) : 0;

	return percent || bytes < 1 ? percent : 1;
}

/* What the values that are left stand for: the mean of what the places in the
 * one content say and those in the other. */
static double bytes_in_places(const struct shared_values *s, double mean,
			      const uint64_t sizes[static 2], double most)
{
	struct place_sums a, b;

	sum_places(s, mean, &a, &b);
	if (!is_dense(&a, s->all_a) || !is_dense(&b, s->all_b))
		return 0;
	return (bytes_of_places(&a, s->all_a, sizes[0], most) +
		bytes_of_places(&b, s->all_b, sizes[1], most)) /
	       2;
}

/* The same where places are not known. */
static double bytes_anywhere(const struct weighed_sketch *a,
			     const struct sif_sketch *b,
			     const uint64_t sizes[static 2])
{
	return fmin(bytes_per_window(sizes[0], a->sketch),
		    bytes_per_window(sizes[1], b));
}

static double bytes_in_common(const struct weighed_sketch *a,
			      const struct sif_sketch *b,
			      const uint64_t sizes[static 2])
{
	double unit_a = sif_place_unit(sizes[0]);
	double unit_b = sif_place_unit(sizes[1]);
	bool is_placed = a->sketch->is_placed && b->is_placed;
	struct shared_values shared = { .scale_a = fmin(1, unit_a / unit_b),
					.scale_b = fmin(1, unit_b / unit_a) };
	uint64_t bound = sif_joint_bound(a->sketch, b);
	double part = sampled_part(bound), mean, values;

	find_shared(a, b, bound, &shared);
	if (is_placed)
		drop_scattered(&shared);
	mean = mean_weight(&shared);
	values = mean * (double)shared.count;
	if (values < PASSAGE_VALUES)
		return 0;
	if (is_placed)
		return bytes_in_places(&shared, mean, sizes,
				       PASSAGE_REPEAT_KNOWN / part);
	return values / part * bytes_anywhere(a, b, sizes);
}

int passage_compare(const struct weighed_sketch *a, uint64_t size_a,
		    const struct sif_sketch *b, uint64_t size_b,
		    struct index_match *out)
{
	const uint64_t sizes[] = { size_a, size_b };
	double bytes;
	int score;

	if (a->sketch->window != b->window)
		return -EINVAL;
	bytes = fmin(bytes_in_common(a, b, sizes),
		     (double)(size_a < size_b ? size_a : size_b));
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
/* Of the windows of a passage, so many times as many as on average occur once. */
#define LEAST_ONCE 0.5

bool passage_is_likely(const struct index_query *q,
		       const struct passage_sample *sample)
{
	const struct sif_sketch *sketch = q->sketch;
	double per_window = bytes_per_window(q->digests->size, sketch);
	double sampled, windows, least, part;

	if (!sample->values || per_window <= 0)
		return false;
	sampled = (double)sample->values / (double)sketch->distinct;
	windows = LEAST_ONCE * (double)q->share_min / per_window;
	least = fmax(PASSAGE_VALUES, windows * sampled);
	part = (double)sample->listed / (double)sample->values;
	return (double)sample->found >=
	       part * least - DEVIATIONS * sqrt(part * (1 - part) * least);
}

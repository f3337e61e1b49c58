/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sif/sif.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/kernel/kernel.h"

#define DROPPED_BITS (64 - SIF_BITS)

/* ---- the stream ---- */

static size_t pick(void *arg, const uint8_t *bytes, size_t count,
		   uint64_t bound, uint64_t *hashes_out)
{
	const uint64_t dropped = (UINT64_C(1) << DROPPED_BITS) - 1;
	const struct sif *s = arg;
	size_t i, picked;

	picked = s->kernel->pick(&s->table, bytes, count, bound | dropped,
				 hashes_out);
	for (i = 0; i < picked; i++)
		hashes_out[i] &= ~dropped;
	return picked;
}

int sif_init(struct sif *s, unsigned window, size_t max)
{
	uint64_t values[256];
	unsigned i;
	uint8_t byte;

	if (window < SIF_MIN_WINDOW || window > SIF_MAX_WINDOW || max < 2 ||
	    max > SIF_MAX_VALUES)
		return -EINVAL;
	for (i = 0; i < 256; i++) {
		byte = (uint8_t)i;
		values[i] = XXH3_64bits(&byte, 1);
	}
	kernel_sif_init(&s->table, values, window);
	s->kernel = kernel_best()->sif;
	sif_begin(s, max);
	return 0;
}

size_t sif_samples(uint64_t size)
{
	size_t values = sif_values(size);

	return values > SIF_SAMPLES ? values : SIF_SAMPLES;
}

size_t sif_values(uint64_t size)
{
	if (size <= (uint64_t)SIF_VALUES * SIF_SHARE)
		return SIF_VALUES;
	if (size >= (uint64_t)SIF_MAX_VALUES * SIF_SHARE)
		return SIF_MAX_VALUES;
	return (size_t)(size / SIF_SHARE);
}

void sif_begin(struct sif *s, size_t max)
{
	window_sample_begin(&s->sample, s->table.window, max, pick, s);
	bottom_k_count(&s->sample.smallest);
	run_count_begin(&s->runs, s->table.window);
}

void sif_update(struct sif *s, const void *data, size_t len)
{
	window_sample_update(&s->sample, data, len);
	run_count_update(&s->runs, data, len);
}

void sif_update_zeros(struct sif *s, uint64_t len)
{
	window_sample_update_zeros(&s->sample, len);
	run_count_update_zeros(&s->runs, len);
}

/* ---- sketches ---- */

/* How many values there are in all, when these are the smallest: unbiased,
 * with a relative standard deviation of 1 / sqrt(count - 2). */
static uint64_t estimate(const uint64_t *values, size_t count)
{
	uint64_t covered = values[count - 1] + 1; /* of 2^SIF_BITS */
	uint64_t number;

	assert(covered > count - 1 && covered <= UINT64_C(1) << SIF_BITS);
	number = ((uint64_t)(count - 1) << SIF_BITS) / covered;
	return number > count ? number : count + 1;
}

/* A full sketch may be one of many. */
static void count_distinct(struct sif_sketch *sketch, bool full)
{
	sketch->distinct =
		full ? estimate(sketch->values, sketch->count) : sketch->count;
}

double sif_place_unit(uint64_t size)
{
	double unit = (double)size / SIF_PLACES;

	return unit < WINDOW_SAMPLE_UNIT ? WINDOW_SAMPLE_UNIT : unit;
}

/* Where in a file of so many units. */
static uint8_t place_of(uint64_t unit, uint64_t units)
{
	uint64_t place = units > SIF_PLACES ? unit * SIF_PLACES / units : unit;

	return place < SIF_PLACES ? (uint8_t)place : SIF_PLACES - 1;
}

void sif_final(struct sif *s, struct sif_sketch *out)
{
	const uint64_t units = (s->sample.length + WINDOW_SAMPLE_UNIT - 1) /
			       WINDOW_SAMPLE_UNIT;
	struct bottom_k *b = &s->sample.smallest;
	size_t i;

	bottom_k_sort(b);
	out->window = s->table.window;
	out->windows = run_count_others(&s->runs);
	out->count = b->count;
	out->rest = 0;
	out->rest_shift = 0;
	out->is_placed = b->count && units > 1;
	for (i = 0; i < b->count; i++) {
		out->values[i] = b->values[i] >> DROPPED_BITS;
		out->times[i] = sif_round(b->seen[i].times);
	}
	for (i = 0; i < b->count && out->is_placed; i++)
		out->places[i] = place_of(b->seen[i].last, units);
	count_distinct(out, b->count == b->max);
}

uint32_t sif_round(uint32_t times)
{
	unsigned dropped;

	if (times < 32)
		return times;
	dropped = 32 - 5 - (unsigned)__builtin_clz(times);
	return times >> dropped << dropped;
}

void sif_cut(struct sif_sketch *sketch, size_t max)
{
	size_t all = sketch->count + sketch->rest;

	if (all < max || (all == max && sketch->rest))
		return;
	if (max <= sketch->count) {
		sketch->count = max;
		sketch->rest = 0;
		sketch->rest_shift = 0;
		count_distinct(sketch, true);
		return;
	}
	sketch->rest = max - sketch->count;
}

/* So that 2^SIF_REST_BITS places come to each of count values. */
static unsigned shift_for(uint64_t range, size_t count)
{
	uint64_t place = (range / count) >> SIF_REST_BITS;

	return place > 1 ? 63 - (unsigned)__builtin_clzll(place) : 0;
}

void sif_thin(struct sif_sketch *sketch, size_t full)
{
	bool complete = sketch->distinct == sketch->count;
	uint64_t range;
	size_t i;

	if (sketch->rest || sketch->count <= full)
		return;
	range = complete ? UINT64_C(1) << SIF_BITS :
			   sketch->values[sketch->count - 1];
	sketch->rest_shift = shift_for(range, sketch->count);
	for (i = full; i < sketch->count; i++)
		sketch->values[i] = sketch->values[i] >>
				    sketch->rest_shift << sketch->rest_shift;
	sketch->rest = sketch->count - full;
	sketch->count = full;
}

static bool is_complete(const struct sif_sketch *sketch)
{
	return sketch->distinct == sketch->count;
}

/* The value at the bound itself is in the sketch by the choice of the bound,
 * not by chance. */
uint64_t sif_known(const struct sif_sketch *sketch)
{
	return is_complete(sketch) ? UINT64_MAX :
				     sketch->values[sketch->count - 1];
}

uint64_t sif_joint_bound(const struct sif_sketch *a, const struct sif_sketch *b)
{
	uint64_t known_a = sif_known(a), known_b = sif_known(b);

	return known_a < known_b ? known_a : known_b;
}

size_t sif_count_below(const uint64_t *values, size_t count, uint64_t bound)
{
	size_t low = 0, middle;

	while (low < count) {
		middle = low + (count - low) / 2;
		if (values[middle] < bound)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

/* Walks two sketches in step. */
struct sketch_walk {
	const struct sif_sketch *a, *b;
	size_t i, j;
	uint64_t value;  /* where it stands, */
	bool in_a, in_b; /* and whose that is */
};

static bool walk_on(struct sketch_walk *w)
{
	bool more_a = w->i < w->a->count, more_b = w->j < w->b->count;
	uint64_t a = more_a ? w->a->values[w->i] : UINT64_MAX;
	uint64_t b = more_b ? w->b->values[w->j] : UINT64_MAX;

	w->value = a < b ? a : b;
	w->in_a = more_a && a <= b;
	w->in_b = more_b && b <= a;
	w->i += w->in_a;
	w->j += w->in_b;
	return more_a || more_b;
}

int sif_merge(struct sif_sketch *into, const struct sif_sketch *from,
	      size_t max)
{
	uint64_t known_into = sif_known(into), known_from = sif_known(from);
	uint64_t known = known_into < known_from ? known_into : known_from;
	struct sif_sketch both = { .window = into->window };
	struct sketch_walk w = { .a = into, .b = from };

	if (into->window != from->window || max < 2 || max > SIF_MAX_VALUES)
		return -EINVAL;
	while (both.count < max && walk_on(&w) && w.value <= known)
		both.values[both.count++] = w.value;
	count_distinct(&both, both.count == max || known != UINT64_MAX);
	*into = both;
	return 0;
}

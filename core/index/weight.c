/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/weight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/index/judge_rules.h"
#include "core/index/licences.h"

/* Of the number of counters. */
enum { FIRST_BITS = 14, MOST_BITS = 22 };

/* Every access to a large table is to another page: with huge ones their
 * addresses stay in the processor's cache of translations. */
#define HUGE_PAGE ((size_t)2 << 20)

struct frequency {
	uint16_t *count; /* owned; they saturate */
	unsigned bits;
	uint64_t values; /* that were counted */
};

static size_t size_of(const struct frequency *f) /* counters */
{
	return (size_t)1 << f->bits;
}

/* Not set to 0.  NULL: there is no memory. */
static uint16_t *counters_new(size_t size)
{
	size_t bytes = size * sizeof(uint16_t);
	uint16_t *count;

	if (bytes < HUGE_PAGE)
		return malloc(bytes);
	count = aligned_alloc(HUGE_PAGE, bytes);
	if (count)
		(void)madvise(count, bytes, MADV_HUGEPAGE);
	return count;
}

int frequency_new(struct frequency **out)
{
	struct frequency *f = calloc(1, sizeof(*f));

	if (f) {
		f->bits = FIRST_BITS;
		f->count = counters_new(size_of(f));
	}
	if (!f || !f->count) {
		free(f);
		return -ENOMEM;
	}
	memset(f->count, 0, size_of(f) * sizeof(*f->count));
	*out = f;
	return 0;
}

void frequency_free(struct frequency *f)
{
	free(f ? f->count : NULL);
	free(f);
}

size_t frequency_bytes(const struct frequency *f)
{
	return sizeof(*f) + size_of(f) * sizeof(*f->count);
}

/* ---- counting ---- */

static size_t place_of(const struct frequency *f, uint64_t value)
{
	return sketch_spread(value) >> (64 - f->bits);
}

/* Twice as many counters: two follow from each, and have what it had.  Without
 * memory it stays as it is, which is less exact. */
static void grow(struct frequency *f)
{
	size_t size = size_of(f), i;
	uint16_t *count = counters_new(2 * size);

	if (!count)
		return;
	for (i = 0; i < 2 * size; i++)
		count[i] = f->count[i / 2];
	free(f->count);
	f->count = count;
	f->bits++;
}

/* The counters are larger than the cache: those of the values that follow are
 * fetched meanwhile. */
#define FETCHED_AHEAD 16

void frequency_add(struct frequency *f, const struct sketch *sketch)
{
	const uint64_t *values = sketch->values;
	size_t i;

	if (f->values > size_of(f) && f->bits < MOST_BITS)
		grow(f);
	for (i = 0; i < sketch->count; i++) {
		uint16_t *count = &f->count[place_of(f, values[i])];

		if (i + FETCHED_AHEAD < sketch->count)
			__builtin_prefetch(
				&f->count[place_of(f,
						   values[i + FETCHED_AHEAD])],
				1);
		if (*count < UINT16_MAX)
			(*count)++;
	}
	f->values += sketch->count;
}

uint32_t frequency_contents(const struct frequency *f, uint64_t value)
{
	double count = f->count[place_of(f, value)];
	double others = (double)f->values / (double)size_of(f);

	/* Without lround(), which is a call for each value of a query. */
	return count - others < 1 ? 1 : (uint32_t)(count - others + 0.5);
}

/* ---- weights ---- */

uint32_t weight_of_contents(uint32_t contents)
{
	double part;
	int doubled;

	if (contents <= WEIGHT_FULL)
		return contents ? WEIGHT_ONE : 0;
	part = (double)WEIGHT_FULL / contents;
	for (doubled = 1; doubled < WEIGHT_POWER; doubled *= 2)
		part *= part;
	/* 0 is the weight of what is not known. */
	return 1 + (uint32_t)(WEIGHT_ONE * part);
}

uint32_t weight_contents(const struct weigher *w, uint64_t value)
{
	const uint32_t contents =
		w->frequency ? frequency_contents(w->frequency, value) :
		w->contents  ? w->contents(w->arg, value) :
			       1;

	/* Of what is common in any case the numbers tell where it ends. */
	return contents <= WEIGHT_COMMON && licence_has(value) ? UINT16_MAX :
								 contents;
}

void weight_sketch(const struct weigher *w, const struct sketch *sketch,
		   struct weighed_sketch *out)
{
	size_t i;

	out->sketch = sketch;
	out->has_common = false;
	out->sums[0] = 0;
	for (i = 0; i < sketch->count; i++) {
		out->contents[i] = weight_contents(w, sketch->values[i]);
		out->weights[i] = weight_of_contents(out->contents[i]);
		out->sums[i + 1] = out->sums[i] + out->weights[i];
		out->has_common |= out->contents[i] > WEIGHT_FULL;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/frequency.h"

#include <errno.h>
#include <stdlib.h>

enum { TABLE_BITS = 22, TABLE_SIZE = 1 << TABLE_BITS };

struct frequency {
	uint64_t total;
	uint16_t count[TABLE_SIZE]; /* saturates */
};

int frequency_new(struct frequency **out)
{
	struct frequency *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	*out = f;
	return 0;
}

void frequency_free(struct frequency *f)
{
	free(f);
}

size_t frequency_bytes(const struct frequency *f)
{
	return sizeof(*f);
}

static size_t place_of(uint64_t value)
{
	return sif_spread(value) >> (64 - TABLE_BITS);
}

/* The counters are larger than the cache: those of the values that follow are
 * fetched meanwhile. */
#define FETCHED_AHEAD 16

void frequency_add(struct frequency *f, const struct sif_sketch *sketch)
{
	const uint64_t *values = sketch->values;
	size_t i;

	for (i = 0; i < sketch->count; i++) {
		uint16_t *count = &f->count[place_of(values[i])];

		if (i + FETCHED_AHEAD < sketch->count)
			__builtin_prefetch(
				&f->count[place_of(values[i + FETCHED_AHEAD])],
				1);
		if (*count < UINT16_MAX)
			(*count)++;
	}
	f->total += sketch->count;
}

double frequency_weight_of(double contents)
{
	double part = FREQUENCY_COMMON / contents;

	return contents <= FREQUENCY_COMMON ? 1 : part * part * part;
}

double frequency_weight(const struct frequency *f, uint64_t value)
{
	double count = f->count[place_of(value)];
	double others = (double)f->total / TABLE_SIZE;

	return frequency_weight_of(count - others);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sif/sif.h"

#include <assert.h>

#include "core/digest/sif/sif_impl.h"

/*
 * Rounded values are numbered in ascending order, without a gap: up to
 * 2^SIF_VALUE_BITS by themselves, and behind that 2^(SIF_VALUE_BITS - 1)
 * numbers for each power of two.
 */
#define OCTAVE (SIF_VALUE_BITS - 1)

static uint64_t number_of(uint64_t value)
{
	unsigned dropped = sif_dropped_bits(value);

	return ((uint64_t)dropped << OCTAVE) + (value >> dropped);
}

static uint64_t value_of(uint64_t number)
{
	uint64_t octave = number >> OCTAVE;
	unsigned dropped = octave ? (unsigned)octave - 1 : 0;

	assert(octave < SIF_BITS);
	return (number - ((uint64_t)dropped << OCTAVE)) << dropped;
}

/* There are fewer values than numbers below the first one where two of them can
 * meet. */
void sif_round_values(struct sif_sketch *sketch)
{
	uint64_t number, next = UINT64_MAX;
	size_t i = sketch->count;

	while (i-- > 0) {
		number = number_of(sketch->values[i]);
		if (number >= next)
			number = next - 1;
		sketch->values[i] = value_of(number);
		next = number;
	}
}

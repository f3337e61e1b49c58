/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/simhash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/kernel/kernel.h"

/* ---- the stream ---- */

static size_t pick(void *arg, const uint8_t *bytes, size_t count,
		   uint64_t bound, uint64_t *keys_out)
{
	const struct simhash *s = arg;

	if (window_is_run(bytes, count))
		count = 1;
	return s->ops->pick(bytes, count, bound, keys_out);
}

void simhash_init(struct simhash *s)
{
	s->ops = kernel_best()->window;
	window_sample_begin(&s->sample, SIMHASH_WINDOW, SIMHASH_SAMPLE, pick,
			    s);
}

void simhash_update(struct simhash *s, const void *data, size_t len)
{
	window_sample_update(&s->sample, data, len);
}

void simhash_update_zeros(struct simhash *s, uint64_t len)
{
	window_sample_update_zeros(&s->sample, len);
}

/* ---- the result ---- */

/* Bit i is set where more than half of the values have it set. */
static uint64_t majority(const uint32_t sums[64], size_t count)
{
	uint64_t result = 0;
	size_t i;

	for (i = 0; i < 64; i++)
		if (2 * (size_t)sums[i] > count)
			result |= UINT64_C(1) << i;
	return result;
}

uint64_t simhash_final(struct simhash *s)
{
	struct bottom_k *b = &s->sample.smallest;
	uint32_t sums[64] = { 0 };

	if (b->count == 0) /* too short for a window */
		return s->sample.fill ?
			       XXH3_64bits(s->sample.last, s->sample.fill) :
			       0;
	bottom_k_settle(b);
	s->ops->sum(b->values, b->count, sums);
	return majority(sums, b->count);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/weight.h"

#include "core/index/judge_rules.h"

uint32_t weight_of_contents(uint32_t contents)
{
	double part;

	if (contents <= WEIGHT_FULL)
		return contents ? WEIGHT_ONE : 0;
	part = (double)WEIGHT_FULL / contents;
	return (uint32_t)(WEIGHT_ONE * part * part * part);
}

uint32_t weight_contents(const struct weigher *w, uint64_t value)
{
	return w->frequency ? frequency_contents(w->frequency, value) :
			      w->contents(w->arg, value);
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

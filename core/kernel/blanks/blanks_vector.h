/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_BLANKS_BLANKS_VECTOR_H
#define CORE_KERNEL_BLANKS_BLANKS_VECTOR_H

#include "core/kernel/blanks/blanks.h"

/*
 * Blanks of several bytes, and controls, once for all vectors.  A file that
 * includes this has defined TARGET_FEATURES, and TARGET for what is inlined;
 * STEP, the bytes of a vector; the type mask, a bit for each of them; and
 * equal(p, byte), the bytes at p that are as given.  It defines drop_step()
 * afterwards.
 */
#ifdef TARGET

/* Those that belong to a blank of several bytes. */
static TARGET inline mask long_blanks(const uint8_t *p)
{
	mask found = equal(p, 0xc2) & equal(p + 1, 0xa0);

	found |= equal(p, 0xa0) & equal(p - 1, 0xc2);
	found |= equal(p, 0xef) & equal(p + 1, 0xbb) & equal(p + 2, 0xbf);
	found |= equal(p, 0xbb) & equal(p - 1, 0xef) & equal(p + 1, 0xbf);
	found |= equal(p, 0xbf) & equal(p - 2, 0xef) & equal(p - 1, 0xbb);
	return found;
}

static TARGET inline void count_controls(const uint8_t *p, mask low,
					 struct kernel_blanks_state *state)
{
	low &= ~(equal(p, '\b') | equal(p, '\033'));
	state->controls += (uint64_t)_mm_popcnt_u64(low);
	state->has_nul |= equal(p, 0) != 0;
}

/* drop() for STEP bytes at p. */
static TARGET inline size_t drop_step(const uint8_t *p,
				      struct kernel_blanks_state *state,
				      uint8_t *out);

__attribute__((target(TARGET_FEATURES))) static size_t drop(
	const uint8_t *bytes, size_t count, struct kernel_blanks_state *state,
	uint8_t *out)
{
	uint8_t *to = out;
	size_t i;

	for (i = 0; i + STEP <= count; i += STEP)
		to += drop_step(bytes + i, state, to);
	to += blanks_scalar.drop(bytes + i, count - i, state, to);
	return (size_t)(to - out);
}

#endif

#endif

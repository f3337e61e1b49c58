/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_SKETCH_SKETCH_IMPL_H
#define CORE_DIGEST_SKETCH_SKETCH_IMPL_H

#include <stddef.h>
#include <stdint.h>

#include "core/digest/sketch/sketch.h"

/* Private to core/digest/sketch. */

/* How many of the lowest bits of a key are not kept. */
static inline unsigned sketch_dropped(uint64_t key)
{
	return key >> SKETCH_VALUE_BITS ?
		       64 - SKETCH_VALUE_BITS - (unsigned)__builtin_clzll(key) :
		       0;
}

/* The windows of so many folded bytes, those of one repeated byte among them. */
static inline uint64_t sketch_windows_most(uint64_t folded)
{
	return folded < SKETCH_WINDOW ? 0 : folded - SKETCH_WINDOW + 1;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_SKETCH_CUT_H
#define TESTS_SUPPORT_SKETCH_CUT_H

#include "core/digest/sketch/sketch.h"

/* Raises the level until there are at most so many values. */
static inline void sketch_cut(struct sketch *sketch, size_t most)
{
	while (sketch->count > most)
		sketch_raise(sketch, sketch->level + 1);
}

#endif

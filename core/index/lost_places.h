/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_LOST_PLACES_H
#define CORE_INDEX_LOST_PLACES_H

#include <stdbool.h>

#include "core/digest/sif/sif.h"

/*
 * Whether as many windows of a content are lost in one part of it as in
 * another, as single bytes that are changed all over it do, and passages that
 * are new do not.
 *
 * Private to core/index and its tests.
 */

/* share16: the share of the windows that are left; the places of both sketches
 * are known.  larger: of the content with more distinct windows. */
bool lost_places_are_even(const struct sif_sketch *larger,
			  const struct sif_sketch *other, double share16);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_PIECE_RUNS_H
#define CORE_INDEX_PIECE_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/digest/sise.h"

/*
 * Runs of pieces that two contents of one size have in common.
 *
 * A SiSe signature has a pair of characters for each piece of a content, in
 * order (sise.h).  Where single bytes were changed all over a content, hardly
 * many pieces in a row are left.  Where passages are new, all pieces between
 * them are.
 *
 * If a part of all bytes is changed, at random, a piece of b bytes on average
 * is left with the probability 1 / (1 + part * b), because the lengths of
 * pieces are distributed exponentially.
 *
 * Private to core/index and its tests.
 */

/* Whether so long a run is common that it is next to impossible if single bytes
 * were changed, which are that part of all bytes.  False, too, where the
 * signatures do not tell. */
bool piece_runs_are_long(const struct sise_signature *a,
			 const struct sise_signature *b, uint64_t size,
			 double part);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_SIGHTINGS_H
#define CORE_INDEX_SIGHTINGS_H

#include "core/index/best.h"

/* Offers the contents that have values of q->sketch; by_share: so many that a
 * share of q->least is likely.  The caller holds no lock; private to
 * core/index.  -ENOMEM. */
int sightings_offer(struct index *ix, const struct index_query *q,
		    bool by_share, struct best *best);

#endif

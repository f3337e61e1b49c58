/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_POSTING_OVERLAP_H
#define CORE_INDEX_POSTING_OVERLAP_H

#include "core/index/best.h"

/*
 * Finds the contents that share values with q->sketch and adds them to best;
 * by_share: without those that can hardly share q->least percent.  Called
 * without a lock.  -ENOMEM.  Private to core/index.
 */
int posting_overlap_find(struct index *ix, const struct index_query *q,
			 bool by_share, struct best_candidates *best);

#endif

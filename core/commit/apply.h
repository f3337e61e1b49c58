/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_COMMIT_APPLY_H
#define CORE_COMMIT_APPLY_H

#include "core/commit/commit.h"

/* Does to the catalog what an event says.  What is already so, or gone, is no
 * error. */
int event_apply(struct engine *e, struct catalog_txn *txn,
		const struct event *ev);

#endif

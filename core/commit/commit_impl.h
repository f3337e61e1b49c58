/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_COMMIT_COMMIT_IMPL_H
#define CORE_COMMIT_COMMIT_IMPL_H

#include "core/commit/commit.h"

enum {
	BATCH_EVENTS = 4096,  /* a commit at least this often */
	BATCH_MS = 5000,      /* ... and this soon after a post */
	QUIET_MS = 250,       /* ... or so soon when no other one follows */
	BATCH_MAX = 16384,    /* events of one transaction */
	RETRY_MS = 2000,      /* after a failure */
	LISTINGS_MANY = 256,  /* then the scan waits */
	EVENTS_MANY = 32768,  /* then the scan waits, and the gate is open */
	EVENTS_MAX = 262144,  /* then all but results are dropped */
	STUCK_RESULTS = 4096, /* results kept while nothing can be written */
};

/* ---- apply.c ---- */

/* Does to the catalog what an event says.  What is already so, or gone, is no
 * error. */
int event_apply(const struct committer *c, struct catalog_txn *txn,
		const struct event *ev);

/* ---- batch.c; all by the committer's thread ---- */

/* Writes the events first..(count of them) and tells the index.  Events that a
 * damaged catalog cannot take are left out. */
int batch_write(struct committer *c, const struct event *first, size_t count);

#endif

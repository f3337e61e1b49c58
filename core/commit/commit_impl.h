/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_COMMIT_COMMIT_IMPL_H
#define CORE_COMMIT_COMMIT_IMPL_H

#include <string.h>

#include "core/commit/commit.h"

enum {
	BATCH_MS = 5000,   /* a batch is due so long after the first event, */
	QUIET_MS = 250,    /* ... or so long after the last one. */
	BATCH_MAX = 16384, /* events of one transaction */
	RETRY_MS = 2000,   /* after a failure */
	REST_MS = 1000,    /* after the last batch, memory is returned */
};

static inline struct catalog_name name_of(const char *text)
{
	return (struct catalog_name){ text, strlen(text) };
}

/* ---- apply.c ---- */

/* Applies an event to the catalog.  It is no error if the catalog already has
 * what the event says, or misses what it removes. */
int event_apply(const struct committer *c, struct catalog_txn *txn,
		const struct event *ev);

/* ---- report.c: events of names, if somebody watches ---- */

/* Before the name is removed: of a directory, of all files below it. */
int report_removed(const struct committer *c, struct catalog_txn *txn,
		   const struct file_key *parent, const char *name);
/* catalog_name_set(); a file whose content is known already is new there. */
int report_name_set(const struct committer *c, struct catalog_txn *txn,
		    const struct file_key *parent, const char *name,
		    const struct file_key *key);
/* catalog_name_move(). */
int report_name_move(const struct committer *c, struct catalog_txn *txn,
		     const struct event *ev);

#endif

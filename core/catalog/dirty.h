/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CATALOG_DIRTY_H
#define CORE_CATALOG_DIRTY_H

#include <stdint.h>

#include "core/catalog/catalog.h"

/*
 * The set of files that changed since a share (kin-share) published them last.
 *
 * It is a set, not a log: a file that changed a hundred times has one entry,
 * with the number of its last change.  The entry is written in the transaction
 * of the change.  A directory gets an entry when it is renamed, or when its key
 * becomes that of a directory.
 *
 * Changes are recorded only if the catalog's directory has a subdirectory
 * CATALOG_SHARE_DIRECTORY; otherwise a write transaction costs one access().
 * Write transactions that record changes are numbered.  The numbers are valid
 * for one incarnation, a random number.  After a reader has read everything in
 * a snapshot, the later changes are exactly the entries of the same incarnation
 * with greater numbers than the snapshot's.
 *
 * A share cannot write to the catalog.  It acknowledges a number in a file.
 * Later write transactions remove entries up to that number, at most a few
 * thousand each.
 */
#define CATALOG_SHARE_DIRECTORY "share"

struct dirty_mark {
	uint64_t incarnation; /* 0: no change has been recorded */
	uint64_t change;      /* number of the last change */
};

/* Begins to record changes: makes CATALOG_SHARE_DIRECTORY. */
int dirty_register(const struct catalog *c);

/* The last change that the transaction sees. */
int dirty_get_mark(struct catalog_txn *txn, struct dirty_mark *out);

/* A walk over the files and directories in order of their keys, from that one on
 * (NULL: all).  dirty_next() gives those with a change after that number. */
int dirty_begin(struct catalog_txn *txn, const struct file_key *from,
		struct catalog_walk **out);
int dirty_next(struct catalog_walk *w, uint64_t change,
	       struct file_key *key_out);

/* Entries up to that mark are no longer needed. */
int dirty_acknowledge(const struct catalog *c, const struct dirty_mark *mark);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CATALOG_DIRTY_H
#define CORE_CATALOG_DIRTY_H

#include <stdint.h>

#include "core/catalog/catalog.h"

/*
 * Which files changed since a share (core/share) published them last.
 *
 * It is a set, not a log: a file that changed a hundred times has one entry,
 * the number of its last change.  An entry is written in the transaction of the
 * change.  A directory has one when its name changed, or what it is.
 *
 * Changes are recorded only while the directory CATALOG_SHARE_DIRECTORY is in
 * that of the catalog; a catalog that is not shared pays one access() for each
 * transaction that writes.  Each such transaction has a number, the next one.
 * The numbers begin with a random incarnation.  If a reader has read everything
 * in a snapshot of the same incarnation, the entries with numbers above that of
 * the snapshot are all that changed later.
 *
 * A share cannot write to the catalog.  It leaves the number up to which it
 * needs no entries in a file, and the next transactions remove them, a few
 * thousand each.
 */
#define CATALOG_SHARE_DIRECTORY "share"

struct dirty_mark {
	uint64_t incarnation; /* 0: no change was recorded so far */
	uint64_t change;      /* the last one */
};

/* From now on changes are recorded. */
int dirty_register(const char *directory);

/* Up to which change the transaction sees. */
int dirty_get_mark(struct catalog_txn *txn, struct dirty_mark *out);

/* The files and directories that changed after a change, in order of their
 * keys, beginning behind *from (NULL: all), until each returns something else
 * than 0, which is returned then. */
int dirty_each(struct catalog_txn *txn, uint64_t change,
	       const struct file_key *from,
	       int (*each)(void *arg, const struct file_key *key), void *arg);

/* Entries up to that mark are not needed any more. */
int dirty_acknowledge(const char *directory, const struct dirty_mark *mark);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CATALOG_CHECK_IMPL_H
#define CORE_CATALOG_CHECK_IMPL_H

#include "core/catalog/catalog_impl.h"

/*
 * Changes to single records, collected while the databases are walked and
 * made between two walks.  NULL takes what it is given and forgets it.
 */
struct edits;

int edits_drop(struct edits *edits, enum catalog_db db, const void *key,
	       size_t key_len);
int edits_put(struct edits *edits, enum catalog_db db, const void *key,
	      size_t key_len, const void *value, size_t value_len);

/* Makes the changes and forgets them. */
int edits_apply(struct edits *edits, struct catalog_txn *txn);

struct check {
	struct catalog_txn *txn;
	const struct file_key *root;
	struct buf *report;
	struct edits *edits; /* NULL: nothing is changed */
	unsigned findings;
	struct catalog_counts counts; /* counted anew */
};

/* One walk over everything; 0 with findings too. */
int check_all(struct check *c);

#endif

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

/* ---- findings ---- */

/* A report that nobody reads to the end need not be complete. */
#define CHECK_FINDINGS_MAX 1000

int check_note(struct check *c, const char *text);
int check_note_file(struct check *c, const struct file_key *key,
		    const char *text);
int check_note_content(struct check *c, uint32_t content, const char *text);

/* The same, and the record with this key has to go. */
int check_wrong(struct check *c, enum catalog_db db, const MDB_val *key,
		const char *text);
int check_wrong_file(struct check *c, enum catalog_db db, const MDB_val *key,
		     const struct file_key *file, const char *text);
int check_wrong_content(struct check *c, enum catalog_db db, const MDB_val *key,
			uint32_t content, const char *text);

/* 1 when it has a readable record, 0 when not. */
int check_find_file(struct check *c, const struct file_key *key,
		    struct file_record *out);
int check_find_content(struct check *c, uint32_t content, struct digests *out);

/* ---- one record of each database ---- */

int check_file(struct check *c, const MDB_val *key, const MDB_val *value);
int check_pending_mark(struct check *c, const MDB_val *key,
		       const MDB_val *value);
int check_name(struct check *c, const MDB_val *key, const MDB_val *value);
int check_link(struct check *c, const MDB_val *key, const MDB_val *value);
int check_content(struct check *c, const MDB_val *key, const MDB_val *value);
int check_texts(struct check *c, const MDB_val *key, const MDB_val *value);
int check_sketch(struct check *c, const MDB_val *key, const MDB_val *value);
int check_identity(struct check *c, const MDB_val *key, const MDB_val *value);
int check_copy(struct check *c, const MDB_val *key, const MDB_val *value);

#endif

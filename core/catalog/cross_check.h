/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CATALOG_CROSS_CHECK_H
#define CORE_CATALOG_CROSS_CHECK_H

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

struct cross_check {
	struct catalog_txn *txn;
	const struct file_key *root;
	struct buf *report;
	struct edits *edits; /* NULL: nothing is changed */
	unsigned findings;
	struct catalog_counts counts; /* counted anew */
};

/* One walk over everything; 0 with findings too. */
int cross_check_all(struct cross_check *c);

/* ---- findings ---- */

/* A report that nobody reads to the end need not be complete. */
#define CHECK_FINDINGS_MAX 1000

int cross_check_note(struct cross_check *c, const char *text);
int cross_check_note_file(struct cross_check *c, const struct file_key *key,
			  const char *text);
int cross_check_note_content(struct cross_check *c, uint32_t content,
			     const char *text);

/* The same, and the record with this key has to go. */
int cross_check_wrong(struct cross_check *c, enum catalog_db db,
		      const MDB_val *key, const char *text);
int cross_check_wrong_file(struct cross_check *c, enum catalog_db db,
			   const MDB_val *key, const struct file_key *file,
			   const char *text);
int cross_check_wrong_content(struct cross_check *c, enum catalog_db db,
			      const MDB_val *key, uint32_t content,
			      const char *text);

/* 1 when it has a readable record, 0 when not. */
int cross_check_find_file(struct cross_check *c, const struct file_key *key,
			  struct file_record *out);
int cross_check_find_content(struct cross_check *c, uint32_t content,
			     struct digests *out);

/* ---- one record of each database ---- */

int cross_check_file(struct cross_check *c, const MDB_val *key,
		     const MDB_val *value);
int cross_check_pending_mark(struct cross_check *c, const MDB_val *key,
			     const MDB_val *value);
int cross_check_name(struct cross_check *c, const MDB_val *key,
		     const MDB_val *value);
int cross_check_link(struct cross_check *c, const MDB_val *key,
		     const MDB_val *value);
int cross_check_content(struct cross_check *c, const MDB_val *key,
			const MDB_val *value);
int cross_check_texts(struct cross_check *c, const MDB_val *key,
		      const MDB_val *value);
int cross_check_sketch(struct cross_check *c, const MDB_val *key,
		       const MDB_val *value);
int cross_check_identity(struct cross_check *c, const MDB_val *key,
			 const MDB_val *value);
int cross_check_copy(struct cross_check *c, const MDB_val *key,
		     const MDB_val *value);

#endif

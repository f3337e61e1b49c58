/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CATALOG_CROSS_CHECK_H
#define CORE_CATALOG_CROSS_CHECK_H

#include "core/catalog/catalog_impl.h"

/*
 * The cross-check of the tables.  It walks over every table once, and looks up
 * the records in other tables that each record implies.  A contradiction is a
 * finding, one line in the report.  An error of the system ends the walk.
 */
struct cross_check {
	struct catalog_txn *txn;
	const struct file_key *root; /* or NULL */
	struct buf *report;
	int digest; /* whose table is walked over */
	unsigned findings;
	struct catalog_counts counts; /* of the records walked over */
};

/* ---- findings ---- */

/* Most findings in the report; further ones are only counted. */
#define CROSS_CHECK_REPORTED 1000

int cross_check_note(struct cross_check *c, const char *text);
int cross_check_note_file(struct cross_check *c, const struct file_key *key,
			  const char *text);
int cross_check_note_content(struct cross_check *c, uint32_t content,
			     const char *text);

/* 1: there is a valid record, 0: there is none; or an error. */
int cross_check_find_file(struct cross_check *c, const struct file_key *key,
			  struct file_record *out);
int cross_check_find_content(struct cross_check *c, uint32_t content,
			     struct digests *out);

/* ---- one record of each table; findings are no errors ---- */

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
int cross_check_digest(struct cross_check *c, const MDB_val *key,
		       const MDB_val *value);
int cross_check_identity(struct cross_check *c, const MDB_val *key,
			 const MDB_val *value);
int cross_check_copy(struct cross_check *c, const MDB_val *key,
		     const MDB_val *value);

#endif

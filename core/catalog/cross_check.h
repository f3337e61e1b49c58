/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CATALOG_CROSS_CHECK_H
#define CORE_CATALOG_CROSS_CHECK_H

#include "core/catalog/catalog_impl.h"

/*
 * Every table is walked once; of each record, the records that it implies in
 * other tables are looked up.  Errors of the system end the walk,
 * contradictions are findings: one line each in the report.
 */
struct cross_check {
	struct catalog_txn *txn;
	const struct file_key *root; /* or NULL */
	struct buf *report;
	unsigned findings;
	struct catalog_counts counts; /* counted anew */
};

/* ---- findings ---- */

/* Findings that are reported; more are counted. */
#define CROSS_CHECK_REPORTED 1000

int cross_check_note(struct cross_check *c, const char *text);
int cross_check_note_file(struct cross_check *c, const struct file_key *key,
			  const char *text);
int cross_check_note_content(struct cross_check *c, uint32_t content,
			     const char *text);

/* 1 when it has a readable record, 0 when not, or an error. */
int cross_check_find_file(struct cross_check *c, const struct file_key *key,
			  struct file_record *out);
int cross_check_find_content(struct cross_check *c, uint32_t content,
			     struct digests *out);

/* ---- one record of each table; 0 with findings, too ---- */

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
int cross_check_short_sketch(struct cross_check *c, const MDB_val *key,
			     const MDB_val *value);
int cross_check_identity(struct cross_check *c, const MDB_val *key,
			 const MDB_val *value);
int cross_check_copy(struct cross_check *c, const MDB_val *key,
		     const MDB_val *value);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SHARE_SCHEMA_H
#define CORE_SHARE_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include "core/share/db.h"

/*
 * The tables of a shared catalog, and what is put into them.
 *
 *   kin_posting  value, content      which contents have a value
 *   kin_content  content, ...        size, SimHash, traits, sketch
 *   kin_copy     content, host, file where a content is
 *   kin_host     host                label, epoch, token, seen
 *   kin_meta     version             share_limit
 *
 * A content is its XXH128 as a uuid.  There is nothing but primary keys and an
 * index of copies by their host, so that PostgreSQL, Citus and YugabyteDB agree;
 * over postgres_fdw even these are of the partitions only.
 *
 * Postings of a content are its anchors, the SHARE_ANCHORS smallest values of
 * its sketch, and all values below the limit of the shared catalog.
 */
#define SHARE_VERSION 6
#define SHARE_ANCHORS 12
/* One window in 2^14 has a value below it. */
#define SHARE_LIMIT_DEFAULT (INT64_C(1) << (48 - 14))

enum share_layout {
	LAYOUT_PLAIN,   /* one server */
	LAYOUT_SERVERS, /* hash partitions on others, over postgres_fdw */
	LAYOUT_CITUS,
	LAYOUT_YUGABYTE
};

struct share_schema {
	enum share_layout layout;
	bool replace; /* drops tables that are there, also of other versions */
	const char *const *servers; /* LAYOUT_SERVERS: their conninfo */
	size_t server_count;
	/* LAYOUT_SERVERS: of the postings alone, then; the others are on the
	 * servers, or in the database itself when there are none. */
	const char *const *posting_servers;
	size_t posting_server_count;
	unsigned tablets; /* LAYOUT_YUGABYTE: of each table; 0: its default */
	int64_t limit;
	const char *const *readers; /* roles that may ask, */
	size_t reader_count;
	const char *const *writers; /* and roles that may publish, too */
	size_t writer_count;
};

/* Makes the tables, in one transaction on each server.  db is open.  0, or a
 * negative errno with db->message; -EEXIST: there are some already. */
int schema_make(struct share_db *db, const struct share_schema *schema);

/* -EMEDIUMTYPE: there are no tables, or of another version; db->message says
 * which. */
int schema_check(struct share_db *db, int64_t *limit_out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SHARE_SCHEMA_H
#define CORE_SHARE_SCHEMA_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/digest/sketch/sketch.h"
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
#define SHARE_VERSION 8
#define SHARE_ANCHORS 12
/* One window in 2^14 has a value below it. */
#define SHARE_LIMIT_DEFAULT (INT64_C(1) << (48 - 14))

/*
 * The sketch of a small content has all its windows.  Who knows 16 bytes in a row
 * of it, as those of a form or a configuration, tries what the next one may be
 * until the window is one of these, and so reads on to the end.  So of every
 * sketch only the windows of this level are told, one in 2^SHARE_LEVEL: the next
 * of them is some eight unknown bytes on.  A content is asked about likewise.
 */
enum { SHARE_LEVEL = 3 };

static inline void share_cut_sketch(struct sketch *sketch)
{
	if (sketch->level < SHARE_LEVEL)
		sketch_raise(sketch, SHARE_LEVEL);
}

enum share_layout {
	LAYOUT_PLAIN,   /* one server */
	LAYOUT_SERVERS, /* hash partitions on others, over postgres_fdw */
	LAYOUT_CITUS,
	LAYOUT_YUGABYTE
};

struct share_names {
	const char *all[64];
	size_t count;
};

struct share_schema {
	enum share_layout layout;
	bool replace; /* drops tables that are there, also of other versions */
	/* LAYOUT_SERVERS: their conninfo.  With posting_servers these have the
	 * postings alone; the other tables are on the servers, or in the
	 * database itself when there are none. */
	struct share_names servers, posting_servers;
	int64_t limit;
	struct share_names readers; /* roles that may ask, */
	struct share_names writers; /* and roles that may publish, too */
};

/* Makes the tables, in one transaction on each server.  db is open.  0, or a
 * negative errno with db->message; -EEXIST: there are some already. */
int schema_make(struct share_db *db, const struct share_schema *schema);

/* -EMEDIUMTYPE: there are no tables, or of another version; db->message says
 * which. */
int schema_check(struct share_db *db, int64_t *limit_out);

/*
 * ---- statements ----
 *
 * All but those that make the tables; "@" is the schema, see db.h.  They have
 * no join but of columns by which the tables are distributed, and a question
 * has no aggregation, as one licence has a million postings.
 */

/* A transaction that the server ends by itself when the client is stopped or
 * gone, and that does not wait for others without end. */
#define SQL_BEGIN                               \
	"BEGIN;"                                \
	"SET LOCAL lock_timeout = '30s';"       \
	"SET LOCAL statement_timeout = '600s';" \
	"SET LOCAL idle_in_transaction_session_timeout = '20s'"

/*
 * A batch is one transaction: its rows are copied into temporary tables, and
 * inserted from there unless they are in the tables already.  Nothing that
 * another host waits for is locked before the last row has arrived; from there
 * on the server works alone, so a kin-share that is stopped in the middle holds
 * up nobody.  The lock on kin_meta keeps kin-share gc away.  Division by zero
 * takes the transaction back: the database has not the epoch and token.
 *
 * Rows are inserted in the order of their keys, so that two hosts that insert
 * the same rows wait for each other, but never in a circle.  The copies that
 * are deleted first are named by contents and files apart, since a join would
 * read the tables of a foreign server; so more may be deleted, which are
 * inserted again as every file of a batch has its copy in it.
 *
 * In between come numbers, uuids and hexadecimal digits: next token, host,
 * epoch, token, next token; contents, host, files; host, epoch.
 */
#define SQL_BATCH                                                            \
	SQL_BEGIN                                                            \
	";CREATE TEMPORARY TABLE kin_batch_content (content uuid, "          \
	"size bigint, simhash bigint, traits bytea, sketch bytea) "          \
	"ON COMMIT DROP;"                                                    \
	"CREATE TEMPORARY TABLE kin_batch_posting (value bigint, "           \
	"content uuid) ON COMMIT DROP;"                                      \
	"CREATE TEMPORARY TABLE kin_batch_copy (content uuid, file bytea, "  \
	"path bytea, mtime timestamptz) ON COMMIT DROP;"                     \
	"COPY pg_temp.kin_batch_content FROM STDIN (FORMAT binary);"         \
	"COPY pg_temp.kin_batch_posting FROM STDIN (FORMAT binary);"         \
	"COPY pg_temp.kin_batch_copy FROM STDIN (FORMAT binary);"            \
	"WITH told AS (UPDATE @kin_host SET token = %" PRIu64 ", "           \
	"seen = now() WHERE host = '%s' AND epoch = %" PRIu64 " AND "        \
	"token IN (%" PRIu64 ", %" PRIu64 ") RETURNING 1) "                  \
	"SELECT 1 / count(*) FROM told;"                                     \
	"SELECT version FROM @kin_meta FOR SHARE;"                           \
	"INSERT INTO @kin_content (content, size, simhash, traits, sketch) " \
	"SELECT content, size, simhash, traits, sketch FROM "                \
	"pg_temp.kin_batch_content ORDER BY content ON CONFLICT DO NOTHING;" \
	"INSERT INTO @kin_posting (value, content) SELECT value, content "   \
	"FROM pg_temp.kin_batch_posting ORDER BY value, content "            \
	"ON CONFLICT DO NOTHING;"                                            \
	"DELETE FROM @kin_copy WHERE content = ANY('%s'::uuid[]) AND "       \
	"host = '%s' AND file = ANY('%s'::bytea[]);"                         \
	"INSERT INTO @kin_copy (content, host, file, path, mtime, epoch) "   \
	"SELECT content, '%s'::uuid, file, path, mtime, %" PRIu64 " FROM "   \
	"pg_temp.kin_batch_copy ORDER BY content, file ON CONFLICT DO "      \
	"NOTHING;"                                                           \
	"COMMIT"

#define SQL_CHECK_TABLES "SELECT version, share_limit FROM @kin_meta"

/* ---- hosts: host, epoch, token, label ---- */

#define SQL_GET_HOST "SELECT epoch, token FROM @kin_host WHERE host = $1::uuid"
#define SQL_PUT_HOST                                                       \
	"INSERT INTO @kin_host (host, epoch, token, label, seen) VALUES (" \
	"$1::uuid, $2::bigint, $3::bigint, $4, now()) ON CONFLICT (host) " \
	"DO UPDATE SET epoch = excluded.epoch, token = excluded.token, "   \
	"label = excluded.label, seen = excluded.seen"
#define SQL_SWEEP \
	"DELETE FROM @kin_copy WHERE host = $1::uuid AND epoch < $2::bigint"
#define SQL_ALL_HOSTS "SELECT host, label FROM @kin_host"
#define SQL_FIND_HOST                                     \
	"SELECT host FROM @kin_host WHERE label = $1 OR " \
	"host::text = lower($1)"
#define SQL_FORGET_COPIES "DELETE FROM @kin_copy WHERE host = $1::uuid"
#define SQL_FORGET_HOST "DELETE FROM @kin_host WHERE host = $1::uuid"

/* ---- check: host, contents, files ---- */

#define SQL_COUNT_COPIES "SELECT count(*) FROM @kin_copy WHERE host = $1::uuid"
#define SQL_COUNT_THESE                                                      \
	"SELECT count(*) FROM @kin_copy p JOIN unnest($2::uuid[], "          \
	"$3::bytea[]) AS u(c, f) ON p.content = u.c AND p.file = u.f WHERE " \
	"p.host = $1::uuid AND p.content = ANY($2::uuid[]) AND EXISTS "      \
	"(SELECT 1 FROM @kin_content k WHERE k.content = p.content AND "     \
	"k.content = ANY($2::uuid[]))"

/* ---- gc ---- */

#define SQL_LOCK_META "SELECT version FROM @kin_meta FOR UPDATE"
#define SQL_END_OF_RANGE                                             \
	"SELECT content FROM @kin_content WHERE content > $1::uuid " \
	"ORDER BY content OFFSET 9999 LIMIT 1"
#define SQL_FIND_UNUSED                                                     \
	"SELECT content, sketch FROM @kin_content k WHERE content > "       \
	"$1::uuid AND content <= $2::uuid AND NOT EXISTS (SELECT 1 FROM "   \
	"@kin_copy c WHERE c.content = k.content AND c.content > $1::uuid " \
	"AND c.content <= $2::uuid)"
#define SQL_REMOVE_UNUSED                                                 \
	"DELETE FROM @kin_content k WHERE content = ANY($1::uuid[]) AND " \
	"NOT EXISTS (SELECT 1 FROM @kin_copy c WHERE c.content = "        \
	"k.content AND c.content = ANY($1::uuid[])) RETURNING content"
#define SQL_REMOVE_POSTINGS                                             \
	"DELETE FROM @kin_posting WHERE content = ANY($1::uuid[]) AND " \
	"value = ANY($2::bigint[])"

/* ---- questions, of all items and of one; the limits are one row more than
 * QUESTION_POSTINGS, QUESTION_COMMON and QUESTION_COPIES ---- */

#define SQL_POSTINGS "SELECT content, value FROM @kin_posting WHERE value = "
#define SQL_POSTINGS_OF_ALL SQL_POSTINGS "ANY($1::bigint[]) LIMIT 3073"
#define SQL_POSTINGS_OF_ONE SQL_POSTINGS "$1::bigint LIMIT 129"
#define SQL_CONTENTS                                          \
	"SELECT content, size, simhash, traits, sketch FROM " \
	"@kin_content WHERE content = "
#define SQL_CONTENTS_OF_ALL SQL_CONTENTS "ANY($1::uuid[])"
#define SQL_CONTENTS_OF_ONE SQL_CONTENTS "$1::uuid"
#define SQL_COPIES                                                    \
	"SELECT content, host, path, extract(epoch FROM mtime) FROM " \
	"@kin_copy WHERE content = "
#define SQL_COPIES_OF_ALL SQL_COPIES "ANY($1::uuid[]) LIMIT 1001"
#define SQL_COPIES_OF_ONE SQL_COPIES "$1::uuid LIMIT 1001"

/* ---- groups ---- */

/* The partitions that kin-share init made; none: the tables are whole. */
#define SQL_PARTITIONS                                                 \
	"SELECT substr(relname, 9) FROM pg_inherits JOIN pg_class ON " \
	"oid = inhrelid WHERE inhparent = '@kin_copy'::regclass AND "  \
	"relname ~ '^kin_copy_[0-9]{1,4}$' ORDER BY 1"
/* The suffix of a partition, three times; the least size.  Most bytes first. */
#define SQL_GROUPS                                                             \
	SQL_BEGIN                                                              \
	"; SET TRANSACTION READ ONLY; "                                        \
	"DECLARE kin_groups NO SCROLL CURSOR FOR SELECT c.content, c.host, "   \
	"c.path, k.size FROM @kin_copy%s c JOIN @kin_content%s k ON "          \
	"k.content = c.content JOIN (SELECT content, count(*) AS copies "      \
	"FROM @kin_copy%s GROUP BY content HAVING min(host::text) <> "         \
	"max(host::text)) g ON g.content = c.content WHERE k.size >= %" PRIu64 \
	" ORDER BY (g.copies - 1)::numeric * k.size DESC, c.content, c.host, " \
	"c.path"
#define SQL_NEXT_GROUPS "FETCH 5000 FROM kin_groups"

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/base/hex.h"
#include "core/share/batch.h"

/*
 * A batch is one transaction: its rows are copied into temporary tables, in the
 * binary format of PostgreSQL, and inserted from there unless they are in the
 * tables already.
 *
 * Nothing that another host waits for is locked before the last row has
 * arrived; from there on the server works alone.  So a kin-share that is
 * stopped in the middle, or whose network is gone, holds up nobody.
 *
 * Rows are inserted in the order of their keys: the leaves of an index are
 * visited in order, and two hosts that insert the same rows wait for each
 * other, but never in a circle.
 *
 * Copies are deleted before they are inserted.  The statement that deletes
 * names contents and files apart, since a join would read the tables of a
 * foreign server; so it may delete more pairs of them, which are inserted again
 * as every file of a batch has its copy in it.
 */
enum { TIMEOUT_MS = 120000 };

/* Between 1970 and 2000, where PostgreSQL begins. */
#define EPOCH_US (INT64_C(946684800) * 1000000)

/* ---- rows ---- */

static int begin_rows(struct buf *rows)
{
	static const char head[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0";

	return buf_append(rows, head, sizeof(head));
}

static int add_number(struct buf *rows, uint64_t number, size_t bytes)
{
	uint8_t all[8];

	store_be64(all, number);
	return buf_append(rows, all + 8 - bytes, bytes);
}

static int begin_row(struct buf *rows, unsigned columns)
{
	return add_number(rows, columns, 2);
}

static int end_rows(struct buf *rows)
{
	return add_number(rows, UINT64_MAX, 2);
}

/* data NULL: SQL's NULL. */
static int add_bytes(struct buf *rows, const void *data, size_t len)
{
	int err = add_number(rows, data ? len : UINT64_MAX, 4);

	return err || !data ? err : buf_append(rows, data, len);
}

static int add_bigint(struct buf *rows, bool is_null, int64_t number)
{
	int err = add_number(rows, is_null ? UINT64_MAX : 8, 4);

	return err || is_null ? err : add_number(rows, (uint64_t)number, 8);
}

static int add_content(struct buf *rows, const struct batch_content *c)
{
	int err = begin_row(rows, 5);

	if (!err)
		err = add_bytes(rows, c->uuid, DB_UUID_BYTES);
	if (!err)
		err = add_bigint(rows, false, (int64_t)c->size);
	if (!err)
		err = add_bigint(rows, !c->has_simhash, (int64_t)c->simhash);
	if (!err)
		err = add_bytes(rows, c->has_traits ? c->traits : NULL, 16);
	return err ? err : add_bytes(rows, c->sketch, c->sketch_len);
}

static int add_posting(struct buf *rows, const struct batch_posting *p)
{
	int err = begin_row(rows, 2);

	if (!err)
		err = add_bigint(rows, false, (int64_t)p->value);
	return err ? err : add_bytes(rows, p->content, DB_UUID_BYTES);
}

static int add_copy(struct buf *rows, const struct batch_copy *c)
{
	uint8_t file[DB_FILE_BYTES];
	int err = begin_row(rows, 4);

	batch_format_file(&c->publication.file, file);
	if (!err)
		err = add_bytes(rows, c->publication.content, DB_UUID_BYTES);
	if (!err)
		err = add_bytes(rows, file, sizeof(file));
	if (!err)
		err = add_bytes(rows, c->path, c->path ? strlen(c->path) : 0);
	return err ? err :
		     add_bigint(rows, !c->path,
				batch_time_us(c->mtime_ns) - EPOCH_US);
}

/* Of contents, postings and copies. */
static int format_rows(struct buf rows[3], const struct share_batch *b)
{
	size_t i;
	int err = 0;

	for (i = 0; i < 3 && !err; i++)
		err = begin_rows(&rows[i]);
	for (i = 0; i < b->content_count && !err; i++)
		err = add_content(&rows[0], &b->contents[i]);
	for (i = 0; i < b->posting_count && !err; i++)
		err = add_posting(&rows[1], &b->postings[i]);
	for (i = 0; i < b->copy_count && !err; i++)
		err = add_copy(&rows[2], &b->copies[i]);
	for (i = 0; i < 3 && !err; i++)
		err = end_rows(&rows[i]);
	return err;
}

/* ---- statements ---- */

static int add_old(struct buf *contents, struct buf *files,
		   const struct share_publication *p)
{
	uint8_t file[DB_FILE_BYTES];
	int err = db_array_add_uuid(contents, p->content);

	batch_format_file(&p->file, file);
	return err ? err : db_array_add_bytes(files, file, sizeof(file));
}

/* The copies that are replaced or withdrawn, as arrays. */
static int format_old(struct buf *contents, struct buf *files,
		      const struct share_batch *b)
{
	size_t i;
	int err = 0;

	for (i = 0; i < b->copy_count && !err; i++)
		err = add_old(contents, files, &b->copies[i].publication);
	for (i = 0; i < b->gone_count && !err; i++)
		err = add_old(contents, files, &b->gone[i]);
	if (!err)
		err = db_array_end(contents);
	return err ? err : db_array_end(files);
}

/* What goes in between are numbers and hexadecimal digits alone.  Division by
 * zero takes the transaction back: the database has not the epoch and token.
 * The lock on kin_meta keeps kin-share gc away. */
static const char statements[] = DB_BEGIN
	";"
	"CREATE TEMPORARY TABLE kin_batch_content (content uuid, size bigint, "
	"simhash bigint, traits bytea, sketch bytea) ON COMMIT DROP;"
	"CREATE TEMPORARY TABLE kin_batch_posting (value bigint, content uuid) "
	"ON COMMIT DROP;"
	"CREATE TEMPORARY TABLE kin_batch_copy (content uuid, file bytea, "
	"path bytea, mtime timestamptz) ON COMMIT DROP;"
	"COPY pg_temp.kin_batch_content FROM STDIN (FORMAT binary);"
	"COPY pg_temp.kin_batch_posting FROM STDIN (FORMAT binary);"
	"COPY pg_temp.kin_batch_copy FROM STDIN (FORMAT binary);"
	"WITH told AS (UPDATE @kin_host SET token = %" PRIu64 ", "
	"seen = now() WHERE host = '%s' AND epoch = %" PRIu64 " AND token IN "
	"(%" PRIu64 ", %" PRIu64 ") RETURNING 1) "
	"SELECT 1 / count(*) FROM told;"
	"SELECT version FROM @kin_meta FOR SHARE;"
	"INSERT INTO @kin_content (content, size, simhash, traits, sketch) "
	"SELECT content, size, simhash, traits, sketch FROM "
	"pg_temp.kin_batch_content ORDER BY content ON CONFLICT DO NOTHING;"
	"INSERT INTO @kin_posting (value, content) SELECT value, content FROM "
	"pg_temp.kin_batch_posting ORDER BY value, content "
	"ON CONFLICT DO NOTHING;"
	"DELETE FROM @kin_copy WHERE content = ANY('%s'::uuid[]) AND "
	"host = '%s' AND file = ANY('%s'::bytea[]);"
	"INSERT INTO @kin_copy (content, host, file, path, mtime, epoch) "
	"SELECT content, '%s'::uuid, file, path, mtime, %" PRIu64 " FROM "
	"pg_temp.kin_batch_copy ORDER BY content, file ON CONFLICT DO NOTHING;"
	"COMMIT";

static int format_statements(struct buf *sql, const struct share_batch *b,
			     const struct share_identity *i)
{
	struct buf contents = { 0 }, files = { 0 };
	char host[DB_UUID_TEXT + 1];
	int err = format_old(&contents, &files, b);

	db_format_uuid(i->host, host);
	if (!err)
		err = buf_append_format(sql, statements, i->next_token, host,
					i->epoch, i->token, i->next_token,
					contents.data, host, files.data, host,
					i->epoch);
	buf_release(&contents);
	buf_release(&files);
	return err;
}

int batch_send(const struct share_batch *b, struct share_db *db,
	       const struct share_identity *identity)
{
	struct buf rows[3] = { 0 }, sql = { 0 };
	int err = format_rows(rows, b);
	size_t i;

	if (!err)
		err = format_statements(&sql, b, identity);
	db_set_timeout(db, TIMEOUT_MS);
	if (!err)
		err = db_script(db, sql.data, rows, 3);
	if (err == -EREMOTEIO && !strcmp(db->code, "22012"))
		err = -ESTALE;
	if (err == -EREMOTEIO || err == -ESTALE)
		db_roll_back(db);
	for (i = 0; i < 3; i++)
		buf_release(&rows[i]);
	buf_release(&sql);
	return err;
}

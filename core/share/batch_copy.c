/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/share/batch.h"

/*
 * A batch by COPY, in the binary format of PostgreSQL, and one transaction.
 *
 * COPY fails when a row is there already.  So contents go to a temporary table
 * and from there to kin_content, which tells those that are new.  Postings of
 * these are copied: no other host can have inserted them, because they go into
 * the database in one transaction with their content.  Postings of the other
 * contents, which are most often there, go through a temporary table.
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

static int add_bigint(struct buf *rows, int64_t number)
{
	int err = add_number(rows, 8, 4);

	return err ? err : add_number(rows, (uint64_t)number, 8);
}

/* ---- rows of the tables ---- */

static int add_content(struct buf *rows, const struct batch_content *c)
{
	int err = begin_row(rows, 5);

	if (!err)
		err = add_bytes(rows, c->uuid, DB_UUID_BYTES);
	if (!err)
		err = add_bigint(rows, (int64_t)c->size);
	if (!err)
		err = c->has_simhash ? add_bigint(rows, (int64_t)c->simhash) :
				       add_bytes(rows, NULL, 0);
	if (!err)
		err = add_bytes(rows, c->has_traits ? c->traits : NULL, 16);
	return err ? err : add_bytes(rows, c->sketch, c->sketch_len);
}

static int format_contents(struct buf *rows, const struct share_batch *b)
{
	size_t i;
	int err = begin_rows(rows);

	for (i = 0; i < b->content_count && !err; i++)
		if (!i || batch_by_uuid(&b->contents[i - 1], &b->contents[i]))
			err = add_content(rows, &b->contents[i]);
	return err ? err : end_rows(rows);
}

static int add_posting(struct buf *rows, const struct batch_posting *p)
{
	int err = begin_row(rows, 2);

	if (!err)
		err = add_bigint(rows, (int64_t)p->value);
	return err ? err : add_bytes(rows, p->content, DB_UUID_BYTES);
}

static int add_copy(struct buf *rows, const struct batch_copy *c,
		    const struct share_identity *identity)
{
	const struct file_key *key = &c->publication.file;
	uint8_t file[16];
	int err = begin_row(rows, 6);

	store_be32(file, key->device);
	store_be64(file + 4, key->inode);
	store_be32(file + 12, key->generation);
	if (!err)
		err = add_bytes(rows, c->publication.content, DB_UUID_BYTES);
	if (!err)
		err = add_bytes(rows, identity->host, DB_UUID_BYTES);
	if (!err)
		err = add_bytes(rows, file, sizeof(file));
	if (!err)
		err = add_bytes(rows, c->path, c->path ? strlen(c->path) : 0);
	if (!err)
		err = c->path ? add_bigint(rows, batch_time_us(c->mtime_ns) -
							 EPOCH_US) :
				add_bytes(rows, NULL, 0);
	return err ? err : add_bigint(rows, (int64_t)identity->epoch);
}

static int format_copies(struct buf *rows, const struct share_batch *b,
			 const struct share_identity *identity)
{
	size_t i;
	int err = begin_rows(rows);

	for (i = 0; i < b->copy_count && !err; i++)
		err = add_copy(rows, &b->copies[i], identity);
	return err ? err : end_rows(rows);
}

/* ---- contents that are new ---- */

static int by_uuid(const void *a, const void *b)
{
	return memcmp(a, b, DB_UUID_BYTES);
}

/* Their uuids, sorted; to be freed. */
static int take_new(const PGresult *r, uint8_t **out, size_t *count_out)
{
	size_t count = 0, rows = (size_t)PQntuples(r), i;
	uint8_t *all = malloc((rows + 1) * DB_UUID_BYTES);

	if (!all)
		return -ENOMEM;
	for (i = 0; i < rows; i++)
		if (!db_parse_uuid(db_value(r, (int)i, 0),
				   all + count * DB_UUID_BYTES))
			count++;
	qsort(all, count, DB_UUID_BYTES, by_uuid);
	*out = all;
	*count_out = count;
	return 0;
}

/* Postings of new contents, and of others. */
static int format_postings(const struct share_batch *b, const PGresult *r,
			   struct buf *fresh, struct buf *others)
{
	uint8_t *all = NULL;
	size_t count = 0, i;
	int err = take_new(r, &all, &count);

	if (!err)
		err = begin_rows(fresh);
	if (!err)
		err = begin_rows(others);
	for (i = 0; i < b->posting_count && !err; i++) {
		const struct batch_posting *p = &b->postings[i];

		if (i && !batch_by_value(p - 1, p))
			continue;
		err = add_posting(bsearch(p->content, all, count, DB_UUID_BYTES,
					  by_uuid) ?
					  fresh :
					  others,
				  p);
	}
	free(all);
	if (!err)
		err = end_rows(fresh);
	return err ? err : end_rows(others);
}

/* ---- statements ---- */

/* For the life of a connection. */
static int make_tables(struct share_db *db)
{
	int err = 0;

	if (!db->has_temporary)
		err = db_run(
			db,
			"CREATE TEMPORARY TABLE kin_batch_content (content "
			"uuid, size bigint, simhash bigint, traits bytea, "
			"sketch bytea) ON COMMIT DELETE ROWS",
			0, NULL, NULL);
	if (!err && !db->has_temporary)
		err = db_run(db,
			     "CREATE TEMPORARY TABLE kin_batch_posting (value "
			     "bigint, content uuid) ON COMMIT DELETE ROWS",
			     0, NULL, NULL);
	if (!err)
		db->has_temporary = true;
	return err;
}

/* Division by zero takes the transaction back: the database has not the epoch
 * and token.  The lock on kin_meta keeps kin-share gc away. */
static const char statements[] =
	"BEGIN;"
	"WITH told AS (UPDATE kin_host SET token = %" PRIu64 ", label = %s, "
	"seen = now() WHERE host = '%s' AND epoch = %" PRIu64 " AND token IN "
	"(%" PRIu64 ", %" PRIu64 ") RETURNING 1) "
	"SELECT 1 / count(*) FROM told;"
	"SELECT version FROM kin_meta FOR SHARE;"
	"COPY pg_temp.kin_batch_content FROM STDIN (FORMAT binary);"
	"INSERT INTO kin_content (content, size, simhash, traits, sketch) "
	"SELECT * FROM pg_temp.kin_batch_content ON CONFLICT DO NOTHING "
	"RETURNING content;"
	"COPY kin_posting (value, content) FROM STDIN (FORMAT binary);"
	"COPY pg_temp.kin_batch_posting FROM STDIN (FORMAT binary);"
	"INSERT INTO kin_posting (value, content) SELECT * FROM "
	"pg_temp.kin_batch_posting ON CONFLICT DO NOTHING;"
	"COPY kin_copy (content, host, file, path, mtime, epoch) FROM STDIN "
	"(FORMAT binary);"
	"COMMIT";

static int begin(struct share_db *db, const struct share_identity *i,
		 const char *label)
{
	char host[DB_UUID_TEXT + 1];
	char *quoted = PQescapeLiteral(db->conn, label, strlen(label));
	struct buf sql = { 0 };
	int err = -ENOMEM;

	db_format_uuid(i->host, host);
	if (quoted)
		err = buf_append_format(&sql, statements, i->next_token, quoted,
					host, i->epoch, i->token,
					i->next_token);
	PQfreemem(quoted);
	if (!err)
		err = db_copy_begin(db, sql.data);
	buf_release(&sql);
	return err;
}

static int copy_postings(struct share_db *db, const struct share_batch *b)
{
	struct buf fresh = { 0 }, others = { 0 };
	PGresult *r = NULL;
	int err = db_copy_next(db, &r);

	if (!err)
		err = format_postings(b, r, &fresh, &others);
	if (!err)
		err = db_copy_send(db, &fresh);
	if (!err)
		err = db_copy_next(db, NULL);
	if (!err)
		err = db_copy_send(db, &others);
	PQclear(r);
	buf_release(&fresh);
	buf_release(&others);
	return err;
}

static int copy_all(struct share_db *db, const struct share_batch *b,
		    const struct buf *contents, const struct buf *copies)
{
	int err = db_copy_next(db, NULL);

	if (!err)
		err = db_copy_send(db, contents);
	if (!err)
		err = copy_postings(db, b);
	if (!err)
		err = db_copy_next(db, NULL);
	if (!err)
		err = db_copy_send(db, copies);
	return err ? err : db_copy_end(db);
}

int batch_copy(struct share_batch *b, struct share_db *db,
	       const struct share_identity *identity, const char *label)
{
	struct buf contents = { 0 }, copies = { 0 };
	int err;

	batch_sort(b);
	err = format_contents(&contents, b);
	if (!err)
		err = format_copies(&copies, b, identity);
	db_set_timeout(db, TIMEOUT_MS);
	if (!err)
		err = make_tables(db);
	if (!err)
		err = begin(db, identity, label);
	if (!err)
		err = copy_all(db, b, &contents, &copies);
	if (err == -EREMOTEIO && !strcmp(db->code, "22012"))
		err = -ESTALE;
	if (err == -EREMOTEIO || err == -ESTALE)
		batch_roll_back(db);
	buf_release(&contents);
	buf_release(&copies);
	return err;
}

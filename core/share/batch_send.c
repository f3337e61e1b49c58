/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/share/batch.h"
#include "core/share/schema.h"

/*
 * A batch is one pipeline and one transaction, so it costs one round trip.
 * Rows are sorted by their keys: the leaves of an index are visited in order,
 * and two hosts that insert the same rows wait for each other, but never in a
 * circle.
 *
 * Copies are deleted before they are inserted.  The statement that deletes
 * names contents and files apart, since a join would read the tables of a
 * foreign server; so it may delete more pairs of them, which are inserted again
 * as every file of a batch has its copy in it.
 */
enum { TIMEOUT_MS = 120000, STATEMENTS = 8 };

struct batch_text {
	struct buf uuids, sizes, simhashes, traits, sketches;
	struct buf values, posted;
	struct buf old_contents, old_files;
	struct buf copied, files, paths, times;
};

static void text_release(struct batch_text *t)
{
	struct buf *all = (struct buf *)t;
	size_t i;

	for (i = 0; i < sizeof(*t) / sizeof(*all); i++)
		buf_release(&all[i]);
}

/* ---- rows as text ---- */

static int format_content(struct batch_text *t, const struct batch_content *c)
{
	int err = db_array_add_uuid(&t->uuids, c->uuid);

	if (!err)
		err = db_array_add_number(&t->sizes, (int64_t)c->size);
	if (!err)
		err = c->has_simhash ?
			      db_array_add_number(&t->simhashes,
						  (int64_t)c->simhash) :
			      db_array_add(&t->simhashes, "NULL");
	if (!err)
		err = db_array_add_bytes(&t->traits,
					 c->has_traits ? c->traits : NULL, 16);
	return err ? err :
		     db_array_add_bytes(&t->sketches, c->sketch, c->sketch_len);
}

static int format_contents(struct batch_text *t, const struct share_batch *b)
{
	size_t i;
	int err = 0;

	for (i = 0; i < b->content_count && !err; i++)
		if (!i || batch_by_uuid(&b->contents[i - 1], &b->contents[i]))
			err = format_content(t, &b->contents[i]);
	for (i = 0; i < b->posting_count && !err; i++) {
		if (i && !batch_by_value(&b->postings[i - 1], &b->postings[i]))
			continue;
		err = db_array_add_number(&t->values,
					  (int64_t)b->postings[i].value);
		if (!err)
			err = db_array_add_uuid(&t->posted,
						b->postings[i].content);
	}
	return err;
}

static int format_file(struct buf *array, const struct file_key *key)
{
	uint8_t bytes[16];

	store_be32(bytes, key->device);
	store_be64(bytes + 4, key->inode);
	store_be32(bytes + 12, key->generation);
	return db_array_add_bytes(array, bytes, sizeof(bytes));
}

static int format_time(struct buf *array, int64_t ns)
{
	int64_t us = batch_time_us(ns);
	char text[48];

	(void)snprintf(text, sizeof(text), "%" PRId64 ".%06" PRId64,
		       (us - (us % 1000000 + 1000000) % 1000000) / 1000000,
		       (us % 1000000 + 1000000) % 1000000);
	return db_array_add(array, text);
}

static int format_copy(struct batch_text *t, const struct batch_copy *c)
{
	const struct share_publication *p = &c->publication;
	int err = db_array_add_uuid(&t->copied, p->content);

	if (!err)
		err = format_file(&t->files, &p->file);
	if (!err)
		err = db_array_add_bytes(&t->paths, (uint8_t *)c->path,
					 c->path ? strlen(c->path) : 0);
	if (err)
		return err;
	return c->path ? format_time(&t->times, c->mtime_ns) :
			 db_array_add(&t->times, "NULL");
}

static int format_old(struct batch_text *t, const struct share_publication *p)
{
	int err = db_array_add_uuid(&t->old_contents, p->content);

	return err ? err : format_file(&t->old_files, &p->file);
}

static int format_copies(struct batch_text *t, const struct share_batch *b)
{
	size_t i;
	int err = 0;

	for (i = 0; i < b->copy_count && !err; i++) {
		err = format_copy(t, &b->copies[i]);
		if (!err)
			err = format_old(t, &b->copies[i].publication);
	}
	for (i = 0; i < b->gone_count && !err; i++)
		err = format_old(t, &b->gone[i]);
	return err;
}

static int format_batch(struct batch_text *t, struct share_batch *b)
{
	struct buf *all = (struct buf *)t;
	size_t i;
	int err;

	batch_sort(b);
	err = format_contents(t, b);
	if (!err)
		err = format_copies(t, b);
	for (i = 0; i < sizeof(*t) / sizeof(*all) && !err; i++)
		err = db_array_end(&all[i]);
	return err;
}

/* ---- statements ---- */

/* A row lock on kin_meta keeps kin-share gc away meanwhile. */
static int send_rows(struct share_db *db, const struct batch_text *t,
		     const char *host, const char *epoch)
{
	const char *contents[] = { t->uuids.data, t->sizes.data,
				   t->simhashes.data, t->traits.data,
				   t->sketches.data };
	const char *postings[] = { t->values.data, t->posted.data };
	const char *old[] = { t->old_contents.data, host, t->old_files.data };
	const char *copies[] = { t->copied.data, t->files.data, t->paths.data,
				 t->times.data,  host,          epoch };
	int err =
		db_send(db, "SELECT version FROM kin_meta FOR SHARE", 0, NULL);

	if (!err)
		err = db_send(db,
			      "INSERT INTO kin_content (content, size, "
			      "simhash, traits, sketch) SELECT * FROM unnest("
			      "$1::uuid[], $2::bigint[], $3::bigint[], "
			      "$4::bytea[], $5::bytea[]) "
			      "ON CONFLICT DO NOTHING",
			      5, contents);
	if (!err)
		err = db_send(db,
			      "INSERT INTO kin_posting (value, content) "
			      "SELECT * FROM unnest($1::bigint[], "
			      "$2::uuid[]) ON CONFLICT DO NOTHING",
			      2, postings);
	if (!err)
		err = db_send(db,
			      "DELETE FROM kin_copy WHERE content = "
			      "ANY($1::uuid[]) AND host = $2::uuid AND file = "
			      "ANY($3::bytea[])",
			      3, old);
	if (!err)
		err = db_send(db,
			      "INSERT INTO kin_copy (content, host, file, "
			      "path, mtime, epoch) SELECT c, $5::uuid, f, p, "
			      "to_timestamp(m), $6::bigint FROM unnest("
			      "$1::uuid[], $2::bytea[], $3::bytea[], "
			      "$4::double precision[]) AS u(c, f, p, m) "
			      "ON CONFLICT DO NOTHING",
			      6, copies);
	return err;
}

static int send_host(struct share_db *db, const struct share_identity *identity,
		     const char *label, const char *host, const char *epoch)
{
	char token[24], next[24];
	const char *values[] = { host, epoch, token, next, label };

	(void)snprintf(token, sizeof(token), "%" PRId64,
		       (int64_t)identity->token);
	(void)snprintf(next, sizeof(next), "%" PRId64,
		       (int64_t)identity->next_token);
	/* Division by zero takes the transaction back. */
	return db_send(db,
		       "WITH told AS (UPDATE kin_host SET token = $4::bigint, "
		       "label = $5, seen = now() WHERE host = $1::uuid AND "
		       "epoch = $2::bigint AND token IN ($3::bigint, "
		       "$4::bigint) RETURNING 1) SELECT 1 / count(*) FROM told",
		       5, values);
}

static int send_all(struct share_db *db, const struct batch_text *t,
		    const struct share_identity *identity, const char *label)
{
	char host[DB_UUID_TEXT + 1], epoch[24];
	int err = db_send(db, "BEGIN", 0, NULL);

	db_format_uuid(identity->host, host);
	(void)snprintf(epoch, sizeof(epoch), "%" PRIu64, identity->epoch);
	if (!err)
		err = send_host(db, identity, label, host, epoch);
	if (!err)
		err = send_rows(db, t, host, epoch);
	if (!err)
		err = db_send(db, "COMMIT", 0, NULL);
	return err ? err : db_sync(db);
}

static int read_results(struct share_db *db)
{
	PGresult *r;
	int i, err = 0;

	for (i = 0; i < STATEMENTS && !err; i++) {
		r = NULL;
		err = db_result(db, &r);
		PQclear(r);
	}
	if (err == -EREMOTEIO && !strcmp(db->code, "22012"))
		err = -ESTALE;
	if (!err || err == -EREMOTEIO || err == -ESTALE) {
		int lost = db_drain(db);

		err = err ? err : lost;
	}
	return err;
}

void batch_roll_back(struct share_db *db)
{
	struct share_db said = *db;

	if (PQtransactionStatus(db->conn) == PQTRANS_IDLE ||
	    db_run(db, "ROLLBACK", 0, NULL, NULL))
		return;
	memcpy(db->message, said.message, sizeof(said.message));
	memcpy(db->code, said.code, sizeof(said.code));
}

int batch_send(struct share_batch *b, struct share_db *db,
	       const struct share_identity *identity, const char *label)
{
	struct batch_text t = { 0 };
	int err = format_batch(&t, b);

	db_set_timeout(db, TIMEOUT_MS);
	if (!err)
		err = send_all(db, &t, identity, label);
	if (!err)
		err = read_results(db);
	if (err == -EREMOTEIO || err == -ESTALE)
		batch_roll_back(db);
	text_release(&t);
	return err;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/text.h"
#include "core/base/utf8.h"
#include "core/share/ask.h"
#include "core/share/share.h"
#include "core/share/schema.h"

enum { CONNECT_MS = 10000, STATEMENT_MS = 600000, GC_PIECE = 1000 };

static int connect_to(const struct share_options *o, struct share_db *db,
		      int64_t *limit_out)
{
	int err = db_open(db, o->conninfo, CONNECT_MS);

	if (!err)
		err = schema_check(db, limit_out);
	db_set_timeout(db, STATEMENT_MS);
	return err;
}

/* The exit code, after a message. */
static int end(struct share_db *db, int err)
{
	if (err)
		share_complain("the database: %s", db->message);
	db_close(db);
	return err ? SHARE_FAILED : SHARE_OK;
}

int share_run_init(struct share_options *o)
{
	struct share_db db = { 0 };
	int err = db_open(&db, o->conninfo, CONNECT_MS);

	if (!err)
		err = schema_make(&db, &o->schema);
	if (err == -EEXIST)
		(void)snprintf(db.message, sizeof(db.message),
			       "there are tables already; kin-share check "
			       "compares them with a catalog");
	if (!err)
		puts("the tables are made");
	return end(&db, err);
}

/* ---- forget ---- */

/* A host is named by its label or its id. */
int share_run_forget(struct share_options *o)
{
	struct share_db db = { 0 };
	PGresult *hosts = NULL, *r = NULL;
	const char *id;
	uint64_t copies;
	int64_t limit;
	int err = connect_to(o, &db, &limit);

	if (!err)
		err = db_run(&db, SQL_FIND_HOST, 1, &o->operand, &hosts);
	if (!err && PQntuples(hosts) != 1) {
		(void)snprintf(db.message, sizeof(db.message),
			       PQntuples(hosts) ?
				       "several hosts are called %.200s; give "
				       "the id of one" :
				       "no host is called %.200s",
			       o->operand);
		err = -ENOENT;
	}
	id = err ? NULL : db_value(hosts, 0, 0);
	/* The host last: while a server is gone the command can be repeated. */
	if (!err)
		err = db_run(&db, SQL_FORGET_COPIES, 1, &id, &r);
	if (!err)
		err = db_run(&db, SQL_FORGET_HOST, 1, &id, NULL);
	if (!err) {
		copies = strtoull(PQcmdTuples(r), NULL, 10);
		printf("%" PRIu64 " %s of ", copies,
		       text_plural(copies, "copy", "copies"));
		utf8_print_safe(stdout, o->operand);
		printf(" %s forgotten; kin-share gc removes contents that "
		       "nobody has\n",
		       text_plural(copies, "is", "are"));
	}
	PQclear(hosts);
	PQclear(r);
	return end(&db, err);
}

/* ---- gc ---- */

/* Contents are looked through in ranges of their uuids, without a lock.  Those
 * that no host has are looked up once more and removed in a transaction that
 * waits for the batches that are being written and keeps others away: a content
 * that a host is about to use again is not removed. */
struct gc {
	struct share_db db;
	int64_t limit;
	struct sketch sketch;
	uint64_t removed;
};

/* The postings of a content are those of its sketch. */
static int add_values(struct gc *g, const char *text, struct buf *values)
{
	uint8_t bytes[SKETCH_PACKED_MAX];
	ssize_t len = db_parse_bytes(text, bytes, sizeof(bytes));
	size_t i;
	int err = 0;

	if (len < 0 || sketch_unpack(bytes, (size_t)len, &g->sketch))
		return 0;
	for (i = 0; i < g->sketch.count && !err; i++) {
		if (i >= SHARE_ANCHORS &&
		    (int64_t)g->sketch.values[i] >= g->limit)
			break;
		err = db_array_add_number(values, (int64_t)g->sketch.values[i]);
	}
	return err;
}

/* Rows of SQL_FIND_UNUSED. */
static int remove_rows(struct gc *g, const PGresult *unused, int row, int end)
{
	struct buf contents = { 0 }, values = { 0 }, removed = { 0 };
	PGresult *r = NULL;
	int err = 0;

	for (; row < end && !err; row++) {
		err = db_array_add(&contents, db_value(unused, row, 0));
		if (!err)
			err = add_values(g, db_value(unused, row, 1), &values);
	}
	db_set_timeout(&g->db, STATEMENT_MS);
	if (!err)
		err = db_do(&g->db, SQL_BEGIN ";" SQL_LOCK_META);
	if (!err)
		err = db_run(&g->db, SQL_REMOVE_UNUSED, 1,
			     (const char *[]){ contents.data }, &r);
	for (row = 0; !err && row < PQntuples(r); row++)
		err = db_array_add(&removed, db_value(r, row, 0));
	if (!err && removed.len && values.len)
		err = db_run(&g->db, SQL_REMOVE_POSTINGS, 2,
			     (const char *[]){ removed.data, values.data },
			     NULL);
	if (!err)
		err = db_run(&g->db, "COMMIT", 0, NULL, NULL);
	if (!err)
		g->removed += (uint64_t)PQntuples(r);
	PQclear(r);
	buf_release(&contents);
	buf_release(&values);
	buf_release(&removed);
	return err;
}

int share_run_gc(struct share_options *o)
{
	char first[] = "00000000-0000-0000-0000-000000000000";
	char last[] = "ffffffff-ffff-ffff-ffff-ffffffffffff";
	const char *range[] = { first, last };
	struct gc *g = calloc(1, sizeof(*g));
	bool is_end = false;
	int row, count, err, code;

	if (!g)
		return SHARE_FAILED;
	err = connect_to(o, &g->db, &g->limit);
	while (!err && !is_end) {
		PGresult *ends = NULL, *r = NULL;

		db_set_timeout(&g->db, STATEMENT_MS);
		err = db_run(&g->db, SQL_END_OF_RANGE, 1, range, &ends);
		is_end = !err && !PQntuples(ends);
		range[1] = is_end ? last : db_value(ends, 0, 0);
		if (!err)
			err = db_run(&g->db, SQL_FIND_UNUSED, 2, range, &r);
		count = err ? 0 : PQntuples(r);
		for (row = 0; row < count && !err; row += GC_PIECE)
			err = remove_rows(g, r, row,
					  row + GC_PIECE < count ?
						  row + GC_PIECE :
						  count);
		(void)snprintf(first, sizeof(first), "%s", range[1]);
		PQclear(ends);
		PQclear(r);
	}
	if (!err)
		printf("%" PRIu64 " contents that nobody has were removed\n",
		       g->removed);
	code = end(&g->db, err);
	free(g);
	return code;
}

/* ---- check ---- */

static int count_copies(struct share_db *db, const struct session *s,
			const char *sql, int count, uint64_t *out)
{
	const char *values[] = { s->host, s->batch.old_contents.data,
				 s->batch.old_files.data };
	PGresult *r = NULL;
	int err;

	db_set_timeout(db, STATEMENT_MS);
	err = db_run(db, sql, count, values, &r);
	if (!err)
		*out += strtoull(db_value(r, 0, 0), NULL, 10);
	PQclear(r);
	return err;
}

/* Does the database have what the catalog has, and nothing else of this host?
 * The state is not used, so the daemon may publish meanwhile; what it has not
 * published yet is found missing.  A batch of what is to be published, with
 * nothing published so far, is what the database should have. */
static int check_one(const struct share_options *o, struct session *s,
		     struct share_db *db)
{
	uint64_t wanted = 0, found = 0, published = 0, extra;
	int64_t limit = 0;
	int more = 1, err = session_peek(s);

	if (err) {
		share_complain("%s: %s", s->directory,
			       err == -ENODATA ?
				       "it was never published from here" :
				       err_text(err));
		return SHARE_FAILED;
	}
	err = connect_to(o, db, &limit);
	while (!err && (more = feed_fill(s)) > 0) {
		wanted += s->batch.put_count;
		err = count_copies(db, s, SQL_COUNT_THESE, 3, &found);
		batch_clear(&s->batch);
	}
	if (!err)
		err = more;
	if (!err)
		err = count_copies(db, s, SQL_COUNT_COPIES, 1, &published);
	if (err) {
		share_complain("%s",
			       *db->message ? db->message : err_text(err));
		return SHARE_FAILED;
	}
	extra = published > found ? published - found : 0;
	utf8_print_safe(stdout, s->directory);
	printf(": %" PRIu64 " files to be published, %" PRIu64
	       " missing in the database, %" PRIu64
	       " there that should not be\n",
	       wanted, wanted - found, extra);
	if (wanted == found && !extra)
		return SHARE_OK;
	puts("What changed a moment ago is published soon; --once --refill "
	     "publishes everything again");
	return SHARE_FAILED;
}

int share_run_check(struct share_options *o)
{
	int worst = SHARE_OK;
	size_t i;

	for (i = 0; i < o->catalog_count; i++) {
		struct session s = { .directory = o->catalogs[i],
				     .rules = &o->rules };
		struct share_db db = { 0 };

		if (check_one(o, &s, &db))
			worst = SHARE_FAILED;
		db_close(&db);
		session_close(&s);
	}
	return worst;
}

/* ---- ask ---- */

int share_run_ask(struct share_options *o)
{
	struct share_db db = { 0 };
	struct ask ask = { .db = &db,
			   .conninfo = o->conninfo,
			   .wait_ms = o->wait_ms };
	json_t *request;
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	int err = 0;

	while (!err && (len = getline(&line, &room, stdin)) > 0) {
		struct buf answer = { 0 };

		request = json_loadb(line, (size_t)len, 0, NULL);
		err = ask_answer(&ask, request, &answer);
		if (!err &&
		    (fwrite(answer.data, 1, answer.len, stdout) != answer.len ||
		     fflush(stdout)))
			err = -EIO;
		json_decref(request);
		buf_release(&answer);
	}
	free(line);
	db_close(&db);
	return err ? SHARE_FAILED : SHARE_OK;
}

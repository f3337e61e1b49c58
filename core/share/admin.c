/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/base/utf8.h"
#include "core/share/ask.h"
#include "core/share/batch.h"
#include "core/share/share.h"

enum { CONNECT_MS = 10000, STATEMENT_MS = 600000, GC_PIECE = 1000 };

/* 0, or an exit code after a message. */
static int connect_to(const struct share_options *o, struct share_db *db,
		      int64_t *limit_out)
{
	int err = db_open(db, o->conninfo, CONNECT_MS);

	if (!err)
		err = schema_check(db, limit_out);
	db_set_timeout(db, STATEMENT_MS);
	if (!err)
		return SHARE_OK;
	share_complain("the database: %s", db->message);
	db_close(db);
	return SHARE_FAILED;
}

static int end(struct share_db *db, int err)
{
	if (err)
		share_complain("the database: %s", db->message);
	db_close(db);
	return err ? SHARE_FAILED : SHARE_OK;
}

/* ---- forget ---- */

/* By its label or its id. */
static int find_host(struct share_db *db, const char *host, char *id,
		     size_t room)
{
	const char *values[] = { host };
	PGresult *r = NULL;
	int err = db_run(db,
			 "SELECT host FROM @kin_host WHERE label = $1 OR "
			 "host::text = lower($1)",
			 1, values, &r);

	if (!err && PQntuples(r) != 1) {
		(void)snprintf(db->message, sizeof(db->message),
			       PQntuples(r) ? "several hosts are called %.200s;"
					      " give the id of one" :
					      "no host is called %.200s",
			       host);
		err = -ENOENT;
	}
	if (!err)
		(void)snprintf(id, room, "%s", db_value(r, 0, 0));
	PQclear(r);
	return err;
}

int share_run_forget(const struct share_options *o, const char *host)
{
	struct share_db db = { 0 };
	char id[DB_UUID_TEXT + 1];
	const char *values[] = { id };
	PGresult *r = NULL;
	int64_t limit;
	int err, code = connect_to(o, &db, &limit);

	if (code)
		return code;
	err = find_host(&db, host, id, sizeof(id));
	/* The host last: while a server is gone the command can be repeated. */
	if (!err)
		err = db_run(&db, "DELETE FROM @kin_copy WHERE host = $1::uuid",
			     1, values, &r);
	if (!err)
		err = db_run(&db, "DELETE FROM @kin_host WHERE host = $1::uuid",
			     1, values, NULL);
	if (!err) {
		const uint64_t copies = strtoull(PQcmdTuples(r), NULL, 10);

		printf("%llu %s of ", (unsigned long long)copies,
		       text_plural(copies, "copy", "copies"));
		utf8_print_safe(stdout, host);
		printf(" %s forgotten; kin-share gc removes contents that "
		       "nobody has\n",
		       text_plural(copies, "is", "are"));
	}
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
	char first[DB_UUID_TEXT + 1], last[DB_UUID_TEXT + 1]; /* of the range */
	bool is_end;
	uint64_t removed;
};

static int take_text(const PGresult *r, char out[DB_UUID_TEXT + 1])
{
	(void)snprintf(out, DB_UUID_TEXT + 1, "%s", db_value(r, 0, 0));
	return PQntuples(r);
}

/* The range behind the last one. */
static int next_range(struct gc *g)
{
	const char *values[] = { g->first };
	PGresult *r = NULL;
	int err;

	memcpy(g->first, g->last, sizeof(g->first));
	err = db_run(&g->db,
		     "SELECT content FROM @kin_content WHERE content > "
		     "$1::uuid ORDER BY content OFFSET 9999 LIMIT 1",
		     1, values, &r);
	if (!err && !take_text(r, g->last)) {
		g->is_end = true;
		memset(g->last, 'f', DB_UUID_TEXT);
		g->last[8] = g->last[13] = g->last[18] = g->last[23] = '-';
	}
	PQclear(r);
	return err;
}

static int find_unused(struct gc *g, PGresult **out)
{
	const char *values[] = { g->first, g->last };

	return db_run(&g->db,
		      "SELECT content, sketch FROM @kin_content k WHERE "
		      "content > $1::uuid AND content <= $2::uuid AND "
		      "NOT EXISTS (SELECT 1 FROM @kin_copy c WHERE "
		      "c.content = k.content AND c.content > $1::uuid AND "
		      "c.content <= $2::uuid)",
		      2, values, out);
}

static int take_values(struct gc *g, const char *text, struct buf *values)
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

/* In the transaction. */
static int remove_contents(struct gc *g, const char *contents,
			   const char *values_of_all)
{
	const char *values[] = { contents, values_of_all };
	struct buf removed = { 0 };
	PGresult *r = NULL;
	int row, err;

	err = db_run(&g->db, "SELECT version FROM @kin_meta FOR UPDATE", 0,
		     NULL, NULL);
	if (!err)
		err = db_run(&g->db,
			     "DELETE FROM @kin_content k WHERE content = "
			     "ANY($1::uuid[]) AND NOT EXISTS (SELECT 1 FROM "
			     "@kin_copy c WHERE c.content = k.content AND "
			     "c.content = ANY($1::uuid[])) RETURNING content",
			     1, values, &r);
	for (row = 0; !err && row < PQntuples(r); row++)
		err = db_array_add(&removed, db_value(r, row, 0));
	if (!err)
		err = db_array_end(&removed);
	values[0] = removed.data;
	if (!err)
		err = db_run(&g->db,
			     "DELETE FROM @kin_posting WHERE content = "
			     "ANY($1::uuid[]) AND value = ANY($2::bigint[])",
			     2, values, NULL);
	if (!err)
		g->removed += (uint64_t)PQntuples(r);
	PQclear(r);
	buf_release(&removed);
	return err;
}

/* Rows of find_unused(). */
static int remove_rows(struct gc *g, const PGresult *r, int first, int end)
{
	struct buf contents = { 0 }, values = { 0 };
	int row, err = 0;

	for (row = first; row < end && !err; row++) {
		err = db_array_add(&contents, db_value(r, row, 0));
		if (!err)
			err = take_values(g, db_value(r, row, 1), &values);
	}
	if (!err)
		err = db_array_end(&contents);
	if (!err)
		err = db_array_end(&values);
	db_set_timeout(&g->db, STATEMENT_MS);
	if (!err)
		err = db_script(&g->db, DB_BEGIN, NULL, 0);
	if (!err)
		err = remove_contents(g, contents.data, values.data);
	if (!err)
		err = db_run(&g->db, "COMMIT", 0, NULL, NULL);
	buf_release(&contents);
	buf_release(&values);
	return err;
}

static int collect_range(struct gc *g)
{
	PGresult *r = NULL;
	int first, count, err;

	db_set_timeout(&g->db, STATEMENT_MS);
	err = next_range(g);
	if (!err)
		err = find_unused(g, &r);
	count = err ? 0 : PQntuples(r);
	for (first = 0; first < count && !err; first += GC_PIECE)
		err = remove_rows(g, r, first,
				  first + GC_PIECE < count ? first + GC_PIECE :
							     count);
	PQclear(r);
	return err;
}

int share_run_gc(const struct share_options *o)
{
	struct gc *g = calloc(1, sizeof(*g));
	int err = 0, code;

	if (!g)
		return SHARE_FAILED;
	memcpy(g->last, "00000000-0000-0000-0000-000000000000",
	       sizeof(g->last));
	code = connect_to(o, &g->db, &g->limit);
	while (!code && !err && !g->is_end)
		err = collect_range(g);
	if (!code && !err)
		printf("%" PRIu64 " contents that nobody has were removed\n",
		       g->removed);
	if (!code)
		code = end(&g->db, err);
	free(g);
	return code;
}

/* ---- ask ---- */

int share_run_ask(const struct share_options *o)
{
	struct share_db db = { 0 };
	struct ask ask = { .db = &db,
			   .conninfo = o->conninfo,
			   .wait_ms = o->wait_ms };
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	int err = 0;

	while (!err && (len = getline(&line, &room, stdin)) > 0)
		err = ask_answer(&ask, line, (size_t)len, stdout);
	free(line);
	db_close(&db);
	return err ? SHARE_FAILED : SHARE_OK;
}

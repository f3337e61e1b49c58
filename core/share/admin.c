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
			 "SELECT host FROM kin_host WHERE label = $1 OR "
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
	if (!err)
		err = db_run(&db, "DELETE FROM kin_host WHERE host = $1::uuid",
			     1, values, NULL);
	if (!err)
		err = db_run(&db, "DELETE FROM kin_copy WHERE host = $1::uuid",
			     1, values, &r);
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

struct gc {
	struct share_db db;
	int64_t limit;
	struct buf contents, values;
	struct sketch sketch;
	char after[DB_UUID_TEXT + 1];
	uint64_t removed;
};

static int take_values(struct gc *g, const char *text)
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
		err = db_array_add_number(&g->values,
					  (int64_t)g->sketch.values[i]);
	}
	return err;
}

static int take_unused(struct gc *g, const PGresult *r)
{
	int row, err = 0;

	buf_clear(&g->contents);
	buf_clear(&g->values);
	for (row = 0; row < PQntuples(r) && !err; row++) {
		(void)snprintf(g->after, sizeof(g->after), "%s",
			       db_value(r, row, 0));
		err = db_array_add(&g->contents, g->after);
		if (!err)
			err = take_values(g, db_value(r, row, 1));
	}
	if (!err)
		err = db_array_end(&g->contents);
	return err ? err : db_array_end(&g->values);
}

static int remove_unused(struct gc *g)
{
	const char *values[] = { g->contents.data, g->values.data };
	int err = db_run(&g->db,
			 "DELETE FROM kin_posting WHERE content = "
			 "ANY($1::uuid[]) AND value = ANY($2::bigint[])",
			 2, values, NULL);

	return err ? err :
		     db_run(&g->db,
			    "DELETE FROM kin_content WHERE content = "
			    "ANY($1::uuid[])",
			    1, values, NULL);
}

/* The lock waits for the batches that are being written, and keeps others
 * away: a content that a host is about to use again is not removed. */
static int collect_piece(struct gc *g, int *count_out)
{
	const char *values[] = { g->after };
	PGresult *r = NULL;
	int err = db_run(&g->db, "BEGIN", 0, NULL, NULL);

	if (!err)
		err = db_run(&g->db, "SELECT version FROM kin_meta FOR UPDATE",
			     0, NULL, NULL);
	if (!err)
		err = db_run(&g->db,
			     "SELECT content, sketch FROM kin_content k WHERE "
			     "content > $1::uuid AND NOT EXISTS (SELECT 1 FROM "
			     "kin_copy c WHERE c.content = k.content) "
			     "ORDER BY content LIMIT 1000",
			     1, values, &r);
	if (!err)
		err = take_unused(g, r);
	*count_out = err ? 0 : PQntuples(r);
	PQclear(r);
	if (!err && *count_out)
		err = remove_unused(g);
	return err ? err : db_run(&g->db, "COMMIT", 0, NULL, NULL);
}

int share_run_gc(const struct share_options *o)
{
	struct gc *g = calloc(1, sizeof(*g));
	int count = 1, err = 0, code;

	if (!g)
		return SHARE_FAILED;
	(void)snprintf(g->after, sizeof(g->after),
		       "00000000-0000-0000-0000-000000000000");
	code = connect_to(o, &g->db, &g->limit);
	while (!code && !err && count) {
		db_set_timeout(&g->db, STATEMENT_MS);
		err = collect_piece(g, &count);
		g->removed += (uint64_t)count;
	}
	if (!code && !err)
		printf("%" PRIu64 " contents that nobody has were removed\n",
		       g->removed);
	if (!code)
		code = end(&g->db, err);
	buf_release(&g->contents);
	buf_release(&g->values);
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

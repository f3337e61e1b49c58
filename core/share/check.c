/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/utf8.h"
#include "core/share/batch.h"
#include "core/share/share.h"

/*
 * kin-share check: does the database have what the catalog has, and nothing
 * else of this host?  The state is not used, so the daemon may publish
 * meanwhile; what it has not published yet is found missing.
 */
enum { CONNECT_MS = 10000, STATEMENT_MS = 600000 };

struct share_check {
	struct session session;
	struct share_db db;
	char host[DB_UUID_TEXT + 1];
	struct buf contents, files;
	uint64_t wanted, found, published;
};

/* ---- what there is ---- */

static int count_rows(struct share_check *c, const char *sql,
		      const char *second, uint64_t *out)
{
	const char *values[] = { c->host, c->contents.data, second };
	PGresult *r = NULL;
	int err = db_run(&c->db, sql, second ? 3 : 1, values, &r);

	if (!err)
		*out += strtoull(db_value(r, 0, 0), NULL, 10);
	PQclear(r);
	return err;
}

static int add_pair(struct share_check *c, const struct share_publication *p)
{
	uint8_t file[DB_FILE_BYTES];
	int err = db_array_add_uuid(&c->contents, p->content);

	batch_format_file(&p->file, file);
	return err ? err : db_array_add_bytes(&c->files, file, sizeof(file));
}

/* A batch of what is to be published, with nothing published so far, is what
 * the database should have. */
static int compare_batch(struct share_check *c)
{
	const struct share_batch *b = &c->session.feed.batch;
	size_t i;
	int err = 0;

	buf_clear(&c->contents);
	buf_clear(&c->files);
	for (i = 0; i < b->copy_count && !err; i++)
		err = add_pair(c, &b->copies[i].publication);
	if (!err)
		err = db_array_end(&c->contents);
	if (!err)
		err = db_array_end(&c->files);
	c->wanted += b->copy_count;
	db_set_timeout(&c->db, STATEMENT_MS);
	if (err)
		return err;
	return count_rows(c,
			  "SELECT count(*) FROM @kin_copy p JOIN unnest("
			  "$2::uuid[], $3::bytea[]) AS u(c, f) ON p.content = "
			  "u.c AND p.file = u.f WHERE p.host = $1::uuid AND "
			  "p.content = ANY($2::uuid[]) AND EXISTS (SELECT 1 "
			  "FROM @kin_content k WHERE k.content = p.content AND "
			  "k.content = ANY($2::uuid[]))",
			  c->files.data, &c->found);
}

static int compare_all(struct share_check *c)
{
	int more, err = 0;

	while (!err && (more = feed_all_again(&c->session.feed)) > 0) {
		err = compare_batch(c);
		batch_clear(&c->session.feed.batch);
	}
	if (!err)
		err = more;
	return err ? err :
		     count_rows(c,
				"SELECT count(*) FROM @kin_copy WHERE host = "
				"$1::uuid",
				NULL, &c->published);
}

/* ---- the answer ---- */

static int print_result(const struct share_check *c)
{
	uint64_t missing = c->wanted - c->found;
	uint64_t extra = c->published > c->found ? c->published - c->found : 0;

	utf8_print_safe(stdout, c->session.directory);
	printf(": %" PRIu64 " files to be published, %" PRIu64
	       " missing in the database, %" PRIu64
	       " there that should not be\n",
	       c->wanted, missing, extra);
	if (!missing && !extra)
		return SHARE_OK;
	printf("What changed a moment ago is published soon; --once --refill "
	       "publishes everything again\n");
	return SHARE_FAILED;
}

static int check_one(const struct share_options *o, size_t i,
		     struct share_check *c)
{
	int64_t limit = 0;
	int err = session_peek(&c->session, c->host);

	if (err) {
		share_complain("%s: %s", o->catalogs[i],
			       err == -ENODATA ?
				       "it was never published from here" :
				       err_text(err));
		return SHARE_FAILED;
	}
	err = db_open(&c->db, o->conninfo, CONNECT_MS);
	if (!err)
		err = schema_check(&c->db, &limit);
	if (!err)
		err = compare_all(c);
	if (!err)
		return print_result(c);
	share_complain("%s", *c->db.message ? c->db.message : err_text(err));
	return SHARE_FAILED;
}

int share_run_check(const struct share_options *o)
{
	int worst = SHARE_OK, code;
	size_t i;

	for (i = 0; i < o->catalog_count; i++) {
		struct share_check c = { .session = { .directory =
							      o->catalogs[i],
						      .rules = &o->rules } };

		code = check_one(o, i, &c);
		if (code)
			worst = code;
		db_close(&c.db);
		session_close(&c.session);
		buf_release(&c.contents);
		buf_release(&c.files);
	}
	return worst;
}

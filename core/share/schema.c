/* SPDX-License-Identifier: Apache-2.0 */
#include "core/share/schema.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 60000 };

struct share_table {
	const char *name;
	const char *columns;
	const char *key; /* of the row */
	const char
		*place; /* the column by which rows are distributed, or NULL */
};

/* Postings first. */
static const struct share_table tables[] = {
	{ "kin_posting", "value bigint NOT NULL, content uuid NOT NULL",
	  "value, content", "value" },
	{ "kin_content",
	  "content uuid NOT NULL, size bigint NOT NULL, simhash bigint, "
	  "traits bytea, sketch bytea",
	  "content", "content" },
	{ "kin_copy",
	  "content uuid NOT NULL, host uuid NOT NULL, file bytea NOT NULL, "
	  "path bytea, mtime timestamptz, epoch bigint NOT NULL",
	  "content, host, file", "content" },
	{ "kin_host",
	  "host uuid NOT NULL, label text, epoch bigint NOT NULL, "
	  "token bigint NOT NULL, seen timestamptz",
	  "host", NULL },
	{ "kin_meta", "version int NOT NULL, share_limit bigint NOT NULL",
	  "version", NULL },
};

#define TABLE_COUNT (sizeof(tables) / sizeof(tables[0]))

/* Runs a statement and drops its result. */
static int run(struct share_db *db, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int run(struct share_db *db, const char *format, ...)
{
	char *sql = NULL;
	va_list args;
	int err;

	va_start(args, format);
	if (vasprintf(&sql, format, args) < 0)
		sql = NULL;
	va_end(args);
	err = sql ? db_run(db, sql, 0, NULL, NULL) : -ENOMEM;
	free(sql);
	return err;
}

/* ---- the kinds of tables ---- */

static int drop_table(struct share_db *db, const struct share_table *t)
{
	return run(db, "DROP TABLE IF EXISTS %s CASCADE", t->name);
}

/* Servers are dropped with their tables: they may be others now. */
static int drop_servers(struct share_db *db)
{
	PGresult *r = NULL;
	int row, err;

	err = db_run(db,
		     "SELECT srvname FROM pg_foreign_server WHERE srvname ~ "
		     "'^kin_(posting_)?server_[0-9]+$'",
		     0, NULL, &r);
	for (row = 0; !err && row < PQntuples(r); row++)
		err = run(db, "DROP SERVER %s CASCADE", db_value(r, row, 0));
	PQclear(r);
	return err;
}

/* Copies are withdrawn and counted by their host. */
static int make_index(struct share_db *db, const struct share_table *t)
{
	return strcmp(t->name, "kin_copy") ?
		       0 :
		       run(db, "CREATE INDEX kin_copy_of_host ON kin_copy "
			       "(host, epoch)");
}

static int make_plain(struct share_db *db, const struct share_table *t)
{
	int err = run(db, "CREATE TABLE %s (%s, PRIMARY KEY (%s))", t->name,
		      t->columns, t->key);

	return err ? err : make_index(db, t);
}

/* The primary key is sharded by its first column, whatever the columns after
 * it. */
static int make_yugabyte(struct share_db *db, const struct share_table *t,
			 unsigned tablets)
{
	const char *rest = strchr(t->key, ',');
	char split[64] = "";
	int err;

	if (!t->place)
		return make_plain(db, t);
	if (tablets)
		(void)snprintf(split, sizeof(split), " SPLIT INTO %u TABLETS",
			       tablets);
	err = run(db, "CREATE TABLE %s (%s, PRIMARY KEY ((%s) HASH%s))%s",
		  t->name, t->columns, t->place, rest ? rest : "", split);
	return err ? err : make_index(db, t);
}

static int make_citus(struct share_db *db, const struct share_table *t)
{
	int err = make_plain(db, t);

	if (err)
		return err;
	/* Each batch changes the row of its host: in a reference table it would
	 * lock the others out.  One shard has no copies to be kept equal. */
	if (!strcmp(t->name, "kin_host"))
		return run(db,
			   "SELECT create_distributed_table('kin_host', NULL)");
	if (!t->place)
		return run(db, "SELECT create_reference_table('%s')", t->name);
	return run(db, "SELECT create_distributed_table('%s', '%s'%s)", t->name,
		   t->place,
		   strcmp(t->name, "kin_copy") ?
			   ", colocate_with => 'none'" :
			   ", colocate_with => 'kin_content'");
}

/* ---- many servers ---- */

/* NAME 'value' for those that the server or the user is known by. */
static int append_option(struct share_db *db, struct buf *out, const char *name,
			 const char *value)
{
	char *quoted = PQescapeLiteral(db->conn, value, strlen(value)), *c;
	int err = quoted ? buf_append_format(out, "%s%s ", out->len ? ", " : "",
					     name) :
			   -ENOMEM;

	for (c = quoted; !err && *c; c++)
		err = buf_append(out, *c == '@' ? "@@" : c, *c == '@' ? 2 : 1);
	PQfreemem(quoted);
	return err;
}

static int split_conninfo(struct share_db *db, const char *conninfo,
			  struct buf *server, struct buf *user)
{
	char *why = NULL;
	PQconninfoOption *all = PQconninfoParse(conninfo, &why), *o;
	int err = 0;

	if (!all) {
		(void)snprintf(db->message, sizeof(db->message), "%s: %.*s",
			       conninfo, (int)strcspn(why ? why : "", "\n"),
			       why ? why : "");
		PQfreemem(why);
		return -EINVAL;
	}
	for (o = all; o->keyword && !err; o++) {
		bool of_user = !strcmp(o->keyword, "user") ||
			       !strcmp(o->keyword, "password");

		if (o->val && *o->val)
			err = append_option(db, of_user ? user : server,
					    o->keyword, o->val);
	}
	PQconninfoFree(all);
	return err;
}

/* connect_timeout: a server that is gone costs two seconds, not minutes. */
static int make_server(struct share_db *db, const char *name,
		       const char *conninfo)
{
	struct buf server = { 0 }, user = { 0 };
	int err = split_conninfo(db, conninfo, &server, &user);

	if (!err && !strstr(conninfo, "connect_timeout"))
		err = append_option(db, &server, "connect_timeout", "2");
	if (!err)
		err = run(db,
			  "CREATE SERVER %s FOREIGN DATA WRAPPER "
			  "postgres_fdw OPTIONS (%s, async_capable 'true', "
			  "batch_size '1000')",
			  name, server.data);
	if (!err)
		err = run(db, "CREATE USER MAPPING FOR PUBLIC SERVER %s %s%s%s",
			  name, user.len ? "OPTIONS (" : "",
			  user.len ? user.data : "", user.len ? ")" : "");
	buf_release(&server);
	buf_release(&user);
	return err;
}

/* Servers that have partitions, and a connection to each; none: the tables are
 * in the database itself. */
struct server_list {
	const char *name; /* of each, with its number */
	const char *const *conninfo;
	size_t count;
	struct share_db *remotes;
};

static int fail_remotely(struct share_db *db, const struct share_db *remote)
{
	(void)snprintf(db->message, sizeof(db->message), "%s", remote->message);
	memcpy(db->code, remote->code, sizeof(db->code));
	return -EREMOTEIO;
}

static int open_servers(struct share_db *db, struct server_list *l)
{
	char name[48];
	size_t i;
	int err = 0;

	l->remotes = calloc(l->count + 1, sizeof(*l->remotes));
	if (!l->remotes)
		return -ENOMEM;
	for (i = 0; i < l->count && !err; i++) {
		(void)snprintf(name, sizeof(name), "%s_%zu", l->name, i);
		err = make_server(db, name, l->conninfo[i]);
		if (err)
			break;
		if (db_open(&l->remotes[i], l->conninfo[i], TIMEOUT_MS) ||
		    run(&l->remotes[i], "BEGIN"))
			err = fail_remotely(db, &l->remotes[i]);
	}
	return err;
}

static int commit_servers(struct share_db *db, const struct server_list *l)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		if (run(&l->remotes[i], "COMMIT"))
			return fail_remotely(db, &l->remotes[i]);
	return 0;
}

static void close_servers(const struct server_list *l)
{
	size_t i;

	for (i = 0; l->remotes && i < l->count; i++)
		db_close(&l->remotes[i]);
	free(l->remotes);
}

static int make_partition(struct share_db *db, const struct share_table *t,
			  const struct server_list *l, size_t i, bool replace)
{
	int err = replace ? drop_table(&l->remotes[i], t) : 0;

	if (!err)
		err = make_plain(&l->remotes[i], t);
	if (err)
		return fail_remotely(db, &l->remotes[i]);
	return run(db,
		   "CREATE FOREIGN TABLE %s_%zu PARTITION OF %s "
		   "FOR VALUES WITH (MODULUS %zu, REMAINDER %zu) "
		   "SERVER %s_%zu OPTIONS (table_name '%s')",
		   t->name, i, t->name, l->count, i, l->name, i, t->name);
}

static int make_partitioned(struct share_db *db, const struct share_table *t,
			    const struct server_list *l, bool replace)
{
	size_t i;
	int err;

	if (!t->place || !l->count)
		return make_plain(db, t);
	err = run(db, "CREATE TABLE %s (%s) PARTITION BY HASH (%s)", t->name,
		  t->columns, t->place);
	for (i = 0; i < l->count && !err; i++)
		err = make_partition(db, t, l, i, replace);
	return err;
}

/* Either all servers have their tables in the end, or none. */
static int make_servers(struct share_db *db, const struct share_schema *schema)
{
	struct server_list all = { .name = "kin_server",
				   .conninfo = schema->servers,
				   .count = schema->server_count };
	struct server_list postings = { .name = "kin_posting_server",
					.conninfo = schema->posting_servers,
					.count = schema->posting_server_count };
	size_t t;
	int err = run(db, "CREATE EXTENSION IF NOT EXISTS postgres_fdw");

	if (!err)
		err = open_servers(db, &all);
	if (!err)
		err = open_servers(db, &postings);
	for (t = 0; t < TABLE_COUNT && !err; t++)
		err = make_partitioned(db, &tables[t],
				       postings.count && !t ? &postings : &all,
				       schema->replace);
	if (!err)
		err = commit_servers(db, &all);
	if (!err)
		err = commit_servers(db, &postings);
	close_servers(&all);
	close_servers(&postings);
	return err;
}

/* ---- rights ---- */

/* A batch goes through temporary tables. */
static int grant_temporary(struct share_db *db, const char *role)
{
	const char *database = PQdb(db->conn);
	char *name = PQescapeIdentifier(db->conn, database, strlen(database));
	int err = name ? run(db, "GRANT TEMPORARY ON DATABASE %s TO %s", name,
			     role) :
			 -ENOMEM;

	PQfreemem(name);
	return err;
}

static int grant(struct share_db *db, const char *role, bool may_write)
{
	char *name = PQescapeIdentifier(db->conn, role, strlen(role));
	size_t i;
	int err = name ? 0 : -ENOMEM;

	for (i = 0; i < TABLE_COUNT && !err; i++)
		err = run(db, "GRANT SELECT%s ON %s TO %s",
			  !may_write           ? "" :
			  i + 1 == TABLE_COUNT ? ", UPDATE" :
						 ", INSERT, UPDATE, DELETE",
			  tables[i].name, name);
	if (!err && may_write)
		err = grant_temporary(db, name);
	PQfreemem(name);
	return err;
}

static int grant_all(struct share_db *db, const struct share_schema *schema)
{
	size_t i;
	int err = 0;

	for (i = 0; i < schema->reader_count && !err; i++)
		err = grant(db, schema->readers[i], false);
	for (i = 0; i < schema->writer_count && !err; i++)
		err = grant(db, schema->writers[i], true);
	return err;
}

/* ---- all of it ---- */

static int make_tables(struct share_db *db, const struct share_schema *schema)
{
	size_t i;
	int err = schema->replace ? drop_servers(db) : 0;

	for (i = 0; schema->replace && i < TABLE_COUNT && !err; i++)
		err = drop_table(db, &tables[i]);
	if (!err && schema->layout == LAYOUT_SERVERS)
		return make_servers(db, schema);
	for (i = 0; i < TABLE_COUNT && !err; i++) {
		if (schema->layout == LAYOUT_CITUS)
			err = make_citus(db, &tables[i]);
		else if (schema->layout == LAYOUT_YUGABYTE)
			err = make_yugabyte(db, &tables[i], schema->tablets);
		else
			err = make_plain(db, &tables[i]);
	}
	return err;
}

int schema_make(struct share_db *db, const struct share_schema *schema)
{
	int err;

	db_set_timeout(db, TIMEOUT_MS);
	err = run(db, "BEGIN");
	if (!err)
		err = make_tables(db, schema);
	if (!err)
		err = run(db,
			  "INSERT INTO kin_meta (version, share_limit) "
			  "VALUES (%d, %" PRId64 ")",
			  SHARE_VERSION, schema->limit);
	if (!err)
		err = grant_all(db, schema);
	if (!err)
		err = run(db, "COMMIT");
	return err == -EREMOTEIO && !strcmp(db->code, "42P07") ? -EEXIST : err;
}

static int wrong_version(struct share_db *db, const PGresult *r)
{
	if (!PQntuples(r))
		(void)snprintf(db->message, sizeof(db->message),
			       "kin_meta is empty: run kin-share init in an "
			       "empty database");
	else
		(void)snprintf(db->message, sizeof(db->message),
			       "the tables are of version %s, this kin-share "
			       "knows version %d; the older of both is to be "
			       "replaced, tables by kin-share init --replace",
			       db_value(r, 0, 0), SHARE_VERSION);
	return -EMEDIUMTYPE;
}

int schema_check(struct share_db *db, int64_t *limit_out)
{
	PGresult *r = NULL;
	int err = db_run(db,
			 "SELECT version, share_limit, (SELECT relkind FROM "
			 "pg_class WHERE oid = '@kin_posting'::regclass) "
			 "FROM @kin_meta",
			 0, NULL, &r);

	if (err == -EREMOTEIO && !strcmp(db->code, "42P01")) {
		(void)snprintf(db->message, sizeof(db->message),
			       "there are no tables yet: run kin-share init");
		return -EMEDIUMTYPE;
	}
	if (err)
		return err;
	if (PQntuples(r) != 1 ||
	    strtol(db_value(r, 0, 0), NULL, 10) != SHARE_VERSION)
		err = wrong_version(db, r);
	else
		*limit_out = strtoll(db_value(r, 0, 1), NULL, 10);
	db->is_spread = !strcmp(db_value(r, 0, 2), "p");
	PQclear(r);
	return err;
}

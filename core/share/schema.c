/* SPDX-License-Identifier: Apache-2.0 */
#include "core/share/schema.h"

#include <errno.h>
#include <inttypes.h>
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
	const char *citus; /* how; NULL: each server has all rows */
};

/* Postings first.  Each batch changes the row of its host: in a reference table
 * of Citus it would lock the others out, so kin_host is in one shard. */
static const struct share_table tables[] = {
	{ "kin_posting", "value bigint NOT NULL, content uuid NOT NULL",
	  "value, content", "value", "'value', colocate_with => 'none'" },
	{ "kin_content",
	  "content uuid NOT NULL, size bigint NOT NULL, simhash bigint, "
	  "traits bytea, sketch bytea",
	  "content", "content", "'content', colocate_with => 'none'" },
	{ "kin_copy",
	  "content uuid NOT NULL, host uuid NOT NULL, file bytea NOT NULL, "
	  "path bytea, mtime timestamptz, epoch bigint NOT NULL",
	  "content, host, file", "content",
	  "'content', colocate_with => 'kin_content'" },
	{ "kin_host",
	  "host uuid NOT NULL, label text, epoch bigint NOT NULL, "
	  "token bigint NOT NULL, seen timestamptz",
	  "host", NULL, "NULL" },
	{ "kin_meta", "version int NOT NULL, share_limit bigint NOT NULL",
	  "version", NULL, NULL },
};

#define TABLE_COUNT (sizeof(tables) / sizeof(tables[0]))

/* YugabyteDB shards the primary key by its first column, whatever the columns
 * after it. */
static int make_table(struct share_db *db, const struct share_table *t,
		      const struct share_schema *schema)
{
	char key[64];
	int err;

	(void)snprintf(key, sizeof(key), "%s", t->key);
	if (t->place && schema->layout == LAYOUT_YUGABYTE)
		(void)snprintf(key, sizeof(key), "(%s) HASH%s", t->place,
			       t->key + strlen(t->place));
	err = db_do(db, "CREATE TABLE %s (%s, PRIMARY KEY (%s))", t->name,
		    t->columns, key);
	/* Copies are withdrawn and counted by their host. */
	if (!err && !strcmp(t->name, "kin_copy"))
		err = db_do(db, "CREATE INDEX kin_copy_of_host ON kin_copy "
				"(host, epoch)");
	if (err || schema->layout != LAYOUT_CITUS)
		return err;
	return t->citus ? db_do(db, "SELECT create_distributed_table('%s', %s)",
				t->name, t->citus) :
			  db_do(db, "SELECT create_reference_table('%s')",
				t->name);
}

/* Servers are dropped with their tables: they may be others now. */
static int drop_tables(struct share_db *db)
{
	PGresult *r = NULL;
	size_t i;
	int row, err;

	err = db_run(db,
		     "SELECT srvname FROM pg_foreign_server WHERE srvname ~ "
		     "'^kin_(posting_)?server_[0-9]+$'",
		     0, NULL, &r);
	for (row = 0; !err && row < PQntuples(r); row++)
		err = db_do(db, "DROP SERVER %s CASCADE", db_value(r, row, 0));
	PQclear(r);
	for (i = 0; i < TABLE_COUNT && !err; i++)
		err = db_do(db, "DROP TABLE IF EXISTS %s CASCADE",
			    tables[i].name);
	return err;
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

/* connect_timeout: a server that is gone costs two seconds, not minutes. */
static int make_server(struct share_db *db, const char *name,
		       const char *conninfo)
{
	struct buf server = { 0 }, user = { 0 };
	char *why = NULL;
	PQconninfoOption *all = PQconninfoParse(conninfo, &why), *o;
	int err = all ? 0 : -EINVAL;

	if (!all)
		(void)snprintf(db->message, sizeof(db->message), "%s: %.*s",
			       conninfo, (int)strcspn(why ? why : "", "\n"),
			       why ? why : "");
	PQfreemem(why);
	for (o = all; o && o->keyword && !err; o++) {
		bool of_user = !strcmp(o->keyword, "user") ||
			       !strcmp(o->keyword, "password");

		if (o->val && *o->val)
			err = append_option(db, of_user ? &user : &server,
					    o->keyword, o->val);
	}
	PQconninfoFree(all);
	if (!err && !strstr(conninfo, "connect_timeout"))
		err = append_option(db, &server, "connect_timeout", "2");
	if (!err)
		err = db_do(db,
			    "CREATE SERVER %s FOREIGN DATA WRAPPER "
			    "postgres_fdw OPTIONS (%s, async_capable 'true', "
			    "batch_size '1000'); "
			    "CREATE USER MAPPING FOR PUBLIC SERVER %s %s%s%s",
			    name, server.data, name,
			    user.len ? "OPTIONS (" : "",
			    user.len ? user.data : "", user.len ? ")" : "");
	buf_release(&server);
	buf_release(&user);
	return err;
}

/* Servers that have partitions, and a connection to each; none: the tables are
 * in the database itself. */
struct server_list {
	const char *name; /* of each, with its number */
	const struct share_names *conninfo;
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

	l->remotes = calloc(l->conninfo->count + 1, sizeof(*l->remotes));
	if (!l->remotes)
		return -ENOMEM;
	for (i = 0; i < l->conninfo->count && !err; i++) {
		(void)snprintf(name, sizeof(name), "%s_%zu", l->name, i);
		err = make_server(db, name, l->conninfo->all[i]);
		if (err)
			break;
		if (db_open(&l->remotes[i], l->conninfo->all[i], TIMEOUT_MS) ||
		    db_do(&l->remotes[i], "BEGIN"))
			err = fail_remotely(db, &l->remotes[i]);
	}
	return err;
}

static int make_partitions(struct share_db *db, const struct share_table *t,
			   const struct server_list *l,
			   const struct share_schema *schema)
{
	struct share_db *remote;
	size_t i;
	int err = db_do(db, "CREATE TABLE %s (%s) PARTITION BY HASH (%s)",
			t->name, t->columns, t->place);

	for (i = 0; i < l->conninfo->count && !err; i++) {
		remote = &l->remotes[i];
		if ((schema->replace &&
		     db_do(remote, "DROP TABLE IF EXISTS %s CASCADE",
			   t->name)) ||
		    make_table(remote, t, schema))
			return fail_remotely(db, remote);
		err = db_do(db,
			    "CREATE FOREIGN TABLE %s_%zu PARTITION OF %s "
			    "FOR VALUES WITH (MODULUS %zu, REMAINDER %zu) "
			    "SERVER %s_%zu OPTIONS (table_name '%s')",
			    t->name, i, t->name, l->conninfo->count, i, l->name,
			    i, t->name);
	}
	return err;
}

/* Either all servers have their tables in the end, or none. */
static int make_servers(struct share_db *db, const struct share_schema *schema)
{
	struct server_list lists[] = {
		{ "kin_server", &schema->servers, NULL },
		{ "kin_posting_server", &schema->posting_servers, NULL },
	};
	struct server_list *l;
	size_t t, i;
	int err = db_do(db, "CREATE EXTENSION IF NOT EXISTS postgres_fdw");

	for (l = lists; l < lists + 2 && !err; l++)
		err = open_servers(db, l);
	for (t = 0; t < TABLE_COUNT && !err; t++) {
		l = &lists[!t && schema->posting_servers.count];
		err = tables[t].place && l->conninfo->count ?
			      make_partitions(db, &tables[t], l, schema) :
			      make_table(db, &tables[t], schema);
	}
	for (l = lists; l < lists + 2; l++) {
		for (i = 0; i < l->conninfo->count && l->remotes; i++) {
			if (!err && db_do(&l->remotes[i], "COMMIT"))
				err = fail_remotely(db, &l->remotes[i]);
			db_close(&l->remotes[i]);
		}
		free(l->remotes);
	}
	return err;
}

/* ---- all of it ---- */

/* A batch goes through temporary tables. */
static int grant(struct share_db *db, const char *role, bool may_write)
{
	const char *database = PQdb(db->conn);
	char *name = PQescapeIdentifier(db->conn, role, strlen(role));
	char *in = PQescapeIdentifier(db->conn, database, strlen(database));
	size_t i;
	int err = name && in ? 0 : -ENOMEM;

	for (i = 0; i < TABLE_COUNT && !err; i++)
		err = db_do(db, "GRANT SELECT%s ON %s TO %s",
			    !may_write           ? "" :
			    i + 1 == TABLE_COUNT ? ", UPDATE" :
						   ", INSERT, UPDATE, DELETE",
			    tables[i].name, name);
	if (!err && may_write)
		err = db_do(db, "GRANT TEMPORARY ON DATABASE %s TO %s", in,
			    name);
	PQfreemem(name);
	PQfreemem(in);
	return err;
}

int schema_make(struct share_db *db, const struct share_schema *schema)
{
	size_t i;
	int err;

	db_set_timeout(db, TIMEOUT_MS);
	err = db_do(db, "BEGIN");
	if (!err && schema->replace)
		err = drop_tables(db);
	if (!err && schema->layout == LAYOUT_SERVERS)
		err = make_servers(db, schema);
	else
		for (i = 0; i < TABLE_COUNT && !err; i++)
			err = make_table(db, &tables[i], schema);
	if (!err)
		err = db_do(db,
			    "INSERT INTO kin_meta (version, share_limit) "
			    "VALUES (%d, %" PRId64 ")",
			    SHARE_VERSION, schema->limit);
	for (i = 0; i < schema->readers.count && !err; i++)
		err = grant(db, schema->readers.all[i], false);
	for (i = 0; i < schema->writers.count && !err; i++)
		err = grant(db, schema->writers.all[i], true);
	if (!err)
		err = db_do(db, "COMMIT");
	return err == -EREMOTEIO && !strcmp(db->code, "42P07") ? -EEXIST : err;
}

int schema_check(struct share_db *db, int64_t *limit_out)
{
	PGresult *r = NULL;
	int err = db_run(db, SQL_CHECK_TABLES, 0, NULL, &r);

	if (err == -EREMOTEIO && !strcmp(db->code, "42P01")) {
		(void)snprintf(db->message, sizeof(db->message),
			       "there are no tables yet: run kin-share init");
		return -EMEDIUMTYPE;
	}
	if (err)
		return err;
	*limit_out = strtoll(db_value(r, 0, 1), NULL, 10);
	if (PQntuples(r) != 1 ||
	    strtol(db_value(r, 0, 0), NULL, 10) != SHARE_VERSION) {
		(void)snprintf(db->message, sizeof(db->message),
			       "the tables are of version %.20s, this "
			       "kin-share knows version %d; the older of both "
			       "is to be replaced, tables by kin-share init "
			       "--replace",
			       PQntuples(r) ? db_value(r, 0, 0) : "?",
			       SHARE_VERSION);
		err = -EMEDIUMTYPE;
	}
	PQclear(r);
	return err;
}

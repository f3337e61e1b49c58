/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hex.h"
#include "core/base/json.h"
#include "core/share/ask.h"
#include "core/share/schema.h"

/*
 * Groups of identical files on several hosts.  The database finds the contents
 * that more than one host has, and puts them in order; their copies are read
 * through a cursor.
 *
 * When other servers have the partitions of the tables, each partition is read
 * by itself: it has all copies of its contents, the server joins them, and one
 * that is gone takes only its own groups with it.
 */
enum { FETCH_MS = 600000 };

struct group_list {
	struct buf *out;
	uint8_t content[DB_UUID_BYTES]; /* of the group at hand */
	uint64_t size;
	json_t *files; /* owned; NULL: there is no group at hand */
	json_t *hosts; /* labels by ids; "?": of a host that is gone */
	uint64_t group_count, file_count, bytes; /* printed */
};

/* The group at hand was read to its end. */
static int print_group(struct group_list *l)
{
	const uint64_t count = json_array_size(l->files);
	const uint64_t saved = (count - 1) * l->size;
	char hex[2 * DB_UUID_BYTES + 1];
	json_t *files = l->files;

	if (!files)
		return 0;
	l->files = NULL;
	l->file_count += count;
	l->bytes += saved;
	hex_encode(l->content, DB_UUID_BYTES, hex);
	return json_append_line(
		l->out,
		json_pack("{s:I, s:I, s:I, s:[{s:i, s:b, s:I, s:s, s:o}]}",
			  "group", (json_int_t)++l->group_count, "saved_exact",
			  (json_int_t)saved, "saved_near", (json_int_t)0,
			  "members", "score", 100, "head", 1, "size",
			  (json_int_t)l->size, "xxh128", hex, "files", files));
}

static int take_row(struct group_list *l, const PGresult *r, int row)
{
	json_t *label = json_object_get(l->hosts, db_value(r, row, 1)), *file;
	uint8_t content[DB_UUID_BYTES];
	char *path;
	int err = 0;

	if (db_parse_uuid(db_value(r, row, 0), content))
		return 0;
	if (!l->files || memcmp(l->content, content, DB_UUID_BYTES) != 0) {
		err = print_group(l);
		l->files = json_array();
		l->size = strtoull(db_value(r, row, 3), NULL, 10);
		memcpy(l->content, content, DB_UUID_BYTES);
	}
	file = json_pack("{s:O}", "host",
			 label ? label : json_object_get(l->hosts, "?"));
	if (!err && *db_value(r, row, 2)) {
		path = db_parse_string(db_value(r, row, 2));
		err = path ? json_set_path(file, "path", path) : -ENOMEM;
		free(path);
	}
	return json_array_append_new(l->files, file) ? -ENOMEM : err;
}

/* suffix: of the partition, or "". */
static int read_partition(struct share_db *db, uint64_t min_size,
			  const char *suffix, struct group_list *l)
{
	PGresult *r;
	int row, rows, err;

	db_set_timeout(db, FETCH_MS);
	err = db_do(db, SQL_GROUPS, suffix, suffix, suffix, min_size);
	do {
		r = NULL;
		db_set_timeout(db, FETCH_MS);
		if (!err)
			err = db_run(db, SQL_NEXT_GROUPS, 0, NULL, &r);
		rows = err ? 0 : PQntuples(r);
		for (row = 0; row < rows && !err; row++)
			err = take_row(l, r, row);
		PQclear(r);
	} while (rows && !err);
	if (!err)
		err = db_run(db, "COMMIT", 0, NULL, NULL);
	if (!err)
		err = print_group(l);
	/* Else it was not read to its end. */
	json_decref(l->files);
	l->files = NULL;
	return err;
}

/* A partition that fails is passed over. */
static int read_all(struct ask *a, uint64_t min_size, struct group_list *l)
{
	PGresult *parts = NULL, *hosts = NULL;
	struct share_db *db = a->db;
	int i, count, err;

	db_set_timeout(db, FETCH_MS);
	err = db_run(db, SQL_PARTITIONS, 0, NULL, &parts);
	count = err ? 0 : PQntuples(parts);
	if (!err)
		err = db_run(db, SQL_ALL_HOSTS, 0, NULL, &hosts);
	if (!err)
		err = db_take_labels(hosts, l->hosts);
	PQclear(hosts);
	for (i = 0; !err && i < (count ? count : 1); i++) {
		err = read_partition(db, min_size,
				     count ? db_value(parts, i, 0) : "", l);
		if (err != -EREMOTEIO)
			continue;
		ask_note(a, err);
		err = db_run(db, "ROLLBACK", 0, NULL, NULL);
	}
	PQclear(parts);
	return err;
}

int ask_groups(struct ask *a, uint64_t min_size, struct buf *out)
{
	struct group_list l = { .out = out,
				.hosts = json_pack("{s:s}", "?", "?") };
	int failed = l.hosts ? read_all(a, min_size, &l) : -ENOMEM, err;

	if (failed)
		ask_note(a, failed);
	json_decref(l.hosts);
	err = json_append_line(
		out, json_pack("{s:{s:I, s:I, s:I, s:I, s:b}}", "totals",
			       "groups", (json_int_t)l.group_count, "files",
			       (json_int_t)l.file_count, "exact_bytes",
			       (json_int_t)l.bytes, "near_bytes", (json_int_t)0,
			       "complete", !*a->reason));
	return failed ? failed : err;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/hex.h"
#include "core/base/json.h"
#include "core/share/ask.h"
#include "core/share/schema.h"

/*
 * Groups of identical files on several hosts.  The database finds the contents
 * that more than one host has; their copies are read in order of the contents
 * through a cursor.
 *
 * When other servers have the partitions of the tables, each partition is read
 * by itself: it has all copies of its contents, the server joins them, and one
 * that is gone takes only its own groups with it.
 */
enum { FETCH_MS = 600000 };

struct host_group {
	uint8_t content[DB_UUID_BYTES];
	uint64_t size;
	struct group_file {
		json_t *label; /* of the host; borrowed */
		char *path;    /* owned; NULL: it is not told */
	} * files;
	size_t count;
};

struct group_list {
	struct host_group *all;
	size_t count;
	size_t whole;  /* of these were read to their end */
	json_t *hosts; /* labels by ids; "?": of a host that is gone */
};

/* Those behind the first ones. */
static void drop_groups(struct group_list *l, size_t first)
{
	struct host_group *g;

	while (l->count > first) {
		g = &l->all[--l->count];
		while (g->count)
			free(g->files[--g->count].path);
		free(g->files);
	}
}

static int take_row(struct group_list *l, const PGresult *r, int row)
{
	json_t *label = json_object_get(l->hosts, db_value(r, row, 1));
	const char *path = db_value(r, row, 2);
	uint8_t content[DB_UUID_BYTES];
	struct group_file *files;
	struct host_group *g;

	if (db_parse_uuid(db_value(r, row, 0), content))
		return 0;
	if (l->count == l->whole ||
	    memcmp(l->all[l->count - 1].content, content, DB_UUID_BYTES)) {
		g = array_with_room(l->all, l->count, sizeof(*g));
		if (!g)
			return -ENOMEM;
		l->all = g;
		l->whole = l->count++;
		g += l->whole;
		*g = (struct host_group){ .size = strtoull(db_value(r, row, 3),
							   NULL, 10) };
		memcpy(g->content, content, DB_UUID_BYTES);
	}
	g = &l->all[l->count - 1];
	files = array_with_room(g->files, g->count, sizeof(*files));
	if (!files)
		return -ENOMEM;
	g->files = files;
	files += g->count;
	files->label = label ? label : json_object_get(l->hosts, "?");
	files->path = *path ? db_parse_string(path) : NULL;
	if (*path && !files->path)
		return -ENOMEM;
	g->count++;
	return 0;
}

/* suffix: of the partition, or "". */
static int read_partition(struct share_db *db, uint64_t min_size,
			  const char *suffix, struct group_list *l)
{
	PGresult *r;
	int row, rows, err;

	db_set_timeout(db, FETCH_MS);
	err = db_do(db, SQL_GROUPS, suffix, suffix, min_size, suffix);
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
		l->whole = l->count;
	return err;
}

/* A partition that fails is passed over, without the group that was not read
 * to its end. */
static int read_all(struct share_db *db, uint64_t min_size,
		    struct group_list *l, char *reason_out, size_t reason_room)
{
	PGresult *parts = NULL, *hosts = NULL;
	int i, count, err;

	db_set_timeout(db, FETCH_MS);
	err = db_run(db, SQL_PARTITIONS, 0, NULL, &parts);
	count = err ? 0 : PQntuples(parts);
	l->hosts = json_pack("{s:s}", "?", "?");
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
		if (!*reason_out)
			(void)snprintf(reason_out, reason_room, "%s",
				       db->message);
		drop_groups(l, l->whole);
		err = db_run(db, "ROLLBACK", 0, NULL, NULL);
	}
	PQclear(parts);
	drop_groups(l, l->whole);
	if (err)
		(void)snprintf(reason_out, reason_room, "%s",
			       err == -ENOMEM ? "not enough memory" :
						db->message);
	return err;
}

static uint64_t saved(const struct host_group *g)
{
	return (g->count - 1) * g->size;
}

static int by_saved(const void *a, const void *b)
{
	const struct host_group *x = a, *y = b;

	if (saved(x) != saved(y))
		return saved(x) < saved(y) ? 1 : -1;
	return memcmp(x->content, y->content, DB_UUID_BYTES);
}

static int print_group(const struct host_group *g, size_t number, FILE *out)
{
	char hex[2 * DB_UUID_BYTES + 1];
	json_t *files = json_array(), *file;
	size_t i;

	for (i = 0; i < g->count; i++) {
		file = json_pack("{s:O}", "host", g->files[i].label);
		if (!file ||
		    (g->files[i].path &&
		     json_set_path(file, "path", g->files[i].path)) ||
		    json_array_append_new(files, file)) {
			json_decref(files);
			return -ENOMEM;
		}
	}
	hex_encode(g->content, DB_UUID_BYTES, hex);
	return ask_print(
		out,
		json_pack("{s:I, s:I, s:I, s:[{s:i, s:b, s:I, s:s, s:o}]}",
			  "group", (json_int_t)number, "saved_exact",
			  (json_int_t)saved(g), "saved_near", (json_int_t)0,
			  "members", "score", 100, "head", 1, "size",
			  (json_int_t)g->size, "xxh128", hex, "files", files));
}

int ask_groups(struct share_db *db, uint64_t min_size, FILE *out,
	       char *reason_out, size_t reason_room)
{
	struct group_list l = { 0 };
	uint64_t files = 0, bytes = 0;
	size_t i;
	int err = 0;

	(void)read_all(db, min_size, &l, reason_out, reason_room);
	if (l.count)
		qsort(l.all, l.count, sizeof(*l.all), by_saved);
	for (i = 0; i < l.count && !err; i++) {
		files += l.all[i].count;
		bytes += saved(&l.all[i]);
		err = print_group(&l.all[i], i + 1, out);
	}
	if (!err)
		err = ask_print(out, json_pack("{s:{s:I, s:I, s:I, s:I, s:b}}",
					       "totals", "groups",
					       (json_int_t)l.count, "files",
					       (json_int_t)files, "exact_bytes",
					       (json_int_t)bytes, "near_bytes",
					       (json_int_t)0, "complete",
					       !*reason_out));
	drop_groups(&l, 0);
	free(l.all);
	json_decref(l.hosts);
	return err;
}

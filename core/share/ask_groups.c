/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/hex.h"
#include "core/share/ask.h"

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

struct group_file {
	uint8_t host[DB_UUID_BYTES];
	char *path; /* owned; NULL: it is not told */
};

struct host_group {
	uint8_t content[DB_UUID_BYTES];
	uint64_t size;
	struct group_file *files;
	size_t count;
};

struct host_label {
	uint8_t host[DB_UUID_BYTES];
	char *label;
};

struct group_list {
	struct host_group *all;
	size_t count;
	struct host_group group; /* the last one read, not yet in the list */
	struct host_label *hosts;
	size_t host_count;
};

static void group_release(struct host_group *g)
{
	size_t i;

	for (i = 0; i < g->count; i++)
		free(g->files[i].path);
	free(g->files);
	*g = (struct host_group){ 0 };
}

static void list_release(struct group_list *l)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		group_release(&l->all[i]);
	for (i = 0; i < l->host_count; i++)
		free(l->hosts[i].label);
	group_release(&l->group);
	free(l->all);
	free(l->hosts);
}

/* ---- reading ---- */

static int end_group(struct group_list *l)
{
	struct host_group *all;

	if (!l->group.count)
		return 0;
	all = array_with_room(l->all, l->count, sizeof(*all));
	if (!all)
		return -ENOMEM;
	l->all = all;
	all[l->count++] = l->group;
	l->group = (struct host_group){ 0 };
	return 0;
}

static int add_file(struct host_group *g, const uint8_t *host, const char *path)
{
	struct group_file *files =
		array_with_room(g->files, g->count, sizeof(*files));
	size_t room = strlen(path) / 2;

	if (!files)
		return -ENOMEM;
	g->files = files;
	files += g->count;
	*files = (struct group_file){ 0 };
	memcpy(files->host, host, DB_UUID_BYTES);
	if (*path) {
		files->path = calloc(room + 1, 1);
		if (!files->path)
			return -ENOMEM;
		(void)db_parse_bytes(path, (uint8_t *)files->path, room);
	}
	g->count++;
	return 0;
}

static int take_row(struct group_list *l, const PGresult *r, int row)
{
	uint8_t content[DB_UUID_BYTES], host[DB_UUID_BYTES];
	int err = 0;

	if (db_parse_uuid(db_value(r, row, 0), content) ||
	    db_parse_uuid(db_value(r, row, 1), host))
		return 0;
	if (l->group.count && memcmp(l->group.content, content, DB_UUID_BYTES))
		err = end_group(l);
	memcpy(l->group.content, content, DB_UUID_BYTES);
	l->group.size = strtoull(db_value(r, row, 3), NULL, 10);
	return err ? err : add_file(&l->group, host, db_value(r, row, 2));
}

static int read_copies(struct share_db *db, struct group_list *l)
{
	PGresult *r;
	int row, rows, err = 0;

	do {
		r = NULL;
		db_set_timeout(db, FETCH_MS);
		err = db_run(db, "FETCH 5000 FROM kin_groups", 0, NULL, &r);
		rows = err ? 0 : PQntuples(r);
		for (row = 0; row < rows && !err; row++)
			err = take_row(l, r, row);
		PQclear(r);
	} while (rows && !err);
	return err ? err : end_group(l);
}

static int read_hosts(struct share_db *db, struct group_list *l)
{
	struct host_label *hosts;
	PGresult *r = NULL;
	int row, err = db_run(db, "SELECT host, label FROM @kin_host", 0, NULL,
			      &r);

	for (row = 0; !err && row < PQntuples(r); row++) {
		hosts = array_with_room(l->hosts, l->host_count,
					sizeof(*hosts));
		if (!hosts) {
			err = -ENOMEM;
			break;
		}
		l->hosts = hosts;
		hosts += l->host_count;
		hosts->label = strdup(db_value(r, row, 1));
		if (!hosts->label)
			err = -ENOMEM;
		else if (db_parse_uuid(db_value(r, row, 0), hosts->host))
			free(hosts->label);
		else
			l->host_count++;
	}
	PQclear(r);
	return err;
}

/* suffix: of the partition, or "". */
static int read_partition(struct share_db *db, uint64_t min_size,
			  const char *suffix, struct group_list *l)
{
	struct buf sql = { 0 };
	int err = buf_append_format(
		&sql,
		"DECLARE kin_groups NO SCROLL CURSOR FOR SELECT c.content, "
		"c.host, c.path, k.size FROM @kin_copy%s c JOIN @kin_content%s k "
		"ON k.content = c.content WHERE k.size >= %" PRIu64
		" AND c.content IN (SELECT content FROM @kin_copy%s GROUP BY "
		"content HAVING min(host::text) <> max(host::text)) "
		"ORDER BY c.content, c.host, c.path",
		suffix, suffix, min_size, suffix);

	db_set_timeout(db, FETCH_MS);
	if (!err)
		err = db_script(db, DB_BEGIN "; SET TRANSACTION READ ONLY",
				NULL, 0);
	if (!err)
		err = db_run(db, sql.data, 0, NULL, NULL);
	if (!err)
		err = read_copies(db, l);
	if (!err)
		err = db_run(db, "COMMIT", 0, NULL, NULL);
	buf_release(&sql);
	return err;
}

/* A group that was not read to its end is not shown. */
static int pass_over(struct share_db *db, struct group_list *l, char *why_out,
		     size_t why_room)
{
	group_release(&l->group);
	if (!*why_out)
		(void)snprintf(why_out, why_room, "%s", db->message);
	return db_run(db, "ROLLBACK", 0, NULL, NULL);
}

/* The partitions that kin-share init made; none: the tables are whole. */
static int find_partitions(struct share_db *db, PGresult **out)
{
	db_set_timeout(db, FETCH_MS);
	return db_run(
		db,
		"SELECT substr(relname, 9) FROM pg_inherits JOIN pg_class "
		"ON oid = inhrelid WHERE inhparent = '@kin_copy'::regclass "
		"AND relname ~ '^kin_copy_[0-9]{1,4}$' ORDER BY 1",
		0, NULL, out);
}

static int read_all(struct share_db *db, uint64_t min_size,
		    struct group_list *l, char *why_out, size_t why_room)
{
	PGresult *parts = NULL;
	int i, err = find_partitions(db, &parts);
	int count = err ? 0 : PQntuples(parts);

	if (!err)
		err = read_hosts(db, l);
	for (i = 0; !err && i < (count ? count : 1); i++) {
		err = read_partition(db, min_size,
				     count ? db_value(parts, i, 0) : "", l);
		if (err == -EREMOTEIO)
			err = pass_over(db, l, why_out, why_room);
	}
	PQclear(parts);
	return err;
}

/* ---- printing ---- */

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

static const char *label_of(const struct group_list *l, const uint8_t *host)
{
	size_t i;

	for (i = 0; i < l->host_count; i++)
		if (!memcmp(l->hosts[i].host, host, DB_UUID_BYTES))
			return l->hosts[i].label;
	return "?";
}

static json_t *files_to_json(const struct group_list *l,
			     const struct host_group *g)
{
	json_t *array = json_array(), *object;
	size_t i;

	for (i = 0; i < g->count; i++) {
		object = json_pack("{s:o}", "host",
				   ask_text(label_of(l, g->files[i].host)));
		if (!object || ask_set_path(object, g->files[i].path) ||
		    json_array_append_new(array, object)) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static int print_group(const struct group_list *l, size_t i, FILE *out)
{
	const struct host_group *g = &l->all[i];
	char hex[2 * DB_UUID_BYTES + 1];

	hex_encode(g->content, DB_UUID_BYTES, hex);
	return ask_print(
		out, json_pack("{s:I, s:I, s:I, s:[{s:i, s:b, s:I, s:s, "
			       "s:o}]}",
			       "group", (json_int_t)i + 1, "saved_exact",
			       (json_int_t)saved(g), "saved_near",
			       (json_int_t)0, "members", "score", 100, "head",
			       1, "size", (json_int_t)g->size, "xxh128", hex,
			       "files", files_to_json(l, g)));
}

static int print_all(struct group_list *l, bool complete, FILE *out)
{
	uint64_t files = 0, bytes = 0;
	size_t i;
	int err = 0;

	if (l->count)
		qsort(l->all, l->count, sizeof(*l->all), by_saved);
	for (i = 0; i < l->count && !err; i++) {
		files += l->all[i].count;
		bytes += saved(&l->all[i]);
		err = print_group(l, i, out);
	}
	if (err)
		return err;
	return ask_print(out,
			 json_pack("{s:{s:I, s:I, s:I, s:I, s:b}}", "totals",
				   "groups", (json_int_t)l->count, "files",
				   (json_int_t)files, "exact_bytes",
				   (json_int_t)bytes, "near_bytes",
				   (json_int_t)0, "complete", complete));
}

int ask_groups(struct share_db *db, uint64_t min_size, FILE *out, char *why_out,
	       size_t why_room)
{
	struct group_list l = { 0 };
	int err = read_all(db, min_size, &l, why_out, why_room);

	if (err)
		(void)snprintf(why_out, why_room, "%s",
			       err == -ENOMEM ? "not enough memory" :
						db->message);
	err = print_all(&l, !*why_out, out);
	list_release(&l);
	return err;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/act/report/report.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "core/base/json.h"

/*
 * The data of the page are lines of JSON, deflated (RFC 1950), then in base64:
 *
 *	{"members":[...]}             a group, as kin groups --json prints it
 *	{"score":N,"path":A,"like":B} directories that are alike
 *	{"state":S,"path":A}          a file without digests
 *	{"version":4,...}             what the report is about: the last one
 *
 * Of a path that is not UTF-8 there are the bytes, too, as "path_hex".
 */
enum { VERSION = 4 };

void report_init(struct report *r)
{
	*r = (struct report){ .saved = json_object(), .alike = json_object() };
}

/* ---- items ---- */

/* Counts bytes in copies to the directory of a path and all above it. */
static int add_saved(struct report *r, const char *path, uint64_t bytes)
{
	char *directory = strdup(path), *end = directory;
	int err = directory ? 0 : -ENOMEM;
	json_int_t sum;

	while (!err && end) {
		end = strrchr(directory, '/');
		*(end ? end : directory) = '\0';
		sum = json_integer_value(json_object_get(r->saved, directory));
		/* Of lines that somebody made up the sum has no end. */
		sum = bytes < (uint64_t)(INT64_MAX - sum) ?
			      sum + (json_int_t)bytes :
			      INT64_MAX;
		if (json_object_set_new_nocheck(r->saved, directory,
						json_integer(sum)))
			err = -ENOMEM;
	}
	free(directory);
	return err;
}

/* Files that go are exact copies; the first of those that stay is a near copy,
 * unless it is of the head. */
static int sum_member(struct report *r, const struct found_member *m, bool head)
{
	const struct found_file *f, *end = m->files + m->file_count;
	int err = 0;

	for (f = m->files; f < end && !err; f++)
		if (f->goes || !head) {
			err = add_saved(r, f->names[0], f->disk);
			head |= !f->goes;
		}
	return err;
}

int report_add_group(struct report *r, const struct found_group *group)
{
	json_t *members = found_members_json(group, false), *member;
	size_t i;
	int err = 0;

	json_array_foreach(members, i, member) {
		(void)json_object_del(member, "xxh128"); /* half of the page */
		if (!err)
			err = sum_member(r, &group->members[i], !i);
	}
	if (json_append_line(&r->lines, json_pack("{s:o}", "members", members)))
		return -ENOMEM;
	return err;
}

int report_add_unread(struct report *r, const char *path, const char *state)
{
	return json_append_line(
		&r->lines, json_with_path(json_pack("{s:s}", "state", state),
					  "path", path));
}

/* ---- pairs of directories ---- */

/*
 * Ten copies of a tree make 45 pairs, and as many again in each directory
 * below.  The report keeps those that tell something new: each directory that
 * is in a pair stands for the first of that pair from then on, in paths of
 * directories below it, too.  A pair of which both sides stand for one
 * directory is known, and so is a pair of a directory and one within it.
 */

/* The directory that a path stands for. */
static int find_alike(const struct report *r, const char *path, struct buf *out)
{
	const char *alike;
	size_t len;
	int err = buf_append(out, "", 0);

	for (; *path && !err; path += len + (path[len] == '/')) {
		len = strcspn(path, "/");
		err = buf_append_format(out, "%s%.*s", out->len ? "/" : "",
					(int)len, path);
		while (!err && (alike = json_string_value(json_object_get(
					r->alike, out->data)))) {
			buf_clear(out);
			err = buf_append_text(out, alike);
		}
	}
	return err;
}

int report_add_pair(struct report *r, int score, const char *a, const char *b)
{
	struct buf first = { 0 }, second = { 0 };
	json_t *line;
	int err = find_alike(r, a, &first);

	if (!err)
		err = find_alike(r, b, &second);
	if (!err && first.len && second.len &&
	    !path_below(first.data, second.data) &&
	    !path_below(second.data, first.data)) {
		line = json_with_path(json_pack("{s:i}", "score", score),
				      "path", a);
		err = json_append_line(&r->lines,
				       json_with_path(line, "like", b));
		if (!err && json_object_set_new_nocheck(
				    r->alike, second.data,
				    json_string_nocheck(first.data)))
			err = -ENOMEM;
	}
	buf_release(&first);
	buf_release(&second);
	return err;
}

/* ---- the directories to ask about ---- */

/* Those that were asked about have 0 bytes, and go with those that have few. */
int report_next_directory(struct report *r, const char **path_out)
{
	const json_int_t least =
		json_integer_value(json_object_get(r->saved, "")) / 1000;
	struct buf first = { 0 };
	const char *path;
	json_t *value, *best;
	json_int_t bytes;
	void *next;
	int err = 0;

	do {
		best = NULL;
		json_object_foreach_safe(r->saved, next, path, value) {
			bytes = json_integer_value(value) -
				json_integer_value(best);
			if (json_integer_value(value) <= least)
				(void)json_object_del(r->saved, path);
			else if (*path &&
				 (bytes > 0 ||
				  (!bytes && strcmp(path, *path_out) < 0))) {
				best = value;
				*path_out = path;
			}
		}
		if (!best)
			break;
		(void)json_integer_set(best, 0);
		buf_clear(&first);
		err = find_alike(r, *path_out, &first);
	} while (!err && strcmp(first.data, *path_out) != 0);
	buf_release(&first);
	return err ? err : best != NULL;
}

/* ---- the data of the page ---- */

int report_append_data(struct report *r, const struct groups *g,
		       struct buf *out)
{
	const struct groups_wish *wish = g->wish;
	json_t *about = json_pack(
		"{s:i, s:s, s:I, s:i, s:b, s:s, s:o}", "version", VERSION,
		"kinfs", KINFS_VERSION, "made", (json_int_t)time(NULL),
		"threshold", g->totals.threshold, "complete",
		!g->totals.incomplete, "order", keep_order_names[wish->order],
		"keep", json_paths(wish->keep.names, wish->keep.count));
	uLongf len = 0;
	uint8_t *packed = NULL;
	int err = json_append_line(&r->lines,
				   json_with_path(about, "root", g->root));

	if (!err) {
		len = compressBound(r->lines.len);
		packed = malloc(len);
		if (!packed ||
		    compress(packed, &len, (const Bytef *)r->lines.data,
			     r->lines.len) != Z_OK)
			err = -ENOMEM;
	}
	if (!err) /* four characters for three bytes, and what ends them */
		err = buf_reserve(out, 4 * (len / 3 + 1) + 1);
	if (!err)
		out->len += (size_t)EVP_EncodeBlock(
			(uint8_t *)out->data + out->len, packed, (int)len);
	free(packed);
	return err;
}

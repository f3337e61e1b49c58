/* SPDX-License-Identifier: Apache-2.0 */
#include "core/act/report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/act/report/report_impl.h"

/*
 * The data of the page is one JSON value, deflated (RFC 1950), then in base64:
 *
 *	{"version":3,
 *	 "groups":[[MEMBER, ...], ...],
 *	 "pairs":[[SCORE, PATH, PATH], ...],
 *	 "unread":[[0, PATH, STATE], ...]}
 *
 * MEMBER is [SCORE, SIZE, FILE, ...], and FILE is [SECONDS, BYTES ON DISK, MARKS,
 * PATH, OTHER NAME, ...], of which the marks are 1 if it is to be kept and 2 if it
 * could go.  A text has a character for each byte of a path, U+0000 to U+00FF, so
 * every path is told.
 */
enum { VERSION = 3 };

struct report *report_new(void)
{
	struct report *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->saved = json_object();
	r->alike = json_object();
	if (r->saved && r->alike)
		return r;
	report_free(r);
	return NULL;
}

void report_free(struct report *r)
{
	if (!r)
		return;
	buf_release(&r->groups);
	buf_release(&r->pairs);
	buf_release(&r->unread);
	json_decref(r->saved);
	json_decref(r->alike);
	free(r->root);
	free(r->ranked);
	free(r);
}

/* ---- items ---- */

static bool is_plain(char c)
{
	return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

/* Appends a comma and a string. */
static int append_bytes(struct buf *out, const char *text)
{
	size_t len;
	int err = buf_append_text(out, ",\"");

	for (; *text && !err; text += len ? len : 1) {
		for (len = 0; is_plain(text[len]); len++)
			;
		err = len ? buf_append(out, text, len) :
			    buf_append_format(out, "\\u%04x",
					      (unsigned char)*text);
	}
	return err ? err : buf_append_text(out, "\"");
}

/* The next item of a list. */
static int append_comma(struct buf *out)
{
	return out->len ? buf_append_text(out, ",\n") : 0;
}

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
		if (bytes > (uint64_t)(INT64_MAX - sum))
			sum = INT64_MAX;
		else
			sum += (json_int_t)bytes;
		if (json_object_set_new_nocheck(r->saved, directory,
						json_integer(sum)))
			err = -ENOMEM;
	}
	free(directory);
	return err;
}

static int append_file(struct buf *out, const struct found_file *f)
{
	size_t i;
	/* In whole seconds; 0: not known. */
	int err = buf_append_format(out, ",[%" PRId64 ",%" PRIu64 ",%d",
				    f->mtime_ns > 0 ? f->mtime_ns / 1000000000 :
						      0,
				    f->disk, f->keep + 2 * f->goes);

	if (!err)
		err = append_bytes(out, f->path);
	for (i = 0; i < f->link_count && !err; i++)
		err = append_bytes(out, f->links[i]);
	return err ? err : buf_append_text(out, "]");
}

/* Files that go are exact copies; the first of those that stay is a near copy,
 * unless it is the head. */
static int add_member(struct report *r, const struct found_member *m, bool head)
{
	size_t kept = 0, i;
	int err = buf_append_format(&r->groups, "%s[%d,%" PRIu64,
				    head ? "[" : ",", m->score, m->size);

	while (kept + 1 < m->file_count && m->files[kept].goes)
		kept++;
	for (i = 0; i < m->file_count && !err; i++) {
		const struct found_file *f = &m->files[i];

		r->file_count++;
		err = append_file(&r->groups, f);
		if (err || (!f->goes && (i != kept || head)))
			continue;
		err = add_saved(r, f->path, f->disk);
		*(f->goes ? &r->exact_bytes : &r->near_bytes) += f->disk;
	}
	return err ? err : buf_append_text(&r->groups, "]");
}

/* Every content in the page has a file, and every group a content. */
int report_add_group(struct report *r, const struct found_group *group)
{
	size_t count = 0, i;
	int err = 0;

	for (i = 0; i < group->count && !err; i++) {
		if (!group->members[i].file_count)
			continue;
		if (!count)
			err = append_comma(&r->groups);
		if (!err)
			err = add_member(r, &group->members[i], !count++);
	}
	r->group_count += count > 0;
	return err || !count ? err : buf_append_text(&r->groups, "]");
}

int report_take(struct report *r, const struct groups *g)
{
	if (g->root && r->root && strcmp(g->root, r->root) != 0)
		return -ENODEV;
	if (g->root && !r->root) {
		r->root = strdup(g->root);
		if (!r->root)
			return -ENOMEM;
	}
	return report_add_group(r, &g->group);
}

const char *report_root(const struct report *r)
{
	return r->root;
}

int report_add_unread(struct report *r, const char *path, const char *state)
{
	int err = append_comma(&r->unread);

	if (!err)
		err = buf_append_text(&r->unread, "[0");
	if (!err)
		err = append_bytes(&r->unread, path);
	if (!err)
		err = append_bytes(&r->unread, state);
	return err ? err : buf_append_text(&r->unread, "]");
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
	int err = find_alike(r, a, &first);

	if (!err)
		err = find_alike(r, b, &second);
	if (err || !first.len || !second.len ||
	    path_below(first.data, second.data) ||
	    path_below(second.data, first.data))
		goto out;
	if (json_object_set_new_nocheck(r->alike, second.data,
					json_string_nocheck(first.data)))
		err = -ENOMEM;
	if (!err)
		err = append_comma(&r->pairs);
	if (!err)
		err = buf_append_format(&r->pairs, "[%d", score);
	if (!err)
		err = append_bytes(&r->pairs, a);
	if (!err)
		err = append_bytes(&r->pairs, b);
	if (!err)
		err = buf_append_text(&r->pairs, "]");
out:
	buf_release(&first);
	buf_release(&second);
	return err;
}

/* ---- the directories to ask about ---- */

struct report_ranked {
	json_int_t saved;
	const char *path;
};

static int by_saved(const void *a, const void *b)
{
	const struct report_ranked *x = a, *y = b;

	if (x->saved != y->saved)
		return x->saved < y->saved ? 1 : -1;
	return strcmp(x->path, y->path);
}

static int rank(struct report *r)
{
	const json_int_t least =
		json_integer_value(json_object_get(r->saved, "")) / 1000;
	const char *path;
	json_t *saved;

	r->ranked = calloc(json_object_size(r->saved) + 1, sizeof(*r->ranked));
	if (!r->ranked)
		return -ENOMEM;
	json_object_foreach(r->saved, path, saved)
	{
		if (*path && json_integer_value(saved) > least)
			r->ranked[r->ranked_count++] = (struct report_ranked){
				json_integer_value(saved), path
			};
	}
	qsort(r->ranked, r->ranked_count, sizeof(*r->ranked), by_saved);
	return 0;
}

int report_next_directory(struct report *r, const char **path_out)
{
	struct buf first = { 0 };
	bool found = false;
	int err = r->ranked ? 0 : rank(r);

	while (!err && !found && r->ranked_at < r->ranked_count) {
		*path_out = r->ranked[r->ranked_at++].path;
		buf_clear(&first);
		err = find_alike(r, *path_out, &first);
		found = !err && !strcmp(first.data, *path_out);
	}
	buf_release(&first);
	return err ? err : found;
}

/* ---- the data of the page ---- */

int report_append_data(const struct report *r, struct buf *out)
{
	struct buf raw = { 0 };
	uint8_t *packed = NULL;
	uLongf len = 0;
	int err = buf_append_format(
		&raw,
		"{\"version\":%d,\"groups\":[%s],\"pairs\":[%s],"
		"\"unread\":[%s]}",
		VERSION, r->groups.len ? r->groups.data : "",
		r->pairs.len ? r->pairs.data : "",
		r->unread.len ? r->unread.data : "");

	if (!err) {
		len = compressBound(raw.len);
		packed = malloc(len);
		if (!packed || compress(packed, &len, (const Bytef *)raw.data,
					raw.len) != Z_OK)
			err = -ENOMEM;
	}
	buf_release(&raw);
	if (!err) /* four characters for three bytes, and what ends them */
		err = buf_reserve(out, 4 * (len / 3 + 1) + 1);
	if (!err)
		out->len += (size_t)EVP_EncodeBlock(
			(uint8_t *)out->data + out->len, packed, (int)len);
	free(packed);
	return err;
}

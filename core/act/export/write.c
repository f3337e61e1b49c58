/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/hex.h"
#include "core/digest/sketch/sketch.h"
#include "core/act/export/export.h"
#include "core/act/export/seeds.h"

/*
 * A line is put together as text, because a tree of JSON values for each of
 * millions of contents takes several times as long.  Strings are escaped by
 * jansson, unless they are plain.
 */

/* ---- strings ---- */

static bool is_plain(const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] > '~' || text[i] == '"' ||
		    text[i] == '\\')
			return false;
	return true;
}

static int append_plain(struct buf *out, const char *text, size_t len)
{
	int err = buf_append(out, "\"", 1);

	if (!err)
		err = buf_append(out, text, len);
	return err ? err : buf_append(out, "\"", 1);
}

static int append_escaped(struct buf *out, const json_t *string)
{
	char *text = json_dumps(string, JSON_COMPACT | JSON_ENCODE_ANY);
	int err = text ? buf_append_text(out, text) : -ENOMEM;

	free(text);
	return err;
}

static int append_string(struct buf *out, const char *text, size_t len)
{
	json_t *string;
	int err;

	if (is_plain(text, len))
		return append_plain(out, text, len);
	string = json_stringn(text, len);
	err = string ? append_escaped(out, string) : -EBADMSG;
	json_decref(string);
	return err;
}

static int append_hex(struct buf *out, const char *text, size_t len)
{
	char *hex = malloc(2 * len + 1);
	int err = -ENOMEM;

	if (hex) {
		hex_encode((const uint8_t *)text, len, hex);
		err = append_plain(out, hex, 2 * len);
	}
	free(hex);
	return err;
}

/* "KEY":"PATH", or the bytes as "KEY_hex" if it is not UTF-8. */
static int append_path(struct buf *out, const char *key, const char *path)
{
	size_t len = strlen(path);
	bool plain = is_plain(path, len);
	json_t *string = plain ? NULL : json_stringn(path, len);
	int err = buf_append_format(out, "\"%s%s\":", key,
				    plain || string ? "" : "_hex");

	if (!err)
		err = plain  ? append_plain(out, path, len) :
		      string ? append_escaped(out, string) :
			       append_hex(out, path, len);
	json_decref(string);
	return err;
}

/* ---- lines ---- */

/* Releases the buffer. */
static int write_line(FILE *out, struct buf *line, int err)
{
	errno = 0;
	if (!err)
		err = buf_append(line, "\n", 1);
	if (!err && fwrite(line->data, 1, line->len, out) != line->len)
		err = errno ? -errno : -EIO;
	buf_release(line);
	return err;
}

static int write_head(FILE *out, const char *root, time_t made)
{
	struct buf line = { 0 };
	int err = buf_append_format(&line, "{\"kinfs_export\":%d,\"made\":%lld",
				    EXPORT_VERSION, (long long)made);

	if (!err && root)
		err = buf_append(&line, ",", 1);
	if (!err && root)
		err = append_path(&line, "root", root);
	return write_line(out, &line, err ? err : buf_append(&line, "}", 1));
}

static int append_file(struct buf *line, const struct found_file *file)
{
	int err = buf_append(line, "{", 1);

	if (!err)
		err = append_path(line, "path", file->path);
	return err ? err :
		     buf_append_format(line, ",\"mtime\":%.9f}",
				       (double)file->mtime_ns / 1e9);
}

/* From lines NAME=TEXT. */
static int append_digests(struct buf *line, const char *lines)
{
	const char *at = lines;
	struct digest_line d;
	int err = 0, found = 1;

	while (!err && (found = digest_line_next(&at, &d)) == 1) {
		if (d.name != lines)
			err = buf_append(line, ",", 1);
		if (!err)
			err = append_string(line, d.name, d.name_len);
		if (!err)
			err = buf_append(line, ":", 1);
		if (!err)
			err = append_string(line, d.text, d.text_len);
	}
	return found < 0 ? -EBADMSG : err;
}

static int write_group(FILE *out, const struct found_group *group)
{
	const struct found_member *m = &group->members[0];
	struct buf line = { 0 };
	size_t i;
	int err = buf_append_format(&line,
				    "{\"members\":[{\"size\":%llu,"
				    "\"xxh128\":\"%s\",\"score\":100,"
				    "\"files\":[",
				    (unsigned long long)m->size, m->xxh128);

	for (i = 0; i < m->file_count && !err; i++) {
		if (i)
			err = buf_append(&line, ",", 1);
		if (!err)
			err = append_file(&line, &m->files[i]);
	}
	if (!err)
		err = buf_append_text(&line, "],\"digests\":{");
	if (!err && m->digests)
		err = append_digests(&line, m->digests);
	return write_line(out, &line,
			  err ? err : buf_append_text(&line, "}}]}"));
}

static int write_end(FILE *out, const struct groups_totals *t)
{
	struct buf line = { 0 };
	int err = buf_append_format(&line,
				    "{\"totals\":{\"groups\":%llu,"
				    "\"files\":%llu,\"complete\":%s}}",
				    (unsigned long long)t->groups,
				    (unsigned long long)t->files,
				    t->incomplete ? "false" : "true");

	return write_line(out, &line, err);
}

/* In place of all digests, the sketch cut to a few values. */
static int keep_seed(struct found_member *m)
{
	struct digests d = { .size = m->size };
	struct sketch *sketch = calloc(1, sizeof(*sketch));
	struct buf text = { 0 };
	int err = sketch ? 0 : -ENOMEM;

	if (!err && m->digests)
		err = export_take_digests(&d, m->digests);
	if (!err)
		err = digests_sketch(&d, sketch);
	if (!err) {
		sketch_cut(sketch, SEED_VALUES);
		err = buf_append_text(&text, "sif=");
	}
	if (!err)
		err = sketch_format(sketch, &text);
	if (!err)
		err = buf_append(&text, "\n", 1);
	if (err == -ENODATA)
		err = 0;
	free(m->digests);
	m->digests = buf_take(&text);
	digests_release(&d);
	free(sketch);
	return err;
}

int export_write(FILE *out, struct groups *g, bool seeds)
{
	int event, err = write_head(out, g->root, time(NULL));

	while (!err && (event = groups_next(g)) != GROUPS_END) {
		err = event < 0 ? event : 0;
		if (event == GROUPS_GROUP && seeds)
			err = keep_seed(&g->group.members[0]);
		if (!err && event == GROUPS_GROUP)
			err = write_group(out, &g->group);
	}
	return err ? err : write_end(out, &g->totals);
}

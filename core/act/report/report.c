/* SPDX-License-Identifier: Apache-2.0 */
#include "core/act/report/report.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/act/report/report_impl.h"

/* Groups and files are added to a report, and written as the page has them. */

struct report *report_new(void)
{
	struct report *r = calloc(1, sizeof(*r));

	if (r && report_directories_init(&r->directories)) {
		free(r);
		r = NULL;
	}
	return r;
}

void report_free(struct report *r)
{
	size_t i;

	if (!r)
		return;
	for (i = 0; i < REPORT_COLUMNS; i++)
		buf_release(&r->columns[i].bytes);
	for (i = 0; i < REPORT_TEXTS; i++)
		buf_release(&r->texts[i]);
	report_directories_release(&r->directories);
	free(r->root);
	free(r->ranked);
	free(r);
}

/* Seven bits a byte, the least first; the top bit tells that more follow. */
static int add_number(struct report_column *c, uint64_t value)
{
	uint8_t bytes[10];
	size_t len = 0;
	int err;

	do {
		bytes[len] = (uint8_t)((value & 127) | (value > 127) << 7);
		value >>= 7;
		len++;
	} while (value);
	err = buf_append(&c->bytes, bytes, len);
	c->count += !err;
	return err;
}

void report_add(struct report *r, enum report_columns column, uint64_t value)
{
	if (!r->err)
		r->err = add_number(&r->columns[column], value);
}

static void add_text(struct report *r, enum report_texts texts,
		     const char *text)
{
	if (!r->err)
		r->err = buf_append(&r->texts[texts], text, strlen(text) + 1);
}

/* Adds the directory of a path, and its name in that.  The directory. */
static uint32_t add_path(struct report *r, enum report_columns column,
			 enum report_texts texts, const char *path)
{
	const char *slash = strrchr(path, '/');
	uint32_t place = 0;

	if (!r->err)
		r->err = report_directories_find(
			&r->directories, path,
			slash ? (size_t)(slash - path) : 0, &place);
	report_add(r, column, place);
	add_text(r, texts, slash ? slash + 1 : path);
	return place;
}

/* ---- groups ---- */

/* Returns the directory of the file. */
static uint32_t add_file(struct report *r, const struct found_file *file)
{
	uint32_t place = add_path(r, REPORT_PLACES, REPORT_NAMES, file->path);
	size_t i;

	/* In whole seconds; 0: not known. */
	report_add(r, REPORT_TIMES,
		   file->mtime_ns > 0 ?
			   (uint64_t)(file->mtime_ns / 1000000000) :
			   0);
	report_add(r, REPORT_KEEPS, file->keep + 2U * file->goes);
	report_add(r, REPORT_DISKS, file->disk);
	report_add(r, REPORT_LINK_COUNTS, file->link_count);
	for (i = 0; i < file->link_count; i++)
		(void)add_path(r, REPORT_LINK_PLACES, REPORT_LINKS,
			       file->links[i]);
	return place;
}

/* Files that go are exact copies; the first of those that stay is a near copy,
 * unless it is the head. */
static void add_member(struct report *r, const struct found_member *m,
		       bool head)
{
	size_t kept = 0, i;
	uint32_t place;

	report_add(r, REPORT_FILE_COUNTS, m->file_count);
	report_add(r, REPORT_SCORES, (uint64_t)m->score);
	report_add(r, REPORT_SIZES, m->size);
	while (kept + 1 < m->file_count && m->files[kept].goes)
		kept++;
	for (i = 0; i < m->file_count; i++) {
		const struct found_file *f = &m->files[i];

		place = add_file(r, f);
		if (r->err || (!f->goes && (i != kept || head)))
			continue;
		r->directories.all[place].own += f->disk;
		*(f->goes ? &r->exact_bytes : &r->near_bytes) += f->disk;
	}
}

/* Every content in the page has a file, and every group a content. */
int report_add_group(struct report *r, const struct found_group *group)
{
	size_t count = 0, i;

	for (i = 0; i < group->count; i++)
		if (group->members[i].file_count)
			add_member(r, &group->members[i], !count++);
	if (count)
		report_add(r, REPORT_MEMBER_COUNTS, count);
	return r->err;
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

/* ---- files without digests ---- */

int report_add_unread(struct report *r, const char *path, const char *state)
{
	(void)add_path(r, REPORT_UNREAD_PLACES, REPORT_UNREAD, path);
	add_text(r, REPORT_UNREAD, state);
	return r->err;
}

/* ---- the data of the page ---- */

/*
 * The data in the page, of version 2: deflate (RFC 1950), then base64.
 *
 *	version
 *	the numbers of directories, files, contents, groups, pairs, unread files,
 *	other names of files
 *	the columns in the order of enum report_columns, the counts above long
 *	texts, each ended by a zero byte: names of directories, names of files,
 *	other names, name and state of each file without digests
 *
 * All numbers are written as add_number() does.  Numbers of a kind lie
 * together because that compresses well, and because the page then makes an
 * array of each without an object for any file.
 */
enum { VERSION = 2 };

static int collect(const struct report *r, struct buf *out)
{
	/* The columns that are as long as there are such things. */
	static const enum report_columns counted[] = {
		REPORT_PLACES,      REPORT_SCORES,        REPORT_MEMBER_COUNTS,
		REPORT_PAIR_SCORES, REPORT_UNREAD_PLACES, REPORT_LINK_PLACES,
	};
	const struct report_directories *d = &r->directories;
	struct report_column head = { 0 };
	size_t i;
	int err = add_number(&head, VERSION);

	if (!err)
		err = add_number(&head, d->count);
	for (i = 0; i < sizeof(counted) / sizeof(counted[0]) && !err; i++)
		err = add_number(&head, r->columns[counted[i]].count);
	for (i = 0; i < d->count && !err; i++)
		err = add_number(&head, d->all[i].parent);
	*out = head.bytes;
	for (i = 0; i < REPORT_COLUMNS && !err; i++)
		err = buf_append(out, r->columns[i].bytes.data,
				 r->columns[i].bytes.len);
	if (!err)
		err = buf_append(out, d->names.data, d->names.len);
	for (i = 0; i < REPORT_TEXTS && !err; i++)
		err = buf_append(out, r->texts[i].data, r->texts[i].len);
	return err;
}

int report_write_data(const struct report *r, FILE *out)
{
	enum { PIECE = 3 * 16384 }; /* four characters for three bytes */
	struct buf raw = { 0 };
	uint8_t *packed = NULL, text[4 * PIECE / 3 + 1];
	uLongf len = 0;
	size_t at, part;
	int err = collect(r, &raw);

	if (!err) {
		len = compressBound(raw.len);
		packed = malloc(len);
		if (!packed || compress(packed, &len, (const Bytef *)raw.data,
					raw.len) != Z_OK)
			err = -ENOMEM;
	}
	buf_release(&raw);
	for (at = 0; at < len && !err; at += part) {
		part = len - at < PIECE ? len - at : PIECE;
		err = report_put(
			out, text,
			(size_t)EVP_EncodeBlock(text, packed + at, (int)part));
	}
	free(packed);
	return err;
}

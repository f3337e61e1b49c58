/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/act/report/report_impl.h"

/*
 * The data in the page, of version 2: deflate (RFC 1950), then base64.
 *
 *	version
 *	the numbers of directories, files, contents, groups, pairs, unread files,
 *	other names of files
 *	the columns in the order of write_columns(), the counts above long
 *	texts, each ended by a zero byte: names of directories, names of files,
 *	other names, name and state of each file without digests
 *
 * All numbers are written as report_column_add() does.  Numbers of a kind lie
 * together because that compresses well, and because the page then makes an
 * array of each without an object for any file.
 */
enum { VERSION = 2 };

static int collect(const struct report *r, struct buf *out)
{
	const struct report_directories *d = &r->directories;
	const uint64_t counts[] = {
		VERSION,
		d->count,
		r->places.count,
		r->scores.count,
		r->member_counts.count,
		r->pair_scores.count,
		r->unread_places.count,
		r->link_places.count,
	};
	const struct buf *columns[] = {
		&r->member_counts.bytes,
		&r->file_counts.bytes,
		&r->scores.bytes,
		&r->sizes.bytes,
		&r->places.bytes,
		&r->times.bytes,
		&r->keeps.bytes,
		&r->disks.bytes,
		&r->link_counts.bytes,
		&r->link_places.bytes,
		&r->pair_scores.bytes,
		&r->pair_as.bytes,
		&r->pair_bs.bytes,
		&r->unread_places.bytes,
		&r->directories.names,
		&r->names,
		&r->links,
		&r->unread,
	};
	struct report_column head = { 0 };
	size_t i;
	int err = 0;

	for (i = 0; i < sizeof(counts) / sizeof(counts[0]) && !err; i++)
		err = report_column_add(&head, counts[i]);
	for (i = 0; i < d->count && !err; i++)
		err = report_column_add(&head, d->all[i].parent);
	*out = head.bytes;
	for (i = 0; i < sizeof(columns) / sizeof(columns[0]) && !err; i++)
		err = buf_append(out, columns[i]->data, columns[i]->len);
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

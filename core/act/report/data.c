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
 *	the columns in the order of enum report_columns, the counts above long
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
	/* The columns that are as long as there are such things. */
	static const enum report_columns counted[] = {
		REPORT_PLACES,      REPORT_SCORES,        REPORT_MEMBER_COUNTS,
		REPORT_PAIR_SCORES, REPORT_UNREAD_PLACES, REPORT_LINK_PLACES,
	};
	const struct report_directories *d = &r->directories;
	struct report_column head = { 0 };
	size_t i;
	int err = report_column_add(&head, VERSION);

	if (!err)
		err = report_column_add(&head, d->count);
	for (i = 0; i < sizeof(counted) / sizeof(counted[0]) && !err; i++)
		err = report_column_add(&head, r->columns[counted[i]].count);
	for (i = 0; i < d->count && !err; i++)
		err = report_column_add(&head, d->all[i].parent);
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

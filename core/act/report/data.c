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
enum {
	VERSION = 2,
	ROOM = 3 * 16384, /* base64 has four characters for three bytes */
};

struct data_writer {
	z_stream z;
	FILE *out;
	size_t filled;
	uint8_t bytes[ROOM]; /* compressed */
	uint8_t text[4 * ROOM / 3 + 1];
};

static int put_text(struct data_writer *w)
{
	int len = EVP_EncodeBlock(w->text, w->bytes, (int)w->filled);

	w->filled = 0;
	return report_put(w->out, w->text, (size_t)len);
}

static int run_deflate(struct data_writer *w, int flush)
{
	int err = 0, got = Z_OK;

	do {
		w->z.next_out = w->bytes + w->filled;
		w->z.avail_out = (uInt)(ROOM - w->filled);
		got = deflate(&w->z, flush);
		w->filled = ROOM - w->z.avail_out;
		if (got == Z_STREAM_ERROR)
			err = -EINVAL;
		else if (w->filled == ROOM || got == Z_STREAM_END)
			err = put_text(w);
	} while (!err &&
		 (w->z.avail_in || (flush == Z_FINISH && got != Z_STREAM_END)));
	return err;
}

static int write_bytes(struct data_writer *w, const void *data, size_t len)
{
	enum { PIECE = 1 << 20 };
	const uint8_t *bytes = data;
	size_t part;
	int err = 0;

	for (; len && !err; bytes += part, len -= part) {
		part = len < PIECE ? len : PIECE;
		w->z.next_in = (Bytef *)bytes;
		w->z.avail_in = (uInt)part;
		err = run_deflate(w, Z_NO_FLUSH);
	}
	return err;
}

/* ---- the columns ---- */

static int write_counts(struct data_writer *w, const struct report *r)
{
	struct report_column head = { 0 };
	const uint64_t counts[] = {
		VERSION,
		r->directories.count,
		r->places.count,
		r->scores.count,
		r->member_counts.count,
		r->pair_scores.count,
		r->unread_places.count,
		r->link_places.count,
	};
	size_t i;
	int err = 0;

	for (i = 0; i < sizeof(counts) / sizeof(counts[0]) && !err; i++)
		err = report_column_add(&head, counts[i]);
	if (!err)
		err = write_bytes(w, head.bytes.data, head.bytes.len);
	buf_release(&head.bytes);
	return err;
}

static int write_parents(struct data_writer *w,
			 const struct report_directories *d)
{
	struct report_column parents = { 0 };
	size_t i;
	int err = 0;

	for (i = 0; i < d->count && !err; i++)
		err = report_column_add(&parents, d->all[i].parent);
	if (!err)
		err = write_bytes(w, parents.bytes.data, parents.bytes.len);
	buf_release(&parents.bytes);
	return err;
}

static int write_columns(struct data_writer *w, const struct report *r)
{
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
	size_t i;
	int err = write_parents(w, &r->directories);

	for (i = 0; i < sizeof(columns) / sizeof(columns[0]) && !err; i++)
		err = write_bytes(w, columns[i]->data, columns[i]->len);
	return err;
}

int report_write_data(const struct report *r, FILE *out)
{
	struct data_writer *w = calloc(1, sizeof(*w));
	int err;

	if (!w || deflateInit(&w->z, Z_DEFAULT_COMPRESSION) != Z_OK) {
		free(w);
		return -ENOMEM;
	}
	w->out = out;
	err = write_counts(w, r);
	if (!err)
		err = write_columns(w, r);
	if (!err)
		err = run_deflate(w, Z_FINISH);
	(void)deflateEnd(&w->z);
	free(w);
	return err;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/share/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/bytes.h"
#include "core/base/hex.h"
#include "core/share/schema.h"

enum { TIMEOUT_MS = 120000 };

/* Times that PostgreSQL can represent, in seconds; it begins in 2000. */
#define SECONDS_MIN (-62135596800) /* year 1 */
#define SECONDS_MAX 253402300799   /* year 9999 */
#define SECONDS_2000 946684800

void batch_clear(struct share_batch *b)
{
	buf_release(&b->contents);
	buf_release(&b->postings);
	buf_release(&b->copies);
	buf_release(&b->old_contents);
	buf_release(&b->old_files);
	free(b->put);
	free(b->gone);
	*b = (struct share_batch){ 0 };
}

struct copy_column {
	const void *data; /* NULL: SQL's NULL */
	size_t len;
};

/* In the binary format of COPY: big-endian numbers, the length before each
 * column. */
static int add_row(struct buf *rows, const struct copy_column *columns,
		   size_t count)
{
	uint8_t number[4];
	size_t i;
	int err;

	store_be32(number, (uint32_t)count);
	err = buf_append(rows, number + 2, 2);
	for (i = 0; i < count && !err; i++) {
		const struct copy_column *c = &columns[i];

		store_be32(number, c->data ? (uint32_t)c->len : UINT32_MAX);
		err = buf_append(rows, number, 4);
		if (!err && c->data)
			err = buf_append(rows, c->data, c->len);
	}
	return err;
}

/* The copy may be in the database, and is removed before it is inserted. */
static int add_old(struct share_batch *b, const struct share_publication *p,
		   uint8_t file[SHARE_FILE_BYTES])
{
	char hex[2 * SHARE_FILE_BYTES + 1], text[2 * SHARE_FILE_BYTES + 8];
	int err = db_array_add_uuid(&b->old_contents, p->content);

	share_file_store(&p->file, file);
	hex_encode(file, SHARE_FILE_BYTES, hex);
	/* The backslash is doubled in an array. */
	(void)snprintf(text, sizeof(text), "\"\\\\x%s\"", hex);
	return err ? err : db_array_add(&b->old_files, text);
}

int batch_add_copy(struct share_batch *b, const struct share_publication *p,
		   const char *path, int64_t mtime_ns)
{
	struct share_publication *all =
		array_with_room(b->put, b->put_count, sizeof(*all));
	int64_t s = mtime_ns / 1000000000, us = mtime_ns / 1000 % 1000000;
	uint8_t file[SHARE_FILE_BYTES], time[8];
	const struct copy_column row[] = {
		{ p->content, DB_UUID_BYTES },
		{ file, sizeof(file) },
		{ path, path ? strlen(path) : 0 },
		{ path ? time : NULL, sizeof(time) },
	};
	int err;

	if (!all)
		return -ENOMEM;
	b->put = all;
	/* The clock of a host may be wrong by millennia. */
	if (us < 0) {
		us += 1000000;
		s--;
	}
	s = s < SECONDS_MIN ? SECONDS_MIN : s > SECONDS_MAX ? SECONDS_MAX : s;
	store_be64(time, (uint64_t)((s - SECONDS_2000) * 1000000 + us));
	err = add_old(b, p, file);
	if (!err)
		err = add_row(&b->copies, row, 4);
	if (!err)
		all[b->put_count++] = *p;
	return err;
}

int batch_add_gone(struct share_batch *b, const struct share_publication *p)
{
	struct share_publication *all =
		array_with_room(b->gone, b->gone_count, sizeof(*all));
	uint8_t file[SHARE_FILE_BYTES];

	if (!all)
		return -ENOMEM;
	b->gone = all;
	all[b->gone_count++] = *p;
	return add_old(b, p, file);
}

int batch_add_content(struct share_batch *b, const struct digests *d,
		      const struct sketch *sketch, int64_t limit)
{
	uint8_t size[8], value[8], packed[SKETCH_PACKED_MAX];
	struct copy_column row[] = {
		{ d->xxh128, DB_UUID_BYTES },
		{ size, sizeof(size) },
		{ d->set & DIGEST_BIT(DIGEST_SIMHASH) ? d->simhash : NULL, 8 },
		{ d->set & DIGEST_BIT(DIGEST_RDC) ? d->traits : NULL, 16 },
		{ NULL, 0 },
	};
	const struct copy_column posting[] = { { value, sizeof(value) },
					       row[0] };
	size_t i;
	int err;

	/* Equal ones often come one after the other. */
	if (b->content_count && !memcmp(b->content, d->xxh128, DB_UUID_BYTES))
		return 0;
	store_be64(size, d->size);
	if (sketch && sketch->count)
		row[4] = (struct copy_column){ packed,
					       sketch_pack(sketch, packed) };
	err = add_row(&b->contents, row, 5);
	for (i = 0; sketch && i < sketch->count && !err; i++) {
		if (i >= SHARE_ANCHORS && (int64_t)sketch->values[i] >= limit)
			break;
		store_be64(value, sketch->values[i]);
		err = add_row(&b->postings, posting, 2);
	}
	if (err)
		return err;
	memcpy(b->content, d->xxh128, DB_UUID_BYTES);
	b->content_count++;
	return 0;
}

int batch_send(const struct share_batch *b, struct share_db *db,
	       const struct share_identity *i)
{
	const struct buf rows[] = { b->contents, b->postings, b->copies };
	struct buf sql = { 0 };
	char host[DB_UUID_TEXT + 1];
	int err;

	db_format_uuid(i->host, host);
	err = buf_append_format(&sql, SQL_BATCH, i->next_token, host, i->epoch,
				i->token, i->next_token, b->old_contents.data,
				host, b->old_files.data, host, i->epoch);
	db_set_timeout(db, TIMEOUT_MS);
	if (!err)
		err = db_copy(db, sql.data, rows, 3);
	if (err == -EREMOTEIO && !strcmp(db->code, "22012"))
		err = -ESTALE;
	if (err == -EREMOTEIO || err == -ESTALE)
		db_roll_back(db);
	buf_release(&sql);
	return err;
}

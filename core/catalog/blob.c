/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/base/bytes.h"
#include "core/catalog/catalog_impl.h"

/*
 * Values of any length, by the id of a content, in tables that are only
 * appended to.
 *
 * LMDB does not divide a record between pages: the end of a page stays empty
 * where the next record is longer, and a record of more than half a page has
 * pages of its own.  So a value that does not fit is cut into pieces, of which
 * the first one fills the page.  The key is
 *
 *   id 4             the whole value
 *   id 4, number 1   a piece; the first is 0, and LAST is added to the last one
 *
 * How much room a page has is estimated by the size of the records since the
 * number of pages changed.  Only the size of the file depends on it.
 */
enum {
	LAST = 0x80,
	KEY_BYTES = CONTENT_KEY_BYTES + 1,
	PAGE_HEAD = 16,   /* LMDB's own bytes in a page, */
	RECORD_HEAD = 10, /* and for each record */
	PIECE_LEAST = 64,
	PIECE_MOST = 2000,
	BLOB_MOST = 64 * PIECE_MOST,
};

static int append_piece(struct catalog_txn *txn, enum catalog_db db,
			struct record_key key, const uint8_t *bytes, size_t len)
{
	struct blob_page *page = &txn->pages[db - DB_BLOBS];
	size_t used = RECORD_HEAD + key.len + len + RECORD_SUM_BYTES;
	MDB_stat st = { 0 };
	int err = txn_append(txn, db, key, bytes, len);

	if (!err)
		err = txn_stat(txn, db, &st);
	if (err)
		return err;
	used += used & 1;
	if (st.ms_leaf_pages != page->count)
		page->room = page->count ? st.ms_psize - PAGE_HEAD : 0;
	page->room = page->room > used ? page->room - used : 0;
	page->count = st.ms_leaf_pages;
	return 0;
}

/* How much of so many bytes is the next piece. */
static size_t piece_len(const struct blob_page *page, size_t len)
{
	const size_t head = RECORD_HEAD + KEY_BYTES + RECORD_SUM_BYTES + 1;

	if (len + head > page->room && page->room >= head + PIECE_LEAST)
		len = page->room - head;
	return len < PIECE_MOST ? len : PIECE_MOST;
}

int blob_append(struct catalog_txn *txn, enum catalog_db db, uint32_t id,
		const void *bytes, size_t len)
{
	struct record_key key = key_of_id(id);
	const uint8_t *at = bytes;
	uint8_t number = 0;
	size_t piece;
	int err;

	if (len > BLOB_MOST)
		return -EINVAL;
	do {
		piece = piece_len(&txn->pages[db - DB_BLOBS], len);
		if (number == 0 && piece == len)
			return append_piece(txn, db, key, at, len);
		key.len = KEY_BYTES;
		key.bytes[CONTENT_KEY_BYTES] = number++;
		if (piece == len)
			key.bytes[CONTENT_KEY_BYTES] |= LAST;
		err = append_piece(txn, db, key, at, piece);
		at += piece;
		len -= piece;
	} while (!err && len);
	return err;
}

int blob_next(struct catalog_walk *w, uint32_t *id_out, MDB_val *out)
{
	MDB_val id = { .mv_size = CONTENT_KEY_BYTES };
	uint32_t first = 0;
	uint8_t number = 0;
	unsigned count;
	int err, found;

	buf_clear(&w->built);
	for (count = 0; !(number & LAST); count++) {
		found = walk_next(w);
		if (found != 1)
			return found == 0 && count ? -EUCLEAN : found;
		id.mv_data = w->key.mv_data;
		*out = w->value;
		if (w->key.mv_size != KEY_BYTES) {
			err = count ? -EUCLEAN :
				      content_id_decode(&w->key, id_out);
			return err ? err : 1;
		}
		number = ((uint8_t *)w->key.mv_data)[CONTENT_KEY_BYTES];
		err = content_id_decode(&id, id_out);
		first = count ? first : *id_out;
		if (!err && ((number & ~LAST) != count || *id_out != first))
			err = -EUCLEAN;
		if (!err)
			err = buf_append(&w->built, out->mv_data, out->mv_size);
		if (err)
			return err;
	}
	*out = (MDB_val){ w->built.len, w->built.data };
	return 1;
}

int blob_get(struct catalog_txn *txn, enum catalog_db db, uint32_t id,
	     MDB_val *out)
{
	struct buf unused = txn->blob;
	struct catalog_walk *w;
	int found, err = txn_get(txn, db, key_of_id(id), out);

	if (err != -ENOENT)
		return err;
	err = walk_begin(txn, db, key_of_id(id), &w);
	if (err)
		return err;
	found = blob_next(w, &id, out);
	txn->blob = w->built;
	w->built = unused;
	catalog_walk_end(w);
	return found == 1 ? 0 : found ? found : -ENOENT;
}

int blob_delete(struct catalog_txn *txn, enum catalog_db db, uint32_t id)
{
	MDB_val key, value;
	bool found = false;
	int err;

	while (!(err = txn_first(txn, db, key_of_id(id), &key, &value))) {
		err = txn_delete(txn, db,
				 key_of_bytes(key.mv_data, key.mv_size));
		if (err)
			return err;
		found = true;
	}
	return err == -ENOENT && found ? 0 : err;
}

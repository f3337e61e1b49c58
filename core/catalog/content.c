/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/digest/ssdeep.h"

/* ---- values of any length ---- */

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

static int blob_next(struct catalog_walk *w, uint32_t *id_out, MDB_val *out)
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

/* ---- the other digests ---- */

/*
 * The other digests of a content are one value of the table digests: the length
 * and the bytes of each in the order of their ids.  With a SiSe signature,
 * ssdeep is in its short form.
 */

/* Those of the set that the list has. */
static uint32_t listed(uint32_t set)
{
	uint32_t found = 0;
	int id;

	for (id = 0; id < DIGEST_COUNT; id++)
		if (!digest_table[id]->offset && id != DIGEST_SIF)
			found |= set & DIGEST_BIT(id);
	return found;
}

/* Those that the record of the content has. */
static uint32_t recorded(uint32_t set)
{
	return set & ~listed(set) & ~DIGEST_BIT(DIGEST_SIF);
}

static int take_digest(struct digests *d, int id, struct digest_value v)
{
	return digest_is_valid(id, v) ? digest_put(d, id, v) : -EUCLEAN;
}

static int list_make(const struct digests *d, struct buf *out)
{
	const uint32_t set = listed(d->set);
	uint8_t len[VARINT_BYTES];
	struct buf shortened = { 0 };
	struct digest_value v;
	int id, err = 0;

	for (id = 0; id < DIGEST_COUNT && !err; id++) {
		if (!(set & DIGEST_BIT(id)))
			continue;
		v = digest_value_of(d, id);
		if (id == DIGEST_SSDEEP && set & DIGEST_BIT(DIGEST_SISE)) {
			err = ssdeep_shorten(v, digest_value_of(d, DIGEST_SISE),
					     &shortened);
			v.bytes = (const uint8_t *)shortened.data;
			v.len = shortened.len;
		}
		if (!err)
			err = buf_append(out, len, store_varint(len, v.len));
		if (!err)
			err = buf_append(out, v.bytes, v.len);
	}
	buf_release(&shortened);
	return err;
}

/* Adds those in wanted to d, which has none of them yet; set: of the
 * content. */
static int list_read(const MDB_val *list, uint32_t set, uint32_t wanted,
		     struct digests *d)
{
	const uint8_t *at = list->mv_data, *end = at + list->mv_size;
	struct digest_value v, sise = { 0 };
	struct buf whole = { 0 };
	int id, err = 0;

	for (id = 0; id < DIGEST_COUNT && !err; id++) {
		uint64_t len = 0;

		if (!(listed(set) & DIGEST_BIT(id)))
			continue;
		if (!load_varint(&at, end, &len) || len > (size_t)(end - at)) {
			err = -EUCLEAN;
			break;
		}
		v = (struct digest_value){ at, (size_t)len };
		at += len;
		if (id == DIGEST_SISE)
			sise = v;
		if (!(wanted & DIGEST_BIT(id)))
			continue;
		if (id == DIGEST_SSDEEP && sise.bytes) {
			err = ssdeep_complete(v, sise, &whole);
			v.bytes = (const uint8_t *)whole.data;
			v.len = whole.len;
		}
		if (!err)
			err = take_digest(d, id, v);
	}
	buf_release(&whole);
	return err == -EINVAL || (!err && at != end) ? -EUCLEAN : err;
}

/* ---- writing ---- */

int catalog_content_find(struct catalog_txn *txn, const struct digests *d,
			 uint32_t *out)
{
	struct record_key key = key_of_identity(txn->meta.key_sum, d, 0);
	const size_t len = key.len;
	struct digests other = { 0 };
	struct catalog_walk *w;
	uint32_t content = 0;
	int found = 1, err;

	key.len = d->set & DIGEST_BIT(DIGEST_IDENTITY) ?
			  2 * IDENTITY_HASH_BYTES :
			  IDENTITY_HASH_BYTES;
	err = walk_begin(txn, DB_IDENTITIES, key, &w);
	if (err)
		return err;
	while (!err && (found = walk_next(w)) == 1) {
		const uint8_t *p = w->key.mv_data;

		err = w->key.mv_size == len ? 0 : -EUCLEAN;
		if (!err) {
			content = load_be32(p + 2 * IDENTITY_HASH_BYTES);
			err = content_load(txn, content, &other);
		}
		if (!err && digests_are_of_one(&other, d))
			break;
	}
	catalog_walk_end(w);
	if (err)
		return err == -ENOENT ? -EUCLEAN : err;
	if (found == 1)
		*out = content;
	return found == 1 ? 0 : found ? found : -ENOENT;
}

static int content_insert(struct catalog_txn *txn, uint32_t content,
			  const struct digests *d)
{
	const struct digest_value sif = digest_value_of(d, DIGEST_SIF);
	struct buf list = { 0 };
	int err = list_make(d, &list);

	if (!err)
		err = txn_append(txn, DB_CONTENTS, key_of_id(content), d,
				 CONTENT_BYTES);
	if (!err && sif.bytes)
		err = blob_append(txn, DB_SKETCHES, content, sif.bytes,
				  sif.len);
	if (!err && list.len)
		err = blob_append(txn, DB_DIGESTS, content, list.data,
				  list.len);
	if (!err)
		err = txn_put(txn, DB_IDENTITIES,
			      key_of_identity(txn->meta.key_sum, d, content),
			      "", 0);
	buf_release(&list);
	return err;
}

int content_intern(struct catalog_txn *txn, const struct digests *d,
		   uint32_t *out)
{
	int err = catalog_content_find(txn, d, out);

	if (err != -ENOENT)
		return err;
	err = txn_take_id(txn, out);
	if (!err)
		err = content_insert(txn, *out, d);
	if (!err && d->is_document)
		err = text_begin(txn, *out);
	txn->meta.content_bytes += d->size;
	return err;
}

int content_load(struct catalog_txn *txn, uint32_t content, struct digests *out)
{
	MDB_val value;
	int err = txn_get(txn, DB_CONTENTS, key_of_id(content), &value);

	return err ? err : content_decode(&value, out);
}

static int content_delete(struct catalog_txn *txn, uint32_t content)
{
	struct digests d;
	int err = content_load(txn, content, &d);

	if (err)
		return err;
	err = txn_delete(txn, DB_CONTENTS, key_of_id(content));
	if (!err && d.set & DIGEST_BIT(DIGEST_SIF))
		err = blob_delete(txn, DB_SKETCHES, content);
	if (!err && listed(d.set))
		err = blob_delete(txn, DB_DIGESTS, content);
	if (!err)
		err = txn_delete(
			txn, DB_IDENTITIES,
			key_of_identity(txn->meta.key_sum, &d, content));
	if (!err)
		err = txn_drop_id(txn, content);
	if (!err)
		err = text_forget(txn, content);
	txn->meta.content_bytes -= d.size;
	return err;
}

int content_copy_add(struct catalog_txn *txn, uint32_t content,
		     const struct file_key *key)
{
	int err = txn_put(txn, DB_COPIES, key_of_copy(content, key), "", 0);

	return err ? err : text_note_copy(txn, content, key);
}

int content_copy_drop(struct catalog_txn *txn, uint32_t content,
		      const struct file_key *key)
{
	MDB_val k, v;
	int err = text_tell(txn, content, key);

	if (err)
		return err;
	err = txn_delete(txn, DB_COPIES, key_of_copy(content, key));
	if (!err)
		err = txn_first(txn, DB_COPIES, key_of_id(content), &k, &v);
	else if (err == -ENOENT)
		return -EUCLEAN;
	if (err != -ENOENT)
		return err;
	err = content_delete(txn, content);
	return err == -ENOENT ? -EUCLEAN : err;
}

/* ---- reading ---- */

int catalog_content_get(struct catalog_txn *txn, uint32_t content,
			uint32_t wanted, struct digests *out)
{
	struct digests d;
	MDB_val v;
	uint32_t set;
	int err = content_load(txn, content, &d);

	if (err)
		return err;
	set = d.set;
	d.set = recorded(set);
	if (set & wanted & DIGEST_BIT(DIGEST_SIF)) {
		err = blob_get(txn, DB_SKETCHES, content, &v);
		if (!err)
			err = take_digest(
				&d, DIGEST_SIF,
				(struct digest_value){ v.mv_data, v.mv_size });
	}
	if (!err && listed(set & wanted)) {
		err = blob_get(txn, DB_DIGESTS, content, &v);
		if (!err)
			err = list_read(&v, set, wanted, &d);
	}
	if (!err && wanted & (CONTENT_TEXT | DIGEST_BIT(DIGEST_PDQ)))
		err = text_load(txn, content, !(wanted & CONTENT_TEXT), &d);
	if (err)
		digests_release(&d);
	else
		*out = d;
	return err == -ENOENT ? -EUCLEAN : err;
}

int catalog_sketch_get(struct catalog_txn *txn, uint32_t id, struct sketch *out)
{
	struct digests d;
	MDB_val v;
	int err = blob_get(txn, DB_SKETCHES, id, &v);

	if (err)
		return err;
	if (sketch_unpack(v.mv_data, v.mv_size, out))
		return -EUCLEAN;
	/* The size of a text is not kept. */
	err = content_load(txn, id, &d);
	if (!err)
		out->bytes = d.size;
	return err == -ENOENT ? 0 : err;
}

int catalog_sketches_begin(struct catalog_txn *txn, struct catalog_walk **out)
{
	return walk_begin(txn, DB_SKETCHES, ANY_KEY, out);
}

int catalog_sketches_next(struct catalog_walk *w, uint32_t *id_out,
			  const uint8_t **packed_out, size_t *len_out)
{
	MDB_val value;
	int found = blob_next(w, id_out, &value);

	if (found == 1) {
		*packed_out = value.mv_data;
		*len_out = value.mv_size;
	}
	return found;
}

int catalog_copies_begin(struct catalog_txn *txn, uint32_t content,
			 struct catalog_walk **out)
{
	int err = walk_begin(txn, DB_COPIES, key_of_id(content), out);

	if (!err)
		(*out)->open_end = true;
	return err;
}

int catalog_copies_next(struct catalog_walk *w, uint32_t *content_out,
			struct file_key *key_out)
{
	int found = walk_next(w);

	return found != 1                                     ? found :
	       copy_key_decode(&w->key, content_out, key_out) ?:
								1;
}

int catalog_copy_after(struct catalog_txn *txn, uint32_t content,
		       const struct file_key *after, struct file_key *out)
{
	struct file_key key;
	uint32_t found;
	MDB_val at, value;
	int err = txn_after(txn, DB_COPIES,
			    after ? key_of_copy(content, after) :
				    key_of_id(content),
			    &at, &value);

	if (!err)
		err = copy_key_decode(&at, &found, &key);
	if (!err && found != content)
		err = -ENOENT;
	if (!err)
		*out = key;
	return err;
}

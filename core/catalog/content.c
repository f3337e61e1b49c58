/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/digest/ssdeep.h"

/*
 * The other digests of a content are one value of the table digests: the length
 * and the bytes of each in the order of their ids.  With a SiSe signature, ssdeep
 * is in its short form.
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

/* Adds those in wanted to d, which has none of them yet; set: of the content. */
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
	struct record_key key = key_of_identity(txn->meta.seed, d, 0);
	const size_t len = key.len;
	struct digests other = { 0 };
	struct catalog_walk *w;
	uint32_t content;
	int found, err = 0;

	key.len = IDENTITY_HASH_BYTES;
	found = walk_begin(txn, DB_IDENTITIES, key, &w);
	if (found)
		return found;
	while ((found = walk_next(w)) == 1) {
		if (w->key.mv_size != len) {
			err = -EUCLEAN;
			break;
		}
		content = load_be32((uint8_t *)w->key.mv_data +
				    IDENTITY_HASH_BYTES);
		err = content_load(txn, content, &other);
		if (err || (other.size == d->size &&
			    !memcmp(other.xxh128, d->xxh128, 16)))
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
			      key_of_identity(txn->meta.seed, d, content), "",
			      0);
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
		err = txn_delete(txn, DB_IDENTITIES,
				 key_of_identity(txn->meta.seed, &d, content));
	if (!err)
		err = txn_drop_id(txn, content);
	if (!err)
		err = text_forget(txn, content);
	txn->meta.content_bytes -= d.size;
	txn->meta_changed = true;
	return err;
}

int content_copy_drop(struct catalog_txn *txn, uint32_t content,
		      const struct file_key *key)
{
	MDB_val k, v;
	int err = txn_delete(txn, DB_COPIES, key_of_copy(content, key));

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
	if (!err && wanted & CONTENT_TEXT)
		err = text_load(txn, content, &d);
	if (err)
		digests_release(&d);
	else
		*out = d;
	return err == -ENOENT ? -EUCLEAN : err;
}

int catalog_sketch_get(struct catalog_txn *txn, uint32_t id, struct sketch *out)
{
	MDB_val v;
	int err = blob_get(txn, DB_SKETCHES, id, &v);

	if (err)
		return err;
	return sketch_unpack(v.mv_data, v.mv_size, out) ? -EUCLEAN : 0;
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

int catalog_contents_begin(struct catalog_txn *txn, struct catalog_walk **out)
{
	return walk_begin(txn, DB_CONTENTS, ANY_KEY, out);
}

int catalog_contents_next(struct catalog_walk *w, uint32_t *content_out,
			  struct digests *out)
{
	int err, found = walk_next(w);

	if (found != 1)
		return found;
	err = content_id_decode(&w->key, content_out);
	if (!err)
		err = content_decode(&w->value, out);
	if (err)
		return err;
	out->set = recorded(out->set);
	return 1;
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
	int err, found = walk_next(w);

	if (found != 1)
		return found;
	err = copy_key_decode(&w->key, content_out, key_out);
	return err ? err : 1;
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

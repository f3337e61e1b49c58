/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <string.h>

#include "core/base/bytes.h"

/* ---- writing ---- */

int catalog_content_find(struct catalog_txn *txn, const struct digests *d,
			 uint32_t *out)
{
	uint8_t identity[IDENTITY_KEY_BYTES];
	MDB_val value;
	int err;

	identity_key_store(d, identity);
	err = txn_get(txn, DB_IDENTITIES, identity, sizeof(identity), &value);
	return err ? err : content_id_decode(&value, out);
}

static int content_insert(struct catalog_txn *txn, uint32_t content,
			  const struct digests *d)
{
	uint8_t identity[IDENTITY_KEY_BYTES];
	uint8_t record[CONTENT_BYTES];
	uint8_t id[CONTENT_KEY_BYTES];
	struct digest_value v;
	int digest, err;

	store_be32(id, content);
	content_store(d, record);
	identity_key_store(d, identity);
	err = txn_append(txn, DB_CONTENTS, id, sizeof(id), record,
			 sizeof(record));
	for (digest = 0; digest < DIGEST_COUNT && !err; digest++) {
		if (!digest_is_apart(d, digest))
			continue;
		v = digest_value_of(d, digest);
		err = txn_append(txn, DB_DIGESTS + digest, id, sizeof(id),
				 v.bytes, v.len);
	}
	if (!err)
		err = txn_put(txn, DB_IDENTITIES, identity, sizeof(identity),
			      id, sizeof(id));
	return err;
}

int content_intern(struct catalog_txn *txn, const struct digests *d,
		   uint32_t *out)
{
	struct catalog_meta *m = &txn->meta;
	uint32_t content;
	int err;

	err = catalog_content_find(txn, d, out);
	if (err != -ENOENT)
		return err;
	if (m->next_content > UINT32_MAX)
		return -EOVERFLOW;
	content = (uint32_t)m->next_content;
	err = content_insert(txn, content, d);
	if (!err)
		err = id_list_append(&txn->added, content);
	if (!err && d->is_document)
		err = text_begin(txn, content);
	if (err)
		return err;
	m->next_content++;
	m->counts.contents++;
	m->counts.content_bytes += d->size;
	txn->meta_changed = true;
	*out = content;
	return 0;
}

int content_load(struct catalog_txn *txn, uint32_t content, struct digests *out)
{
	MDB_val value;
	int err = txn_get_content(txn, DB_CONTENTS, content, &value);

	return err ? err : content_decode(&value, out);
}

static int content_delete(struct catalog_txn *txn, uint32_t content)
{
	uint8_t identity[IDENTITY_KEY_BYTES];
	uint8_t id[CONTENT_KEY_BYTES];
	struct digests d;
	int digest, err;

	err = content_load(txn, content, &d);
	if (err)
		return err;
	store_be32(id, content);
	identity_key_store(&d, identity);
	err = txn_delete(txn, DB_CONTENTS, id, sizeof(id));
	for (digest = 0; digest < DIGEST_COUNT && !err; digest++)
		if (digest_is_apart(&d, digest))
			err = txn_delete(txn, DB_DIGESTS + digest, id,
					 sizeof(id));
	if (!err)
		err = txn_delete(txn, DB_IDENTITIES, identity,
				 sizeof(identity));
	if (!err && !id_list_remove(&txn->added, content))
		err = id_list_append(&txn->removed, content);
	if (!err)
		err = text_forget(txn, content);
	txn->meta.counts.contents--;
	txn->meta.counts.content_bytes -= d.size;
	txn->meta_changed = true;
	return err;
}

int content_copy_add(struct catalog_txn *txn, uint32_t content,
		     const struct file_key *key)
{
	uint8_t copy[COPY_KEY_BYTES_MAX];

	return txn_put(txn, DB_COPIES, copy, copy_key_store(content, key, copy),
		       "", 0);
}

int content_copy_drop(struct catalog_txn *txn, uint32_t content,
		      const struct file_key *key)
{
	uint8_t copy[COPY_KEY_BYTES_MAX];
	MDB_val k, v;
	int err;

	err = txn_delete(txn, DB_COPIES, copy,
			 copy_key_store(content, key, copy));
	if (!err)
		err = txn_first(txn, DB_COPIES, copy, CONTENT_KEY_BYTES, &k,
				&v);
	else if (err == -ENOENT)
		return -EUCLEAN;
	if (err != -ENOENT)
		return err;
	err = content_delete(txn, content);
	return err == -ENOENT ? -EUCLEAN : err;
}

/* ---- reading ---- */

/* Without the digests in tables of their own. */
static uint32_t set_here(const struct digests *d)
{
	uint32_t set = d->set;
	int id;

	for (id = 0; id < DIGEST_COUNT; id++)
		if (digest_is_apart(d, id))
			set &= ~DIGEST_BIT(id);
	return set;
}

static int digest_get(struct catalog_txn *txn, uint32_t content, int id,
		      struct digest_value *out)
{
	MDB_val value;
	int err = txn_get_content(txn, DB_DIGESTS + id, content, &value);

	if (err)
		return err;
	*out = (struct digest_value){ value.mv_data, value.mv_size };
	return digest_is_valid(id, *out) ? 0 : -EUCLEAN;
}

/* Adds a digest that the content has. */
static int digest_fetch(struct catalog_txn *txn, uint32_t content, int id,
			struct digests *d)
{
	struct digest_value v;
	int err = digest_get(txn, content, id, &v);

	if (err == -ENOENT)
		err = -EUCLEAN;
	return err ? err : digest_put(d, id, v);
}

int catalog_content_brief(struct catalog_txn *txn, uint32_t content,
			  struct digests *out)
{
	return catalog_content_some(txn, content, 0, out);
}

int catalog_content_get(struct catalog_txn *txn, uint32_t content,
			struct digests *out)
{
	int err = catalog_content_some(txn, content, DIGEST_ALL, out);

	if (err)
		return err;
	err = text_load(txn, content, out);
	if (err)
		digests_release(out);
	return err;
}

int catalog_content_some(struct catalog_txn *txn, uint32_t content,
			 uint32_t wanted, struct digests *out)
{
	struct digests d;
	uint32_t set;
	int id, err;

	err = content_load(txn, content, &d);
	if (err)
		return err;
	set = d.set & ~set_here(&d) & wanted;
	d.set = set_here(&d);
	for (id = 0; id < DIGEST_COUNT && !err; id++)
		if (set & DIGEST_BIT(id))
			err = digest_fetch(txn, content, id, &d);
	if (err)
		digests_release(&d);
	else
		*out = d;
	return err;
}

int catalog_sketch_get(struct catalog_txn *txn, uint32_t id, struct sketch *out)
{
	struct digest_value v;
	int err = digest_get(txn, id, DIGEST_SIF, &v);

	if (err == -ENOENT)
		return text_sketch_get(txn, id, out);
	if (!err && sketch_unpack(v.bytes, v.len, out))
		err = -EUCLEAN;
	return err;
}

int catalog_sketches_begin(struct catalog_txn *txn, struct catalog_walk **out)
{
	return walk_begin(txn, DB_DIGESTS + DIGEST_SIF, "", 0, out);
}

int catalog_sketches_next(struct catalog_walk *w, uint32_t *content_out,
			  const uint8_t **packed_out, size_t *len_out)
{
	int err, found = record_scan_next(&w->scan);

	if (found != 1)
		return found;
	err = content_id_decode(&w->scan.key, content_out);
	*packed_out = w->scan.value.mv_data;
	*len_out = w->scan.value.mv_size;
	return err ? err : 1;
}

int catalog_contents_begin(struct catalog_txn *txn, struct catalog_walk **out)
{
	return walk_begin(txn, DB_CONTENTS, "", 0, out);
}

int catalog_contents_next(struct catalog_walk *w, uint32_t *content_out,
			  struct digests *out)
{
	int err, found = record_scan_next(&w->scan);

	if (found != 1)
		return found;
	err = content_id_decode(&w->scan.key, content_out);
	if (!err)
		err = content_decode(&w->scan.value, out);
	if (err)
		return err;
	out->set = set_here(out);
	return 1;
}

int catalog_copies_begin(struct catalog_txn *txn, uint32_t content,
			 struct catalog_walk **out)
{
	uint8_t id[CONTENT_KEY_BYTES];
	int err;

	store_be32(id, content);
	err = walk_begin(txn, DB_COPIES, id, sizeof(id), out);
	if (!err)
		(*out)->scan.open_end = true;
	return err;
}

int catalog_copies_next(struct catalog_walk *w, uint32_t *content_out,
			struct file_key *key_out)
{
	int err, found = record_scan_next(&w->scan);

	if (found != 1)
		return found;
	err = copy_key_decode(&w->scan.key, content_out, key_out);
	return err ? err : 1;
}

int catalog_copy_after(struct catalog_txn *txn, uint32_t content,
		       const struct file_key *after, struct file_key *out)
{
	uint8_t k[CONTENT_KEY_BYTES + FILE_KEY_BYTES_MAX];
	size_t len = CONTENT_KEY_BYTES;
	struct file_key key;
	uint32_t found;
	MDB_val at;
	int err;

	store_be32(k, content);
	if (after)
		len = copy_key_store(content, after, k);
	err = txn_after(txn, DB_COPIES, k, len, !after, &at);
	if (!err)
		err = copy_key_decode(&at, &found, &key);
	if (!err && found != content)
		err = -ENOENT;
	if (!err)
		*out = key;
	return err;
}

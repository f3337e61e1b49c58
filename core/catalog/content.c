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
	return catalog_content_some(txn, content, DIGEST_ALL, out);
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

int catalog_sketch_get(struct catalog_txn *txn, uint32_t content,
		       struct sketch *out)
{
	struct digest_value v;
	int err = digest_get(txn, content, DIGEST_SIF, &v);

	if (!err && sketch_unpack(v.bytes, v.len, out))
		err = -EUCLEAN;
	return err;
}

int catalog_sketch_each(struct catalog_txn *txn, catalog_sketch_fn *each,
			void *arg)
{
	struct record_scan s;
	uint32_t content;
	int result;

	result = record_scan_open(txn, DB_DIGESTS + DIGEST_SIF, NULL, 0, &s);
	if (result)
		return result;
	while ((result = record_scan_next(&s)) == 1) {
		result = content_id_decode(&s.key, &content);
		if (!result)
			result = each(arg, content, s.value.mv_data,
				      s.value.mv_size);
		if (result)
			break;
	}
	record_scan_close(&s);
	return result;
}

int catalog_content_each(struct catalog_txn *txn,
			 int (*each)(void *arg, uint32_t content,
				     const struct digests *d),
			 void *arg)
{
	struct digests d;
	struct record_scan s;
	uint32_t content;
	int result;

	result = record_scan_open(txn, DB_CONTENTS, NULL, 0, &s);
	if (result)
		return result;
	while ((result = record_scan_next(&s)) == 1) {
		result = content_id_decode(&s.key, &content);
		if (!result)
			result = content_decode(&s.value, &d);
		if (result)
			break;
		d.set = set_here(&d);
		result = each(arg, content, &d);
		if (result)
			break;
	}
	record_scan_close(&s);
	return result;
}

static int copies_scan(struct catalog_txn *txn, uint32_t content, bool open_end,
		       catalog_copy_fn *each, void *arg)
{
	uint8_t id[CONTENT_KEY_BYTES];
	struct file_key key;
	struct record_scan s;
	uint32_t found;
	int result;

	store_be32(id, content);
	result = record_scan_open(txn, DB_COPIES, id, sizeof(id), &s);
	if (result)
		return result;
	s.open_end = open_end;
	while ((result = record_scan_next(&s)) == 1) {
		result = copy_key_decode(&s.key, &found, &key);
		if (!result)
			result = each(arg, found, &key);
		if (result)
			break;
	}
	record_scan_close(&s);
	return result;
}

int catalog_copies_each(struct catalog_txn *txn, uint32_t content,
			catalog_copy_fn *each, void *arg)
{
	return copies_scan(txn, content, false, each, arg);
}

int catalog_copies_from(struct catalog_txn *txn, uint32_t content,
			catalog_copy_fn *each, void *arg)
{
	return copies_scan(txn, content, true, each, arg);
}

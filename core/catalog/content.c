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

static int sketches_put(struct catalog_txn *txn, const uint8_t *id,
			const struct digests *d)
{
	const struct sketch_table *t;
	int err = 0;

	for (t = sketch_tables; t < sketch_tables + SKETCH_TABLES && !err; t++)
		if (d->set & DIGEST_BIT(t->id))
			err = t->put(txn, t->db, id, d->text[t->id]);
	return err;
}

static int sketches_delete(struct catalog_txn *txn, const uint8_t *id,
			   const struct digests *d)
{
	const struct sketch_table *t;
	int err = 0;

	for (t = sketch_tables; t < sketch_tables + SKETCH_TABLES && !err; t++)
		if (d->set & DIGEST_BIT(t->id))
			err = txn_delete(txn, t->db, id, CONTENT_KEY_BYTES);
	return err;
}

static int content_insert(struct catalog_txn *txn, uint32_t content,
			  const struct digests *d)
{
	uint8_t identity[IDENTITY_KEY_BYTES];
	uint8_t record[CONTENT_BYTES];
	uint8_t id[CONTENT_KEY_BYTES];
	struct buf texts = { 0 };
	int err;

	store_be32(id, content);
	content_store(d, record);
	identity_key_store(d, identity);
	err = txn_append(txn, DB_CONTENTS, id, sizeof(id), record,
			 sizeof(record));
	if (!err)
		err = texts_store(d, &texts);
	if (!err && texts.len)
		err = txn_append(txn, DB_TEXTS, id, sizeof(id), texts.data,
				 texts.len);
	if (!err)
		err = sketches_put(txn, id, d);
	if (!err)
		err = txn_put(txn, DB_IDENTITIES, identity, sizeof(identity),
			      id, sizeof(id));
	buf_release(&texts);
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
	int err;

	err = content_load(txn, content, &d);
	if (err)
		return err;
	store_be32(id, content);
	identity_key_store(&d, identity);
	err = txn_delete(txn, DB_CONTENTS, id, sizeof(id));
	if (!err && (d.set & CATALOG_TEXTS))
		err = txn_delete(txn, DB_TEXTS, id, sizeof(id));
	if (!err)
		err = sketches_delete(txn, id, &d);
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

static int texts_get(struct catalog_txn *txn, uint32_t content, uint32_t wanted,
		     struct digests *d)
{
	MDB_val value;
	int err = txn_get_content(txn, DB_TEXTS, content, &value);

	if (err)
		return err == -ENOENT ? -EUCLEAN : err;
	return texts_decode(&value, wanted, d);
}

static int sketches_get(struct catalog_txn *txn, uint32_t content,
			uint32_t wanted, struct digests *d)
{
	const struct sketch_table *t;
	int err = 0;

	for (t = sketch_tables; t < sketch_tables + SKETCH_TABLES && !err; t++)
		if (d->set & wanted & DIGEST_BIT(t->id))
			err = t->text(txn, t->db, content, &d->text[t->id]);
	return err;
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
	int err;

	err = content_load(txn, content, &d);
	if (err)
		return err;
	if (d.set & wanted & CATALOG_TEXTS)
		err = texts_get(txn, content, wanted, &d);
	if (!err)
		err = sketches_get(txn, content, wanted, &d);
	d.set &= wanted | ~DIGEST_TEXTS;
	if (err)
		digests_release(&d);
	else
		*out = d;
	return err;
}

int catalog_sise_get(struct catalog_txn *txn, uint32_t content,
		     struct sise_signature *out)
{
	struct digests d;
	const char *text;
	int err =
		catalog_content_some(txn, content, DIGEST_BIT(DIGEST_SISE), &d);

	if (err)
		return err;
	text = d.text[DIGEST_SISE];
	if (!text)
		err = -ENOENT;
	else if (sise_parse(text, strlen(text), out))
		err = -EUCLEAN;
	digests_release(&d);
	return err;
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
		d.set &= ~DIGEST_TEXTS;
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

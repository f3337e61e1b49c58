/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/bytes.h"

/* ---- writing ---- */

static int content_find(struct catalog_txn *txn, const struct digests *d,
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
	int err;

	store_be32(id, content);
	content_store(d, record);
	identity_key_store(d, identity);
	err = txn_append(txn, DB_CONTENTS, id, sizeof(id), record,
			 sizeof(record));
	if (!err && (d->set & DIGEST_BIT(DIGEST_SISE)))
		err = txn_append(txn, DB_SIGNATURES, id, sizeof(id), d->sise,
				 strlen(d->sise));
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

	err = content_find(txn, d, out);
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

static int content_load(struct catalog_txn *txn, uint32_t content,
			struct digests *out)
{
	uint8_t id[CONTENT_KEY_BYTES];
	MDB_val value;
	int err;

	store_be32(id, content);
	err = txn_get(txn, DB_CONTENTS, id, sizeof(id), &value);
	return err ? err : content_decode(&value, out);
}

static int signature_delete(struct catalog_txn *txn, const uint8_t *id)
{
	int err = verify_value(txn->catalog, DB_SIGNATURES, id,
			       CONTENT_KEY_BYTES);

	return err ? err :
		     txn_delete(txn, DB_SIGNATURES, id, CONTENT_KEY_BYTES);
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
	if (!err && (d.set & DIGEST_BIT(DIGEST_SISE)))
		err = signature_delete(txn, id);
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
	uint8_t copy[COPY_KEY_BYTES];

	copy_key_store(content, key, copy);
	return txn_put(txn, DB_COPIES, copy, sizeof(copy), "", 0);
}

int content_copy_drop(struct catalog_txn *txn, uint32_t content,
		      const struct file_key *key)
{
	uint8_t copy[COPY_KEY_BYTES];
	MDB_val k, v;
	int err;

	copy_key_store(content, key, copy);
	err = txn_delete(txn, DB_COPIES, copy, sizeof(copy));
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

static int signature_get(struct catalog_txn *txn, uint32_t content,
			 char **text_out)
{
	uint8_t id[CONTENT_KEY_BYTES];
	MDB_val value;
	char *text;
	int err;

	store_be32(id, content);
	err = txn_get(txn, DB_SIGNATURES, id, sizeof(id), &value);
	if (err)
		return err == -ENOENT ? -EUCLEAN : err;
	if (memchr(value.mv_data, '\0', value.mv_size))
		return -EUCLEAN;
	text = malloc(value.mv_size + 1);
	if (!text)
		return -ENOMEM;
	memcpy(text, value.mv_data, value.mv_size);
	text[value.mv_size] = '\0';
	*text_out = text;
	return 0;
}

int catalog_content_get(struct catalog_txn *txn, uint32_t content,
			struct digests *out)
{
	struct digests d;
	int err;

	err = content_load(txn, content, &d);
	if (!err && (d.set & DIGEST_BIT(DIGEST_SISE)))
		err = signature_get(txn, content, &d.sise);
	if (!err)
		*out = d;
	return err;
}

int catalog_content_each(struct catalog_txn *txn,
			 int (*each)(void *arg, uint32_t content,
				     const struct digests *d),
			 void *arg)
{
	struct digests d;
	struct scan s;
	uint32_t content;
	int result;

	result = scan_open(txn, DB_CONTENTS, NULL, 0, &s);
	if (result)
		return result;
	while ((result = scan_next(&s)) == 1) {
		result = content_id_decode(&s.key, &content);
		if (!result)
			result = content_decode(&s.value, &d);
		if (result)
			break;
		d.set &= ~DIGEST_BIT(DIGEST_SISE);
		result = each(arg, content, &d);
		if (result)
			break;
	}
	scan_close(&s);
	return result;
}

int catalog_copies_each(struct catalog_txn *txn, uint32_t content,
			int (*each)(void *arg, const struct file_key *key),
			void *arg)
{
	uint8_t id[CONTENT_KEY_BYTES];
	struct file_key key;
	struct scan s;
	uint32_t unused;
	int result;

	store_be32(id, content);
	result = scan_open(txn, DB_COPIES, id, sizeof(id), &s);
	if (result)
		return result;
	while ((result = scan_next(&s)) == 1) {
		result = copy_key_decode(&s.key, &unused, &key);
		if (!result)
			result = each(arg, &key);
		if (result)
			break;
	}
	scan_close(&s);
	return result;
}

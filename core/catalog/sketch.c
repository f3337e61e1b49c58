/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int sketch_decode(const MDB_val *bytes, struct sif_sketch *out)
{
	return sif_unpack(bytes->mv_data, bytes->mv_size, out) ? -EUCLEAN : 0;
}

static int sketch_put(struct catalog_txn *txn, enum catalog_db db,
		      const uint8_t *id, const char *text)
{
	uint8_t *bytes = malloc(SIF_PACKED_MAX);
	int err = -ENOMEM;
	size_t len;

	if (!bytes)
		return err;
	len = sif_pack_text(text, strlen(text), bytes);
	err = len ? txn_append(txn, db, id, CONTENT_KEY_BYTES, bytes, len) :
		    -EINVAL;
	free(bytes);
	return err;
}

static int sketch_get(struct catalog_txn *txn, enum catalog_db db,
		      uint32_t content, struct sif_sketch *out)
{
	MDB_val value;
	int err = txn_get_content(txn, db, content, &value);

	return err ? err : sketch_decode(&value, out);
}

int catalog_sketch_get(struct catalog_txn *txn, uint32_t content,
		       struct sif_sketch *out)
{
	return sketch_get(txn, DB_SKETCHES, content, out);
}

int catalog_text_sketch_get(struct catalog_txn *txn, uint32_t content,
			    struct sif_sketch *out)
{
	return sketch_get(txn, DB_TEXT_SKETCHES, content, out);
}

static int sketch_text(struct catalog_txn *txn, enum catalog_db db,
		       uint32_t content, char **text_out)
{
	struct sif_sketch *sketch = malloc(sizeof(*sketch));
	struct buf text = { 0 };
	int err = sketch ? 0 : -ENOMEM;

	if (!err)
		err = sketch_get(txn, db, content, sketch);
	if (!err)
		err = sif_format(sketch, &text);
	free(sketch);
	if (err)
		buf_release(&text);
	else
		*text_out = buf_take(&text);
	return err == -ENOENT ? -EUCLEAN : err;
}

static int sketch_each(struct catalog_txn *txn, enum catalog_db db,
		       catalog_sketch_fn *each, void *arg)
{
	struct record_scan s;
	uint32_t content;
	int result = record_scan_open(txn, db, NULL, 0, &s);

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

int catalog_sketch_each(struct catalog_txn *txn, catalog_sketch_fn *each,
			void *arg)
{
	return sketch_each(txn, DB_SKETCHES, each, arg);
}

int catalog_text_sketch_each(struct catalog_txn *txn, catalog_sketch_fn *each,
			     void *arg)
{
	return sketch_each(txn, DB_TEXT_SKETCHES, each, arg);
}

const struct sketch_table sketch_tables[SKETCH_TABLES] = {
	{ DIGEST_SIF, DB_SKETCHES, sketch_put, sketch_text,
	  "sketch and digest set disagree" },
	{ DIGEST_TEXT, DB_TEXT_SKETCHES, sketch_put, sketch_text,
	  "sketch and digest set disagree" },
	{ DIGEST_SIF8, DB_SHORT_SKETCHES, short_sketch_put, short_sketch_text,
	  "short sketch and digest set disagree" },
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/bytes.h"

#define HEADER_BYTES 10
#define VALUE_BYTES (SIF_BITS / 8)
#define BYTES_MAX (HEADER_BYTES + SIF_MAX_VALUES * (VALUE_BYTES + 1))
/* With the window: a byte for the place of each value follows the values. */
#define PLACED 0x8000

const struct sketch_table sketch_tables[SKETCH_TABLES] = {
	{ DIGEST_SIF, DB_SKETCHES },
	{ DIGEST_TEXT, DB_TEXT_SKETCHES },
};

static size_t sketch_store(const struct sif_sketch *sketch, uint8_t *bytes)
{
	uint8_t *p = bytes + HEADER_BYTES;
	size_t i;

	store_le64(bytes, sketch->distinct);
	store_le16(bytes + 8, (uint16_t)(sketch->window |
					 (sketch->is_placed ? PLACED : 0)));
	for (i = 0; i < sketch->count; i++, p += VALUE_BYTES) {
		store_le32(p, (uint32_t)sketch->values[i]);
		store_le16(p + 4, (uint16_t)(sketch->values[i] >> 32));
	}
	if (sketch->is_placed) {
		memcpy(p, sketch->places, sketch->count);
		p += sketch->count;
	}
	return (size_t)(p - bytes);
}

int sketch_decode(const MDB_val *bytes, struct sif_sketch *out)
{
	const uint8_t *p = bytes->mv_data;
	size_t i, value_bytes;

	if (bytes->mv_size < HEADER_BYTES || bytes->mv_size > BYTES_MAX)
		return -EUCLEAN;
	out->distinct = load_le64(p);
	out->window = load_le16(p + 8) & ~PLACED;
	out->is_placed = load_le16(p + 8) & PLACED;
	value_bytes = VALUE_BYTES + out->is_placed;
	out->count = (bytes->mv_size - HEADER_BYTES) / value_bytes;
	if ((bytes->mv_size - HEADER_BYTES) % value_bytes ||
	    out->count > SIF_MAX_VALUES)
		return -EUCLEAN;
	p += HEADER_BYTES;
	for (i = 0; i < out->count; i++, p += VALUE_BYTES)
		out->values[i] = load_le32(p) | (uint64_t)load_le16(p + 4)
							<< 32;
	if (out->is_placed)
		memcpy(out->places, p, out->count);
	return sif_is_sound(out) ? 0 : -EUCLEAN;
}

int sketch_put(struct catalog_txn *txn, enum catalog_db db, const uint8_t *id,
	       const char *text)
{
	struct sif_sketch *sketch = malloc(sizeof(*sketch));
	uint8_t *bytes = malloc(BYTES_MAX);
	int err = sketch && bytes ? 0 : -ENOMEM;

	if (!err)
		err = sif_parse(text, strlen(text), sketch);
	if (!err)
		err = txn_append(txn, db, id, CONTENT_KEY_BYTES, bytes,
				 sketch_store(sketch, bytes));
	free(sketch);
	free(bytes);
	return err;
}

static int sketch_get(struct catalog_txn *txn, enum catalog_db db,
		      uint32_t content, struct sif_sketch *out)
{
	uint8_t id[CONTENT_KEY_BYTES];
	MDB_val value;
	int err;

	store_be32(id, content);
	err = txn_get(txn, db, id, sizeof(id), &value);
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

int sketch_text(struct catalog_txn *txn, enum catalog_db db, uint32_t content,
		char **text_out)
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

static int each_sketch(struct record_scan *s, struct sif_sketch *sketch,
		       int (*each)(void *arg, uint32_t content,
				   const struct sif_sketch *sketch),
		       void *arg)
{
	uint32_t content;
	int result;

	while ((result = record_scan_next(s)) == 1) {
		result = content_id_decode(&s->key, &content);
		if (!result)
			result = sketch_decode(&s->value, sketch);
		if (!result)
			result = each(arg, content, sketch);
		if (result)
			break;
	}
	return result;
}

static int sketch_each(struct catalog_txn *txn, enum catalog_db db,
		       int (*each)(void *arg, uint32_t content,
				   const struct sif_sketch *sketch),
		       void *arg)
{
	struct sif_sketch *sketch = malloc(sizeof(*sketch));
	struct record_scan s;
	int result;

	if (!sketch)
		return -ENOMEM;
	result = record_scan_open(txn, db, NULL, 0, &s);
	if (!result) {
		result = each_sketch(&s, sketch, each, arg);
		record_scan_close(&s);
	}
	free(sketch);
	return result;
}

int catalog_sketch_each(struct catalog_txn *txn,
			int (*each)(void *arg, uint32_t content,
				    const struct sif_sketch *sketch),
			void *arg)
{
	return sketch_each(txn, DB_SKETCHES, each, arg);
}

int catalog_text_sketch_each(struct catalog_txn *txn,
			     int (*each)(void *arg, uint32_t content,
					 const struct sif_sketch *sketch),
			     void *arg)
{
	return sketch_each(txn, DB_TEXT_SKETCHES, each, arg);
}

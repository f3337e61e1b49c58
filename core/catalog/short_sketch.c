/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <string.h>

int short_sketch_decode(const MDB_val *bytes, struct short_sketch *out)
{
	return short_sketch_load(bytes->mv_data, bytes->mv_size, out) ?
		       0 :
		       -EUCLEAN;
}

int short_sketch_put(struct catalog_txn *txn, enum catalog_db db,
		     const uint8_t *id, const char *text)
{
	uint8_t bytes[SHORT_SKETCH_BYTES];
	size_t len = short_sketch_pack_text(text, strlen(text), bytes);

	return len ? txn_append(txn, db, id, CONTENT_KEY_BYTES, bytes, len) :
		     -EINVAL;
}

static int short_sketch_get(struct catalog_txn *txn, enum catalog_db db,
			    uint32_t content, struct short_sketch *out)
{
	MDB_val value;
	int err = txn_get_content(txn, db, content, &value);

	return err ? err : short_sketch_decode(&value, out);
}

int catalog_short_sketch_get(struct catalog_txn *txn, uint32_t content,
			     struct short_sketch *out)
{
	return short_sketch_get(txn, DB_SHORT_SKETCHES, content, out);
}

int short_sketch_text(struct catalog_txn *txn, enum catalog_db db,
		      uint32_t content, char **text_out)
{
	struct short_sketch sketch;
	struct buf text = { 0 };
	int err = short_sketch_get(txn, db, content, &sketch);

	if (!err)
		err = short_sketch_format(&sketch, &text);
	if (err)
		buf_release(&text);
	else
		*text_out = buf_take(&text);
	return err == -ENOENT ? -EUCLEAN : err;
}

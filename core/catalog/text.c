/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "core/catalog/catalog_impl.h"

/* The texts of documents, and the hashes of pictures. */

static int text_put(struct catalog_txn *txn, uint32_t content,
		    const struct content_text *text)
{
	return txn_put(txn, DB_TEXTS, key_of_id(content), text, sizeof(*text));
}

/* Whether something is kept, under an id of its own. */
static bool is_kept(const struct content_text *text)
{
	return text->state == TEXT_YES || text->state == TEXT_PICTURE;
}

static int text_decode(const MDB_val *bytes, struct content_text *out)
{
	return value_copy(bytes, out, sizeof(*out)) &&
			       out->state < TEXT_STATES &&
			       is_kept(out) == (out->sketch != 0) ?
		       0 :
		       -EUCLEAN;
}

int catalog_text_get(struct catalog_txn *txn, uint32_t content,
		     struct content_text *out)
{
	MDB_val value;
	int err = txn_get(txn, DB_TEXTS, key_of_id(content), &value);

	return err ? err : text_decode(&value, out);
}

/* step is 1, or -1 as an unsigned number. */
static void count_text(struct catalog_txn *txn, const struct content_text *text,
		       uint64_t step)
{
	if (text->state == TEXT_PENDING)
		txn->meta.pending_texts += step;
	if (text->state == TEXT_FAILED && text->why != TEXT_UNREADABLE)
		txn->meta.failed_texts += step;
}

int text_begin(struct catalog_txn *txn, uint32_t content)
{
	const struct content_text pending = { .date = TEXT_NO_DATE };

	count_text(txn, &pending, 1);
	return text_put(txn, content, &pending);
}

static int keep(struct catalog_txn *txn, uint32_t content,
		enum text_state state, const void *bytes, size_t len,
		uint32_t *id_out)
{
	struct record_key owner = key_of_id(content);
	int err = txn_take_id(txn, id_out);

	if (!err)
		err = state == TEXT_PICTURE ?
			      txn_append(txn, DB_PICTURES, key_of_id(*id_out),
					 bytes, len) :
			      blob_append(txn, DB_SKETCHES, *id_out, bytes,
					  len);
	return err ? err :
		     txn_append(txn, DB_OWNERS, key_of_id(*id_out), owner.bytes,
				owner.len);
}

/* ---- of which files it is told ---- */

int text_note_copy(struct catalog_txn *txn, uint32_t content,
		   const struct file_key *key)
{
	MDB_val value;
	int err = txn_get(txn, DB_TEXTS, key_of_id(content), &value);

	if (err)
		return err == -ENOENT ? 0 : err;
	txn->untold_added++;
	return txn_put(txn, DB_UNTOLD, key_of_copy(content, key), "", 0);
}

int text_tell(struct catalog_txn *txn, uint32_t content,
	      const struct file_key *key)
{
	return txn_drop(txn, DB_UNTOLD, key_of_copy(content, key));
}

int catalog_text_tell(struct catalog_txn *txn, uint32_t content,
		      const struct file_key *key)
{
	return txn_result(txn, text_tell(txn, content, key));
}

int catalog_text_is_told(struct catalog_txn *txn, uint32_t content,
			 const struct file_key *key)
{
	MDB_val value;
	int err = txn_get(txn, DB_UNTOLD, key_of_copy(content, key), &value);

	return err == -ENOENT ? 1 : err;
}

int catalog_text_untold(struct catalog_txn *txn, uint32_t *content,
			struct file_key *key)
{
	MDB_val at, value;
	int err = txn_after(txn, DB_UNTOLD,
			    key->inode ? key_of_copy(*content, key) :
					 key_of_id(*content),
			    &at, &value);

	return err ? err : copy_key_decode(&at, content, key);
}

uint64_t catalog_untold_texts(const struct catalog *c)
{
	return atomic_load(&c->untold_texts);
}

uint64_t catalog_untold_added(const struct catalog *c)
{
	return atomic_load(&c->untold_added);
}

/* ---- what it is ---- */

int catalog_text_set(struct catalog_txn *txn, uint32_t content,
		     const struct content_text *text, const void *kept,
		     size_t len)
{
	struct content_text old, new = *text;
	int err = catalog_text_get(txn, content, &old);

	if (err == -ENOENT || (!err && is_kept(&old)))
		return 0;
	new.sketch = 0;
	if (!err && is_kept(&new))
		err = keep(txn, content, new.state, kept, len, &new.sketch);
	if (!err)
		err = text_put(txn, content, &new);
	if (!err) {
		count_text(txn, &old, UINT64_MAX);
		count_text(txn, &new, 1);
	}
	return txn_result(txn, err);
}

int text_forget(struct catalog_txn *txn, uint32_t content)
{
	struct content_text text;
	int err = catalog_text_get(txn, content, &text);

	if (err)
		return err == -ENOENT ? 0 : err;
	err = txn_delete(txn, DB_TEXTS, key_of_id(content));
	count_text(txn, &text, UINT64_MAX);
	if (err || !text.sketch)
		return err;
	err = txn_delete(txn, DB_OWNERS, key_of_id(text.sketch));
	if (!err)
		err = text.state == TEXT_PICTURE ?
			      txn_delete(txn, DB_PICTURES,
					 key_of_id(text.sketch)) :
			      blob_delete(txn, DB_SKETCHES, text.sketch);
	if (!err)
		err = txn_drop_id(txn, text.sketch);
	return err == -ENOENT ? -EUCLEAN : err;
}

/* ---- made by another version ---- */

int text_put_version(struct catalog_txn *txn)
{
	const uint32_t version = txn->catalog->text_version;

	return txn_put(txn, DB_META, TEXTS_KEY, &version, sizeof(version));
}

/* Sets the next text to pending, of all files with its content.  -ENOENT: there
 * are no more. */
static int renew_next(struct catalog_txn *txn, uint32_t *content)
{
	struct file_key copy = { 0 };
	MDB_val key, value;
	int err = txn_after(txn, DB_TEXTS, key_of_id(*content), &key, &value);

	if (!err)
		err = content_id_decode(&key, content);
	if (!err)
		err = text_forget(txn, *content);
	if (!err)
		err = text_begin(txn, *content);
	if (err)
		return err;
	do {
		err = catalog_copy_after(txn, *content,
					 copy.inode ? &copy : NULL, &copy);
		if (!err)
			err = text_note_copy(txn, *content, &copy);
	} while (!err);
	return err == -ENOENT ? 0 : err;
}

enum { RENEWED = 4096 }; /* texts in a transaction, as it is held in memory */

int texts_settle(struct catalog *c)
{
	uint32_t version = 0, content = 0, i;
	struct catalog_txn *txn;
	int err = catalog_read(c, &txn);

	if (err)
		return err;
	err = txn_get_value(txn, DB_META, TEXTS_KEY, &version, sizeof(version));
	catalog_abort(txn);
	if (err ? err != -ENOENT : version == c->text_version)
		return err;
	do {
		err = catalog_write(c, &txn);
		if (err)
			return err;
		for (i = 0; !err && i < RENEWED; i++)
			err = renew_next(txn, &content);
		if (err == -ENOENT)
			err = text_put_version(txn);
		if (err)
			catalog_abort(txn);
		else
			err = catalog_commit(txn, NULL);
	} while (!err && i == RENEWED);
	return err == -ENOSPC ? 0 : err; /* the next process does it */
}

/* ---- sketches ---- */

int text_load(struct catalog_txn *txn, uint32_t content, bool only_picture,
	      struct digests *d)
{
	struct content_text text = { 0 };
	struct picture_hashes picture;
	MDB_val sketch;
	int err = catalog_text_get(txn, content, &text);

	if (err || !text.sketch)
		return err == -ENOENT ? 0 : err;
	if (text.state == TEXT_PICTURE) {
		err = catalog_picture_get(txn, text.sketch, &picture);
		if (!err)
			digests_put_picture(d, &picture);
		return err == -ENOENT ? -EUCLEAN : err;
	}
	if (only_picture)
		return 0;
	err = blob_get(txn, DB_SKETCHES, text.sketch, &sketch);
	if (!err)
		err = digests_put_text(d, sketch.mv_data, sketch.mv_size);
	return err == -ENOENT ? -EUCLEAN : err;
}

static int picture_decode(const MDB_val *bytes, struct picture_hashes *out)
{
	return value_copy(bytes, out, sizeof(*out)) &&
			       out->has <=
				       (PICTURE_EXCHANGE | PICTURE_JUDGING) ?
		       0 :
		       -EUCLEAN;
}

int catalog_picture_get(struct catalog_txn *txn, uint32_t id,
			struct picture_hashes *out)
{
	MDB_val value;
	int err = txn_get(txn, DB_PICTURES, key_of_id(id), &value);

	return err ? err : picture_decode(&value, out);
}

int catalog_pictures_begin(struct catalog_txn *txn, struct catalog_walk **out)
{
	return walk_begin(txn, DB_PICTURES, ANY_KEY, out);
}

int catalog_pictures_next(struct catalog_walk *w, uint32_t *id_out,
			  struct picture_hashes *out)
{
	int err, found = walk_next(w);

	if (found != 1)
		return found;
	err = content_id_decode(&w->key, id_out);
	if (!err)
		err = picture_decode(&w->value, out);
	return err ? err : 1;
}

int catalog_text_owner(struct catalog_txn *txn, uint32_t sketch,
		       uint32_t *content_out)
{
	MDB_val value;
	int err = txn_get(txn, DB_OWNERS, key_of_id(sketch), &value);

	return err ? err : content_id_decode(&value, content_out);
}

/* ---- what is to be done ---- */

uint64_t catalog_pending_texts(const struct catalog *c)
{
	return atomic_load(&c->pending_texts);
}

int catalog_text_unreadable(struct catalog_txn *txn, uint32_t after,
			    uint32_t *out)
{
	struct content_text text = { .state = TEXT_PENDING };
	MDB_val key, value;
	int err = 0;

	*out = after;
	while (!err &&
	       (text.state != TEXT_FAILED || text.why != TEXT_UNREADABLE)) {
		err = txn_after(txn, DB_TEXTS, key_of_id(*out), &key, &value);
		if (!err)
			err = content_id_decode(&key, out);
		if (!err)
			err = text_decode(&value, &text);
	}
	return err;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/cross_check.h"

#include <errno.h>
#include <string.h>

#include "core/base/bytes.h"

/* wanted: whether the table must have a record of the content. */
static int check_record_of(struct cross_check *c, uint32_t content,
			   enum catalog_db db, bool wanted, const char *finding)
{
	uint8_t id[CONTENT_KEY_BYTES];
	bool found;
	int err;

	store_be32(id, content);
	found = txn_has(c->txn, db, id, sizeof(id), &err);
	if (err || found == wanted)
		return err;
	return cross_check_note_content(c, content, finding);
}

static int check_texts_of(struct cross_check *c, uint32_t content,
			  const struct digests *d)
{
	const struct sketch_table *t;
	int err = check_record_of(c, content, DB_TEXTS, d->set & CATALOG_TEXTS,
				  "texts and digest set disagree");

	for (t = sketch_tables; t < sketch_tables + SKETCH_TABLES && !err; t++)
		err = check_record_of(c, content, t->db,
				      d->set & DIGEST_BIT(t->id), t->finding);
	return err;
}

static int check_identity_of(struct cross_check *c, uint32_t content,
			     const struct digests *d)
{
	uint32_t found = 0;
	int err = catalog_content_find(c->txn, d, &found);

	if (err && err != -ENOENT && err != -EUCLEAN)
		return err;
	if (!err && found == content)
		return 0;
	return cross_check_note_content(c, content,
					"not found by its identity");
}

int cross_check_content(struct cross_check *c, const MDB_val *key,
			const MDB_val *value)
{
	uint32_t content;
	struct digests d;
	MDB_val k, v;
	int err;

	if (content_id_decode(key, &content))
		return cross_check_note(c, "a content with a wrong key");
	if (content_decode(value, &d))
		return cross_check_note_content(c, content,
						"unreadable record");
	c->counts.contents++;
	c->counts.content_bytes += d.size;
	if (content >= c->txn->meta.next_content) {
		err = cross_check_note_content(c, content,
					       "its id was not given out yet");
		if (err)
			return err;
	}
	err = check_texts_of(c, content, &d);
	if (!err)
		err = check_identity_of(c, content, &d);
	if (err)
		return err;
	err = txn_first(c->txn, DB_COPIES, key->mv_data, key->mv_size, &k, &v);
	return err == -ENOENT ?
		       cross_check_note_content(c, content, "no file has it") :
		       err;
}

int cross_check_texts(struct cross_check *c, const MDB_val *key,
		      const MDB_val *value)
{
	uint32_t content;
	struct digests d;
	int found, err;

	if (content_id_decode(key, &content))
		return cross_check_note(c, "texts with a wrong key");
	found = cross_check_find_content(c, content, &d);
	if (found < 0)
		return found;
	if (!found)
		return cross_check_note_content(c, content,
						"texts and no record");
	err = texts_decode(value, DIGEST_ALL, &d);
	digests_release(&d);
	return err == -EUCLEAN ? cross_check_note_content(c, content,
							  "unreadable texts") :
				 err;
}

/* readable: whether the value could be decoded. */
static int check_sketch(struct cross_check *c, const MDB_val *key,
			bool readable)
{
	struct digests d;
	uint32_t content;
	int found;

	if (content_id_decode(key, &content))
		return cross_check_note(c, "a sketch with a wrong key");
	found = cross_check_find_content(c, content, &d);
	if (found < 0)
		return found;
	if (!found)
		return cross_check_note_content(c, content,
						"a sketch and no record");
	return readable ? 0 :
			  cross_check_note_content(c, content,
						   "an unreadable sketch");
}

int cross_check_sketch(struct cross_check *c, const MDB_val *key,
		       const MDB_val *value)
{
	struct sif_sketch sketch;

	return check_sketch(c, key, !sketch_decode(value, &sketch));
}

int cross_check_short_sketch(struct cross_check *c, const MDB_val *key,
			     const MDB_val *value)
{
	struct short_sketch sketch;

	return check_sketch(c, key, !short_sketch_decode(value, &sketch));
}

int cross_check_identity(struct cross_check *c, const MDB_val *key,
			 const MDB_val *value)
{
	uint8_t identity[IDENTITY_KEY_BYTES];
	uint32_t content;
	struct digests d;
	int found;

	if (key->mv_size != sizeof(identity) ||
	    content_id_decode(value, &content))
		return cross_check_note(c, "a malformed identity");
	found = cross_check_find_content(c, content, &d);
	if (found < 0)
		return found;
	if (found)
		identity_key_store(&d, identity);
	if (!found || memcmp(identity, key->mv_data, sizeof(identity)) != 0)
		return cross_check_note_content(c, content,
						"found by a wrong identity");
	return 0;
}

int cross_check_copy(struct cross_check *c, const MDB_val *key,
		     const MDB_val *value)
{
	uint32_t content;
	struct file_record r;
	struct file_key k;
	int found;

	if (copy_key_decode(key, &content, &k) || value->mv_size != 0)
		return cross_check_note(c, "a malformed copy");
	found = cross_check_find_file(c, &k, &r);
	if (found < 0)
		return found;
	if (!found || r.state != FILE_FRESH || r.content != content)
		return cross_check_note_file(
			c, &k, "listed as a copy of a wrong content");
	return 0;
}

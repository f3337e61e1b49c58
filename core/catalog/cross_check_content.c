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

static int check_digests_of(struct cross_check *c, uint32_t content,
			    const struct digests *d)
{
	int id, err = 0;

	for (id = 0; id < DIGEST_COUNT && !err; id++)
		err = check_record_of(c, content, DB_DIGESTS + id,
				      digest_is_apart(d, id),
				      "digest set and digests disagree");
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
	err = check_digests_of(c, content, &d);
	if (!err)
		err = check_identity_of(c, content, &d);
	if (err)
		return err;
	err = txn_first(c->txn, DB_COPIES, key->mv_data, key->mv_size, &k, &v);
	return err == -ENOENT ?
		       cross_check_note_content(c, content, "no file has it") :
		       err;
}

int cross_check_digest(struct cross_check *c, const MDB_val *key,
		       const MDB_val *value)
{
	struct digest_value v;
	uint32_t content;
	struct digests d;
	int found;

	if (content_id_decode(key, &content))
		return cross_check_note(c, "a digest with a wrong key");
	found = cross_check_find_content(c, content, &d);
	if (found < 0)
		return found;
	if (!found)
		return cross_check_note_content(c, content,
						"a digest and no record");
	return digest_record_decode(c->digest, value, &v) ?
		       0 :
		       cross_check_note_content(c, content,
						"an unreadable digest");
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

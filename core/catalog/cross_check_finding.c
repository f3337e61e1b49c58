/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/cross_check.h"

#include <errno.h>
#include <inttypes.h>

#include "core/base/bytes.h"

int cross_check_note(struct cross_check *c, const char *text)
{
	c->findings++;
	if (c->findings > CHECK_FINDINGS_MAX)
		return 0;
	return buf_append_format(c->report, "%s\n", text);
}

int cross_check_note_file(struct cross_check *c, const struct file_key *key,
			  const char *text)
{
	c->findings++;
	if (c->findings > CHECK_FINDINGS_MAX)
		return 0;
	return buf_append_format(
		c->report, "file %" PRIu32 ":%" PRIu64 ":%" PRIu32 ": %s\n",
		key->device, key->inode, key->generation, text);
}

int cross_check_note_content(struct cross_check *c, uint32_t content,
			     const char *text)
{
	c->findings++;
	if (c->findings > CHECK_FINDINGS_MAX)
		return 0;
	return buf_append_format(c->report, "content %" PRIu32 ": %s\n",
				 content, text);
}

static int drop(struct cross_check *c, enum catalog_db db, const MDB_val *key)
{
	return edits_drop(c->edits, db, key->mv_data, key->mv_size);
}

int cross_check_wrong(struct cross_check *c, enum catalog_db db,
		      const MDB_val *key, const char *text)
{
	int err = cross_check_note(c, text);

	return err ? err : drop(c, db, key);
}

int cross_check_wrong_file(struct cross_check *c, enum catalog_db db,
			   const MDB_val *key, const struct file_key *file,
			   const char *text)
{
	int err = cross_check_note_file(c, file, text);

	return err ? err : drop(c, db, key);
}

int cross_check_wrong_content(struct cross_check *c, enum catalog_db db,
			      const MDB_val *key, uint32_t content,
			      const char *text)
{
	int err = cross_check_note_content(c, content, text);

	return err ? err : drop(c, db, key);
}

int cross_check_find_file(struct cross_check *c, const struct file_key *key,
			  struct file_record *out)
{
	int err = catalog_file_get(c->txn, key, out);

	if (err == -ENOENT || err == -EUCLEAN)
		return 0;
	return err ? err : 1;
}

int cross_check_find_content(struct cross_check *c, uint32_t content,
			     struct digests *out)
{
	uint8_t id[CONTENT_KEY_BYTES];
	MDB_val value;
	int err;

	store_be32(id, content);
	err = txn_get(c->txn, DB_CONTENTS, id, sizeof(id), &value);
	if (!err)
		err = content_decode(&value, out);
	if (err == -ENOENT || err == -EUCLEAN)
		return 0;
	return err ? err : 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/check_impl.h"

#include <errno.h>
#include <inttypes.h>

#include "core/base/bytes.h"

int check_note(struct check *c, const char *text)
{
	c->findings++;
	if (c->findings > CHECK_FINDINGS_MAX)
		return 0;
	return buf_append_format(c->report, "%s\n", text);
}

int check_note_file(struct check *c, const struct file_key *key,
		    const char *text)
{
	c->findings++;
	if (c->findings > CHECK_FINDINGS_MAX)
		return 0;
	return buf_append_format(
		c->report, "file %" PRIu32 ":%" PRIu64 ":%" PRIu32 ": %s\n",
		key->device, key->inode, key->generation, text);
}

int check_note_content(struct check *c, uint32_t content, const char *text)
{
	c->findings++;
	if (c->findings > CHECK_FINDINGS_MAX)
		return 0;
	return buf_append_format(c->report, "content %" PRIu32 ": %s\n",
				 content, text);
}

static int drop(struct check *c, enum catalog_db db, const MDB_val *key)
{
	return edits_drop(c->edits, db, key->mv_data, key->mv_size);
}

int check_wrong(struct check *c, enum catalog_db db, const MDB_val *key,
		const char *text)
{
	int err = check_note(c, text);

	return err ? err : drop(c, db, key);
}

int check_wrong_file(struct check *c, enum catalog_db db, const MDB_val *key,
		     const struct file_key *file, const char *text)
{
	int err = check_note_file(c, file, text);

	return err ? err : drop(c, db, key);
}

int check_wrong_content(struct check *c, enum catalog_db db, const MDB_val *key,
			uint32_t content, const char *text)
{
	int err = check_note_content(c, content, text);

	return err ? err : drop(c, db, key);
}

int check_find_file(struct check *c, const struct file_key *key,
		    struct file_record *out)
{
	int err = catalog_file_get(c->txn, key, out);

	if (err == -ENOENT || err == -EUCLEAN)
		return 0;
	return err ? err : 1;
}

int check_find_content(struct check *c, uint32_t content, struct digests *out)
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

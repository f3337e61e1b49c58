/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/cross_check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"

/* More wait for the next walk. */
#define EDITS_MAX 65536

/* Walks without an end of the findings: something goes in a circle. */
#define WALKS_MAX 1000

/* ---- changes to records ---- */

struct edit {
	enum catalog_db db;
	bool drop;
	size_t at; /* of the key in bytes; the value follows it */
	size_t key_len, value_len;
};

struct edits {
	struct edit *list;
	size_t count;
	struct buf bytes;
};

static int edits_add(struct edits *edits, const struct edit *edit,
		     const void *key, const void *value)
{
	struct edit *list;
	int err;

	if (!edits || edits->count == EDITS_MAX)
		return 0;
	list = array_with_room(edits->list, edits->count, sizeof(*list));
	if (!list)
		return -ENOMEM;
	edits->list = list;
	list[edits->count] = *edit;
	list[edits->count].at = edits->bytes.len;
	err = buf_append(&edits->bytes, key, edit->key_len);
	if (!err)
		err = buf_append(&edits->bytes, value, edit->value_len);
	if (!err)
		edits->count++;
	return err;
}

int edits_drop(struct edits *edits, enum catalog_db db, const void *key,
	       size_t key_len)
{
	struct edit edit = { .db = db, .drop = true, .key_len = key_len };

	return edits_add(edits, &edit, key, "");
}

int edits_put(struct edits *edits, enum catalog_db db, const void *key,
	      size_t key_len, const void *value, size_t value_len)
{
	struct edit edit = { .db = db,
			     .key_len = key_len,
			     .value_len = value_len };

	return edits_add(edits, &edit, key, value);
}

/* For catalog_changes. */
static int content_gone(struct catalog_txn *txn, const void *key, size_t len)
{
	MDB_val k = { .mv_size = len, .mv_data = (void *)(uintptr_t)key };
	uint32_t content;

	if (content_id_decode(&k, &content))
		return 0;
	return id_list_append(&txn->removed, content);
}

static int edit_drop(struct catalog_txn *txn, const struct edit *edit,
		     const void *key)
{
	bool there;
	int err;

	there = txn_has(txn, edit->db, key, edit->key_len, &err);
	if (err || !there)
		return err; /* two findings about one record */
	if (edit->db == DB_TEXTS || edit->db == DB_SKETCHES)
		err = verify_value(txn->catalog, edit->db, key, edit->key_len);
	if (!err && edit->db == DB_CONTENTS)
		err = content_gone(txn, key, edit->key_len);
	return err ? err : txn_delete(txn, edit->db, key, edit->key_len);
}

int edits_apply(struct edits *edits, struct catalog_txn *txn)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < edits->count; i++) {
		const struct edit *edit = &edits->list[i];
		const char *key = edits->bytes.data + edit->at;

		if (edit->drop)
			err = edit_drop(txn, edit, key);
		else
			err = txn_put(txn, edit->db, key, edit->key_len,
				      key + edit->key_len, edit->value_len);
	}
	edits->count = 0;
	buf_clear(&edits->bytes);
	return err;
}

/* ---- walks until nothing is found ---- */

/* A change may bring out the next contradiction: a content that goes leaves
 * files without one. */
static int mend(struct catalog_txn *txn, const struct file_key *root,
		struct edits *edits, struct buf *report)
{
	struct buf later = { 0 };
	unsigned walks;
	int err = -EUCLEAN;

	for (walks = 0; walks < WALKS_MAX; walks++) {
		struct cross_check c = { .txn = txn,
					 .root = root,
					 .report = walks ? &later : report,
					 .edits = edits };

		buf_clear(&later);
		err = cross_check_all(&c);
		if (err || !c.findings)
			break;
		err = -EUCLEAN;
	}
	buf_release(&later);
	return err;
}

int catalog_mend(struct catalog_txn *txn, const struct file_key *root,
		 struct buf *report)
{
	struct edits edits = { 0 };
	int err = mend(txn, root, &edits, report);

	free(edits.list);
	buf_release(&edits.bytes);
	return txn_result(txn, err);
}

/* ---- what no path leads to ---- */

static int stop_at_first(void *arg, const char *path)
{
	(void)arg;
	(void)path;
	return 1;
}

int catalog_orphans_each(struct catalog_txn *txn, const struct file_key *root,
			 int (*each)(void *arg, const struct file_key *key,
				     const struct file_record *record),
			 void *arg)
{
	struct file_record r;
	struct file_key key;
	struct record_scan s;
	int result;

	result = record_scan_open(txn, DB_FILES, NULL, 0, &s);
	if (result)
		return result;
	while ((result = record_scan_next(&s)) == 1) {
		result = file_key_decode(&s.key, &key);
		if (!result)
			result = file_record_decode(&s.value, &r);
		if (!result)
			result = catalog_path_each(txn, root, &key,
						   stop_at_first, NULL);
		/* What cannot be read is for the check to say. */
		if (result == 1 || result == -EUCLEAN)
			continue;
		if (!result)
			result = each(arg, &key, &r);
		if (result)
			break;
	}
	record_scan_close(&s);
	return result;
}

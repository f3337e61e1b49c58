/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <stdlib.h>

/*
 * Removes trees.  Files without a name are removed at once, directories without
 * a name are put on a list.  Every step deletes a name or a record, so the work
 * ends even if the names of a damaged catalog form a circle.
 */
struct worklist {
	struct file_key *keys;
	size_t count;
	size_t capacity;
};

static int worklist_push(struct worklist *w, const struct file_key *key)
{
	size_t capacity = w->capacity ? 2 * w->capacity : 16;
	struct file_key *keys;

	if (w->count == w->capacity) {
		keys = realloc(w->keys, capacity * sizeof(*keys));
		if (!keys)
			return -ENOMEM;
		w->keys = keys;
		w->capacity = capacity;
	}
	w->keys[w->count++] = *key;
	return 0;
}

/* If key has no name left, deletes its record, or puts it on the list if it is
 * a directory. */
static int drop_nameless(struct catalog_txn *txn, const struct file_key *key,
			 struct worklist *w)
{
	struct link l;
	int directory;
	int err;

	err = link_first(txn, key, &l);
	if (err != -ENOENT)
		return err;
	directory = file_is_directory(txn, key);
	if (directory < 0)
		return directory;
	return directory ? worklist_push(w, key) : file_discard(txn, key);
}

static int drop_entries(struct catalog_txn *txn,
			const struct file_key *directory, struct worklist *w)
{
	struct link l;
	int err;

	while ((err = link_first_below(txn, directory, &l)) == 0) {
		err = link_delete(txn, &l.parent, l.name, &l.key);
		if (!err)
			err = drop_nameless(txn, &l.key, w);
		if (err)
			return err;
	}
	return err == -ENOENT ? 0 : err;
}

static int drop_listed(struct catalog_txn *txn, struct worklist *w)
{
	struct file_key key;
	int err = 0;

	while (!err && w->count > 0) {
		key = w->keys[--w->count];
		err = file_discard(txn, &key);
		if (!err)
			err = drop_entries(txn, &key, w);
	}
	return err;
}

int remove_below(struct catalog_txn *txn, const struct file_key *directory)
{
	struct worklist w = { 0 };
	int err;

	err = drop_entries(txn, directory, &w);
	if (!err)
		err = drop_listed(txn, &w);
	free(w.keys);
	return err;
}

int remove_if_nameless(struct catalog_txn *txn, const struct file_key *key)
{
	struct worklist w = { 0 };
	int err;

	err = drop_nameless(txn, key, &w);
	if (!err)
		err = drop_listed(txn, &w);
	free(w.keys);
	return err;
}

int catalog_file_remove(struct catalog_txn *txn, const struct file_key *key)
{
	struct catalog_name none = { 0 };
	int err;

	err = link_delete_others(txn, key, NULL, none);
	if (!err)
		err = remove_if_nameless(txn, key);
	return txn_result(txn, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <string.h>

int catalog_file_get(struct catalog_txn *txn, const struct file_key *key,
		     struct file_record *out)
{
	MDB_val value;
	int err = txn_get(txn, DB_FILES, key_of_file(key), &value);

	return err ? err : file_record_decode(&value, out);
}

enum record_match catalog_compare(struct catalog *c, const struct file_key *key,
				  const struct file_identity *identity)
{
	struct catalog_txn *txn;
	struct file_record rec;
	int err;

	if (!catalog_is_open(c) || catalog_read(c, &txn))
		return RECORD_DIFFERS;
	err = catalog_file_get(txn, key, &rec);
	catalog_abort(txn);
	if (err == -ENOENT)
		return RECORD_NONE;
	return !err && file_identity_equal(&rec.identity, identity) ?
		       RECORD_EQUAL :
		       RECORD_DIFFERS;
}

int catalog_file_is_recorded(struct catalog_txn *txn, uint32_t device,
			     uint64_t inode,
			     const struct file_identity *identity)
{
	struct file_record r;
	bool recorded = false;
	struct catalog_walk *w;
	int err = walk_begin(txn, DB_FILES, key_of_number(device, inode), &w);

	if (err)
		return err;
	while (!recorded && (err = walk_next(w)) == 1) {
		err = file_record_decode(&w->value, &r);
		if (err)
			break;
		recorded = r.state != FILE_DIRECTORY &&
			   file_identity_equal(&r.identity, identity);
	}
	catalog_walk_end(w);
	return err < 0 ? err : recorded;
}

int file_is_directory(struct catalog_txn *txn, const struct file_key *key)
{
	struct file_record r;
	int err = catalog_file_get(txn, key, &r);

	if (err)
		return err == -ENOENT ? 0 : err;
	return r.state == FILE_DIRECTORY;
}

/* step is 1, or -1 as an unsigned number. */
static void count_record(struct catalog_txn *txn, const struct file_record *r,
			 uint64_t step)
{
	if (r->state == FILE_DIRECTORY)
		txn->meta.directories += step;
	if (r->state == FILE_PENDING)
		txn->meta.pending_bytes += step * r->identity.size;
}

/* Adds what belongs to the state besides the record: a copy or a pending
 * mark. */
static int add_state(struct catalog_txn *txn, const struct file_key *key,
		     const struct file_record *r)
{
	if (r->state == FILE_FRESH)
		return content_copy_add(txn, r->content, key);
	if (r->state != FILE_PENDING)
		return 0;
	return txn_put(txn, DB_PENDING, key_of_file(key), "", 0);
}

static int remove_state(struct catalog_txn *txn, const struct file_key *key,
			const struct file_record *r)
{
	int err;

	if (r->state == FILE_FRESH)
		return content_copy_drop(txn, r->content, key);
	if (r->state != FILE_PENDING)
		return 0;
	err = txn_delete(txn, DB_PENDING, key_of_file(key));
	return err == -ENOENT ? -EUCLEAN : err;
}

static int remove_below(struct catalog_txn *txn,
			const struct file_key *directory);

/* Puts a record in the place of another one, or of none, with all that belongs
 * to it.  A key may change between file and directory (a reused inode
 * number). */
static int record_replace(struct catalog_txn *txn, const struct file_key *key,
			  const struct file_record *new)
{
	const bool is_directory = new->state == FILE_DIRECTORY;
	struct file_record old = { 0 };
	bool exists, was_directory, same;
	int err = catalog_file_get(txn, key, &old);

	if (err && err != -ENOENT)
		return err;
	exists = !err;
	was_directory = exists && old.state == FILE_DIRECTORY;
	same = exists && old.state == new->state &&old.content == new->content;
	if (same && !memcmp(&old, new, sizeof(old)))
		return 0;
	if (same && new->content && old.identity.size != new->identity.size)
		return -EINVAL;
	err = same ? 0 : change_of_record(txn, key, new);
	if (!err && exists && !same)
		err = remove_state(txn, key, &old);
	if (!err)
		err = txn_put(txn, DB_FILES, key_of_file(key), new,
			      sizeof(*new));
	if (!err)
		err = dirty_add(txn, key);
	if (!err && !same)
		err = add_state(txn, key, new);
	if (err)
		return err;
	if (exists)
		count_record(txn, &old, UINT64_MAX);
	count_record(txn, new, 1);
	if (was_directory && !is_directory)
		return remove_below(txn, key);
	/* The directory may have the names of the file before.  One may be
	 * right; if there are several, all are removed. */
	if (is_directory && !was_directory)
		err = link_has_second(txn, key);
	return err == 1 ? link_delete_others(txn, key, NULL,
					     (struct catalog_name){ 0 }) :
			  err;
}

/* Removes the record with its copy or pending mark, but not its names. */
static int file_discard(struct catalog_txn *txn, const struct file_key *key)
{
	struct file_record r;
	int err;

	err = catalog_file_get(txn, key, &r);
	if (err)
		return err == -ENOENT ? 0 : err;
	err = remove_state(txn, key, &r);
	if (!err)
		err = txn_delete(txn, DB_FILES, key_of_file(key));
	if (!err)
		err = change_forget(txn, key);
	if (!err)
		err = dirty_add(txn, key);
	if (!err)
		count_record(txn, &r, UINT64_MAX);
	return err;
}

static bool digests_are_valid(const struct digests *d)
{
	int id;

	for (id = 0; id < DIGEST_COUNT; id++)
		if (d->set & DIGEST_BIT(id) && !digest_value_of(d, id).bytes)
			return false;
	return !(d->set & ~DIGEST_STORED) && d->set & DIGEST_BIT(DIGEST_XXH128);
}

int catalog_file_set_fresh(struct catalog_txn *txn, const struct file_key *key,
			   const struct file_identity *identity,
			   const struct digests *digests)
{
	struct file_record r = { .identity = *identity, .state = FILE_FRESH };
	int err;

	if (!digests_are_valid(digests) || digests->size != identity->size)
		return -EINVAL;
	/* Before record_replace(), which would remove this content if the file
	 * is its last copy. */
	err = content_intern(txn, digests, &r.content);
	if (!err)
		err = record_replace(txn, key, &r);
	return txn_result(txn, err);
}

int catalog_file_set(struct catalog_txn *txn, const struct file_key *key,
		     const struct file_record *r)
{
	if ((r->state == FILE_FAILED) != (r->error != 0))
		return -EINVAL;
	return txn_result(txn, record_replace(txn, key, r));
}

int catalog_file_adopt(struct catalog_txn *txn, const struct file_key *key,
		       const struct file_key *former)
{
	struct file_record old = { .state = FILE_FAILED }, new;
	struct catalog_change change;
	int err = catalog_file_get(txn, former, &new);

	if (err)
		return txn_result(txn, err);
	err = catalog_file_get(txn, key, &old);
	if (err && err != -ENOENT)
		return txn_result(txn, err);
	if (new.state != FILE_FRESH || old.state == FILE_FRESH ||
	    old.state == FILE_DIRECTORY)
		return -EINVAL;
	err = remove_state(txn, key, &old) ?:
		      txn_put(txn, DB_FILES, key_of_file(key), &new,
			      sizeof(new));
	count_record(txn, &old, UINT64_MAX);
	if (!err)
		err = add_state(txn, key, &new) ?: dirty_add(txn, key);
	if (!err)
		err = catalog_change_get(txn, former, &change);
	if (!err)
		err = txn_put(txn, DB_CHANGES, key_of_file(key), &change,
			      sizeof(change));
	return txn_result(txn, err == -ENOENT ? 0 : err);
}

int file_make_directory(struct catalog_txn *txn, const struct file_key *key)
{
	const struct file_record r = { .state = FILE_DIRECTORY };

	return record_replace(txn, key, &r);
}

int catalog_pending_next(struct catalog_txn *txn, const struct file_key *after,
			 struct file_key *key_out, struct file_record *out)
{
	struct file_record r;
	struct file_key key;
	MDB_val found, value;
	int err =
		txn_after(txn, DB_PENDING, after ? key_of_file(after) : ANY_KEY,
			  &found, &value);

	if (err)
		return err;
	err = file_key_decode(&found, &key) ?: catalog_file_get(txn, &key, &r);
	if (err == -ENOENT || (!err && r.state != FILE_PENDING))
		return -EUCLEAN;
	if (!err) {
		*key_out = key;
		*out = r;
	}
	return err;
}

/* ---- removing trees ---- */

/*
 * A list of the files and directories that have lost a name.  One that has none
 * left is removed, and so are the names below it.  Every step deletes a name or
 * a record, so the work ends even if the names of a damaged catalog form a
 * circle.
 */
static int drop_entries(struct catalog_txn *txn,
			const struct file_key *directory, struct buf *list)
{
	struct link l;
	int err;

	while ((err = link_first_below(txn, directory, &l)) == 0) {
		err = link_delete(txn, &l.parent, l.name, &l.key) ?:
			      buf_append(list, &l.key, sizeof(l.key));
		if (err)
			return err;
	}
	return err == -ENOENT ? catalog_unread_clear(txn, directory) : err;
}

static int drop_nameless(struct catalog_txn *txn, struct buf *list)
{
	struct file_key key;
	struct link l;
	int err = 0;

	while (!err && list->len) {
		list->len -= sizeof(key);
		memcpy(&key, list->data + list->len, sizeof(key));
		err = link_first(txn, &key, &l);
		if (err == -ENOENT)
			err = file_discard(txn, &key) ?:
				      drop_entries(txn, &key, list);
	}
	return err;
}

/* Removes all that is below a directory, except for files that have another
 * name elsewhere. */
static int remove_below(struct catalog_txn *txn,
			const struct file_key *directory)
{
	struct buf list = { 0 };
	int err = drop_entries(txn, directory, &list) ?:
							drop_nameless(txn, &list);

	buf_release(&list);
	return err;
}

int remove_if_nameless(struct catalog_txn *txn, const struct file_key *key)
{
	struct buf list = { 0 };
	int err = buf_append(&list, key, sizeof(*key)) ?:
			  drop_nameless(txn, &list);

	buf_release(&list);
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

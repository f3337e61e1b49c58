/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/array.h"

int catalog_file_get(struct catalog_txn *txn, const struct file_key *key,
		     struct file_record *out)
{
	MDB_val value;
	int err = txn_get(txn, DB_FILES, key_of_file(key), &value);

	return err ? err : file_record_decode(&value, out);
}

int catalog_file_is_recorded(struct catalog_txn *txn, uint32_t device,
			     uint64_t inode,
			     const struct file_identity *identity)
{
	struct file_record r;
	bool recorded = false;
	struct record_scan s;
	int err = record_scan_open(txn, DB_FILES, key_of_number(device, inode),
				   &s);

	if (err)
		return err;
	while (!recorded && (err = record_scan_next(&s)) == 1) {
		err = file_record_decode(&s.value, &r);
		if (err)
			break;
		recorded = r.state != FILE_DIRECTORY &&
			   file_identity_equal(&r.identity, identity);
	}
	record_scan_close(&s);
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
	txn->meta_changed = true;
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
		return txn_put(txn, DB_COPIES, key_of_copy(r->content, key), "",
			       0);
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

static bool is_same_state(const struct file_record *a,
			  const struct file_record *b)
{
	return a->state == b->state && a->content == b->content;
}

static bool record_equal(const struct file_record *a,
			 const struct file_record *b)
{
	return is_same_state(a, b) && a->error == b->error &&
	       file_identity_equal(&a->identity, &b->identity);
}

static int record_put(struct catalog_txn *txn, const struct file_key *key,
		      const struct file_record *r)
{
	int err = txn_put(txn, DB_FILES, key_of_file(key), r, sizeof(*r));

	return err ? err : dirty_add(txn, key);
}

/* A directory with a reused inode number may still have the names of a file.
 * One name may be right; if there are several, all are removed. */
static int drop_ambiguous_names(struct catalog_txn *txn,
				const struct file_key *key)
{
	const struct catalog_name none = { 0 };
	int found = link_has_second(txn, key);

	if (found != 1)
		return found;
	return link_delete_others(txn, key, NULL, none);
}

static int remove_below(struct catalog_txn *txn,
			const struct file_key *directory);

/* A file became a directory or a directory a file: removes what only the old
 * kind can have. */
static int change_kind(struct catalog_txn *txn, const struct file_key *key,
		       bool was_directory)
{
	return was_directory ? remove_below(txn, key) :
			       drop_ambiguous_names(txn, key);
}

static int record_replace(struct catalog_txn *txn, const struct file_key *key,
			  const struct file_record *new)
{
	struct file_record old;
	bool was_directory = false;
	bool same = false;
	int err;

	err = catalog_file_get(txn, key, &old);
	if (err && err != -ENOENT)
		return err;
	if (!err) {
		if (record_equal(&old, new))
			return 0;
		was_directory = old.state == FILE_DIRECTORY;
		same = is_same_state(&old, new);
		if (!same)
			err = change_of_record(txn, key, new) ?:
				      remove_state(txn, key, &old);
		if (err)
			return err;
		count_record(txn, &old, UINT64_MAX);
	} else {
		err = change_of_record(txn, key, new);
		if (err)
			return err;
	}
	err = record_put(txn, key, new);
	if (!err && !same)
		err = add_state(txn, key, new);
	if (err)
		return err;
	count_record(txn, new, 1);
	if (was_directory == (new->state == FILE_DIRECTORY))
		return 0;
	return change_kind(txn, key, was_directory);
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
		if (digest_is_apart(d, id) && !d->blocks[id].bytes)
			return false;
	return !(d->set & ~DIGEST_KEPT) && d->set & DIGEST_BIT(DIGEST_XXH128);
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

int catalog_file_set_pending(struct catalog_txn *txn,
			     const struct file_key *key,
			     const struct file_identity *identity)
{
	struct file_record r = { .identity = *identity, .state = FILE_PENDING };

	return txn_result(txn, record_replace(txn, key, &r));
}

int catalog_file_set_failed(struct catalog_txn *txn, const struct file_key *key,
			    const struct file_identity *identity, int error)
{
	struct file_record r = { .identity = *identity,
				 .state = FILE_FAILED,
				 .error = (uint16_t)error };

	if (error <= 0 || error >= 4096)
		return -EINVAL;
	return txn_result(txn, record_replace(txn, key, &r));
}

static int replace_identity(struct catalog_txn *txn, const struct file_key *key,
			    const struct file_identity *before,
			    const struct file_identity *after)
{
	struct file_record r;
	int err = catalog_file_get(txn, key, &r);

	if (err)
		return err == -ENOENT ? 0 : err;
	if (r.state == FILE_DIRECTORY ||
	    !file_identity_equal(&r.identity, before))
		return 0;
	r.identity = *after;
	return record_replace(txn, key, &r);
}

int catalog_file_metadata_changed(struct catalog_txn *txn,
				  const struct file_key *key,
				  const struct file_identity *before,
				  const struct file_identity *after)
{
	if (before->size != after->size)
		return -EINVAL;
	return txn_result(txn, replace_identity(txn, key, before, after));
}

int file_make_directory(struct catalog_txn *txn, const struct file_key *key)
{
	struct file_record r = { .state = FILE_DIRECTORY };

	return record_replace(txn, key, &r);
}

int catalog_directory_set(struct catalog_txn *txn, const struct file_key *key)
{
	return txn_result(txn, file_make_directory(txn, key));
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
	err = file_key_decode(&found, &key);
	if (err)
		return err;
	err = catalog_file_get(txn, &key, &r);
	if (err == -ENOENT || (!err && r.state != FILE_PENDING))
		return -EUCLEAN;
	if (err)
		return err;
	*key_out = key;
	*out = r;
	return 0;
}

/* ---- removing trees ---- */

/*
 * The files and directories that have lost a name.  One that has none left is
 * removed, and so are the names below it.  Every step deletes a name or a
 * record, so the work ends even if the names of a damaged catalog form a circle.
 */
struct worklist {
	struct file_key *keys;
	size_t count;
};

static int worklist_push(struct worklist *w, const struct file_key *key)
{
	struct file_key *keys =
		array_with_room(w->keys, w->count, sizeof(*keys));

	if (!keys)
		return -ENOMEM;
	w->keys = keys;
	keys[w->count++] = *key;
	return 0;
}

static int drop_entries(struct catalog_txn *txn,
			const struct file_key *directory, struct worklist *w)
{
	struct link l;
	int err;

	while ((err = link_first_below(txn, directory, &l)) == 0) {
		err = link_delete(txn, &l.parent, l.name, &l.key) ?:
			      worklist_push(w, &l.key);
		if (err)
			return err;
	}
	return err == -ENOENT ? 0 : err;
}

static int drop_nameless(struct catalog_txn *txn, struct worklist *w)
{
	struct file_key key;
	struct link l;
	int err = 0;

	while (!err && w->count > 0) {
		key = w->keys[--w->count];
		err = link_first(txn, &key, &l);
		if (err == -ENOENT)
			err = file_discard(txn, &key) ?:
				      drop_entries(txn, &key, w);
	}
	return err;
}

/* Removes all that is below a directory, except for files that have another name
 * elsewhere; or the file or directory itself if it has no name left. */
static int remove_below(struct catalog_txn *txn,
			const struct file_key *directory)
{
	struct worklist w = { 0 };
	int err = drop_entries(txn, directory, &w);

	if (!err)
		err = drop_nameless(txn, &w);
	free(w.keys);
	return err;
}

int remove_if_nameless(struct catalog_txn *txn, const struct file_key *key)
{
	struct worklist w = { 0 };

	int err = worklist_push(&w, key);

	if (!err)
		err = drop_nameless(txn, &w);
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

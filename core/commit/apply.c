/* SPDX-License-Identifier: Apache-2.0 */
#include "core/commit/commit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/queue/queue.h"

static struct catalog_name name_of(const char *text)
{
	return (struct catalog_name){ text, strlen(text) };
}

/* ---- records ---- */

/*
 * Only an event that also gives the file a name makes a record, because a
 * record without a name would stay for ever.  If an event finds no record, the
 * file was removed meanwhile, or is excluded, or the scan is about to find it,
 * or an event was lost.  The scan is asked to find out which.
 */
static int has_record(struct catalog_txn *txn, const struct file_key *key,
		      bool *has_out)
{
	struct file_record rec;
	int err = catalog_file_get(txn, key, &rec);

	*has_out = !err;
	return err == -ENOENT ? 0 : err;
}

/* As has_record(); asks the scan to look if there is none. */
static int need_record(const struct committer *c, struct catalog_txn *txn,
		       const struct file_key *key, bool *has_out)
{
	int err = has_record(txn, key, has_out);

	if (!err && !*has_out)
		scan_request_unknown(c->context.scan, key);
	return err;
}

/* As need_record(), for the directory of a name.  The root needs no record. */
static int need_directory(const struct committer *c, struct catalog_txn *txn,
			  const struct file_key *key, bool *known_out)
{
	*known_out = true;
	return file_key_equal(key, &c->context.source->root) ?
		       0 :
		       need_record(c, txn, key, known_out);
}

/*
 * An event may contradict the catalog: a directory would be below itself,
 * because another rename was lost or is still to be posted.  Either can be
 * wrong, so the event is skipped and the whole tree scanned; a scan lists a
 * directory before those in it.
 */
static int skip_contradiction(const struct committer *c)
{
	scan_request_tree(c->context.scan);
	return 0;
}

/* identity: NULL for zeros. */
static int set_state(struct catalog_txn *txn, const struct file_key *key,
		     enum file_state state,
		     const struct file_identity *identity, int error)
{
	struct file_record rec = { .state = (uint16_t)state,
				   .error = (uint16_t)error };

	if (identity)
		rec.identity = *identity;
	return catalog_file_set(txn, key, &rec);
}

static int set_directory(struct catalog_txn *txn, const struct file_key *key,
			 bool *was_known_out)
{
	int err = has_record(txn, key, was_known_out);

	return err ? err : set_state(txn, key, FILE_DIRECTORY, NULL, 0);
}

/* Makes a record for the file if it has none; the file is pending then. */
static int ensure_file(struct catalog_txn *txn, const struct file_key *key)
{
	struct file_record rec;
	int err = catalog_file_get(txn, key, &rec);

	if (err == -ENOENT)
		err = set_state(txn, key, FILE_PENDING, NULL, 0);
	return err;
}

/* Adds a name of a file that has a record, or of a directory.  reads_new: the
 * names in a new directory are still to be read. */
static int add_name(const struct committer *c, struct catalog_txn *txn,
		    const struct file_key *parent, const char *name,
		    const struct file_key *key, bool directory, bool reads_new)
{
	bool was_known = true;
	int err = directory ? set_directory(txn, key, &was_known) : 0;

	if (!err && !was_known && reads_new)
		scan_request(c->context.scan, key, false);
	if (!err)
		err = catalog_name_set(txn, parent, name_of(name), key);
	if (err != -EINVAL || was_known)
		return err;
	/* The record of a new directory would have no name. */
	err = catalog_file_remove(txn, key);
	return err ? err : skip_contradiction(c);
}

static int apply_name_added(const struct committer *c, struct catalog_txn *txn,
			    const struct event *ev)
{
	bool known;
	int err = need_directory(c, txn, &ev->parent, &known);

	if (err || !known)
		return err;
	err = ev->directory ? 0 : ensure_file(txn, &ev->key);
	return err ? err :
		     add_name(c, txn, &ev->parent, ev->name, &ev->key,
			      ev->directory, ev->learned);
}

static int apply_result(const struct committer *c, struct catalog_txn *txn,
			const struct result *r)
{
	bool known;
	int err = need_record(c, txn, &r->key, &known);

	if (err || !known)
		return err;
	if (r->error)
		return set_state(txn, &r->key, FILE_FAILED, &r->identity,
				 r->error);
	return catalog_file_set_fresh(txn, &r->key, &r->identity, &r->digests);
}

static int apply_pending(const struct committer *c, struct catalog_txn *txn,
			 const struct event *ev)
{
	bool known;
	int err = need_record(c, txn, &ev->key, &known);

	if (err || !known)
		return err;
	return set_state(txn, &ev->key, FILE_PENDING, &ev->identity, 0);
}

/* The ctime of the file changed and its content did not. */
static int apply_metadata(struct catalog_txn *txn, const struct event *ev)
{
	struct file_record rec;
	int err = catalog_file_get(txn, &ev->key, &rec);

	if (err || rec.state == FILE_DIRECTORY ||
	    !file_identity_equal(&rec.identity, &ev->before))
		return err == -ENOENT ? 0 : err;
	rec.identity = ev->identity;
	return catalog_file_set(txn, &ev->key, &rec);
}

/* The file may have changed since its text was made. */
static int apply_text(struct catalog_txn *txn, const struct event *ev)
{
	const struct text_result *t = ev->text;
	struct file_record rec;
	int err = catalog_file_get(txn, &ev->key, &rec);

	if (err || rec.state != FILE_FRESH ||
	    !file_identity_equal(&rec.identity, &ev->identity))
		return err == -ENOENT ? 0 : err;
	if (t)
		err = catalog_text_set(txn, rec.content, &t->text, t->kept.data,
				       t->kept.len);
	return err ? err : catalog_text_tell(txn, rec.content, &ev->key);
}

static int ignore_missing(int err)
{
	return err == -ENOENT ? 0 : err;
}

static int remove_name(struct catalog_txn *txn, const struct file_key *parent,
		       const char *name)
{
	return ignore_missing(catalog_name_remove(txn, parent, name_of(name)));
}

/* The catalog has no record of the file that moved: adds it by its new name.
 * The names in a directory are still to be read. */
static int apply_unknown_moved(const struct committer *c,
			       struct catalog_txn *txn, const struct event *ev)
{
	int err;

	if (ev->exchange)
		scan_request(c->context.scan, &ev->parent, false);
	if (ev->exchange || !ev->known) {
		scan_request(c->context.scan, &ev->new_parent, false);
		return 0;
	}
	if (ev->directory)
		scan_request(c->context.scan, &ev->key, false);
	err = ev->directory ? 0 : ensure_file(txn, &ev->key);
	return err ? err :
		     add_name(c, txn, &ev->new_parent, ev->new_name, &ev->key,
			      ev->directory, false);
}

/* The move may have changed which paths below the directory are excluded. */
static void rescan_moved(const struct committer *c, const struct event *ev)
{
	if (ev->exchange) {
		scan_request(c->context.scan, &ev->parent, true);
		scan_request(c->context.scan, &ev->new_parent, true);
	} else if (ev->known && ev->directory) {
		scan_request(c->context.scan, &ev->key, true);
	}
}

/* Whether the catalog already has the move of an event. */
enum move_view {
	MOVE_UNSEEN,
	MOVE_SEEN, /* a listing of the scan came before the event */
	/* One of the names belongs to another file; or part of an exchange was
	 * seen; or the host did not know which files were exchanged. */
	MOVE_CONTRADICTS
};

static int name_find(struct catalog_txn *txn, const struct file_key *parent,
		     const char *name, const struct file_key *key,
		     bool *exists_out, bool *is_key_out)
{
	struct file_key found;
	int err = catalog_name_get(txn, parent, name_of(name), &found);

	*exists_out = !err;
	*is_key_out = !err && file_key_equal(&found, key);
	return ignore_missing(err);
}

static int view_move(struct catalog_txn *txn, const struct event *ev,
		     enum move_view *out)
{
	bool taken, arrived, exists, remains;
	int err;

	*out = ev->exchange ? MOVE_CONTRADICTS : MOVE_UNSEEN;
	if (!ev->known)
		return 0;
	err = name_find(txn, &ev->new_parent, ev->new_name, &ev->key, &taken,
			&arrived);
	if (!err)
		err = name_find(txn, &ev->parent, ev->name, &ev->key, &exists,
				&remains);
	if (err)
		return err;
	if (ev->exchange)
		*out = remains && taken && !arrived ? MOVE_UNSEEN :
						      MOVE_CONTRADICTS;
	else if (arrived && !remains)
		*out = MOVE_SEEN;
	else if (arrived || (exists && !remains))
		*out = MOVE_CONTRADICTS;
	return 0;
}

static int apply_name_moved(const struct committer *c, struct catalog_txn *txn,
			    const struct event *ev)
{
	enum move_view view;
	bool known;
	int err = need_directory(c, txn, &ev->new_parent, &known);

	if (!err)
		err = view_move(txn, ev, &view);
	if (err)
		return err;
	if (known && view == MOVE_SEEN)
		return 0;
	if (known && view == MOVE_CONTRADICTS) {
		scan_request(c->context.scan, &ev->parent, false);
		return apply_unknown_moved(c, txn, ev);
	}
	if (!known && ev->exchange)
		scan_request(c->context.scan, &ev->parent, false);
	if (!known)
		return remove_name(txn, &ev->parent, ev->name);
	err = catalog_name_move(txn, &ev->parent, name_of(ev->name),
				&ev->new_parent, name_of(ev->new_name),
				ev->exchange);
	if (!err && c->context.source->rules.exclude_count)
		rescan_moved(c, ev);
	return err == -ENOENT ? apply_unknown_moved(c, txn, ev) : err;
}

/* Removes the file's record, and has the directories of its names read again:
 * it may have been moved while the worker looked for it. */
static int apply_missed(const struct committer *c, struct catalog_txn *txn,
			const struct event *ev)
{
	struct catalog_walk *walk;
	struct catalog_name name;
	struct file_key parent;
	int err = catalog_links_begin(txn, &ev->key, &walk);

	if (err)
		return err;
	while ((err = catalog_links_next(walk, &parent, &name)) == 1)
		scan_request(c->context.scan, &parent, false);
	catalog_walk_end(walk);
	return err ? err : catalog_file_remove(txn, &ev->key);
}

/* ---- applying a listing ---- */

static int compare_entry(const char *a, struct catalog_name b)
{
	size_t len = strlen(a);
	int order = memcmp(a, b.bytes, len < b.len ? len : b.len);

	if (order)
		return order;
	return len < b.len ? -1 : len > b.len;
}

/* Appends the names in the catalog that the listing does not have, each with
 * its NUL.  Both are in byte order. */
static int find_vanished(struct catalog_txn *txn,
			 const struct source_listing *l, struct buf *out)
{
	struct catalog_walk *walk;
	struct catalog_name name;
	struct file_key key;
	size_t next = 0;
	int order, err = catalog_entries_begin(txn, &l->directory, &walk);

	if (err)
		return err;
	while (!err && (err = catalog_entries_next(walk, &name, &key)) == 1) {
		err = 0;
		order = 1;
		while (next < l->count &&
		       (order = compare_entry(l->entries[next].name, name)) < 0)
			next++;
		if (next < l->count && !order)
			continue;
		err = buf_append(out, name.bytes, name.len);
		if (!err)
			err = buf_append(out, "", 1);
	}
	catalog_walk_end(walk);
	return err;
}

static int remove_vanished(struct catalog_txn *txn,
			   const struct source_listing *l)
{
	struct buf vanished = { 0 };
	int err = find_vanished(txn, l, &vanished);
	const char *name = vanished.data, *end = name + vanished.len;

	while (!err && name < end) {
		err = remove_name(txn, &l->directory, name);
		name += strlen(name) + 1;
	}
	buf_release(&vanished);
	return err;
}

/* A file that has changed, or could not be read, is pending. */
static int apply_state(struct catalog_txn *txn,
		       const struct source_entry *entry)
{
	struct file_record rec;
	int err = catalog_file_get(txn, &entry->key, &rec);

	if (err && err != -ENOENT)
		return err;
	if (!err && rec.state != FILE_DIRECTORY && rec.state != FILE_FAILED &&
	    file_identity_equal(&rec.identity, &entry->identity))
		return 0;
	return set_state(txn, &entry->key, FILE_PENDING, &entry->identity, 0);
}

/*
 * The file or directory may have had another inode number.  A file gets the
 * record that its name had, if the content is the same by size and times; what
 * is in a directory is compared when that is read.  1: a file got one; else 0.
 */
static int adopt_by_name(struct catalog_txn *txn,
			 const struct source_listing *l,
			 const struct source_entry *entry)
{
	struct file_record now, before;
	struct file_key former;
	int err = catalog_file_get(txn, &entry->key, &now);

	if (err ? err != -ENOENT : now.state == FILE_FRESH)
		return err;
	err = catalog_former_find(txn, &l->directory, name_of(entry->name),
				  &entry->key, &former);
	if (!err)
		err = catalog_file_get(txn, &former, &before);
	if (err)
		return err == -ENOENT ? 0 : err;
	if (entry->directory && before.state == FILE_DIRECTORY)
		err = catalog_take_place(txn, &entry->key, &former);
	else if (!entry->directory && before.state == FILE_FRESH &&
		 file_identity_equal(&before.identity, &entry->identity))
		err = catalog_file_adopt(txn, &entry->key, &former) ?: 1;
	/* The numbers of two were exchanged. */
	return err == -EINVAL ? 0 : err;
}

/* An entry that contradicts the catalog is skipped, those after it are not. */
static int apply_entry(const struct committer *c, struct catalog_txn *txn,
		       const struct source_listing *l,
		       const struct source_entry *entry)
{
	int err;

	if (entry->error)
		return catalog_unread_set(txn, &l->directory,
					  name_of(entry->name), entry->error);
	err = entry->known_by_name ? adopt_by_name(txn, l, entry) : 0;
	if (err == 1)
		return catalog_name_set(txn, &l->directory,
					name_of(entry->name), &entry->key);
	if (!err && !entry->directory)
		err = apply_state(txn, entry);
	if (!err)
		err = add_name(c, txn, &l->directory, entry->name, &entry->key,
			       entry->directory, l->shallow);
	return err == -EINVAL ? skip_contradiction(c) : err;
}

/* Makes the names of the directory in the catalog those of the listing.  What
 * could not be looked at stays as it was. */
static int apply_listing(const struct committer *c, struct catalog_txn *txn,
			 const struct source_listing *l)
{
	bool known;
	size_t i;
	int err = need_directory(c, txn, &l->directory, &known);

	if (err || !known)
		return err;
	err = set_state(txn, &l->directory, FILE_DIRECTORY, NULL, 0);
	if (!err)
		err = catalog_unread_clear(txn, &l->directory);
	if (!err)
		err = l->error ? catalog_unread_set(txn, &l->directory,
						    name_of(""), l->error) :
				 remove_vanished(txn, l);
	for (i = 0; i < l->count && !err; i++)
		err = apply_entry(c, txn, l, &l->entries[i]);
	/* After the entries, some of which it may have. */
	if (!err && !l->error)
		err = catalog_former_drop(txn, &l->directory);
	return err;
}

static int apply_by_kind(const struct committer *c, struct catalog_txn *txn,
			 const struct event *ev)
{
	switch (ev->kind) {
	case EVENT_RESULT:
		return apply_result(c, txn, ev->result);
	case EVENT_PENDING:
		return apply_pending(c, txn, ev);
	case EVENT_FORGET:
		return catalog_file_remove(txn, &ev->key);
	case EVENT_MISSED:
		return apply_missed(c, txn, ev);
	case EVENT_METADATA:
		return apply_metadata(txn, ev);
	case EVENT_NAME_ADDED:
		return apply_name_added(c, txn, ev);
	case EVENT_NAME_REMOVED:
		return remove_name(txn, &ev->parent, ev->name);
	case EVENT_NAME_MOVED:
		return apply_name_moved(c, txn, ev);
	case EVENT_LISTING:
		return apply_listing(c, txn, ev->listing);
	case EVENT_TEXT:
		return apply_text(txn, ev);
	case EVENT_KINDS:
		break;
	}
	return 0;
}

int event_apply(const struct committer *c, struct catalog_txn *txn,
		const struct event *ev)
{
	int err = apply_by_kind(c, txn, ev);

	return err == -EINVAL ? skip_contradiction(c) : err;
}

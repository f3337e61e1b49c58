/* SPDX-License-Identifier: Apache-2.0 */
#include "core/commit/apply.h"

#include <errno.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/engine/engine_impl.h"

static struct catalog_name name_of(const char *text)
{
	return (struct catalog_name){ text, strlen(text) };
}

/*
 * Whatever has a record has a name, so that it goes with its last one.  What
 * the catalog does not know was removed since the event was posted, or is
 * excluded, or the scan is on its way there, or else the catalog misses it: the
 * scan finds out.
 */
static int is_known(struct catalog_txn *txn, const struct file_key *key,
		    bool *known_out)
{
	struct file_record rec;
	int err = catalog_file_get(txn, key, &rec);

	*known_out = !err;
	return err == -ENOENT ? 0 : err;
}

static int is_known_directory(struct engine *e, struct catalog_txn *txn,
			      const struct file_key *key, bool *known_out)
{
	*known_out = true;
	return file_key_equal(key, &e->source.root) ?
		       0 :
		       is_known(txn, key, known_out);
}

/* Of a directory that was found by itself the entries must be found, too. */
static int set_directory(struct engine *e, struct catalog_txn *txn,
			 const struct file_key *key,
			 void (*owe)(struct engine *e,
				     const struct file_key *key))
{
	bool known;
	int err = is_known(txn, key, &known);

	if (!err && !known && owe)
		owe(e, key);
	return err ? err : catalog_directory_set(txn, key);
}

static void request_new(struct engine *e, const struct file_key *key)
{
	scan_request_new(&e->scan, key);
}

static void owe_it(struct engine *e, const struct file_key *key)
{
	scan_request(&e->scan, key, false);
}

/* Makes sure the file has a record; one with no known identity is pending. */
static int ensure_file(struct catalog_txn *txn, const struct file_key *key)
{
	struct file_record rec;
	int err = catalog_file_get(txn, key, &rec);

	if (err == -ENOENT)
		err = catalog_file_set_pending(txn, key,
					       &(struct file_identity){ 0 });
	return err;
}

static int apply_name_added(struct engine *e, struct catalog_txn *txn,
			    const struct event *ev)
{
	bool known;
	int err = is_known_directory(e, txn, &ev->parent, &known);

	if (!err && !known)
		scan_request_unknown(&e->scan, &ev->parent);
	if (err || !known)
		return err;
	err = ev->directory ? set_directory(e, txn, &ev->key,
					    ev->learned ? request_new : NULL) :
			      ensure_file(txn, &ev->key);

	if (!err)
		err = catalog_name_set(txn, &ev->parent, name_of(ev->name),
				       &ev->key);
	return err;
}

static int is_known_or_owed(struct engine *e, struct catalog_txn *txn,
			    const struct file_key *key, bool *known_out)
{
	int err = is_known(txn, key, known_out);

	if (!err && !*known_out)
		scan_request_unknown(&e->scan, key);
	return err;
}

static int apply_result(struct engine *e, struct catalog_txn *txn,
			const struct result *r)
{
	bool known;
	int err = is_known_or_owed(e, txn, &r->key, &known);

	if (err || !known)
		return err;
	if (r->error)
		return catalog_file_set_failed(txn, &r->key, &r->identity,
					       r->error);
	return catalog_file_set_fresh(txn, &r->key, &r->identity, &r->digests);
}

static int apply_pending(struct engine *e, struct catalog_txn *txn,
			 const struct event *ev)
{
	bool known;
	int err = is_known_or_owed(e, txn, &ev->key, &known);

	if (err || !known)
		return err;
	return catalog_file_set_pending(txn, &ev->key, &ev->identity);
}

static int ignore_missing(int err)
{
	return err == -ENOENT ? 0 : err;
}

static int apply_name_removed(struct catalog_txn *txn, const struct event *ev)
{
	return ignore_missing(
		catalog_name_remove(txn, &ev->parent, name_of(ev->name)));
}

/* The catalog did not know what moved.  A file is entered where it is now; what
 * a directory holds must be read. */
static int apply_unknown_moved(struct engine *e, struct catalog_txn *txn,
			       const struct event *ev)
{
	int err;

	if (ev->exchange) {
		scan_request(&e->scan, &ev->parent, true);
		scan_request(&e->scan, &ev->new_parent, true);
		return 0;
	}
	if (!ev->known || ev->directory) {
		scan_request(&e->scan, ev->known ? &ev->key : &ev->new_parent,
			     false);
		return 0;
	}
	err = ensure_file(txn, &ev->key);
	return err ? err :
		     catalog_name_set(txn, &ev->new_parent,
				      name_of(ev->new_name), &ev->key);
}

/* By its new path something may be excluded that was not, or the other way
 * round; so may what is below it. */
static void owe_excluded(struct engine *e, const struct event *ev)
{
	if (ev->exchange) {
		scan_request(&e->scan, &ev->parent, true);
		scan_request(&e->scan, &ev->new_parent, true);
	} else if (ev->known && ev->directory) {
		scan_request(&e->scan, &ev->key, true);
	}
}

static int apply_name_moved(struct engine *e, struct catalog_txn *txn,
			    const struct event *ev)
{
	bool known;
	int err = is_known_directory(e, txn, &ev->new_parent, &known);

	if (!err && !known)
		scan_request_unknown(&e->scan, &ev->new_parent);
	if (err)
		return err;
	if (!known)
		return apply_name_removed(txn, ev);
	err = catalog_name_move(txn, &ev->parent, name_of(ev->name),
				&ev->new_parent, name_of(ev->new_name),
				ev->exchange);
	if (!err && e->options.exclude_count)
		owe_excluded(e, ev);
	return err == -ENOENT ? apply_unknown_moved(e, txn, ev) : err;
}

static int owe_parent(void *arg, const struct file_key *parent)
{
	scan_request(&((struct engine *)arg)->scan, parent, false);
	return 0;
}

/* Perhaps it was moved when it was looked for: where it was is read again. */
static int apply_missed(struct engine *e, struct catalog_txn *txn,
			const struct event *ev)
{
	int err = catalog_parent_each(txn, &ev->key, owe_parent, e);

	return err ? err : catalog_file_remove(txn, &ev->key);
}

/* ---- applying a listing ---- */

struct listing_diff {
	const struct source_listing *listing;
	size_t next;         /* entry to compare with */
	struct buf vanished; /* NUL-terminated names */
	int err;
};

static int compare_entry(const char *a, struct catalog_name b)
{
	size_t len = strlen(a);
	int order = memcmp(a, b.bytes, len < b.len ? len : b.len);

	if (order)
		return order;
	return len < b.len ? -1 : len > b.len;
}

static int note_vanished(void *arg, struct catalog_name name,
			 const struct file_key *key)
{
	struct listing_diff *d = arg;
	const struct source_listing *l = d->listing;

	(void)key;
	while (d->next < l->count &&
	       compare_entry(l->entries[d->next].name, name) < 0)
		d->next++;
	if (d->next < l->count &&
	    compare_entry(l->entries[d->next].name, name) == 0)
		return 0;
	d->err = buf_append(&d->vanished, name.bytes, name.len);
	if (!d->err)
		d->err = buf_append(&d->vanished, "", 1);
	return d->err;
}

static int remove_vanished(struct catalog_txn *txn,
			   const struct source_listing *l)
{
	struct listing_diff d = { .listing = l };
	const char *name, *end;
	int err;

	err = catalog_directory_each(txn, &l->directory, note_vanished, &d);
	name = d.vanished.data;
	end = name + d.vanished.len;
	while (!err && name < end) {
		err = ignore_missing(
			catalog_name_remove(txn, &l->directory, name_of(name)));
		name += strlen(name) + 1;
	}
	buf_release(&d.vanished);
	return err;
}

static int apply_file_entry(struct catalog_txn *txn,
			    const struct source_entry *entry)
{
	struct file_record rec;
	int err = catalog_file_get(txn, &entry->key, &rec);

	if (err && err != -ENOENT)
		return err;
	/* What could not be read is tried again. */
	if (!err && rec.state != FILE_DIRECTORY && rec.state != FILE_FAILED &&
	    file_identity_equal(&rec.identity, &entry->identity))
		return 0;
	return catalog_file_set_pending(txn, &entry->key, &entry->identity);
}

static int apply_entry(struct engine *e, struct catalog_txn *txn,
		       const struct source_listing *l,
		       const struct source_entry *entry)
{
	int err = entry->directory ? set_directory(e, txn, &entry->key,
						   l->shallow ? owe_it : NULL) :
				     apply_file_entry(txn, entry);

	if (!err)
		err = catalog_name_set(txn, &l->directory, name_of(entry->name),
				       &entry->key);
	return err;
}

static int apply_listing(struct engine *e, struct catalog_txn *txn,
			 const struct source_listing *l)
{
	bool known;
	size_t i;
	int err = is_known_directory(e, txn, &l->directory, &known);

	if (!err && !known)
		scan_request_unknown(&e->scan, &l->directory);
	if (err || !known)
		return err;
	err = catalog_directory_set(txn, &l->directory);
	if (!err)
		err = remove_vanished(txn, l);
	for (i = 0; i < l->count && !err; i++)
		err = apply_entry(e, txn, l, &l->entries[i]);
	return err;
}

static int apply(struct engine *e, struct catalog_txn *txn,
		 const struct event *ev)
{
	switch (ev->kind) {
	case EVENT_RESULT:
		return apply_result(e, txn, ev->result);
	case EVENT_PENDING:
		return apply_pending(e, txn, ev);
	case EVENT_FORGET:
		return catalog_file_remove(txn, &ev->key);
	case EVENT_MISSED:
		return apply_missed(e, txn, ev);
	case EVENT_METADATA:
		return catalog_file_metadata_changed(txn, &ev->key, &ev->before,
						     &ev->identity);
	case EVENT_NAME_ADDED:
		return apply_name_added(e, txn, ev);
	case EVENT_NAME_REMOVED:
		return apply_name_removed(txn, ev);
	case EVENT_NAME_MOVED:
		return apply_name_moved(e, txn, ev);
	case EVENT_LISTING:
		return apply_listing(e, txn, ev->listing);
	}
	return 0;
}

/* An event that contradicts what the catalog knows must not keep all others
 * from it. */
static int apply_none(struct engine *e, const struct event *ev)
{
	if (ev->kind == EVENT_NAME_ADDED || ev->kind == EVENT_NAME_MOVED)
		scan_request(&e->scan, &ev->parent, false);
	if (ev->kind == EVENT_NAME_MOVED)
		scan_request(&e->scan, &ev->new_parent, false);
	return 0;
}

int event_apply(struct engine *e, struct catalog_txn *txn,
		const struct event *ev)
{
	int err = apply(e, txn, ev);

	return err == -EINVAL ? apply_none(e, ev) : err;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/commit/commit_impl.h"

/* What became of names, for those who watch.  What became of contents the
 * catalog tells by itself. */

static int add_event(struct catalog_txn *txn, enum catalog_event_kind kind,
		     const struct file_key *key, const char *path,
		     bool directory)
{
	struct catalog_event ev = { .kind = kind,
				    .key = *key,
				    .path = strdup(path),
				    .directory = directory };
	int err = ev.path ? catalog_event_add(txn, &ev) : -ENOMEM;

	if (err)
		free(ev.path);
	return err;
}

/* 1: the file has a known content, or is a directory and *directory_out; else
 * 0. */
static int is_known(struct catalog_txn *txn, const struct file_key *key,
		    bool *directory_out)
{
	struct file_record rec;
	int err = catalog_file_get(txn, key, &rec);

	*directory_out = !err && rec.state == FILE_DIRECTORY;
	if (err)
		return err == -ENOENT ? 0 : err;
	return rec.state == FILE_FRESH || rec.state == FILE_DIRECTORY;
}

/* ---- removals ---- */

struct removal {
	struct catalog_txn *txn;
	struct buf path;
	unsigned depth;
};

static int report_below(struct removal *r, const struct file_key *directory);

static int report_file(struct removal *r, const struct file_key *key)
{
	enum { DEPTH_MAX = 2048 }; /* deeper: the names form a circle */
	struct file_record rec;
	int err = catalog_file_get(r->txn, key, &rec);

	if (err)
		return err == -ENOENT ? 0 : err;
	if (rec.state != FILE_DIRECTORY) {
		err = catalog_content_was_known(r->txn, key);
		return err == 1 ? add_event(r->txn, CONTENT_REMOVED, key,
					    r->path.data, false) :
				  err;
	}
	if (r->depth == DEPTH_MAX)
		return 0;
	r->depth++;
	err = report_below(r, key);
	r->depth--;
	return err;
}

static int report_below(struct removal *r, const struct file_key *directory)
{
	struct catalog_walk *walk = NULL;
	struct catalog_name name;
	struct file_key key;
	size_t len = r->path.len;
	int err = catalog_entries_begin(r->txn, directory, &walk);

	while (!err && (err = catalog_entries_next(walk, &name, &key)) == 1) {
		err = buf_append_format(&r->path, "/%.*s", (int)name.len,
					name.bytes);
		if (!err)
			err = report_file(r, &key);
		r->path.len = len;
	}
	catalog_walk_end(walk);
	return err;
}

int report_removed(const struct committer *c, struct catalog_txn *txn,
		   const struct file_key *parent, const char *name)
{
	struct removal r = { .txn = txn };
	struct file_key key;
	int err;

	if (!catalog_is_watched(txn))
		return 0;
	err = catalog_name_get(txn, parent, name_of(name), &key);
	if (!err)
		err = catalog_name_path(txn, &c->context.source->root, parent,
					name_of(name), &r.path);
	if (!err)
		err = report_file(&r, &key);
	buf_release(&r.path);
	return err == -ENOENT ? 0 : err;
}

/* ---- names that are new ---- */

int report_name_set(const struct committer *c, struct catalog_txn *txn,
		    const struct file_key *parent, const char *name,
		    const struct file_key *key)
{
	bool watched = catalog_is_watched(txn), directory = true;
	struct buf path = { 0 };
	struct file_key before;
	int err, known = 0;

	if (watched && (catalog_name_get(txn, parent, name_of(name), &before) ||
			!file_key_equal(&before, key)))
		known = is_known(txn, key, &directory);
	err = catalog_name_set(txn, parent, name_of(name), key);
	if (err || known <= 0 || directory)
		return err ? err : known < 0 ? known : 0;
	err = catalog_name_path(txn, &c->context.source->root, parent,
				name_of(name), &path);
	if (!err)
		err = add_event(txn, CONTENT_NEW, key, path.data, false);
	buf_release(&path);
	return err == -ENOENT ? 0 : err;
}

/* ---- names that move ---- */

static int report_moved(const struct committer *c, struct catalog_txn *txn,
			const struct file_key *parent, const char *name)
{
	struct buf path = { 0 };
	bool directory = false;
	struct file_key key;
	int err = catalog_name_get(txn, parent, name_of(name), &key);

	if (!err)
		err = is_known(txn, &key, &directory);
	if (err == 1)
		err = catalog_name_path(txn, &c->context.source->root, parent, name_of(name), &path) ?:
			      add_event(txn, CONTENT_MOVED, &key, path.data,
					directory);
	buf_release(&path);
	return err == -ENOENT ? 0 : err;
}

int report_name_move(const struct committer *c, struct catalog_txn *txn,
		     const struct event *ev)
{
	int err = 0;

	/* By their names before the move, which comes next. */
	if (catalog_is_watched(txn)) {
		err = report_moved(c, txn, &ev->parent, ev->name);
		if (!err && ev->exchange)
			err = report_moved(c, txn, &ev->new_parent,
					   ev->new_name);
	}
	return err ? err :
		     catalog_name_move(txn, &ev->parent, name_of(ev->name),
				       &ev->new_parent, name_of(ev->new_name),
				       ev->exchange);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/text.h"

/*
 * The events of a watched transaction (see struct catalog_event).  They are
 * made where names and contents change, with the paths of that moment.
 */

void catalog_watch(struct catalog_txn *txn, const struct file_key *root,
		   struct buf *within)
{
	txn->is_watched = true;
	txn->root = *root;
	txn->within = *within;
	*within = (struct buf){ 0 };
}

void catalog_events_free(struct catalog_event *events, size_t count)
{
	while (count--) {
		free(events[count].path);
		free(events[count].from);
	}
	free(events);
}

static void lose_events(struct catalog_changes *ch)
{
	catalog_events_free(ch->events, ch->event_count);
	ch->events = NULL;
	ch->event_count = ch->event_bytes = 0;
	ch->events_lost = true;
}

/* ev with a copy of the paths, of that many bytes, and of from. */
static int add_event(struct catalog_txn *txn, const struct catalog_event *ev,
		     const char *paths, size_t len, const char *from)
{
	struct catalog_changes *ch = &txn->changes;
	struct catalog_event *all, new = *ev;

	if (ch->events_lost)
		return 0;
	ch->event_bytes += sizeof(new) + len + (from ? strlen(from) : 0);
	if (ch->event_bytes > EVENT_BYTES_MAX) {
		lose_events(ch);
		return 0;
	}
	all = array_with_room(ch->events, ch->event_count, sizeof(*all));
	if (!all)
		return -ENOMEM;
	ch->events = all;
	new.path = malloc(len);
	new.from = from ? strdup(from) : NULL;
	if (!new.path || (from && !new.from)) {
		free(new.path);
		free(new.from);
		return -ENOMEM;
	}
	memcpy(new.path, paths, len);
	all[ch->event_count++] = new;
	return 0;
}

/* 1: *out is the path of the name; 0: it leads nowhere from SOURCE. */
static int path_of(struct catalog_txn *txn, const struct file_key *parent,
		   struct catalog_name name, struct buf *out)
{
	int err = catalog_name_path(txn, &txn->root, parent, name, out);

	return err == -ENOENT ? 0 : err ? err : 1;
}

int catalog_content_was_known(struct catalog_txn *txn,
			      const struct file_key *key)
{
	struct file_record r;
	int err = catalog_file_get(txn, key, &r);

	if (err)
		return err == -ENOENT ? 0 : err;
	if (r.state == FILE_FRESH || r.state == FILE_DIRECTORY)
		return r.state == FILE_FRESH;
	return change_is_told(txn, key);
}

/* ---- names ---- */

static int add_below(struct catalog_txn *txn, const struct catalog_event *like,
		     const struct file_key *directory, struct buf *path,
		     unsigned depth);

/* An event for the file, as far as it is known, or for those below the
 * directory. */
static int add_tree(struct catalog_txn *txn, const struct catalog_event *like,
		    const struct file_key *key, struct buf *path,
		    unsigned depth)
{
	struct catalog_event ev = *like;
	struct file_record r;
	int err = catalog_file_get(txn, key, &r);

	if (err)
		return err == -ENOENT ? 0 : err;
	if (r.state == FILE_DIRECTORY)
		return add_below(txn, like, key, path, depth);
	err = catalog_content_was_known(txn, key);
	if (err != 1)
		return err;
	ev.key = *key;
	ev.size = r.identity.size;
	ev.pending = r.state != FILE_FRESH;
	return add_event(txn, &ev, path->data, path->len + 1, NULL);
}

static int add_below(struct catalog_txn *txn, const struct catalog_event *like,
		     const struct file_key *directory, struct buf *path,
		     unsigned depth)
{
	enum { DEPTH_MAX = 2048 }; /* deeper: the names form a circle */
	struct catalog_walk *walk = NULL;
	struct catalog_name name;
	struct file_key key;
	const size_t len = path->len;
	int err = 0;

	if (depth < DEPTH_MAX)
		err = catalog_entries_begin(txn, directory, &walk);
	while (walk && !err && !txn->changes.events_lost &&
	       (err = catalog_entries_next(walk, &name, &key)) == 1) {
		err = buf_append_format(path, "/%.*s", (int)name.len,
					name.bytes);
		if (!err)
			err = add_tree(txn, like, &key, path, depth + 1);
		path->len = len;
		path->data[len] = '\0';
	}
	catalog_walk_end(walk);
	return err;
}

int event_name(struct catalog_txn *txn, enum catalog_event_kind kind,
	       const struct file_key *parent, struct catalog_name name,
	       const struct file_key *key, bool inherits)
{
	const struct catalog_event like = { .kind = kind,
					    .inherits = inherits };
	struct buf path = { 0 };
	int err;

	if (!txn->is_watched || txn->told || txn->changes.events_lost)
		return 0;
	err = path_of(txn, parent, name, &path);
	if (err == 1)
		err = add_tree(txn, &like, key, &path, 0);
	buf_release(&path);
	return err;
}

/* ---- contents ---- */

/* ev for each of the file's names; TREE_CHANGED: for all in one. */
static int add_names(struct catalog_txn *txn, const struct catalog_event *ev)
{
	struct buf path = { 0 }, paths = { 0 };
	struct catalog_walk *walk = NULL;
	struct catalog_name name;
	struct file_key parent;
	unsigned count = 0;
	int err;

	if (!txn->is_watched || txn->changes.events_lost)
		return 0;
	err = catalog_links_begin(txn, &ev->key, &walk);
	while (!err && count < EVENT_PATHS &&
	       (err = catalog_links_next(walk, &parent, &name)) == 1) {
		err = path_of(txn, &parent, name, &path);
		if (err != 1)
			continue;
		if (ev->kind == TREE_CHANGED) {
			count++;
			err = buf_append(&paths, path.data, path.len + 1);
		} else {
			err = add_event(txn, ev, path.data, path.len + 1, NULL);
		}
	}
	catalog_walk_end(walk);
	if (err >= 0 && count)
		err = add_event(txn, ev, paths.data, paths.len + 1, NULL);
	buf_release(&path);
	buf_release(&paths);
	return err < 0 ? err : 0;
}

int event_content(struct catalog_txn *txn, enum catalog_event_kind kind,
		  const struct file_key *key, uint64_t size)
{
	const struct catalog_event ev = { .kind = kind,
					  .key = *key,
					  .size = size };

	return add_names(txn, &ev);
}

int event_changed(struct catalog_txn *txn, const struct file_key *key,
		  const struct catalog_change *change, uint64_t size,
		  const struct name_taken *by)
{
	struct catalog_event ev = {
		.kind = TREE_CHANGED, .key = *key, .size = size, .same = !change
	};
	struct buf path = { 0 };
	int err;

	if (change)
		ev.change = *change;
	else
		ev.change.replaced = 1;
	if (!txn->is_watched || !by)
		return add_names(txn, &ev);
	err = path_of(txn, by->parent, by->name, &path);
	if (err == 1) /* and the empty path behind it */
		err = buf_append(&path, "", 1) ?:
			      add_event(txn, &ev, path.data, path.len + 1,
					NULL);
	buf_release(&path);
	return err;
}

/* ---- directories that get another path ---- */

/* Whether the move is one of more than what somebody follows, or of a part of
 * it: from outside, to the outside, or of a directory around it. */
static bool crosses(const struct catalog_txn *txn, const char *from,
		    const char *to)
{
	const char *place = txn->within.data;
	const char *end = place ? place + txn->within.len : NULL;

	for (; place < end; place += strlen(place) + 1)
		if (text_path_is_above(place, from) !=
			    text_path_is_above(place, to) ||
		    text_path_is_above(from, place) ||
		    text_path_is_above(to, place))
			return true;
	return false;
}

static int add_move(struct catalog_txn *txn, const struct file_key *key,
		    struct buf *from, struct buf *to)
{
	struct catalog_event ev = { .kind = TREE_DIRECTORY_MOVED, .key = *key };
	int err = add_event(txn, &ev, to->data, to->len + 1, from->data);

	if (err || !crosses(txn, from->data, to->data))
		return err;
	ev.moved = true;
	ev.kind = TREE_UNNAMED;
	err = add_below(txn, &ev, key, from, 0);
	ev.kind = TREE_NAMED;
	return err ? err : add_below(txn, &ev, key, to, 0);
}

int event_directory_moves(struct catalog_txn *txn, const struct file_key *key,
			  const struct file_key *parent,
			  struct catalog_name name)
{
	struct buf from = { 0 }, to = { 0 };
	struct link old;
	int err;

	if (!txn->is_watched)
		return 0;
	err = link_first(txn, key, &old);
	if (err)
		return err == -ENOENT ? 0 : err;
	err = path_of(txn, &old.parent, old.name, &from);
	if (err == 1)
		err = path_of(txn, parent, name, &to);
	if (err == 1)
		err = add_move(txn, key, &from, &to) ?: 1;
	buf_release(&from);
	buf_release(&to);
	return err;
}

/* The events of a file or directory that goes from one path to another, where
 * nothing is. */
static int add_step(struct catalog_txn *txn, const struct file_key *key,
		    struct buf *from, struct buf *to)
{
	struct catalog_event ev = { .kind = TREE_UNNAMED };
	int err = file_is_directory(txn, key);

	if (err)
		return err < 0 ? err : add_move(txn, key, from, to);
	err = add_tree(txn, &ev, key, from, 0);
	ev.kind = TREE_NAMED;
	return err ? err : add_tree(txn, &ev, key, to, 0);
}

int event_exchange(struct catalog_txn *txn, const struct link *a,
		   const struct link *b)
{
	struct buf from = { 0 }, to = { 0 }, between = { 0 };
	int err;

	if (!txn->is_watched)
		return 0;
	err = path_of(txn, &a->parent, a->name, &from);
	if (err == 1)
		err = path_of(txn, &b->parent, b->name, &to);
	if (err == 1)
		err = buf_append_format(&between, "%s~%zx", from.data,
					txn->changes.event_count) ?:
			      1;
	if (err == 1)
		err = add_step(txn, &a->key, &from, &between)       ?:
			      add_step(txn, &b->key, &to, &from)    ?:
			      add_step(txn, &a->key, &between, &to) ?:
								      1;
	buf_release(&from);
	buf_release(&to);
	buf_release(&between);
	return err;
}

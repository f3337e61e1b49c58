/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/clock.h"
#include "core/catalog/catalog_impl.h"

/*
 * The change of a file: how much of its earlier content it kept when it was
 * last changed.
 *
 * A content is compared with the one before when it is recorded.  Often the file
 * was pending in between, and its earlier content may be gone from the catalog
 * by then.  So a file that loses its content leaves the identity and the sketch
 * of it in the table left, until it has another one.
 *
 * Programs replace a file by another one of its name (they write it beside and
 * rename it; or they remove the file and make it anew).  So the last few names
 * that were removed are remembered with what their files left, and a file that
 * gets such a name soon afterwards inherits that.
 *
 * A value of the table left is this and the sketch.
 */
struct left {
	uint8_t xxh128[16];
	uint64_t size;
	uint64_t replaced; /* 0 or 1 */
};

/* Between the removal of a name and its return. */
#define RETURNS_MS 10000

/* Deletes the record of the file in that table if there is one. */
static int forget(struct catalog_txn *txn, enum catalog_db db,
		  const struct file_key *key)
{
	int err = txn_delete(txn, db, key_of_file(key));

	return err == -ENOENT ? 0 : err;
}

int change_forget(struct catalog_txn *txn, const struct file_key *key)
{
	return forget(txn, DB_CHANGES, key) ?: forget(txn, DB_LEFT, key);
}

int catalog_change_get(struct catalog_txn *txn, const struct file_key *key,
		       struct catalog_change *out)
{
	MDB_val v;
	int err = txn_get(txn, DB_CHANGES, key_of_file(key), &v);

	if (err)
		return err;
	return value_copy(&v, out, sizeof(*out)) && out->kept >= -1 &&
			       out->kept <= 100 && out->replaced >= 0 &&
			       out->replaced <= 1 ?
		       0 :
		       -EUCLEAN;
}

/* ---- what a content leaves ---- */

static int append_content(struct catalog_txn *txn, uint32_t content,
			  struct buf *out)
{
	struct left head = { 0 };
	struct digests d;
	MDB_val sketch;
	int err = content_load(txn, content, &d);

	if (err)
		return err == -ENOENT ? -EUCLEAN : err;
	memcpy(head.xxh128, d.xxh128, sizeof(d.xxh128));
	head.size = d.size;
	err = buf_append(out, &head, sizeof(head));
	if (!err)
		err = blob_get(txn, DB_SKETCHES, content, &sketch);
	if (!err)
		err = buf_append(out, sketch.mv_data, sketch.mv_size);
	return err == -ENOENT ? 0 : err;
}

/* What the file would leave: its content, or what is left of an earlier one.
 * Empty: nothing. */
static int left_get(struct catalog_txn *txn, const struct file_key *key,
		    struct buf *out)
{
	struct file_record r;
	MDB_val v;
	int err = catalog_file_get(txn, key, &r);

	buf_clear(out);
	if (!err && r.state == FILE_FRESH)
		return append_content(txn, r.content, out);
	if (!err)
		err = txn_get(txn, DB_LEFT, key_of_file(key), &v);
	if (!err && v.mv_size < sizeof(struct left))
		err = -EUCLEAN;
	if (!err)
		err = buf_append(out, v.mv_data, v.mv_size);
	return err == -ENOENT ? 0 : err;
}

int catalog_content_was_known(struct catalog_txn *txn,
			      const struct file_key *key)
{
	struct file_record r;
	MDB_val v;
	int err = catalog_file_get(txn, key, &r);

	if (!err && r.state != FILE_FRESH)
		err = txn_get(txn, DB_LEFT, key_of_file(key), &v);
	return err == -ENOENT ? 0 : err ? err : 1;
}

/* ---- comparing ---- */

/* The percentage of the windows of one sketch that the other one has; -1: there
 * are none, or a content has no sketch. */
static int kept_of(const uint8_t *packed, size_t len, const MDB_val *now)
{
	struct sketch *sketches = calloc(2, sizeof(*sketches));
	struct sketch_shares shares;
	int kept = -1;

	if (!sketches)
		return -ENOMEM;
	if (len && now->mv_size && !sketch_unpack(packed, len, &sketches[0]) &&
	    !sketch_unpack(now->mv_data, now->mv_size, &sketches[1]) &&
	    sketches[0].count) {
		sketch_shares(&sketches[0], &sketches[1], &shares);
		kept = (int)lround(100 * shares.of_a);
	}
	free(sketches);
	return kept;
}

/* 1: out is the change from what was left to the content; 0: it is the same
 * content. */
static int compare_left(struct catalog_txn *txn, const struct buf *left,
			uint32_t content, struct catalog_change *out)
{
	const uint8_t *sketch =
		(const uint8_t *)left->data + sizeof(struct left);
	MDB_val now = { 0 };
	struct digests d;
	struct left was;
	int err = content_load(txn, content, &d);

	if (err)
		return err == -ENOENT ? -EUCLEAN : err;
	memcpy(&was, left->data, sizeof(was));
	if (!memcmp(was.xxh128, d.xxh128, sizeof(d.xxh128)) &&
	    was.size == d.size)
		return 0;
	err = blob_get(txn, DB_SKETCHES, content, &now);
	if (err && err != -ENOENT)
		return err;
	out->replaced = was.replaced != 0;
	out->kept = kept_of(sketch, left->len - sizeof(was), &now);
	return out->kept == -ENOMEM ? -ENOMEM : 1;
}

/* The file has that content now, and left is what was before; empty: nothing. */
static int record_change(struct catalog_txn *txn, const struct file_key *key,
			 const struct file_record *r, const struct buf *left)
{
	struct catalog_event event = { .kind = CONTENT_NEW, .key = *key };
	struct catalog_change change = { .when_ns = r->identity.ctime_ns };
	int err, differs;

	if (!left->len)
		return catalog_event_add(txn, &event);
	differs = compare_left(txn, left, r->content, &change);
	err = differs < 0 ? differs : forget(txn, DB_LEFT, key);
	if (err || !differs)
		return err;
	event.kind = CONTENT_CHANGED;
	event.change = change;
	return txn_put(txn, DB_CHANGES, key_of_file(key), &change, sizeof(change)) ?:
		       catalog_event_add(txn, &event);
}

int change_of_record(struct catalog_txn *txn, const struct file_key *key,
		     const struct file_record *new)
{
	struct buf left = { 0 };
	int err = left_get(txn, key, &left);

	if (!err && new->state == FILE_FRESH) {
		err = record_change(txn, key, new, &left);
	} else if (!err && new->state == FILE_DIRECTORY) {
		err = change_forget(txn, key);
	} else if (!err && left.len) {
		err = txn_put(txn, DB_LEFT, key_of_file(key), left.data,
			      left.len);
	}
	buf_release(&left);
	return err;
}

/* ---- names that return ---- */

static bool is_name(const struct lost_name *l, const struct file_key *parent,
		    struct catalog_name name)
{
	return l->left.len && l->len == name.len &&
	       file_key_equal(&l->parent, parent) &&
	       !memcmp(l->name, name.bytes, name.len);
}

int change_name_lost(struct catalog_txn *txn, const struct file_key *parent,
		     struct catalog_name name, const struct file_key *key)
{
	struct catalog *c = txn->catalog;
	struct lost_name *l = &c->lost_names[c->lost_next++ % LOST_NAMES];
	int err = left_get(txn, key, &l->left);

	if (err || !l->left.len) {
		buf_clear(&l->left);
		return err;
	}
	l->left.data[offsetof(struct left, replaced)] = 1;
	l->parent = *parent;
	l->key = *key;
	l->lost_ms = clock_now_ms();
	l->len = name.len;
	memcpy(l->name, name.bytes, name.len);
	return 0;
}

int change_name_taken(struct catalog_txn *txn, const struct file_key *parent,
		      struct catalog_name name, const struct file_key *key)
{
	struct lost_name *l = txn->catalog->lost_names, *end = l + LOST_NAMES;
	struct file_record r;
	int err;

	while (l < end && !is_name(l, parent, name))
		l++;
	if (l == end || clock_now_ms() - l->lost_ms > RETURNS_MS ||
	    file_key_equal(&l->key, key))
		return 0;
	err = catalog_file_get(txn, key, &r);
	if (!err && r.state == FILE_FRESH)
		err = record_change(txn, key, &r, &l->left);
	else if (!err && r.state != FILE_DIRECTORY)
		err = txn_put(txn, DB_LEFT, key_of_file(key), l->left.data,
			      l->left.len);
	buf_clear(&l->left);
	return err == -ENOENT ? 0 : err;
}

void lost_names_release(struct catalog *c)
{
	size_t i;

	for (i = 0; i < LOST_NAMES; i++)
		buf_release(&c->lost_names[i].left);
}

/* ---- events ---- */

void catalog_watch(struct catalog_txn *txn)
{
	txn->is_watched = true;
}

bool catalog_is_watched(const struct catalog_txn *txn)
{
	return txn->is_watched;
}

int catalog_event_add(struct catalog_txn *txn, const struct catalog_event *ev)
{
	struct catalog_changes *ch = &txn->changes;
	struct catalog_event *all;

	if (!txn->is_watched)
		return 0;
	all = array_with_room(ch->events, ch->event_count, sizeof(*all));
	if (!all)
		return -ENOMEM;
	ch->events = all;
	all[ch->event_count++] = *ev;
	return 0;
}

void catalog_events_free(struct catalog_event *events, size_t count)
{
	while (count)
		free(events[--count].path);
	free(events);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/catalog/catalog_impl.h"

/*
 * The change of a file: how much of its earlier content it kept when it was
 * last changed.
 *
 * A content is compared with the one before when it is recorded.  Often the
 * file was pending in between, and its earlier content may be gone from the
 * catalog by then.  So a file that loses its content leaves the identity and
 * the sketch of it in the table left, until it has another one.
 *
 * Programs replace a file by another one of its name (they write it beside and
 * rename it; or they remove the file and make it anew).  So the last few names
 * that were removed are remembered with what their files left, and a file that
 * gets such a name soon afterwards inherits that.
 *
 * A value of the table left is this and the sketch.
 */
struct left {
	uint8_t identity[16];
	uint64_t size;
	uint64_t replaced;
};

enum {
	LEFT_BY_ITSELF,
	LEFT_BY_ANOTHER,
	/* By another file, in an earlier transaction: readers that follow the
	 * tree were told that the name is gone, and are told of it again when
	 * the new content is known. */
	LEFT_AND_GONE,
};

/* Between the removal of a name and its return. */
#define RETURNS_MS 10000

int change_forget(struct catalog_txn *txn, const struct file_key *key)
{
	return txn_drop(txn, DB_CHANGES, key_of_file(key)) ?:
		       txn_drop(txn, DB_LEFT, key_of_file(key));
}

int catalog_change_get(struct catalog_txn *txn, const struct file_key *key,
		       struct catalog_change *out)
{
	int err = txn_get_value(txn, DB_CHANGES, key_of_file(key), out,
				sizeof(*out));

	if (!err && (out->kept < -1 || out->kept > 100 || out->replaced < 0 ||
		     out->replaced > 1))
		err = -EUCLEAN;
	return err;
}

/* ---- what a content leaves ---- */

static const uint8_t *identity_of(const struct digests *d)
{
	return d->set & DIGEST_BIT(DIGEST_IDENTITY) ? d->identity : d->xxh128;
}

static int append_content(struct catalog_txn *txn, uint32_t content,
			  struct buf *out)
{
	struct left head = { 0 };
	struct digests d;
	MDB_val sketch;
	int err = content_load(txn, content, &d);

	if (err)
		return err == -ENOENT ? -EUCLEAN : err;
	memcpy(head.identity, identity_of(&d), sizeof(head.identity));
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

int change_is_told(struct catalog_txn *txn, const struct file_key *key)
{
	struct left head;
	MDB_val v;
	int err = txn_get(txn, DB_LEFT, key_of_file(key), &v);

	if (err)
		return err == -ENOENT ? 0 : err;
	if (v.mv_size < sizeof(head))
		return -EUCLEAN;
	memcpy(&head, v.mv_data, sizeof(head));
	return head.replaced != LEFT_AND_GONE;
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
	if (!memcmp(was.identity, identity_of(&d), sizeof(was.identity)) &&
	    was.size == d.size)
		return 0;
	err = blob_get(txn, DB_SKETCHES, content, &now);
	if (err && err != -ENOENT)
		return err;
	out->replaced = was.replaced != 0;
	out->kept = kept_of(sketch, left->len - sizeof(was), &now);
	return out->kept == -ENOMEM ? -ENOMEM : 1;
}

/* The file has that content now, and left is what was before; empty: nothing.
 * by: the name by which it took the place of another file; or NULL. */
static int record_change(struct catalog_txn *txn, const struct file_key *key,
			 const struct file_record *r, const struct buf *left,
			 const struct name_taken *by)
{
	struct catalog_change change = { .when_ns = r->identity.ctime_ns };
	const uint64_t size = r->identity.size;
	struct left was;
	int err, differs;

	if (!left->len)
		return event_content(txn, TREE_NAMED, key, size);
	memcpy(&was, left->data, sizeof(was));
	differs = compare_left(txn, left, r->content, &change);
	err = differs < 0 ? differs : txn_drop(txn, DB_LEFT, key_of_file(key));
	if (!err && differs)
		err = txn_put(txn, DB_CHANGES, key_of_file(key), &change,
			      sizeof(change));
	if (!err && was.replaced == LEFT_AND_GONE)
		err = by ? 0 : event_content(txn, TREE_NAMED, key, size);
	if (err || (was.replaced == LEFT_AND_GONE && (by || !differs)) ||
	    (!differs && (by || !was.replaced)))
		return err;
	return event_changed(txn, key, differs ? &change : NULL, size, by);
}

int change_of_record(struct catalog_txn *txn, const struct file_key *key,
		     const struct file_record *new)
{
	struct buf left = { 0 };
	int err = left_get(txn, key, &left);

	if (!err && new->state == FILE_FRESH) {
		err = record_change(txn, key, new, &left, NULL);
	} else if (!err && new->state == FILE_DIRECTORY) {
		err = catalog_content_was_known(txn, key);
		if (err == 1)
			err = event_content(txn, TREE_UNNAMED, key, 0);
		if (!err)
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
	l->left.data[offsetof(struct left, replaced)] = LEFT_BY_ANOTHER;
	l->lost_in = catalog_snapshot(txn);
	l->parent = *parent;
	l->key = *key;
	l->lost_ms = clock_now_ms();
	l->len = name.len;
	memcpy(l->name, name.bytes, name.len);
	return 0;
}

/* The file, which is pending, goes on with what is left.  It does not if it has
 * other names, which would come with the new one; nor if it has left something
 * itself that is told, and what had the name is gone. */
static int inherit(struct catalog_txn *txn, const struct file_key *key,
		   const struct buf *left, bool is_gone)
{
	int err = link_has_second(txn, key);

	if (!err && is_gone)
		err = change_is_told(txn, key);
	if (err)
		return err < 0 ? err : 0;
	return txn_put(txn, DB_LEFT, key_of_file(key), left->data, left->len) ?:
		       !is_gone;
}

int change_name_taken(struct catalog_txn *txn, const struct file_key *key,
		      const struct name_taken *name)
{
	struct lost_name *l = txn->catalog->lost_names, *end = l + LOST_NAMES;
	struct file_record r;
	bool is_gone;
	int err;

	while (l < end && !is_name(l, name->parent, name->name))
		l++;
	if (l == end || clock_now_ms() - l->lost_ms > RETURNS_MS ||
	    file_key_equal(&l->key, key))
		return 0;
	is_gone = l->lost_in != catalog_snapshot(txn);
	if (is_gone)
		l->left.data[offsetof(struct left, replaced)] = LEFT_AND_GONE;
	err = catalog_file_get(txn, key, &r);
	if (!err && r.state == FILE_FRESH)
		err = record_change(txn, key, &r, &l->left, name) ?: !is_gone;
	else if (!err && r.state != FILE_DIRECTORY)
		err = inherit(txn, key, &l->left, is_gone);
	buf_clear(&l->left);
	return err == -ENOENT ? 0 : err;
}

void lost_names_release(struct catalog *c)
{
	size_t i;

	for (i = 0; i < LOST_NAMES; i++)
		buf_release(&c->lost_names[i].left);
}

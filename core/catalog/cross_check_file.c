/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/cross_check.h"

#include <errno.h>

/* ---- files ---- */

static int check_fresh(struct cross_check *c, const struct file_key *key,
		       const struct file_record *r)
{
	uint8_t copy[COPY_KEY_BYTES_MAX];
	struct digests d = { 0 };
	bool listed;
	int found;
	int err;

	listed = txn_has(c->txn, DB_COPIES, copy,
			 copy_key_store(r->content, key, copy), &err);
	if (!err && !listed)
		err = cross_check_note_file(
			c, key, "not among the copies of its content");
	if (err)
		return err;
	found = cross_check_find_content(c, r->content, &d);
	if (found < 0)
		return found;
	if (!found)
		return cross_check_note_file(c, key, "its content is missing");
	if (d.size != r->identity.size)
		return cross_check_note_file(c, key,
					     "not as long as its content");
	return 0;
}

static int check_pending(struct cross_check *c, const struct file_key *key)
{
	uint8_t k[FILE_KEY_BYTES_MAX];
	bool listed;
	int err;

	listed = txn_has(c->txn, DB_PENDING, k, file_key_store(key, k), &err);
	if (!err && !listed)
		err = cross_check_note_file(c, key, "not on the pending list");
	return err;
}

static int check_directory(struct cross_check *c, const struct file_key *key,
			   const struct file_record *r)
{
	static const struct file_identity none;
	int err;

	if (!file_identity_equal(&r->identity, &none)) {
		err = cross_check_note_file(c, key,
					    "a directory with an identity");
		if (err)
			return err;
	}
	err = link_has_second(c->txn, key);
	if (err == 1)
		err = cross_check_note_file(c, key,
					    "a directory with two names");
	return err;
}

static void count_file(struct catalog_counts *n, const struct file_record *r)
{
	n->directories += r->state == FILE_DIRECTORY;
	n->files += r->state != FILE_DIRECTORY;
	n->fresh += r->state == FILE_FRESH;
	n->failed += r->state == FILE_FAILED;
	n->pending += r->state == FILE_PENDING;
	if (r->state == FILE_PENDING)
		n->pending_bytes += r->identity.size;
}

int cross_check_file(struct cross_check *c, const MDB_val *key,
		     const MDB_val *value)
{
	struct file_record r;
	struct file_key k;

	if (file_key_decode(key, &k))
		return cross_check_note(c, "a file record with a wrong key");
	if (file_record_decode(value, &r))
		return cross_check_note_file(c, &k, "unreadable record");
	count_file(&c->counts, &r);
	if (c->root && file_key_equal(&k, c->root) && r.state != FILE_DIRECTORY)
		return cross_check_note_file(c, &k, "the root is no directory");
	if (r.state == FILE_FRESH)
		return check_fresh(c, &k, &r);
	if (r.state == FILE_PENDING)
		return check_pending(c, &k);
	if (r.state == FILE_DIRECTORY)
		return check_directory(c, &k, &r);
	return 0;
}

int cross_check_pending_mark(struct cross_check *c, const MDB_val *key,
			     const MDB_val *value)
{
	struct file_record r;
	struct file_key k;
	int found;

	if (file_key_decode(key, &k) || value->mv_size != 0)
		return cross_check_note(c, "a malformed pending mark");
	found = cross_check_find_file(c, &k, &r);
	if (found < 0)
		return found;
	if (!found || r.state != FILE_PENDING)
		return cross_check_note_file(
			c, &k, "on the pending list, but not pending");
	return 0;
}

/* ---- names ---- */

static int check_link_of_name(struct cross_check *c,
			      const struct file_key *parent,
			      struct catalog_name name,
			      const struct file_key *key)
{
	uint8_t link[LINK_KEY_BYTES_MAX];
	size_t len = link_key_store(key, parent, name, link);
	bool found;
	int err;

	found = txn_has(c->txn, DB_LINKS, link, len, &err);
	if (!err && !found)
		err = cross_check_note_file(c, key,
					    "a name that it does not know of");
	return err;
}

static int check_named(struct cross_check *c, const struct file_key *key)
{
	struct file_record r;
	int found = cross_check_find_file(c, key, &r);

	if (found)
		return found < 0 ? found : 0;
	return cross_check_note_file(c, key, "has a name and no record");
}

static int check_parent(struct cross_check *c, const struct file_key *parent)
{
	struct file_record r;
	int found = cross_check_find_file(c, parent, &r);

	if (found < 0 || (found && r.state == FILE_DIRECTORY))
		return found < 0 ? found : 0;
	return cross_check_note_file(c, parent, "has entries, is no directory");
}

int cross_check_name(struct cross_check *c, const MDB_val *key,
		     const MDB_val *value)
{
	struct file_key parent, k;
	struct catalog_name name;
	int err;

	if (name_key_decode(key, &parent, &name) || file_key_decode(value, &k))
		return cross_check_note(c, "a malformed name");
	err = check_link_of_name(c, &parent, name, &k);
	if (!err)
		err = check_named(c, &k);
	return err ? err : check_parent(c, &parent);
}

/* 1: the name in the link is one of the file in the link; else 0. */
static int link_holds(struct cross_check *c, const MDB_val *link)
{
	struct file_key key, parent, target;
	struct catalog_name name;
	int err;

	if (link_key_decode(link, &key, &parent, &name))
		return 0;
	err = catalog_name_get(c->txn, &parent, name, &target);
	if (err)
		return err == -ENOENT || err == -EUCLEAN ? 0 : err;
	return file_key_equal(&target, &key);
}

int cross_check_link(struct cross_check *c, const MDB_val *key,
		     const MDB_val *value)
{
	struct file_key k, parent;
	struct catalog_name name;
	int holds;

	if (link_key_decode(key, &k, &parent, &name) || value->mv_size != 0)
		return cross_check_note(c, "a malformed link");
	holds = link_holds(c, key);
	if (holds)
		return holds < 0 ? holds : 0;
	return cross_check_note_file(c, &k,
				     "claims a name that is not its own");
}

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CATALOG_ORACLE_H
#define TESTS_UNIT_CATALOG_ORACLE_H

#include <errno.h>
#include <string.h>

#include "core/catalog/catalog_impl.h"

/* Compares all records with each other.  NULL: they agree; or what
 * contradicts.  A file without a name is no contradiction. */

static inline bool oracle_has(struct catalog_txn *txn, enum catalog_db db,
			      struct record_key key)
{
	MDB_val value;

	return !txn_get(txn, db, key, &value);
}

static inline bool oracle_is_directory(struct catalog_txn *txn,
				       const struct file_key *key)
{
	struct file_record r;

	return !catalog_file_get(txn, key, &r) && r.state == FILE_DIRECTORY;
}

static inline const char *oracle_file(struct catalog_txn *txn,
				      const struct catalog_walk *s,
				      struct catalog_counts *n)
{
	struct file_record r;
	struct file_key key;
	struct digests d;

	if (file_key_decode(&s->key, &key) || file_record_decode(&s->value, &r))
		return "a malformed file";
	n->files += r.state != FILE_DIRECTORY;
	n->directories += r.state == FILE_DIRECTORY;
	n->failed += r.state == FILE_FAILED;
	n->pending += r.state == FILE_PENDING;
	n->pending_bytes += r.state == FILE_PENDING ? r.identity.size : 0;
	n->fresh += r.state == FILE_FRESH;
	if (r.state == FILE_PENDING &&
	    !oracle_has(txn, DB_PENDING, key_of_file(&key)))
		return "a pending file that is not on the list";
	if (r.state != FILE_FRESH)
		return NULL;
	if (content_load(txn, r.content, &d) || d.size != r.identity.size)
		return "a file without its content";
	return oracle_has(txn, DB_COPIES, key_of_copy(r.content, &key)) ?
		       NULL :
		       "a file that is not among the copies";
}

static inline const char *oracle_name(struct catalog_txn *txn,
				      const struct catalog_walk *s,
				      const struct file_key *root)
{
	struct file_key parent, key;
	struct catalog_name name;
	struct file_record r;
	int err;

	if (name_key_decode(&s->key, &parent, &name) ||
	    file_key_decode(&s->value, &key))
		return "a malformed name";
	if (!oracle_has(txn, DB_LINKS, key_of_link(&key, &parent, name)))
		return "a name without its link";
	if (catalog_file_get(txn, &key, &r))
		return "a name without a record";
	if (r.state == FILE_DIRECTORY && link_has_second(txn, &key))
		return "a directory with two names";
	err = catalog_file_get(txn, &parent, &r);
	if (err == -ENOENT && file_key_equal(&parent, root))
		return NULL;
	return oracle_is_directory(txn, &parent) ? NULL :
						   "a name in no directory";
}

static inline const char *oracle_change(struct catalog_txn *txn,
					const struct catalog_walk *s)
{
	struct file_key key;
	struct file_record r;

	if (file_key_decode(&s->key, &key))
		return "a malformed change";
	return catalog_file_get(txn, &key, &r) || r.state == FILE_DIRECTORY ?
		       "a change of no file" :
		       NULL;
}

static inline const char *oracle_content(struct catalog_txn *txn,
					 const struct catalog_walk *s,
					 struct catalog_counts *n)
{
	uint32_t content, found;
	struct digests d;
	MDB_val k, v;

	if (content_id_decode(&s->key, &content) ||
	    catalog_content_get(txn, content, CONTENT_ALL, &d))
		return "a content that cannot be read";
	n->contents++;
	n->content_bytes += d.size;
	if (catalog_content_find(txn, &d, &found) || found != content)
		found = 0;
	digests_release(&d);
	if (!found)
		return "a content that is not found by its identity";
	return txn_first(txn, DB_COPIES, key_of_id(content), &k, &v) ?
		       "a content of no file" :
		       NULL;
}

static inline const char *oracle_text(struct catalog_txn *txn,
				      const struct catalog_walk *s,
				      struct catalog_counts *n)
{
	static struct sketch sketch;
	struct content_text text;
	uint32_t content, owner;
	struct digests d;

	if (content_id_decode(&s->key, &content) ||
	    catalog_text_get(txn, content, &text))
		return "a malformed text";
	n->pending_texts += text.state == TEXT_PENDING;
	n->failed_texts +=
		text.state == TEXT_FAILED && text.why != TEXT_UNREADABLE;
	n->texts += text.sketch != 0;
	if (content_load(txn, content, &d))
		return "a text of no content";
	if (text.sketch &&
	    (catalog_text_owner(txn, text.sketch, &owner) || owner != content ||
	     catalog_sketch_get(txn, text.sketch, &sketch)))
		return "a text without its sketch";
	return NULL;
}

static inline size_t oracle_entries(struct catalog_txn *txn, enum catalog_db db)
{
	MDB_stat st;

	return mdb_stat(txn->mdb, txn->catalog->dbs[db], &st) ? SIZE_MAX :
								st.ms_entries;
}

static inline const char *oracle_find(struct catalog_txn *txn,
				      const struct file_key *root)
{
	static const enum catalog_db tables[] = { DB_FILES,    DB_NAMES,
						  DB_CONTENTS, DB_CHANGES,
						  DB_LEFT,     DB_TEXTS };
	struct catalog_counts n = { 0 }, kept;
	const char *wrong = NULL;
	struct catalog_walk *s;
	struct file_record r;
	int i, found = 0;

	for (i = 0; i < 6 && !wrong; i++) {
		if (walk_begin(txn, tables[i], ANY_KEY, &s))
			return "a table that cannot be read";
		while (!wrong && (found = walk_next(s)) == 1)
			wrong = i == 0 ? oracle_file(txn, s, &n) :
				i == 1 ? oracle_name(txn, s, root) :
				i == 2 ? oracle_content(txn, s, &n) :
				i < 5  ? oracle_change(txn, s) :
					 oracle_text(txn, s, &n);
		catalog_walk_end(s);
		if (found < 0)
			wrong = "a record that cannot be read";
	}
	if (wrong)
		return wrong;
	if (!catalog_file_get(txn, root, &r) && r.state != FILE_DIRECTORY)
		return "a root that is no directory";
	if (oracle_entries(txn, DB_LINKS) != oracle_entries(txn, DB_NAMES) ||
	    oracle_entries(txn, DB_PENDING) != n.pending ||
	    oracle_entries(txn, DB_COPIES) != n.fresh ||
	    oracle_entries(txn, DB_IDENTITIES) != n.contents ||
	    oracle_entries(txn, DB_OWNERS) != n.texts)
		return "records that belong to nothing";
	return catalog_counts(txn, &kept) || memcmp(&n, &kept, sizeof(n)) ?
		       "the counts are wrong" :
		       NULL;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <string.h>

/* ---- a name in the tables names and links ---- */

int link_put(struct catalog_txn *txn, const struct file_key *parent,
	     struct catalog_name name, const struct file_key *key)
{
	uint8_t name_key[NAME_KEY_BYTES_MAX];
	uint8_t link_key[LINK_KEY_BYTES_MAX];
	uint8_t target[FILE_KEY_BYTES_MAX];
	size_t len;
	int err;

	len = name_key_store(parent, name, name_key);
	err = txn_put(txn, DB_NAMES, name_key, len, target,
		      file_key_store(key, target));
	if (err)
		return err;
	len = link_key_store(key, parent, name, link_key);
	err = txn_put(txn, DB_LINKS, link_key, len, "", 0);
	if (!err)
		err = change_name_taken(txn, parent, name, key);
	return err ? err : dirty_add(txn, key);
}

int link_delete(struct catalog_txn *txn, const struct file_key *parent,
		struct catalog_name name, const struct file_key *key)
{
	uint8_t name_key[NAME_KEY_BYTES_MAX];
	uint8_t link_key[LINK_KEY_BYTES_MAX];
	size_t name_len = name_key_store(parent, name, name_key);
	size_t link_len = link_key_store(key, parent, name, link_key);
	int err;

	err = change_name_lost(txn, parent, name, key);
	if (!err)
		err = txn_delete(txn, DB_NAMES, name_key, name_len);
	if (!err)
		err = txn_delete(txn, DB_LINKS, link_key, link_len);
	if (!err)
		err = dirty_add(txn, key);
	return err == -ENOENT ? -EUCLEAN : err;
}

static void link_copy_name(struct link *l, struct catalog_name name)
{
	memcpy(l->bytes, name.bytes, name.len);
	l->name.bytes = l->bytes;
	l->name.len = name.len;
}

int link_first(struct catalog_txn *txn, const struct file_key *key,
	       struct link *out)
{
	uint8_t prefix[FILE_KEY_BYTES_MAX];
	struct catalog_name name;
	MDB_val k, v;
	int err;

	err = txn_first(txn, DB_LINKS, prefix, file_key_store(key, prefix), &k,
			&v);
	if (!err)
		err = link_key_decode(&k, &out->key, &out->parent, &name);
	if (!err)
		link_copy_name(out, name);
	return err;
}

int link_first_below(struct catalog_txn *txn, const struct file_key *parent,
		     struct link *out)
{
	uint8_t prefix[FILE_KEY_BYTES_MAX];
	struct catalog_name name;
	MDB_val k, v;
	int err;

	err = txn_first(txn, DB_NAMES, prefix, file_key_store(parent, prefix),
			&k, &v);
	if (!err)
		err = name_key_decode(&k, &out->parent, &name);
	if (!err)
		err = file_key_decode(&v, &out->key);
	if (!err)
		link_copy_name(out, name);
	return err;
}

static bool link_is(const struct link *l, const struct file_key *parent,
		    struct catalog_name name)
{
	return parent && file_key_equal(&l->parent, parent) &&
	       l->name.len == name.len &&
	       memcmp(l->name.bytes, name.bytes, name.len) == 0;
}

/* The first name of key that is not (parent, name). */
static int link_find_other(struct catalog_txn *txn, const struct file_key *key,
			   const struct file_key *parent,
			   struct catalog_name name, struct link *out)
{
	uint8_t prefix[FILE_KEY_BYTES_MAX];
	struct catalog_name found;
	struct record_scan s;
	int result;

	result = record_scan_open(txn, DB_LINKS, prefix,
				  file_key_store(key, prefix), &s);
	if (result)
		return result;
	do {
		result = record_scan_next(&s);
		if (result == 1)
			result = link_key_decode(&s.key, &out->key,
						 &out->parent, &found);
		else if (result == 0)
			result = -ENOENT;
		if (!result)
			link_copy_name(out, found);
	} while (!result && link_is(out, parent, name));
	record_scan_close(&s);
	return result;
}

int link_has_second(struct catalog_txn *txn, const struct file_key *key)
{
	uint8_t prefix[FILE_KEY_BYTES_MAX];
	struct record_scan s;
	int result;

	result = record_scan_open(txn, DB_LINKS, prefix,
				  file_key_store(key, prefix), &s);
	if (result)
		return result;
	result = record_scan_next(&s);
	if (result == 1)
		result = record_scan_next(&s);
	record_scan_close(&s);
	return result;
}

int link_delete_others(struct catalog_txn *txn, const struct file_key *key,
		       const struct file_key *parent, struct catalog_name name)
{
	struct link other;
	int err;

	while ((err = link_find_other(txn, key, parent, name, &other)) == 0) {
		err = link_delete(txn, &other.parent, other.name, key);
		if (err)
			return err;
	}
	return err == -ENOENT ? 0 : err;
}

int catalog_name_get(struct catalog_txn *txn, const struct file_key *parent,
		     struct catalog_name name, struct file_key *out)
{
	uint8_t key[NAME_KEY_BYTES_MAX];
	MDB_val value;
	size_t len;
	int err;

	if (!name_is_valid(name))
		return -EINVAL;
	len = name_key_store(parent, name, key);
	err = txn_get(txn, DB_NAMES, key, len, &value);
	return err ? err : file_key_decode(&value, out);
}

/* ---- changes of names ---- */

/* As catalog_name_get(), but a missing name is no error. */
static int name_find(struct catalog_txn *txn, const struct file_key *parent,
		     struct catalog_name name, struct file_key *out,
		     bool *found_out)
{
	int err = catalog_name_get(txn, parent, name, out);

	*found_out = err == 0;
	return err == -ENOENT ? 0 : err;
}

/* Adds an unused name; a directory loses its old one. */
static int name_add(struct catalog_txn *txn, const struct file_key *parent,
		    struct catalog_name name, const struct file_key *key)
{
	int directory;
	int err;

	err = link_put(txn, parent, name, key);
	if (err)
		return err;
	directory = file_is_directory(txn, key);
	if (directory != 1)
		return directory;
	return link_delete_others(txn, key, parent, name);
}

static int is_at_or_above(struct catalog_txn *txn, const struct file_key *key,
			  const struct file_key *at, int *depth)
{
	enum { DEPTH_MAX = 4096 }; /* deeper: the names form a circle */
	struct catalog_walk *walk;
	struct catalog_name name;
	struct file_key parent;
	int err;

	if (file_key_equal(at, key) || ++*depth > DEPTH_MAX)
		return 1;
	err = catalog_links_begin(txn, at, &walk);
	if (err)
		return err;
	while (!err && (err = catalog_links_next(walk, &parent, &name)) == 1)
		err = is_at_or_above(txn, key, &parent, depth);
	catalog_walk_end(walk);
	return err;
}

/* 1: key is the directory at or one above it; else 0. */
static int is_above(struct catalog_txn *txn, const struct file_key *key,
		    const struct file_key *at)
{
	int depth = 0;

	return is_at_or_above(txn, key, at, &depth);
}

int catalog_name_set(struct catalog_txn *txn, const struct file_key *parent,
		     struct catalog_name name, const struct file_key *key)
{
	struct file_key old;
	bool taken;
	int err;

	if (!name_is_valid(name))
		return -EINVAL;
	err = name_find(txn, parent, name, &old, &taken);
	if (err || (taken && file_key_equal(&old, key)))
		return err;
	err = file_is_directory(txn, key);
	if (err >= 0)
		err = err || file_key_equal(parent, key) ?
			      is_above(txn, key, parent) :
			      0;
	if (err)
		return err < 0 ? err : -EINVAL;
	err = file_make_directory(txn, parent);
	if (!err && taken)
		err = link_delete(txn, parent, name, &old);
	if (!err)
		err = name_add(txn, parent, name, key);
	if (!err && taken)
		err = remove_if_nameless(txn, &old);
	return txn_result(txn, err);
}

/* Removes the name if it exists, and its file if it has no other name. */
static int name_drop(struct catalog_txn *txn, const struct file_key *parent,
		     struct catalog_name name, bool *found_out)
{
	struct file_key key;
	int err;

	err = name_find(txn, parent, name, &key, found_out);
	if (!err && *found_out)
		err = link_delete(txn, parent, name, &key);
	if (!err && *found_out)
		err = remove_if_nameless(txn, &key);
	return err;
}

int catalog_name_remove(struct catalog_txn *txn, const struct file_key *parent,
			struct catalog_name name)
{
	bool found;
	int err;

	err = txn_result(txn, name_drop(txn, parent, name, &found));
	if (err)
		return err;
	return found ? 0 : -ENOENT;
}

/* The source or the target of a move, and the file of that name. */
struct name_end {
	const struct file_key *parent;
	struct catalog_name name;
	struct file_key key;
	bool taken;
};

static int name_end_find(struct catalog_txn *txn, struct name_end *p)
{
	return name_find(txn, p->parent, p->name, &p->key, &p->taken);
}

static int name_end_clear(struct catalog_txn *txn, const struct name_end *p)
{
	return p->taken ? link_delete(txn, p->parent, p->name, &p->key) : 0;
}

/* Gives the name p, which is unused by now, to the file of from. */
static int name_end_fill(struct catalog_txn *txn, const struct name_end *p,
			 const struct name_end *from)
{
	int err;

	if (!from->taken)
		return 0;
	err = file_make_directory(txn, p->parent);
	return err ? err : name_add(txn, p->parent, p->name, &from->key);
}

static int move_name(struct catalog_txn *txn, const struct name_end *from,
		     const struct name_end *to, bool exchange)
{
	int err;

	err = name_end_clear(txn, from);
	if (!err)
		err = name_end_clear(txn, to);
	if (!err)
		err = name_end_fill(txn, to, from);
	if (!err && exchange)
		return name_end_fill(txn, from, to);
	if (!err && to->taken)
		err = remove_if_nameless(txn, &to->key);
	return err;
}

/* 1: the directory what would be below itself; else 0. */
static int is_below_itself(struct catalog_txn *txn, const struct name_end *what,
			   const struct name_end *where)
{
	return what->taken ? is_above(txn, &what->key, where->parent) : 0;
}

int catalog_name_move(struct catalog_txn *txn, const struct file_key *parent,
		      struct catalog_name name,
		      const struct file_key *new_parent,
		      struct catalog_name new_name, bool exchange)
{
	struct name_end from = { .parent = parent, .name = name };
	struct name_end to = { .parent = new_parent, .name = new_name };
	int err;

	err = name_end_find(txn, &from);
	if (!err)
		err = name_end_find(txn, &to);
	if (err)
		return err;
	/* rename(2) does nothing with two names of one file. */
	if (from.taken && to.taken && file_key_equal(&from.key, &to.key))
		return 0;
	err = is_below_itself(txn, &from, &to);
	if (!err && exchange)
		err = is_below_itself(txn, &to, &from);
	if (err)
		return err < 0 ? err : -EINVAL;
	err = txn_result(txn, move_name(txn, &from, &to, exchange));
	if (err)
		return err;
	return from.taken && (to.taken || !exchange) ? 0 : -ENOENT;
}

int catalog_entries_begin(struct catalog_txn *txn,
			  const struct file_key *directory,
			  struct catalog_walk **out)
{
	uint8_t prefix[FILE_KEY_BYTES_MAX];

	return walk_begin(txn, DB_NAMES, prefix,
			  file_key_store(directory, prefix), out);
}

int catalog_entries_next(struct catalog_walk *w, struct catalog_name *name_out,
			 struct file_key *key_out)
{
	struct file_key parent;
	int err, found = record_scan_next(&w->scan);

	if (found != 1)
		return found;
	err = name_key_decode(&w->scan.key, &parent, name_out);
	if (!err)
		err = file_key_decode(&w->scan.value, key_out);
	return err ? err : 1;
}

int catalog_links_begin(struct catalog_txn *txn, const struct file_key *key,
			struct catalog_walk **out)
{
	uint8_t prefix[FILE_KEY_BYTES_MAX];

	return walk_begin(txn, DB_LINKS, prefix, file_key_store(key, prefix),
			  out);
}

int catalog_links_next(struct catalog_walk *w, struct file_key *parent_out,
		       struct catalog_name *name_out)
{
	struct file_key key;
	int err, found = record_scan_next(&w->scan);

	if (found != 1)
		return found;
	err = link_key_decode(&w->scan.key, &key, parent_out, name_out);
	return err ? err : 1;
}

/* ---- paths ---- */

/* Longer than any path of the kernel; the names of a damaged catalog may form a
 * circle. */
#define DEPTH_MAX 4096

static int append_reversed(struct buf *b, struct catalog_name name)
{
	size_t i;
	int err;

	err = buf_reserve(b, name.len + 1);
	for (i = name.len; !err && i > 0; i--)
		err = buf_append(b, &name.bytes[i - 1], 1);
	return err;
}

static void reverse_bytes(char *bytes, size_t len)
{
	size_t i;
	char swap;

	for (i = 0; i < len / 2; i++) {
		swap = bytes[i];
		bytes[i] = bytes[len - 1 - i];
		bytes[len - 1 - i] = swap;
	}
}

/*
 * The path of a name in parent; built in reverse, from the name to the root.
 * -ENOENT: it does not lead to root.
 */
int catalog_name_path(struct catalog_txn *txn, const struct file_key *root,
		      const struct file_key *parent, struct catalog_name name,
		      struct buf *out)
{
	struct file_key at = *parent;
	struct link up;
	int depth;
	int err;

	buf_clear(out);
	err = append_reversed(out, name);
	for (depth = 0; !err && !file_key_equal(&at, root); depth++) {
		if (depth == DEPTH_MAX)
			return -ENOENT;
		err = link_first(txn, &at, &up);
		if (!err)
			err = buf_append(out, "/", 1);
		if (!err)
			err = append_reversed(out, up.name);
		if (!err)
			at = up.parent;
	}
	if (!err)
		reverse_bytes(out->data, out->len);
	return err;
}

int catalog_paths_begin(struct catalog_txn *txn, const struct file_key *root,
			const struct file_key *key, struct catalog_walk **out)
{
	int err = catalog_links_begin(txn, key, out);

	if (err)
		return err;
	(*out)->root = *root;
	(*out)->is_root = file_key_equal(root, key);
	return 0;
}

int catalog_paths_next(struct catalog_walk *w, const char **path_out)
{
	struct file_key parent;
	struct catalog_name name;
	int found, err = -ENOENT;

	if (w->is_root) {
		w->is_root = false;
		*path_out = "";
		return 1;
	}
	while (err == -ENOENT) {
		found = catalog_links_next(w, &parent, &name);
		if (found != 1)
			return found;
		err = catalog_name_path(w->scan.txn, &w->root, &parent, name,
					&w->built);
	}
	*path_out = w->built.data;
	return err ? err : 1;
}

int catalog_has_path(struct catalog_txn *txn, const struct file_key *root,
		     const struct file_key *key)
{
	struct catalog_walk *walk;
	const char *path;
	int found = catalog_paths_begin(txn, root, key, &walk);

	if (found)
		return found;
	found = catalog_paths_next(walk, &path);
	catalog_walk_end(walk);
	return found;
}

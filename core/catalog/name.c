/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <string.h>

/* ---- a name in the tables names and links ---- */

/* That of a directory's former one in it; see catalog_take_place(). */
#define FORMER ((struct catalog_name){ "/", 1 })

static int link_put(struct catalog_txn *txn, const struct file_key *parent,
		    struct catalog_name name, const struct file_key *key)
{
	struct record_key target = key_of_file(key);
	const struct name_taken taken = { parent, name };
	int inherits, err = txn_put(txn, DB_NAMES, key_of_name(parent, name),
				    target.bytes, target.len);

	if (!err)
		err = txn_put(txn, DB_LINKS, key_of_link(key, parent, name), "",
			      0);
	if (err)
		return err;
	inherits = change_name_taken(txn, key, &taken);
	err = inherits < 0 ?
		      inherits :
		      event_name(txn, TREE_NAMED, parent, name, key, inherits);
	if (!err)
		err = unread_drop(txn, parent, name);
	return err ? err : dirty_add(txn, key);
}

int link_delete(struct catalog_txn *txn, const struct file_key *parent,
		struct catalog_name name, const struct file_key *key)
{
	int err = event_name(txn, TREE_UNNAMED, parent, name, key, false);

	if (!err)
		err = change_name_lost(txn, parent, name, key);
	if (!err)
		err = unread_drop(txn, parent, name);
	if (!err)
		err = txn_delete(txn, DB_NAMES, key_of_name(parent, name));
	if (!err)
		err = txn_delete(txn, DB_LINKS, key_of_link(key, parent, name));
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

static bool link_is(const struct link *l, const struct file_key *parent,
		    struct catalog_name name)
{
	return parent && file_key_equal(&l->parent, parent) &&
	       l->name.len == name.len &&
	       memcmp(l->name.bytes, name.bytes, name.len) == 0;
}

/* The first name of key that is not (parent, name).  parent NULL: of all. */
static int link_find(struct catalog_txn *txn, const struct file_key *key,
		     const struct file_key *parent, struct catalog_name name,
		     struct link *out)
{
	struct catalog_walk *walk;
	struct catalog_name found;
	int result = catalog_links_begin(txn, key, &walk);

	if (result)
		return result;
	out->key = *key;
	do {
		result = catalog_links_next(walk, &out->parent, &found);
		if (result == 1)
			link_copy_name(out, found);
	} while (result == 1 && link_is(out, parent, name));
	catalog_walk_end(walk);
	return result == 1 ? 0 : result ? result : -ENOENT;
}

int link_first(struct catalog_txn *txn, const struct file_key *key,
	       struct link *out)
{
	return link_find(txn, key, NULL, (struct catalog_name){ 0 }, out);
}

int link_first_below(struct catalog_txn *txn, const struct file_key *parent,
		     struct link *out)
{
	struct catalog_name name;
	MDB_val k, v;
	int err = txn_first(txn, DB_NAMES, key_of_file(parent), &k, &v);

	if (!err)
		err = name_key_decode(&k, &out->parent, &name) ?:
			      file_key_decode(&v, &out->key);
	if (!err)
		link_copy_name(out, name);
	return err;
}

int link_has_second(struct catalog_txn *txn, const struct file_key *key)
{
	struct link first, second;
	int err = link_first(txn, key, &first);

	if (!err)
		err = link_find(txn, key, &first.parent, first.name, &second);
	return err == -ENOENT ? 0 : err ? err : 1;
}

int link_delete_others(struct catalog_txn *txn, const struct file_key *key,
		       const struct file_key *parent, struct catalog_name name)
{
	struct link other;
	int err;

	while ((err = link_find(txn, key, parent, name, &other)) == 0) {
		err = link_delete(txn, &other.parent, other.name, key);
		if (err)
			return err;
	}
	return err == -ENOENT ? 0 : err;
}

int catalog_name_get(struct catalog_txn *txn, const struct file_key *parent,
		     struct catalog_name name, struct file_key *out)
{
	MDB_val value;
	int err;

	if (!name_is_valid(name))
		return -EINVAL;
	err = txn_get(txn, DB_NAMES, key_of_name(parent, name), &value);
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

/* Gives an unused name in a directory to a file or directory; a directory loses
 * its old one. */
static int name_give(struct catalog_txn *txn, const struct file_key *parent,
		     struct catalog_name name, const struct file_key *key)
{
	int err = link_put(txn, parent, name, key);

	if (!err)
		err = file_is_directory(txn, key);
	return err == 1 ? link_delete_others(txn, key, parent, name) : err;
}

/* More than any path of the kernel has; the names of a damaged catalog may form
 * a circle. */
#define DEPTH_MAX 4096

/* 1: key is the directory at or one above it; else 0.  steps: 0 at first. */
static int is_above(struct catalog_txn *txn, const struct file_key *key,
		    const struct file_key *at, int *steps)
{
	struct catalog_walk *walk;
	struct catalog_name name;
	struct file_key parent;
	int err;

	if (file_key_equal(at, key) || ++*steps > DEPTH_MAX)
		return 1;
	err = catalog_links_begin(txn, at, &walk);
	if (err)
		return err;
	while (!err && (err = catalog_links_next(walk, &parent, &name)) == 1)
		err = is_above(txn, key, &parent, steps);
	catalog_walk_end(walk);
	return err;
}

int catalog_name_set(struct catalog_txn *txn, const struct file_key *parent,
		     struct catalog_name name, const struct file_key *key)
{
	struct file_key old;
	int err, steps = 0;
	bool taken;

	if (!name_is_valid(name))
		return -EINVAL;
	err = name_find(txn, parent, name, &old, &taken);
	if (err || (taken && file_key_equal(&old, key)))
		return err;
	err = file_is_directory(txn, key);
	if (err >= 0)
		err = err || file_key_equal(parent, key) ?
			      is_above(txn, key, parent, &steps) :
			      0;
	if (err)
		return err < 0 ? err : -EINVAL;
	err = file_make_directory(txn, parent);
	if (!err && taken)
		err = link_delete(txn, parent, name, &old);
	if (!err)
		err = file_is_directory(txn, key);
	if (err == 1)
		err = event_directory_moves(txn, key, parent, name);
	txn->told = err == 1;
	if (err >= 0)
		err = name_give(txn, parent, name, key);
	txn->told = false;
	if (!err && taken)
		err = remove_if_nameless(txn, &old);
	return txn_result(txn, err);
}

int catalog_name_remove(struct catalog_txn *txn, const struct file_key *parent,
			struct catalog_name name)
{
	struct file_key key;
	int err = catalog_name_get(txn, parent, name, &key);

	if (err == -ENOENT)
		err = unread_drop(txn, parent, name) ?: -ENOENT;
	else if (!err)
		err = link_delete(txn, parent, name, &key) ?:
			      remove_if_nameless(txn, &key);
	return txn_result(txn, err);
}

/* A rename: from gets the name of to, and with exchange the other way round,
 * too.  The keys are those of the files, where there are any. */
struct name_move {
	struct link from, to;
	bool moves, taken, exchange;
};

/* 1: the events of the move were added, because it is one of a directory. */
static int event_move(struct catalog_txn *txn, const struct name_move *m)
{
	const struct link *from = m->moves ? &m->from : &m->to;
	const struct link *to = m->moves ? &m->to : &m->from;
	int is_directory = file_is_directory(txn, &from->key);

	if (m->moves && m->taken && m->exchange) {
		if (!is_directory)
			is_directory = file_is_directory(txn, &to->key);
		return is_directory == 1 ? event_exchange(txn, from, to) :
					   is_directory;
	}
	if (is_directory != 1 || !(m->moves || m->exchange))
		return is_directory < 0 ? is_directory : 0;
	return event_directory_moves(txn, &from->key, &to->parent, to->name);
}

static int name_move(struct catalog_txn *txn, const struct name_move *m)
{
	const struct link *from = &m->from, *to = &m->to;
	int err = 0;

	if (m->moves)
		err = file_make_directory(txn, &to->parent);
	if (!err && m->taken && m->exchange)
		err = file_make_directory(txn, &from->parent);
	if (!err && m->taken && !m->exchange)
		err = link_delete(txn, &to->parent, to->name, &to->key);
	if (!err)
		err = event_move(txn, m);
	if (err < 0)
		return err;
	txn->told = err == 1;
	err = 0;
	if (m->moves)
		err = link_delete(txn, &from->parent, from->name, &from->key);
	if (!err && m->taken && m->exchange)
		err = link_delete(txn, &to->parent, to->name, &to->key);
	if (!err && m->moves)
		err = name_give(txn, &to->parent, to->name, &from->key);
	if (!err && m->taken && m->exchange)
		err = name_give(txn, &from->parent, from->name, &to->key);
	txn->told = false;
	if (!err && m->taken && !m->exchange)
		err = remove_if_nameless(txn, &to->key);
	return err;
}

int catalog_name_move(struct catalog_txn *txn, const struct file_key *parent,
		      struct catalog_name name,
		      const struct file_key *new_parent,
		      struct catalog_name new_name, bool exchange)
{
	struct name_move m = { .exchange = exchange };
	int err, steps = 0;

	m.from.parent = *parent;
	m.from.name = name;
	m.to.parent = *new_parent;
	m.to.name = new_name;
	err = name_find(txn, parent, name, &m.from.key, &m.moves);
	if (!err)
		err = name_find(txn, new_parent, new_name, &m.to.key, &m.taken);
	if (err)
		return err;
	/* rename(2) does nothing with two names of one file. */
	if (m.moves && m.taken && file_key_equal(&m.from.key, &m.to.key))
		return 0;
	if (m.moves)
		err = is_above(txn, &m.from.key, new_parent, &steps);
	steps = 0;
	if (!err && exchange && m.taken)
		err = is_above(txn, &m.to.key, parent, &steps);
	if (err)
		return err < 0 ? err : -EINVAL;
	err = txn_result(txn, name_move(txn, &m));
	if (err)
		return err;
	return m.moves && (m.taken || !exchange) ? 0 : -ENOENT;
}

/* ---- a directory in the place of another one ---- */

/* As catalog_name_get(), for the name FORMER. */
static int former_get(struct catalog_txn *txn, const struct file_key *directory,
		      struct file_key *out)
{
	MDB_val value;
	int err =
		txn_get(txn, DB_NAMES, key_of_name(directory, FORMER), &value);

	return err ? err : file_key_decode(&value, out);
}

static int former_drop(struct catalog_txn *txn,
		       const struct file_key *directory)
{
	struct file_key former;
	int err = former_get(txn, directory, &former);

	if (!err)
		err = link_delete(txn, directory, FORMER, &former) ?:
			      remove_if_nameless(txn, &former);
	return err == -ENOENT ? 0 : err;
}

int catalog_take_place(struct catalog_txn *txn, const struct file_key *key,
		       const struct file_key *former)
{
	const struct catalog_name none = { 0 };
	int err, steps = 0;

	err = is_above(txn, former, key, &steps);
	if (err == 1)
		return -EINVAL;
	if (!err)
		err = former_drop(txn, key);
	if (!err)
		err = link_delete_others(txn, former, NULL, none);
	if (!err)
		err = name_give(txn, key, FORMER, former);
	return txn_result(txn, err);
}

int catalog_former_drop(struct catalog_txn *txn,
			const struct file_key *directory)
{
	return txn_result(txn, former_drop(txn, directory));
}

int catalog_former_find(struct catalog_txn *txn,
			const struct file_key *directory,
			struct catalog_name name, const struct file_key *key,
			struct file_key *out)
{
	struct file_key at = *directory;
	int err = 0, depth;

	for (depth = 0; !err && depth < DEPTH_MAX; depth++) {
		err = catalog_name_get(txn, &at, name, out);
		if (err ? err != -ENOENT : !file_key_equal(out, key))
			return err;
		err = former_get(txn, &at, &at);
	}
	return err ? err : -EUCLEAN;
}

int catalog_entries_begin(struct catalog_txn *txn,
			  const struct file_key *directory,
			  struct catalog_walk **out)
{
	return walk_begin(txn, DB_NAMES, key_of_file(directory), out);
}

int catalog_entries_next(struct catalog_walk *w, struct catalog_name *name_out,
			 struct file_key *key_out)
{
	struct file_key parent;
	int err, found;

	do {
		found = walk_next(w);
		if (found != 1)
			return found;
		err = name_key_decode(&w->key, &parent, name_out) ?:
			      file_key_decode(&w->value, key_out);
	} while (!err && name_is_former(*name_out));
	return err ? err : 1;
}

int catalog_links_begin(struct catalog_txn *txn, const struct file_key *key,
			struct catalog_walk **out)
{
	return walk_begin(txn, DB_LINKS, key_of_file(key), out);
}

int catalog_links_next(struct catalog_walk *w, struct file_key *parent_out,
		       struct catalog_name *name_out)
{
	struct file_key key;
	int found = walk_next(w);

	return found != 1                                           ? found :
	       link_key_decode(&w->key, &key, parent_out, name_out) ?:
								      1;
}

/* ---- names that could not be looked at ---- */

int unread_drop(struct catalog_txn *txn, const struct file_key *parent,
		struct catalog_name name)
{
	return txn_drop(txn, DB_UNREAD, key_of_name(parent, name));
}

int catalog_unread_set(struct catalog_txn *txn,
		       const struct file_key *directory,
		       struct catalog_name name, int error)
{
	if (name.len > NAME_BYTES_MAX)
		name.len = NAME_BYTES_MAX;
	return txn_result(txn,
			  txn_put(txn, DB_UNREAD, key_of_name(directory, name),
				  &error, sizeof(error)));
}

int catalog_unread_get(struct catalog_txn *txn,
		       const struct file_key *directory,
		       struct catalog_name name, int *error_out)
{
	return txn_get_value(txn, DB_UNREAD, key_of_name(directory, name),
			     error_out, sizeof(*error_out));
}

int catalog_unread_begin(struct catalog_txn *txn, struct catalog_walk **out)
{
	return walk_begin(txn, DB_UNREAD, ANY_KEY, out);
}

int catalog_unread_next(struct catalog_walk *w, struct file_key *directory_out,
			int *error_out)
{
	struct catalog_name name;
	int err, found = walk_next(w);

	if (found != 1)
		return found;
	err = file_key_decode(&w->key, directory_out);
	if (err) /* there is a name */
		err = name_key_decode(&w->key, directory_out, &name);
	if (!err && !value_copy(&w->value, error_out, sizeof(*error_out)))
		err = -EUCLEAN;
	return err ? err : 1;
}

int catalog_unread_clear(struct catalog_txn *txn,
			 const struct file_key *directory)
{
	MDB_val key, value;
	int err;

	while (!(err = txn_first(txn, DB_UNREAD, key_of_file(directory), &key,
				 &value)) &&
	       !(err = txn_delete(txn, DB_UNREAD,
				  key_of_bytes(key.mv_data, key.mv_size))))
		;
	return txn_result(txn, err == -ENOENT ? 0 : err);
}

/* ---- paths ---- */

static int prepend(struct buf *b, const char *bytes, size_t len)
{
	int err = buf_append(b, bytes, len);

	if (err)
		return err;
	memmove(b->data + len, b->data, b->len - len);
	memcpy(b->data, bytes, len);
	return 0;
}

int catalog_name_path(struct catalog_txn *txn, const struct file_key *root,
		      const struct file_key *parent, struct catalog_name name,
		      struct buf *out)
{
	struct file_key at = *parent;
	struct link up;
	int depth, err;

	if (name_is_former(name))
		return -ENOENT;
	buf_clear(out);
	err = buf_append(out, name.bytes, name.len);
	for (depth = 0; !err && !file_key_equal(&at, root); depth++) {
		if (depth == DEPTH_MAX)
			return -ENOENT;
		err = link_first(txn, &at, &up);
		if (!err && name_is_former(up.name))
			return -ENOENT;
		if (!err)
			err = prepend(out, "/", 1);
		if (!err)
			err = prepend(out, up.name.bytes, up.name.len);
		at = up.parent;
	}
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
		err = catalog_name_path(w->txn, &w->root, &parent, name,
					&w->built);
	}
	*path_out = w->built.data;
	return err ? err : 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/check/check_impl.h"
#include "core/source/file.h"
#include "core/source/source.h"

/* What the directory is read into, and what of it goes into the walk. */
struct check_entry {
	char *path;
	size_t name; /* where in path it begins */
	struct stat st;
	struct file_key key;
	struct file_record record;
	bool to_walk; /* a directory of this tree */
	bool to_read; /* its record holds */
};

struct check_entries {
	struct check *a;
	const char *dir;
	struct check_entry *list;
	size_t count;
};

struct check_walk {
	struct check *a;
	char **paths; /* directories still to be walked, deepest last */
	size_t count;
	uint64_t names; /* that are on disk and in the catalog */
};

static void entries_release(struct check_entries *e)
{
	while (e->count)
		free(e->list[--e->count].path);
	free(e->list);
}

/* Takes path on success. */
static int push(struct check_walk *t, char *path)
{
	char **paths = array_with_room(t->paths, t->count, sizeof(*paths));

	if (!paths)
		return -ENOMEM;
	t->paths = paths;
	paths[t->count++] = path;
	return 0;
}

/* ---- one directory on disk ---- */

static int entries_add(void *arg, int dir_fd, const char *name)
{
	struct check_entries *e = arg;
	struct check_entry entry = { 0 };
	struct buf path = { 0 };
	struct check_entry *list;
	int err;

	if (fstatat(dir_fd, name, &entry.st, AT_SYMLINK_NOFOLLOW))
		return 0; /* gone meanwhile */
	if (!S_ISREG(entry.st.st_mode) && !S_ISDIR(entry.st.st_mode))
		return 0;
	list = array_with_room(e->list, e->count, sizeof(*list));
	if (!list)
		return -ENOMEM;
	e->list = list;
	err = buf_append_format(&path, "%s%s%s", e->dir, *e->dir ? "/" : "",
				name);
	if (err) {
		buf_release(&path);
		return err;
	}
	entry.name = path.len - strlen(name);
	entry.path = buf_take(&path);
	source_make_key(e->a->source_dev, dir_fd, name, &entry.st, &entry.key);
	list[e->count++] = entry;
	return 0;
}

/* ---- against the catalog ---- */

static int match_name(struct check_walk *t, struct catalog_txn *txn,
		      const struct file_key *parent,
		      const struct check_entry *entry)
{
	struct catalog_name name = { .bytes = entry->path + entry->name };
	struct file_key key;
	int err;

	name.len = strlen(name.bytes);
	err = catalog_name_get(txn, parent, name, &key);
	if (!err && file_key_equal(&key, &entry->key))
		t->names++;
	return err == -ENOENT || err == -EUCLEAN ? 0 : err;
}

static bool is_in_use(struct check *a, const struct stat *st)
{
	const struct check_options *o = a->options;

	return o->in_use && o->in_use(o->arg, st);
}

static void count_file(struct check *a, struct check_entry *entry, bool known)
{
	struct check_counts *n = a->counts;
	struct file_identity identity;

	n->files++;
	source_get_identity(&entry->st, &identity);
	if (!known)
		n->unknown++;
	else if (!file_identity_equal(&entry->record.identity, &identity) ||
		 is_in_use(a, &entry->st))
		n->stale++;
	else if (entry->record.state == FILE_PENDING)
		n->pending++;
	else if (entry->record.state == FILE_FAILED)
		n->failed++;
	else
		n->fresh++;
	entry->to_read =
		known && entry->record.state == FILE_FRESH &&
		file_identity_equal(&entry->record.identity, &identity) &&
		!is_in_use(a, &entry->st);
}

/* Other filesystems are part of the tree when the catalog has them. */
static int match_entry(struct check_walk *t, struct catalog_txn *txn,
		       const struct file_key *parent, struct check_entry *entry)
{
	int err = catalog_file_get(txn, &entry->key, &entry->record);
	bool directory = entry->record.state == FILE_DIRECTORY;
	bool known = !err && directory == S_ISDIR(entry->st.st_mode);

	if (err && err != -ENOENT && err != -EUCLEAN)
		return err;
	if (!known && entry->st.st_dev != t->a->source_dev)
		return 0;
	entry->to_walk = S_ISDIR(entry->st.st_mode);
	if (!entry->to_walk)
		count_file(t->a, entry, known);
	return match_name(t, txn, parent, entry);
}

static int match_entries(struct check_walk *t, const struct file_key *parent,
			 struct check_entries *e)
{
	struct catalog_txn *txn;
	size_t i;
	int err = catalog_read(t->a->options->catalog, &txn);

	if (err)
		return err;
	for (i = 0; !err && i < e->count; i++)
		err = match_entry(t, txn, parent, &e->list[i]);
	catalog_abort(txn);
	return err;
}

/* ---- and what follows from that ---- */

static int read_entry(struct check *a, int dir_fd,
		      const struct check_entry *entry)
{
	struct check_subject s = { .key = entry->key,
				   .record = entry->record,
				   .path = entry->path };
	int fd = file_open_beneath(dir_fd, entry->path + entry->name, O_PATH);
	int err;

	if (fd < 0)
		return 0; /* gone meanwhile */
	err = check_file(a, fd, &s);
	close(fd);
	return err;
}

static int follow_entries(struct check_walk *t, int dir_fd,
			  struct check_entries *e)
{
	struct check_entry *entry;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < e->count; i++) {
		entry = &e->list[i];
		if (entry->to_walk) {
			err = push(t, entry->path);
			if (!err)
				entry->path = NULL;
		} else if (entry->to_read && t->a->fp) {
			err = read_entry(t->a, dir_fd, entry);
		}
	}
	return err;
}

static int check_entries(struct check_walk *t, int dir_fd, const char *path)
{
	struct check_entries e = { .a = t->a, .dir = path };
	struct file_key key;
	struct stat st;
	int err = fstat(dir_fd, &st) ? -errno : 0;

	if (!err)
		err = file_each_in(dir_fd, entries_add, &e);
	if (!err) {
		source_make_key(t->a->source_dev, dir_fd, "", &st, &key);
		err = match_entries(t, &key, &e);
	}
	if (!err)
		err = follow_entries(t, dir_fd, &e);
	entries_release(&e);
	return err;
}

/* One that cannot be read is passed over, as the scan does. */
static int check_directory(struct check_walk *t, const char *path)
{
	int fd = file_open_beneath(t->a->options->source_fd, path,
				   O_RDONLY | O_DIRECTORY);
	int err;

	if (fd < 0) {
		t->a->counts->unread += fd != -ENOENT && fd != -ENOTDIR;
		return 0;
	}
	t->a->counts->directories++;
	err = check_entries(t, fd, path);
	close(fd);
	return err;
}

/* The tree changes meanwhile, so this is no more than about right then. */
static int count_gone(struct check_walk *t)
{
	struct catalog_txn *txn;
	uint64_t names = 0;
	int err = catalog_read(t->a->options->catalog, &txn);

	if (err)
		return err;
	err = catalog_names_count(txn, &names);
	catalog_abort(txn);
	if (!err && names > t->names)
		t->a->counts->gone = names - t->names;
	return err;
}

int check_tree(struct check *a)
{
	struct check_walk t = { .a = a };
	char *root = strdup("");
	int err = root ? push(&t, root) : -ENOMEM;

	if (err)
		free(root);
	while (!err && t.count) {
		char *path = t.paths[--t.count];

		err = check_is_stopping(a) ? -ECANCELED :
					     check_directory(&t, path);
		free(path);
	}
	while (t.count)
		free(t.paths[--t.count]);
	free(t.paths);
	return err ? err : count_gone(&t);
}

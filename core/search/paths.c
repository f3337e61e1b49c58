/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search_impl.h"

#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "core/base/array.h"
#include "core/source/file.h"

/* Which paths are visible.  The kernel checks that, as the thread has the
 * caller's credentials. */

bool caller_can_read(const struct search_caller *caller, int fd)
{
	if (caller->trusted)
		return true;
	return faccessat(fd, "", R_OK, AT_EMPTY_PATH | AT_EACCESS) == 0;
}

bool file_identify(const struct source *source, int fd,
		   const struct file_key *key, struct stat *out)
{
	struct file_key found;

	if (fstat(fd, out) || !S_ISREG(out->st_mode))
		return false;
	source_get_key(source, fd, out, &found);
	return file_key_equal(&found, key);
}

/* ---- the calling thread ---- */

/* Whether the path is that of a directory, and with mode the calling thread has
 * these rights on it. */
static bool directory_at(const struct source *source, const char *path,
			 int mode, struct file_key *key_out)
{
	int fd = file_open_beneath(source->fd, path, O_PATH | O_DIRECTORY);
	struct stat st;
	bool opens;

	if (fd < 0)
		return false;
	opens = !fstat(fd, &st) &&
		(!mode || !faccessat(fd, "", mode, AT_EMPTY_PATH | AT_EACCESS));
	if (opens && key_out)
		source_get_key(source, fd, &st, key_out);
	close(fd);
	return opens;
}

bool directory_is_open(const struct source *source, const char *path,
		       struct file_key *key_out)
{
	return directory_at(source, path, R_OK | X_OK, key_out);
}

/* Ends path at its last '/'; false when it has none. */
static bool cut_last(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = '\0';
	return slash;
}

/* ---- what a query has found out ---- */

/* A directory, and whether the caller can list it. */
struct seen_directory {
	bool open;
	char path[];
};

static int by_path(const void *a, const void *b)
{
	const struct seen_directory *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/* directory_is_open(), once in a query for each directory. */
static bool may_list(struct search_query *q, const char *path)
{
	size_t size = strlen(path) + 1;
	struct seen_directory *new = malloc(sizeof(*new) + size), **known;

	if (!new) {
		q->err = -ENOMEM;
		return false;
	}
	memcpy(new->path, path, size);
	known = tsearch(new, &q->directories, by_path);
	if (!known)
		q->err = -ENOMEM;
	if (!known || *known != new) {
		free(new);
		return known && (*known)->open;
	}
	new->open = directory_is_open(q->context->source, path, NULL);
	return new->open;
}

/* Whether the caller of the query (NULL: the calling thread) may list all
 * directories above a path, and with itself the one there, SOURCE excepted. */
static bool directories_are_open(const struct source *source,
				 struct search_query *q, const char *path,
				 bool itself)
{
	char *above = strdup(path);
	bool open = above;

	if (!above && q)
		q->err = -ENOMEM;
	while (open && ((itself && *above) || cut_last(above))) {
		open = q ? may_list(q, above) :
			   directory_is_open(source, above, NULL);
		itself = false;
	}
	free(above);
	return open;
}

bool path_is_visible(struct search_query *q, const char *path)
{
	return q->caller->trusted ||
	       directories_are_open(q->context->source, q, path, false);
}

/* Whether the caller may list the directory and every one above it. */
static bool directory_is_visible(struct search_query *q,
				 const struct file_key *key)
{
	struct catalog_walk *walk;
	bool visible = false;
	const char *path;
	int err;

	if (q->caller->trusted)
		return true;
	err = catalog_paths_begin(q->txn, &q->context->source->root, key,
				  &walk);
	if (err) {
		q->err = err;
		return false;
	}
	while (!visible && (err = catalog_paths_next(walk, &path)) == 1)
		visible =
			directories_are_open(q->context->source, q, path, true);
	catalog_walk_end(walk);
	if (err < 0)
		q->err = err;
	return visible;
}

/* ---- checking earlier hits ---- */

bool search_hit_holds(const struct source *source, const char *path,
		      const struct file_key *key,
		      const struct file_identity *identity)
{
	int fd = file_open_beneath(source->fd, path, O_PATH);
	struct file_identity now;
	struct file_key found;
	struct stat st;
	bool holds;

	if (fd < 0)
		return false;
	holds = !fstat(fd, &st) && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
	if (holds) {
		source_get_key(source, fd, &st, &found);
		source_get_identity(&st, &now);
	}
	holds = holds && file_key_equal(&found, key) &&
		(!identity || file_identity_equal(&now, identity)) &&
		!faccessat(fd, "", S_ISDIR(st.st_mode) ? R_OK | X_OK : R_OK,
			   AT_EMPTY_PATH | AT_EACCESS);
	close(fd);
	return holds && directories_are_open(source, NULL, path, false);
}

/* ---- directories of trusted callers ---- */

void known_directories_release(struct search_slot *slot)
{
	size_t i;

	for (i = 0; i < KNOWN_DIRECTORIES; i++)
		free(slot->known[i].path);
}

int directory_path(struct search_query *q, const struct file_key *key,
		   char **out)
{
	struct catalog_walk *walk;
	const char *path;
	int err = catalog_paths_begin(q->txn, &q->context->source->root, key,
				      &walk);

	if (err)
		return err;
	err = catalog_paths_next(walk, &path);
	*out = err == 1 ? strdup(path) : NULL;
	catalog_walk_end(walk);
	return err < 0 ? err : !err ? -ENOENT : *out ? 0 : -ENOMEM;
}

int directory_find(struct search_query *q, const struct file_key *key,
		   bool verify, const char **path_out)
{
	/* Inode numbers of directories often have large steps. */
	struct file_key found;
	struct known_directory *d =
		&q->job->slot
			 ->known[XXH3_64bits(&key->inode, sizeof(key->inode)) %
				 KNOWN_DIRECTORIES];
	uint64_t snapshot = catalog_snapshot(q->txn);
	char *path;
	int err;

	if (!d->path || d->snapshot != snapshot ||
	    !file_key_equal(&d->key, key)) {
		err = directory_path(q, key, &path);
		if (err)
			return err;
		free(d->path);
		*d = (struct known_directory){ .key = *key,
					       .path = path,
					       .snapshot = snapshot };
	}
	*path_out = d->path;
	if (!verify)
		return 0;
	if (!d->verified_ns ||
	    q->turn_ns - d->verified_ns > q->searcher->trust_ms * 1000000) {
		d->there =
			directory_at(q->context->source, d->path, 0, &found) &&
			file_key_equal(&found, key);
		d->verified_ns = q->turn_ns;
	}
	return d->there ? 0 : -ENOENT;
}

/* ---- keys ---- */

int key_list_add(struct key_list *list, const struct file_key *key)
{
	struct file_key *keys =
		array_with_room(list->keys, list->count, sizeof(*keys));

	if (!keys)
		return -ENOMEM;
	list->keys = keys;
	list->keys[list->count++] = *key;
	return 0;
}

static int add_entries(struct key_list *list, struct catalog_txn *txn,
		       const struct file_key *directory)
{
	struct catalog_walk *walk;
	struct catalog_name name;
	struct file_key key;
	int err = catalog_entries_begin(txn, directory, &walk);

	if (err)
		return err;
	while (!err && (err = catalog_entries_next(walk, &name, &key)) == 1)
		err = key_list_add(list, &key);
	catalog_walk_end(walk);
	return err;
}

int key_list_next_file(struct search_query *q, struct key_list *list,
		       struct file_key *key_out, struct file_record *out)
{
	int err = 0;

	while (!err && list->count) {
		*key_out = list->keys[--list->count];
		err = query_yield(q);
		query_count_work(q, 1);
		if (err || catalog_file_get(q->txn, key_out, out))
			continue;
		if (out->state != FILE_DIRECTORY)
			return 1;
		if (directory_is_visible(q, key_out))
			err = add_entries(list, q->txn, key_out);
	}
	return err;
}

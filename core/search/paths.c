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

/* A directory, and whether the caller can list it and all above it. */
struct seen_directory {
	bool open;
	char path[];
};

static int by_path(const void *a, const void *b)
{
	const struct seen_directory *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/* To look at a path takes as long as its length says. */
static void count_path(struct search_query *q, size_t len)
{
	query_count_work(q, len / PATH_BYTES_PER_WORK);
}

/* What the query knows of the directory; NULL: nothing, or no memory.  sample is
 * a copy of its path. */
static struct seen_directory *find_seen(struct search_query *q,
					struct seen_directory *sample,
					size_t len)
{
	struct seen_directory *const *known;

	count_path(q, len);
	known = tfind(sample, &q->directories, by_path);
	return known ? *known : NULL;
}

static struct seen_directory *copy_seen(struct search_query *q,
					const char *path, size_t len)
{
	struct seen_directory *d = malloc(sizeof(*d) + len + 1);

	if (!d) {
		q->err = -ENOMEM;
		return NULL;
	}
	memcpy(d->path, path, len);
	d->path[len] = '\0';
	return d;
}

/* Whether the caller may list the directory, of which what is above may be
 * listed; remembers that. */
static bool look_at(struct search_query *q, const char *path, size_t len)
{
	struct seen_directory *d = copy_seen(q, path, len);

	if (!d)
		return false;
	count_path(q, len);
	query_count_work(q, 1);
	d->open = directory_is_open(q->context->source, d->path, NULL);
	if (tsearch(d, &q->directories, by_path))
		return d->open;
	q->err = -ENOMEM;
	free(d);
	return false;
}

/* Whether the caller may list the directory of the first len bytes of the path,
 * SOURCE excepted, and all above it: looked up from the nearest one that the
 * query knows. */
static bool is_open_to(struct search_query *q, const char *path, size_t len)
{
	struct seen_directory *at = copy_seen(q, path, len), *known = NULL;
	size_t done = len;
	const char *slash;
	bool open = at;

	while (open && done && !(known = find_seen(q, at, done))) {
		slash = memrchr(path, '/', done);
		done = slash ? (size_t)(slash - path) : 0;
		at->path[done] = '\0';
	}
	free(at);
	if (known)
		open = known->open;
	while (open && done < len) {
		slash = memchr(path + done + 1, '/', len - done - 1);
		done = slash ? (size_t)(slash - path) : len;
		open = look_at(q, path, done);
	}
	return open;
}

/* Whether the calling thread may list all directories above a path. */
static bool directories_are_open(const struct source *source, const char *path)
{
	char *above = strdup(path);
	bool open = above;

	while (open && cut_last(above))
		open = directory_is_open(source, above, NULL);
	free(above);
	return open;
}

bool path_is_visible(struct search_query *q, const char *path)
{
	const char *slash = strrchr(path, '/');

	return q->caller->trusted || !slash ||
	       is_open_to(q, path, (size_t)(slash - path));
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
		visible = is_open_to(q, path, strlen(path));
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
	return holds && directories_are_open(source, path);
}

/* ---- directories of trusted callers ---- */

void known_directories_release(struct search_slot *slot)
{
	size_t i;

	for (i = 0; i < KNOWN_DIRECTORIES; i++)
		free(slot->known[i].path);
	memset(slot->known, 0, sizeof(slot->known));
	slot->known_bytes = 0;
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
		if (d->path)
			q->job->slot->known_bytes -= strlen(d->path);
		free(d->path);
		d->path = NULL;
		if (q->job->slot->known_bytes > KNOWN_BYTES)
			known_directories_release(q->job->slot);
		q->job->slot->known_bytes += strlen(path);
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

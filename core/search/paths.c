/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search_impl.h"

#include <fcntl.h>
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

bool directory_is_open(const struct source *source, const char *path,
		       struct file_key *key_out)
{
	int fd = file_open_beneath(source->fd, path, O_PATH | O_DIRECTORY);
	struct stat st;
	bool opens;

	if (fd < 0)
		return false;
	opens = !fstat(fd, &st) &&
		!faccessat(fd, "", R_OK | X_OK, AT_EMPTY_PATH | AT_EACCESS);
	if (opens && key_out)
		source_get_key(source, fd, &st, key_out);
	close(fd);
	return opens;
}

/* Ends path at its last '/'; false when it has none. */
static bool cut_last(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = '\0';
	return slash;
}

/* Whether the thread may list all directories above a path, SOURCE excepted. */
static bool directories_are_open(const struct source *source, const char *path)
{
	char *above = strdup(path);
	bool open = above;

	while (open && cut_last(above))
		open = directory_is_open(source, above, NULL);
	free(above);
	return open;
}

bool search_hit_holds(const struct source *source, const char *path,
		      const struct file_key *key,
		      const struct file_identity *identity)
{
	int fd = file_open_beneath(source->fd, path, O_PATH);
	struct file_identity now;
	struct stat st;
	bool holds;

	if (fd < 0)
		return false;
	holds = file_identify(source, fd, key, &st);
	if (holds)
		source_get_identity(&st, &now);
	holds = holds && (!identity || file_identity_equal(&now, identity)) &&
		!faccessat(fd, "", R_OK, AT_EMPTY_PATH | AT_EACCESS);
	close(fd);
	return holds && directories_are_open(source, path);
}

bool search_directory_holds(const struct source *source, const char *path,
			    const struct file_key *key)
{
	struct file_key found;

	return directory_is_open(source, path, &found) &&
	       file_key_equal(&found, key) &&
	       directories_are_open(source, path);
}

/* ---- what a query has found out ---- */

static bool is_free(const struct visibility_entry *at)
{
	return !at->content && !at->path;
}

void visibility_release(struct visibility *v)
{
	size_t i;

	for (i = 0; i < v->size; i++)
		free(v->slots[i].path);
	free(v->slots);
	*v = (struct visibility){ 0 };
}

static bool table_grow(struct visibility *v)
{
	size_t size = v->size ? 2 * v->size : 64, i, at;
	struct visibility_entry *slots = calloc(size, sizeof(*slots));

	if (!slots)
		return false;
	for (i = 0; i < v->size; i++) {
		if (is_free(&v->slots[i]))
			continue;
		at = v->slots[i].hash & (size - 1);
		while (!is_free(&slots[at]))
			at = (at + 1) & (size - 1);
		slots[at] = v->slots[i];
	}
	free(v->slots);
	v->slots = slots;
	v->size = size;
	return true;
}

static bool is_entry_of(const struct visibility_entry *at, const char *path,
			uint32_t content)
{
	if (content)
		return at->content == content;
	return at->path && strcmp(at->path, path) == 0;
}

static struct visibility_entry *find_or_add(struct visibility *v, uint64_t hash,
					    const char *path, uint32_t content)
{
	struct visibility_entry *found;
	size_t at;

	if (2 * v->count >= v->size && !table_grow(v))
		return NULL;
	at = hash & (v->size - 1);
	while (!is_free(&v->slots[at]) &&
	       !is_entry_of(&v->slots[at], path, content))
		at = (at + 1) & (v->size - 1);
	found = &v->slots[at];
	if (!is_free(found))
		return found;
	*found = (struct visibility_entry){ .hash = hash,
					    .path = path ? strdup(path) : NULL,
					    .content = content };
	if (is_free(found))
		return NULL;
	v->count++;
	return found;
}

struct visibility_entry *visibility_of_content(struct visibility *v,
					       uint32_t content)
{
	return find_or_add(v, XXH3_64bits(&content, sizeof(content)), NULL,
			   content);
}

/* ---- the caller of a query; each directory is checked once ---- */

/* Whether the caller can list the directory and all above it.  Changes path and
 * restores it. */
static bool is_open_to_caller(struct search_query *q, char *path)
{
	struct visibility_entry *entry = find_or_add(
		&q->visibility, XXH3_64bits(path, strlen(path)), path, 0);
	bool open;

	if (entry && entry->known)
		return entry->open;
	open = entry && directory_is_open(q->context->source, path, NULL);
	if (open) {
		char *slash = strrchr(path, '/');

		if (slash) {
			*slash = '\0';
			open = is_open_to_caller(q, path);
			*slash = '/';
		}
	}
	entry = find_or_add(&q->visibility, XXH3_64bits(path, strlen(path)),
			    path, 0);
	if (!entry) {
		q->err = -ENOMEM;
		return false;
	}
	entry->known = true;
	entry->open = open;
	return open;
}

bool path_is_visible(struct search_query *q, const char *path)
{
	char *above;
	bool visible = true;

	if (q->caller->trusted)
		return true;
	above = strdup(path);
	if (!above)
		q->err = -ENOMEM;
	else if (cut_last(above))
		visible = is_open_to_caller(q, above);
	free(above);
	return above && visible;
}

bool directory_is_visible(struct search_query *q, const struct file_key *key)
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
	while (!visible && (err = catalog_paths_next(walk, &path)) == 1) {
		char *copy = strdup(path);

		if (!copy) {
			err = -ENOMEM;
			break;
		}
		visible = !*copy || is_open_to_caller(q, copy);
		free(copy);
	}
	catalog_walk_end(walk);
	if (err < 0)
		q->err = err;
	return visible;
}

/* ---- directories of trusted callers ---- */

void known_directories_release(struct search_slot *slot)
{
	size_t i;

	for (i = 0; i < KNOWN_DIRECTORIES; i++)
		free(slot->known[i].path);
}

/* Looks up the only path of a directory in the catalog. */
static int get_path(struct search_query *q, const struct file_key *key,
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

static bool leads_to(const struct source *source, const char *path,
		     const struct file_key *key)
{
	int fd = file_open_beneath(source->fd, path, O_PATH | O_DIRECTORY);
	struct file_key found;
	struct stat st;
	bool leads;

	if (fd < 0)
		return false;
	leads = !fstat(fd, &st);
	if (leads)
		source_get_key(source, fd, &st, &found);
	close(fd);
	return leads && file_key_equal(&found, key);
}

int directory_find(struct search_query *q, const struct file_key *key,
		   const char **path_out)
{
	/* Inode numbers of directories often have large steps. */
	struct known_directory *d =
		&q->job->slot
			 ->known[XXH3_64bits(&key->inode, sizeof(key->inode)) %
				 KNOWN_DIRECTORIES];
	uint64_t snapshot = catalog_snapshot(q->txn);
	bool trusted =
		d->verified_ns == q->turn_ns ||
		q->turn_ns - d->verified_ns < q->searcher->trust_ms * 1000000;
	char *path;
	int err;

	if (!d->path || d->snapshot != snapshot ||
	    !file_key_equal(&d->key, key)) {
		err = get_path(q, key, &path);
		if (err)
			return err;
		free(d->path);
		*d = (struct known_directory){ .key = *key,
					       .path = path,
					       .snapshot = snapshot };
		trusted = false;
	}
	if (!trusted) {
		d->there = leads_to(q->context->source, d->path, key);
		d->verified_ns = q->turn_ns;
	}
	*path_out = d->path;
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

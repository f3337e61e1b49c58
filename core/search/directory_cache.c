/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/directory_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "core/source/file.h"
#include "core/source/source.h"

/* A limit, because the names of a damaged catalog may form a circle. */
enum { DEPTH_MAX = 256 };

struct directory_lookup {
	struct directory_cache *cache;
	struct catalog_txn *txn;
	const struct source *source;
};

/* ---- entries ---- */

static void entry_release(struct directory_cache_entry *entry)
{
	if (entry->path && entry->fd >= 0)
		close(entry->fd);
	free(entry->path);
	*entry = (struct directory_cache_entry){ 0 };
}

void directory_cache_init(struct directory_cache *cache, size_t most)
{
	memset(cache, 0, sizeof(*cache));
	if (most > DIRECTORY_CACHE_SIZE)
		most = DIRECTORY_CACHE_SIZE;
	if (most < DIRECTORY_CACHE_WAYS)
		most = DIRECTORY_CACHE_WAYS;
	cache->sets = most / DIRECTORY_CACHE_WAYS;
}

void directory_cache_release(struct directory_cache *cache)
{
	size_t i;

	for (i = 0; cache->in_use && i < DIRECTORY_CACHE_SIZE; i++)
		entry_release(&cache->entries[i]);
	cache->in_use = false;
}

void directory_cache_begin_turn(struct directory_cache *cache, int64_t now_ms,
				int64_t trust_ms)
{
	if (cache->round && now_ms - cache->round_ms < trust_ms)
		return;
	cache->round++;
	cache->round_ms = now_ms;
}

static bool is_of(const struct directory_cache_entry *entry,
		  const struct file_key *key)
{
	return entry->path && file_key_equal(&entry->key, key);
}

/* The entry of the directory, or else the one to replace: that which was not
 * used for the longest time.  Hashed, because inode numbers of directories often
 * have large steps. */
static struct directory_cache_entry *slot_of(struct directory_cache *cache,
					     const struct file_key *key)
{
	size_t set = XXH3_64bits(&key->inode, sizeof(key->inode)) % cache->sets;
	struct directory_cache_entry *slots =
		&cache->entries[set * DIRECTORY_CACHE_WAYS];
	struct directory_cache_entry *oldest = slots;
	unsigned i;

	for (i = 0; i < DIRECTORY_CACHE_WAYS; i++) {
		if (is_of(&slots[i], key))
			return &slots[i];
		if (slots[i].round < oldest->round)
			oldest = &slots[i];
	}
	return oldest;
}

/* ---- opening a directory ---- */

static bool has_key(const struct source *source, int fd,
		    const struct file_key *key)
{
	struct file_key found;
	struct stat st;

	if (fstat(fd, &st))
		return false;
	source_get_key(source, fd, &st, &found);
	return file_key_equal(&found, key);
}

/* Opens the directory if the name leads to it; else -1. */
static int open_entry(const struct source *source, int parent_fd,
		      const char *name, const struct file_key *key)
{
	int fd = file_open_beneath(parent_fd, name, O_PATH | O_DIRECTORY);

	if (fd < 0)
		return -1;
	if (has_key(source, fd, key))
		return fd;
	close(fd);
	return -1;
}

/* "path/" and "name" make "path/name/". */
static char *join_path(const char *path, const char *name)
{
	size_t before = strlen(path), len = strlen(name);
	char *joined = malloc(before + len + 2);

	if (!joined)
		return NULL;
	memcpy(joined, path, before);
	memcpy(joined + before, name, len);
	joined[before + len] = '/';
	joined[before + len + 1] = '\0';
	return joined;
}

struct directory_name {
	struct file_key parent;
	char name[NAME_MAX + 1];
};

/* The only name of a directory.  -ENOENT: it has none. */
static int get_name(struct catalog_txn *txn, const struct file_key *key,
		    struct directory_name *out)
{
	struct catalog_walk *walk;
	struct catalog_name name;
	int err = catalog_links_begin(txn, key, &walk);

	if (err)
		return err;
	err = catalog_links_next(walk, &out->parent, &name);
	if (err == 1 && name.len <= NAME_MAX) {
		memcpy(out->name, name.bytes, name.len);
		out->name[name.len] = '\0';
		err = 0;
	} else if (err >= 0) {
		err = err ? -EUCLEAN : -ENOENT;
	}
	catalog_walk_end(walk);
	return err;
}

static int find_directory(const struct directory_lookup *l,
			  const struct file_key *key, unsigned depth,
			  const struct directory_cache_entry **out);

static int fill_root(const struct directory_lookup *l,
		     struct directory_cache_entry *out)
{
	out->path = strdup("");
	if (!out->path)
		return -ENOMEM;
	out->fd = open_entry(l->source, l->source->fd, "", &out->key);
	return 0;
}

/* Looks up the only name of the directory, and its parent, and opens it. */
static int fill_entry(const struct directory_lookup *l, unsigned depth,
		      struct directory_cache_entry *out)
{
	const struct directory_cache_entry *parent;
	struct directory_name named;
	int err;

	if (file_key_equal(&out->key, &l->source->root))
		return fill_root(l, out);
	err = get_name(l->txn, &out->key, &named);
	if (!err)
		err = find_directory(l, &named.parent, depth + 1, &parent);
	if (err)
		return err;
	out->parent = named.parent;
	out->name_at = strlen(parent->path);
	out->path = join_path(parent->path, named.name);
	if (!out->path)
		return -ENOMEM;
	out->fd = open_entry(l->source, parent->fd, named.name, &out->key);
	return 0;
}

/* ---- verifying an open directory ---- */

/* 1: the name in its parent still leads to the directory; else 0.  An open
 * directory keeps its inode number, so a stat shows that.  The lookup of the
 * parent may release the entry. */
static int is_in_place(const struct directory_lookup *l, unsigned depth,
		       const struct directory_cache_entry *entry)
{
	const struct file_key key = entry->key, above = entry->parent;
	const char *path = entry->path + entry->name_at;
	const struct directory_cache_entry *parent;
	char name[NAME_MAX + 2];
	struct stat st;
	int err;

	if (!*path)
		return 1;
	*stpncpy(name, path, sizeof(name) - 1) = '\0';
	name[strlen(name) - 1] = '\0';
	err = find_directory(l, &above, depth + 1, &parent);
	if (err)
		return err == -ENOENT ? 0 : err;
	return !fstatat(parent->fd, name, &st,
			AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) &&
	       st.st_ino == key.inode &&
	       source_get_device(l->source, st.st_dev) == key.device;
}

/* ---- lookups ---- */

/* Releases the directories of another snapshot. */
static void begin_lookup(struct directory_cache *cache,
			 const struct catalog_txn *txn)
{
	uint64_t snapshot = catalog_snapshot(txn);

	if (cache->snapshot != snapshot)
		directory_cache_release(cache);
	cache->snapshot = snapshot;
	cache->in_use = true;
}

/* 1: the entry is open and verified in this round; else 0. */
static int check_open(const struct directory_lookup *l, unsigned depth,
		      struct directory_cache_entry *entry,
		      const struct file_key *key)
{
	int err;

	if (!is_of(entry, key) || entry->fd < 0)
		return 0;
	if (entry->round == l->cache->round)
		return 1;
	err = is_in_place(l, depth, entry);
	if (err != 1)
		return err;
	if (!is_of(entry, key))
		return 0;
	entry->round = l->cache->round;
	return 1;
}

static int find_directory(const struct directory_lookup *l,
			  const struct file_key *key, unsigned depth,
			  const struct directory_cache_entry **out)
{
	struct directory_cache_entry *entry = slot_of(l->cache, key);
	struct directory_cache_entry new = { .key = *key, .fd = -1 }, old;
	int err;

	if (depth > DEPTH_MAX || key->device)
		return -ENOENT;
	/* A directory is opened at most once in a round. */
	if (is_of(entry, key) && entry->fd < 0 &&
	    entry->round == l->cache->round)
		return -ENOENT;
	err = check_open(l, depth, entry, key);
	if (!err) {
		new.round = l->cache->round;
		err = fill_entry(l, depth, &new);
		if (err)
			return err;
		/* The lookup of the parent may have used the slot. */
		entry = slot_of(l->cache, key);
		old = *entry;
		*entry = new;
		entry_release(&old);
	}
	*out = entry;
	return err < 0 ? err : entry->fd < 0 ? -ENOENT : 0;
}

int directory_cache_get(struct directory_cache *cache, struct catalog_txn *txn,
			const struct source *source, const struct file_key *key,
			const struct directory_cache_entry **out)
{
	const struct directory_lookup l = { cache, txn, source };

	begin_lookup(cache, txn);
	return find_directory(&l, key, 0, out);
}

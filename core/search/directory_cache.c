/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/directory_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "core/base/clock.h"
#include "core/source/file.h"
#include "core/source/source.h"

static void entry_release(struct directory_cache_entry *entry)
{
	if (entry->path && entry->fd >= 0)
		close(entry->fd);
	free(entry->path);
	*entry = (struct directory_cache_entry){ 0 };
}

void directory_cache_release(struct directory_cache *cache)
{
	size_t i;

	for (i = 0; cache->in_use && i < DIRECTORY_CACHE_SIZE; i++)
		entry_release(&cache->entries[i]);
	cache->in_use = false;
}

/* The directory, if path leads to it; else -1. */
static int open_directory(const struct source *source, const char *path,
			  const struct file_key *key)
{
	int fd = file_open_beneath(source->fd, path, O_PATH | O_DIRECTORY);
	struct file_key found;
	struct stat st;

	if (fd < 0)
		return -1;
	if (!fstat(fd, &st)) {
		source_get_key(source, fd, &st, &found);
		if (file_key_equal(&found, key))
			return fd;
	}
	close(fd);
	return -1;
}

struct directory_lookup {
	const struct source *source;
	struct directory_cache_entry *entry;
};

/* A directory has one path. */
static int fill_entry(void *arg, const char *path)
{
	const struct directory_lookup *l = arg;
	size_t len = strlen(path);
	char *copy = malloc(len + 2);

	if (!copy)
		return -ENOMEM;
	l->entry->fd = open_directory(l->source, path, &l->entry->key);
	memcpy(copy, path, len);
	if (len)
		copy[len++] = '/';
	copy[len] = '\0';
	l->entry->path = copy;
	return 1;
}

/* Releases what is too old. */
static void start(struct directory_cache *cache, const struct catalog_txn *txn)
{
	int64_t now = clock_now_ms();

	if (cache->snapshot != catalog_snapshot(txn) ||
	    now - cache->since_ms > DIRECTORY_CACHE_MS)
		directory_cache_release(cache);
	if (cache->in_use)
		return;
	cache->snapshot = catalog_snapshot(txn);
	cache->in_use = true;
	cache->since_ms = now;
}

/* Filesystems give out inode numbers with large steps between directories. */
static size_t slot_of(const struct file_key *key)
{
	return XXH3_64bits(&key->inode, sizeof(key->inode)) %
	       DIRECTORY_CACHE_SIZE;
}

int directory_cache_get(struct directory_cache *cache, struct catalog_txn *txn,
			const struct source *source, const struct file_key *key,
			const struct directory_cache_entry **out)
{
	struct directory_cache_entry *entry = &cache->entries[slot_of(key)];
	int err;

	if (key->device)
		return -ENOENT;
	start(cache, txn);
	if (!entry->path || !file_key_equal(&entry->key, key)) {
		struct directory_lookup l = { source, entry };

		entry_release(entry);
		entry->key = *key;
		err = catalog_path_each(txn, &source->root, key, fill_entry,
					&l);
		if (err < 0)
			return err;
	}
	if (!entry->path || entry->fd < 0)
		return -ENOENT;
	*out = entry;
	return 0;
}

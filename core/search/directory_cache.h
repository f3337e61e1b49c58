/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SEARCH_DIRECTORY_CACHE_H
#define CORE_SEARCH_DIRECTORY_CACHE_H

#include "core/catalog/catalog.h"

struct source;

/*
 * The directories that queries of trusted callers have opened, so that of
 * thousands of files each costs one stat() and not a walk from the root.
 * Belongs to one thread, which releases it when it has had nothing to do for a
 * while.
 *
 * Paths are those of one snapshot of the catalog.  In each turn of a query
 * (struct search_query) a directory is looked up once more before it is used,
 * and those above it: its name must still lead to it from the one that has the
 * name.  While it is open no other directory gets its inode number, so one
 * stat() says that.  What the name leads to is never followed if it is a
 * symbolic link.
 *
 * Only directories on the filesystem of SOURCE are opened, because an open one
 * keeps its filesystem from being unmounted.
 */
enum { DIRECTORY_CACHE_SIZE = 1024 };

struct directory_cache_entry {
	struct file_key key;
	int fd;         /* owned: O_PATH; -1: it cannot be opened */
	uint64_t turn;  /* it was looked up in this one */
	char *path;     /* owned: relative to SOURCE, ends with '/' unless it is
			   empty; NULL: the entry is free */
	size_t name_at; /* where its name begins in path */
	struct file_key parent;
};

/* Zeroed at first. */
struct directory_cache {
	uint64_t snapshot; /* see catalog_snapshot() */
	uint64_t turn;
	bool in_use; /* not all entries are free */
	struct directory_cache_entry entries[DIRECTORY_CACHE_SIZE];
};

/* A turn begins: all directories must be looked up anew. */
void directory_cache_begin_turn(struct directory_cache *cache);

/* Closes all. */
void directory_cache_release(struct directory_cache *cache);

/* The directory with that key: valid until the next call.  -ENOENT: it has no
 * path, or another one than the catalog says, or is on another filesystem. */
int directory_cache_get(struct directory_cache *cache, struct catalog_txn *txn,
			const struct source *source, const struct file_key *key,
			const struct directory_cache_entry **out);

#endif

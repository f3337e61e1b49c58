/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SEARCH_DIRECTORY_CACHE_H
#define CORE_SEARCH_DIRECTORY_CACHE_H

#include "core/catalog/catalog.h"

struct source;

/*
 * The directories that a query of a trusted caller has opened, so that of
 * thousands of files each costs one stat() and not a walk from the root.
 * Belongs to one thread, which releases it when it has had nothing to do for a
 * while, and before a query that is not part of a long answer.
 *
 * Paths are those of one snapshot of the catalog, and at most
 * DIRECTORY_CACHE_MS old: a directory may be moved without the catalog knowing.
 * Only directories on the filesystem of SOURCE are opened, because an open one
 * keeps its filesystem from being unmounted.
 */
enum { DIRECTORY_CACHE_MS = 100, DIRECTORY_CACHE_SIZE = 1024 };

struct directory_cache_entry {
	struct file_key key;
	int fd;     /* owned: O_PATH; -1: it cannot be opened */
	char *path; /* owned: relative to SOURCE, ends with '/' unless it is
		       empty; NULL: the entry is free */
};

/* Zeroed at first. */
struct directory_cache {
	uint64_t snapshot; /* see catalog_snapshot() */
	bool in_use;       /* not all entries are free, */
	int64_t since_ms;  /* since then */
	struct directory_cache_entry entries[DIRECTORY_CACHE_SIZE];
};

/* Closes all and leaves it zeroed. */
void directory_cache_release(struct directory_cache *cache);

/* The directory with that key: valid until the next call.  -ENOENT: it has no
 * path, or another one than the catalog says, or is on another filesystem. */
int directory_cache_get(struct directory_cache *cache, struct catalog_txn *txn,
			const struct source *source, const struct file_key *key,
			const struct directory_cache_entry **out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SEARCH_DIRECTORY_CACHE_H
#define CORE_SEARCH_DIRECTORY_CACHE_H

#include "core/catalog/catalog.h"

struct source;

/*
 * A cache of open directories, for queries of trusted callers.  Each file of a
 * directory then costs one fstatat() and not a path walk from the root.  A
 * cache belongs to one thread, which releases it when it has been idle.
 *
 * The paths are those of one snapshot of the catalog.  A directory, and all
 * directories above it, are verified before they are used: its name in its
 * parent must still lead to it.  One fstatat() shows that, because an open
 * directory keeps its inode number.  Symbolic links are never followed.
 *
 * They are verified once in a round of a few milliseconds, which has one turn
 * of a query or several: files of a family are in the same directories, and a
 * program that walks the virtual tree asks for all these files in a row.  A
 * directory that is moved through the host makes a new snapshot.
 *
 * Only directories on the filesystem of SOURCE are opened, because an open
 * directory would keep another filesystem from being unmounted.
 */
enum {
	DIRECTORY_CACHE_SIZE = 2048,
	/* The places that a directory may have.  With one place, the files of a
	 * family in 250 directories had every tenth of these opened again in
	 * each listing. */
	DIRECTORY_CACHE_WAYS = 8,
};

struct directory_cache_entry {
	struct file_key key;
	int fd;         /* owned: O_PATH; -1: it cannot be opened */
	uint64_t round; /* the last one in which it was verified */
	char *path;     /* owned: relative to SOURCE, ends with '/' unless it is
			   empty; NULL: the entry is free */
	size_t name_at; /* offset of the directory's name in path */
	struct file_key parent;
};

struct directory_cache {
	size_t sets;       /* of DIRECTORY_CACHE_WAYS entries; constant */
	uint64_t snapshot; /* see catalog_snapshot() */
	uint64_t round;
	int64_t round_ms; /* when it began */
	bool in_use;      /* not all entries are free */
	struct directory_cache_entry entries[DIRECTORY_CACHE_SIZE];
};

/* An empty cache of at most that many open directories, as far as there are
 * entries. */
void directory_cache_init(struct directory_cache *cache, size_t most);

/* A turn begins.  Directories that were verified up to trust_ms ago need not be
 * verified again. */
void directory_cache_begin_turn(struct directory_cache *cache, int64_t now_ms,
				int64_t trust_ms);

/* Closes all directories. */
void directory_cache_release(struct directory_cache *cache);

/* Looks the directory up; *out is valid until the next call.  -ENOENT: it is
 * not at its path in the catalog, has none, or is on another filesystem. */
int directory_cache_get(struct directory_cache *cache, struct catalog_txn *txn,
			const struct source *source, const struct file_key *key,
			const struct directory_cache_entry **out);

#endif

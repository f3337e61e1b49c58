/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SEARCH_VISIBILITY_H
#define CORE_SEARCH_VISIBILITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/catalog/catalog.h"
#include "core/search/groups.h"

/*
 * What one query has found out about contents and directories, so that it asks
 * the disk once: a hash table that only grows.  Belongs to the query.
 */

struct visibility_entry {
	uint64_t hash;
	char *path;       /* owned: of a directory */
	uint32_t content; /* or this, if not 0 */
	/* Of a directory. */
	bool known, open; /* ... and whether the caller may list it */
	/* Of a content: how many of its files are visible as far as the cursor,
	 * and the first of these. */
	size_t visible;
	struct file_key first;
	struct copy_cursor cursor;
	bool complete; /* the cursor is at the end */
};

struct visibility {
	struct visibility_entry *slots; /* owned */
	size_t size, count;
};

void visibility_release(struct visibility *v);

/* The entry of a content or of a path, which is zeroed at first.  Valid until
 * the next call; NULL without memory. */
struct visibility_entry *visibility_of_content(struct visibility *v,
					       uint32_t content);
struct visibility_entry *visibility_of_path(struct visibility *v,
					    const char *path);

#endif

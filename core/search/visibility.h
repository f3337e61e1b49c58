/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SEARCH_VISIBILITY_H
#define CORE_SEARCH_VISIBILITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/catalog/catalog.h"
#include "core/search/groups.h"

/*
 * A query's cache of which contents and directories are visible: a hash table
 * that only grows.
 */

struct visibility_entry {
	uint64_t hash;
	char *path;       /* of a directory; owned */
	uint32_t content; /* 0: the entry is one of a directory */
	/* Of a directory. */
	bool known; /* open is valid */
	bool open;  /* the caller may list it and all directories above */
	/* Of a content: the number of visible files up to the cursor, and the
	 * first of these. */
	size_t visible;
	struct file_key first;
	struct copy_cursor cursor;
	bool complete; /* the cursor has passed all files */
};

struct visibility {
	struct visibility_entry *slots; /* owned */
	size_t size, count;
};

void visibility_release(struct visibility *v);

/* Finds or makes the entry of a content or of a path; a new one is zeroed.  It
 * is valid until the next call.  NULL: no memory. */
struct visibility_entry *visibility_of_content(struct visibility *v,
					       uint32_t content);
struct visibility_entry *visibility_of_path(struct visibility *v,
					    const char *path);

#endif

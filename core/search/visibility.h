/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SEARCH_VISIBILITY_H
#define CORE_SEARCH_VISIBILITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/catalog/catalog.h"

/*
 * What one request has found out about contents and directories, so that it
 * asks the disk once: a hash table that only grows.  Belongs to one thread.
 */
enum sight_files {
	SIGHT_NONE,     /* no file that the caller sees has the content */
	SIGHT_FILE,     /* one has, and perhaps others */
	SIGHT_ONE_FILE, /* one alone */
	SIGHT_FILES,    /* several */
};

struct sight {
	uint64_t hash;
	char *path;            /* owned: of a directory */
	uint32_t content;      /* or this, if not 0 */
	int answer;            /* directory: whether the caller may list it;
			     content: files that the caller sees, 0..2 */
	struct file_key first; /* of the files */
};

struct sights {
	struct sight *slots; /* owned */
	size_t size, count;
};

void sights_release(struct sights *s);

/* The place of a content or of a path; new ones have the answer -1.  Valid
 * until the next call; NULL without memory. */
struct sight *sights_content(struct sights *s, uint32_t content);
struct sight *sights_path(struct sights *s, const char *path);

#endif

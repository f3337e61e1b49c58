/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SOURCE_LISTING_H
#define CORE_SOURCE_LISTING_H

#include <stdbool.h>
#include <stddef.h>

#include "core/catalog/catalog.h"

/* The regular files and directories in a directory of SOURCE. */
struct source_entry {
	/* Of an entry that could not be looked at the positive errno, and else
	 * nothing but the name is known. */
	int error;
	struct file_key key;
	struct file_identity identity;
	bool directory;
	char *name; /* owned by the listing */
};

struct source_listing {
	struct file_key directory;
	bool shallow;     /* the directories in it are not read next */
	unsigned version; /* events_names_version() from before the reading */
	int error;        /* positive errno: there may be more entries */
	struct source_entry *entries; /* in byte order of the names */
	size_t count;
};

/* Appends a copy of the entry; takes its name on success.  -ENOMEM. */
int source_listing_add(struct source_listing *l,
		       const struct source_entry *entry);

void source_listing_sort(struct source_listing *l);

void source_listing_free(struct source_listing *l);

#endif

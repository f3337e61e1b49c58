/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SOURCE_LISTING_H
#define CORE_SOURCE_LISTING_H

#include <stdbool.h>
#include <stddef.h>

#include "core/catalog/catalog.h"

/* The entries of one directory of SOURCE as they were read from disk. */
struct source_entry {
	struct file_key key;
	struct file_identity identity;
	bool directory;
	char *name; /* owned by the listing */
};

struct source_listing {
	struct file_key directory;
	bool shallow;     /* directories below are not read, too */
	unsigned version; /* of the directory's names before it was read */
	struct source_entry *entries; /* in byte order of the names */
	size_t count;
};

/* Appends a copy of the entry; the name is taken on success.  -ENOMEM. */
int source_listing_add(struct source_listing *l,
		       const struct source_entry *entry);

void source_listing_sort(struct source_listing *l);

void source_listing_free(struct source_listing *l);

#endif

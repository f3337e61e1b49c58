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
	/* What the catalog knows by this name is believed, although the inode
	 * number is another one; set by source_listing_tell_apart(). */
	bool known_by_name;
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

/*
 * Where inode numbers are made up, a file is known by its name, size and times,
 * if these times tell anything: those of an archive or image that was built
 * reproducibly are all equal.  So known_by_name stays set for directories, and
 * for files whose mtime neither another entry nor the directory has.  whole:
 * all entries are in the listing, else no file stays known by its name.
 * -ENOMEM.
 */
int source_listing_tell_apart(struct source_listing *l, bool whole,
			      int64_t directory_mtime_ns);

void source_listing_free(struct source_listing *l);

#endif

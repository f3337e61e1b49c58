/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SEARCH_GROUPS_H
#define CORE_SEARCH_GROUPS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/catalog/catalog.h"
#include "core/index/grouping/grouping.h"
#include "core/search/search.h"

/*
 * Groups of near-duplicates among the files that the caller may see.
 *
 * search_groups() finds the groups.  It collects the contents of all visible
 * files, with the number of visible files of each, and has them grouped
 * (core/index/grouping/grouping.h).  Other contents have no influence.  For a
 * trusted caller and the whole tree it reads only the catalog.  The result is
 * small, as it has no paths.
 *
 * search_group_files() makes files of groups, a bounded number at a time.  Each
 * file is checked at that moment, as every hit is.  So a group may have fewer
 * files than were counted, and its head may have none.
 *
 * Both take turns with other queries (search.h).  Only one search for groups of
 * near-duplicates is worked on at a time, because it takes much memory.
 */

struct file_groups_query {
	struct group_rules rules;   /* threshold 0: that of the mount */
	uint64_t min_size;          /* of a content, in bytes */
	struct search_paths within; /* only files below these; empty: all */
	/* Once true, the search ends soon with -ECANCELED. */
	const atomic_bool *cancelled;
	/* Reports progress, 0 to 1000, to a trusted caller; may be NULL. */
	void (*progress)(void *arg, unsigned thousandths);
	void *arg;
};

struct file_groups {
	struct group_set *set;
	struct search_paths within;
	/* Files of the scan were still to be hashed, or have changed since. */
	atomic_bool incomplete;
};

void file_groups_free(struct file_groups *groups);

/* Takes query->within.  The caller frees the groups.  To a trusted caller they are
 * incomplete when a file could not be read, as well. */
int search_groups(struct search_job *job, struct file_groups_query *query,
		  struct file_groups **out);

/* Most files in an answer, or hits before its last file. */
enum { GROUP_FILES_MAX = 512 };

struct search_group_range {
	uint32_t group, last; /* the first group, and the last */
	bool heads;           /* only the first file of each head */
	bool names; /* a hit for each name of a file, not the first alone */
	bool end;   /* set when there are no more files */
	/* Where to go on in the group; zero at first. */
	uint32_t member;      /* its index in the group */
	struct file_key copy; /* its file that was examined last */
};

/* The next files of the groups in order; sets group, member and copy to where to
 * go on.  The score of a hit is that with the head of its group. */
int search_group_files(struct search_job *job, struct file_groups *groups,
		       struct search_group_range *range,
		       struct search_hits *out);

#endif

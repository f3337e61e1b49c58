/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SEARCH_GROUPS_H
#define CORE_SEARCH_GROUPS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/catalog/catalog.h"
#include "core/index/grouping/grouping.h"

struct search_caller;
struct search_hits;
struct searcher;

/*
 * The files of the tree in groups, as far as the caller may know.
 *
 * search_groups() finds the groups.  It collects the contents that have a file
 * that the caller sees, with the number of these files, and lets the index
 * group them (core/index/grouping/grouping.h); what is not collected influences
 * nothing.  For a trusted caller that asks for the whole tree it reads the
 * catalog alone.  The result has no paths and is small.
 *
 * search_group_files() turns groups into files, a bounded number at a time.
 * Each of them is checked at that moment, as every hit is.  So a group may have
 * fewer files than were counted, and a head may have none left.
 *
 * Both take turns with other queries (search.h).  One search for groups is
 * worked on at a time, because it takes memory; those for exact copies alone
 * take little and do not wait.
 */

/* Directories and files, relative to SOURCE; "" is SOURCE. */
struct search_paths {
	char **paths;
	size_t count;
};

int search_paths_add(struct search_paths *p, const char *path, size_t len);
void search_paths_release(struct search_paths *p);

struct file_groups_query {
	struct group_rules rules;   /* threshold 0: that of the mount */
	uint64_t min_size;          /* of a content, in bytes */
	bool text;                  /* compares the texts, not the bytes */
	struct search_paths within; /* only files below these; none: all */
};

/* Constant once made. */
struct file_groups {
	atomic_uint refs;
	struct group_set *set;
	struct search_paths within;
	/* Not all of the tree was scanned and hashed at the time. */
	bool incomplete;
};

struct file_groups *file_groups_ref(struct file_groups *groups);
void file_groups_unref(struct file_groups *groups);

/* How a search for groups is watched and ended; it is there until done is
 * called. */
struct file_groups_watch {
	/* Once true, the search soon ends with -ECANCELED. */
	const atomic_bool *cancelled;
	/* Called now and then, with thousandths; or NULL. */
	void (*progress)(void *arg, unsigned thousandths);
	/* Gets a reference to the groups. */
	void (*done)(void *arg, int result, struct file_groups *groups);
	void *arg;
};

/* The query is copied. */
int search_groups(struct searcher *s, const struct file_groups_query *query,
		  const struct search_caller *caller,
		  struct file_groups_watch *watch);

/* A walk over the files with a content that may take several turns.  Zeroed at
 * first. */
struct copy_cursor {
	struct file_key last; /* that was examined */
	bool begun;
};

/* Where to go on; zeroed at first, but for the group. */
struct search_group_cursor {
	uint32_t group, member; /* member: in the group */
	struct copy_cursor copies;
};

/* To which member a hit belongs; its score is that with the head. */
struct search_group_hit {
	uint32_t group;
	uint64_t size;
	uint8_t xxh128[16];
	/* With rules.every, of the first file of a content: its digests, a line
	 * NAME=TEXT each; owned, else NULL. */
	char *digests;
};

/* The files of groups in order, at least one unless it is at the end. */
struct search_group_hits {
	struct search_hits *hits;
	struct search_group_hit *files; /* one for each hit */
	struct search_group_cursor next;
	bool end;
};

/* At most so many files. */
enum { GROUP_FILES_MAX = 512 };

typedef void search_group_files_fn(void *arg, int result,
				   const struct search_group_hits *files);

/* Which groups, and what of them. */
struct search_group_range {
	struct search_group_cursor from;
	uint32_t last; /* up to the end of that group */
	bool heads;    /* of each group only the first file of the head */
};

/* files is valid during the call of done, which may take paths out of it. */
int search_group_files(struct searcher *s, struct file_groups *groups,
		       const struct search_group_range *range,
		       const struct search_caller *caller,
		       search_group_files_fn *done, void *arg);

#endif

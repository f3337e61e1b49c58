/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SIMILAR_GROUPS_VIEW_H
#define FS_SIMILAR_GROUPS_VIEW_H

#include <stdatomic.h>
#include <stdbool.h>

struct search_caller;
struct fs;
struct listing;
struct similar_node;

/*
 * The view .groups of a directory.  It has a directory for each group of the
 * files below that directory, the group with most bytes to be saved first; and
 * in it a link for each file of the group.
 *
 *   .groups/0001_7_12M_report.txt/099_report-draft.txt -> ../../../docs/...
 *
 * The numbers are the rank, the number of files, and the bytes that could be
 * saved; the name is that of the head.  At most GROUPS_LISTED_MAX groups, and
 * GROUP_LINKS_MAX files of a group, are listed; the state is "cut" if there are
 * more.
 *
 * Groups are searched for when .groups is read.  For the owner of the mount the
 * listing is kept for ten times as long as the search took, a minute at most.
 * When a group is entered after its listing has expired (node_kept_listing()),
 * the groups are searched for again.
 */
enum { GROUPS_LISTED_MAX = 50000, GROUP_LINKS_MAX = 65536 };

/* Whether a listing of groups may be read again instead of a new search. */
bool groups_view_is_young(const struct listing *l);

/*
 * Makes the listing of a NODE_GROUPS or NODE_GROUP.  done takes it, or gets an
 * error.  The search ends soon after *cancelled becomes true; cancelled must
 * exist until done is called.  When this function fails, done is not called.
 */
int groups_view_make(struct fs *fs, struct similar_node *n,
		     const struct search_caller *caller,
		     const atomic_bool *cancelled,
		     void (*done)(void *arg, int err, struct listing *l),
		     void *arg);

#endif

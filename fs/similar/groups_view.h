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
 * The view .groups of a directory: a directory for each group of the files
 * below it, the group that takes most space first, and in it a link for each
 * file.
 *
 *   .groups/0001_7_12M_report.txt/099_report-draft.txt -> ../../../docs/...
 *
 * The numbers are the place, the files, and the bytes that could be saved; the
 * name is that of the head.  At most GROUPS_LISTED_MAX groups, and
 * GROUP_LINKS_MAX files of one, are listed; the state says "cut" when there are
 * more.
 *
 * Groups are found when .groups is read, and serve the owner of the mount for
 * ten times as long as that took, a minute at most.  They are found again when
 * one is entered that is of an older listing (node_kept_listing()).
 */
enum { GROUPS_LISTED_MAX = 50000, GROUP_LINKS_MAX = 65536 };

/* Whether a listing of groups is young enough to be read again. */
bool groups_view_is_young(const struct listing *l);

/*
 * Makes the listing of a NODE_GROUPS or NODE_GROUP.  done gets it, or an error,
 * and takes it.  *cancelled, which ends the search when it becomes true, is
 * there until then.  A negative errno: done is not called.
 */
int groups_view_make(struct fs *fs, struct similar_node *n,
		     const struct search_caller *caller,
		     const atomic_bool *cancelled,
		     void (*done)(void *arg, int err, struct listing *l),
		     void *arg);

#endif

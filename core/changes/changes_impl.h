/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CHANGES_CHANGES_IMPL_H
#define CORE_CHANGES_CHANGES_IMPL_H

#include <sys/queue.h>

#include "core/changes/changes.h"

/* The events of a commit. */
struct changes_batch {
	struct changes_batch *next;
	struct catalog_event *events; /* owned */
	size_t count, bytes;
	int64_t time_ns;
	unsigned readers; /* under the lock */
	bool forgotten;   /* under the lock: not in the list any more */
};

/* ---- list.c: changes that were not read ---- */

/*
 * A change of a path: whether the reader has the path, and whether the tree has
 * it.  What is told follows from the two.
 *
 *   reader  tree  told
 *   no      yes   new; or moved, from the path that the file has lost
 *   yes     yes   changed
 *   yes     no    removed, unless the path is where another one was moved from
 *   no      no    nothing
 *
 * So the order in which changes of different paths are told does not matter,
 * but for moves of directories: these change many paths.  Changes before such a
 * move and changes behind it are not merged.
 */
struct path_change {
	TAILQ_ENTRY(path_change) entry;
	char *path; /* owned */
	struct file_key key;
	bool reader_has, tree_has;
	bool changed;
	bool directory; /* the move of one */
	char *from;     /* owned; of a directory; NULL: not told */
	/* Of a file that was moved: the path that it has got, or lost. */
	struct path_change *other;
	int kept;
	uint64_t size;
	struct changes_position first; /* the event that it began with */
	int64_t time_ns;               /* of the last commit */
	uint64_t merged;
};

TAILQ_HEAD(path_changes, path_change);

struct change_list {
	struct path_changes changes; /* in the order of first */
	/* Those behind the last move of a directory, see tsearch(3): by path,
	 * and by file those that have lost or got one and are no move yet. */
	void *by_path, *by_file;
	size_t bytes;
	bool is_trusted;
	/* Events until then may be known to the reader already: it began with a
	 * cursor. */
	int64_t repeated_ns;
};

/* What happens to a path: an event, as a watcher may know it. */
struct path_event {
	enum catalog_event_kind kind;
	const char *path, *from;
	const struct catalog_event *event;
	struct changes_position at;
};

void list_init(struct change_list *l, bool is_trusted);
void list_release(struct change_list *l);
int list_add(struct change_list *l, const struct path_event *e);
/* Whether there is something to tell; what comes to nothing is dropped. */
bool list_has(struct change_list *l);
/* The cursor is left to the caller. */
int list_take(struct change_list *l, struct content_change *out);

/* ---- check.c ---- */

struct changes_watcher {
	struct changes *changes;     /* these three are constant */
	struct search_caller caller; /* owned, as the next */
	struct search_paths within;
	/* Of the watcher's thread. */
	struct change_list list;
	struct changes_position at; /* how far the batches are in the list */
	/* Under the lock of struct changes. */
	struct changes_watcher *next;
	size_t bytes; /* of the list */
	bool asked, cancelled;
	int err; /* why it ends */
};

/* Adds what the watcher may know of a batch to its list.  The thread takes the
 * credentials of the watcher meanwhile. */
int check_batch(struct changes_watcher *w, const struct changes_batch *b);

#endif

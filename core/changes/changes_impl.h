/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CHANGES_CHANGES_IMPL_H
#define CORE_CHANGES_CHANGES_IMPL_H

#include "core/changes/changes.h"

/* The events of a commit. */
struct changes_batch {
	struct changes_batch *next;
	struct catalog_event *events; /* owned */
	size_t count;
	int64_t time_ns;
};

/* What happened to a path, in one commit or several. */
enum {
	IS_NEW = 1,
	IS_CHANGED = 2,
	IS_REPLACED = 4, /* IS_CHANGED: by another file */
	IS_MOVED = 8,
	IS_REMOVED = 16,
};

struct pending_change {
	struct pending_change *next;
	char *path, *from; /* owned */
	unsigned is;
	bool directory;
	int kept;
	uint64_t size;
	int64_t time_ns; /* of the last commit: commits have different ones */
	uint64_t merged;
};

struct changes_watcher {
	struct changes *changes;     /* these three are constant */
	struct search_caller caller; /* owned, as the next */
	struct search_paths within;
	/* Under the lock of struct changes. */
	struct changes_watcher *next;
	struct pending_change *first_change, *last;
	void *by_path; /* the same, see tsearch(3) */
	size_t count;
	bool cancelled, ended;
	int err; /* why it ends */
};

/* ---- check.c ---- */

/* Makes a list of what the watcher may know of a batch, in its order.  The
 * thread takes the credentials of the watcher meanwhile. */
int check_batch(struct changes *c, const struct changes_watcher *w,
		const struct changes_batch *b, struct pending_change **out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CHANGES_CHANGES_H
#define CORE_CHANGES_CHANGES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/catalog/catalog.h"
#include "core/search/search.h"
#include "core/source/source.h"

/*
 * Tells users which contents have changed, as that is committed.
 *
 * A watcher is a user who wants to know.  While there is one, the committer has
 * its transactions keep their events, and posts them behind each commit
 * (changes_post()).  One thread, which begins with the first watcher, finds the
 * paths of their files and whether each watcher may read them, with the
 * watcher's credentials, and adds them to the watcher's list.  The watcher takes
 * them off it (changes_take()).
 *
 * A list has one change for each path: further ones of the same path are merged
 * into it and counted.  So a watcher that is slow loses nothing, and its list is
 * as long as there are paths at most.  Above CHANGES_MOST its watch ends with
 * -ENOBUFS.  A user has one watcher at most.
 *
 * What a watcher is told depends on nothing but files that it may read.  To one
 * that is not trusted that leaves out what was before: nobody knows who could
 * read a file that was removed, or replaced by another one of its name.  So it
 * is told of no removal, a file that was moved or that took the place of
 * another one is new to it, and only a file that was changed in place is
 * changed.
 *
 * The lock is held for a few instructions.
 */
#define CHANGES_MOST (1 << 18)

enum change_kind { CHANGE_NEW, CHANGE_CHANGED, CHANGE_MOVED, CHANGE_REMOVED };

/* "new", "changed", "moved", "removed". */
extern const char *const change_kind_names[];

struct content_change {
	char *path, *from; /* owned; from: of one that was moved; or NULL */
	enum change_kind kind;
	bool directory; /* one was moved, with all that is below it */
	int kept;       /* per cent of the earlier content; -1: not known */
	uint64_t size;
	int64_t time_ns; /* of the commit */
	uint64_t merged; /* further commits that this change stands for */
};

struct changes_watcher;
struct changes_batch;

struct changes {
	const struct source *source; /* these two are constant */
	struct catalog *catalog;
	struct credentials own; /* of the process; constant */
	atomic_uint watching;   /* watchers that have not ended */
	pthread_mutex_t lock;   /* everything below */
	pthread_cond_t work;    /* of the thread */
	pthread_cond_t told;    /* of the watchers */
	struct changes_watcher *first;
	struct changes_batch *batches, **last;
	pthread_t thread;
	bool lost; /* events, without memory */
	bool started, stopped;
};

int changes_init(struct changes *c, const struct source *source,
		 struct catalog *catalog);
/* All watches end: changes_take() returns -ECANCELED. */
void changes_stop(struct changes *c);
void changes_release(struct changes *c);

static inline bool changes_are_watched(struct changes *c)
{
	return atomic_load(&c->watching);
}

/* Takes the events. */
void changes_post(struct changes *c, struct catalog_changes *from);

/* within: only what is below these paths; empty: all; taken on success.
 * -EBUSY: the user watches already. */
int changes_watch(struct changes *c, const struct search_caller *caller,
		  struct search_paths *within, struct changes_watcher **out);

/* 1: *out is the next change, whose paths the caller frees; 0: there is none
 * now, and waits is false; a negative errno: the watch has ended. */
int changes_take(struct changes_watcher *w, bool waits,
		 struct content_change *out);

/* Ends a wait in changes_take(), with -ECANCELED. */
void changes_cancel(struct changes_watcher *w);

/* Before changes_release(). */
void changes_end(struct changes_watcher *w);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CHANGES_CHANGES_H
#define CORE_CHANGES_CHANGES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/catalog/catalog.h"
#include "core/search/search.h"
#include "core/source/source.h"

/*
 * Tells users what becomes of the tree, as that is committed.
 *
 * The tree is what struct catalog_event says: the paths of all files whose
 * content is known.  A watcher is a reader of its changes.  A reader that
 * applies them in order to a list of the paths always has the tree:
 *
 *   new      path is added
 *   changed  path is there, and has another content
 *   moved    from is removed and path added; of a directory: all paths below
 *            from are below path now
 *   removed  path is removed
 *
 * While there is a watcher, the committer has its transactions keep their
 * events (changes_begin()), and posts them behind each commit.  A batch of them
 * stays here until CHANGES_KEPT bytes of later ones have come, whether it was
 * read or not, so that a watcher can begin where another one has ended.
 *
 * Each watcher reads the batches in a thread of its own, with the credentials
 * of its user, so none can hold up another one.  It makes a list of changes,
 * one for each path: further ones of the same path are merged into it and
 * counted.  So a slow reader loses nothing, and its list is as long as there
 * are paths at most.  When the lists of a user take more than CHANGES_UNREAD
 * bytes, the watch ends with -ENOBUFS.
 *
 * What a watcher is told depends on nothing but files that it may read.  To one
 * that is not trusted that leaves out what was before: nobody knows who could
 * read a file that was removed, or replaced by another one of its name.  So it
 * is told of no removal, a file that was moved or that took the place of
 * another one is new to it, and only a file that was changed in place is
 * changed, without how much was kept.
 *
 * A change has a cursor: how far the reader is when it has applied the change
 * and all before it.  Cursors hold for one life of the daemon.  One that is not
 * trusted has the time of the commit for its cursor, which it is told anyway;
 * it may be told again of what was committed at that time.
 *
 * The lock is held for a few instructions.
 */
#define CHANGES_KEPT ((size_t)16 << 20)
#define CHANGES_UNREAD ((size_t)64 << 20)

/* So long after the last watch has ended, batches are still kept: a consumer
 * that is restarted finds them. */
#define CHANGES_REST_MS (10 * 60 * 1000)

enum change_kind { CHANGE_NEW, CHANGE_CHANGED, CHANGE_MOVED, CHANGE_REMOVED };

/* "new", "changed", "moved", "removed". */
extern const char *const change_kind_names[];

enum { CHANGES_CURSOR = 56 }; /* characters, with the NUL */

struct content_change {
	char *path, *from; /* owned; from: of one that was moved; or NULL */
	enum change_kind kind;
	bool directory; /* one was moved, with all that is below it */
	int kept;       /* per cent of the earlier content; -1: not known */
	uint64_t size;
	int64_t time_ns; /* of the commit */
	uint64_t merged; /* further commits that this change stands for */
	char cursor[CHANGES_CURSOR];
};

void content_change_release(struct content_change *change);

struct changes_watcher;
struct changes_batch;

/* After the event of that number, from 1 on, of the commit of that time. */
struct changes_position {
	int64_t time_ns;
	uint32_t event;
};

struct changes {
	const struct source *source; /* these three are constant */
	struct credentials own;      /* of the process */
	uint64_t life;               /* a random number */
	pthread_mutex_t lock;        /* everything below */
	pthread_cond_t told;         /* of the watchers */
	struct changes_watcher *first;
	struct changes_batch *batches, *last;
	size_t bytes; /* of the batches */
	/* What was committed until then is not in the batches. */
	struct changes_position forgotten;
	int64_t newest_ns; /* commits have different times */
	int64_t rest_ms; /* when the last watch has ended; 0: there was none */
	bool stopped;
};

int changes_init(struct changes *c, const struct source *source);
/* All watches end: changes_wait() returns -ECANCELED. */
void changes_stop(struct changes *c);
void changes_release(struct changes *c);

/* ---- for the committer ---- */

/* Has the transaction keep its events if somebody watches. */
void changes_begin(struct changes *c, struct catalog_txn *txn);
/* Takes the events of its commit. */
void changes_post(struct changes *c, struct catalog_changes *from);
/* The catalog begins anew: what was told before leads nowhere. */
void changes_lose(struct changes *c);

/* ---- for a watcher ---- */

/* within: only what is below these paths; empty: all; taken on success.  since:
 * the cursor behind which the watch begins; NULL: now.  -ESTALE: the changes
 * behind it are not known. */
int changes_watch(struct changes *c, const struct search_caller *caller,
		  struct search_paths *within, const char *since,
		  struct changes_watcher **out);

/* The position at which the watch begins. */
void changes_cursor(struct changes_watcher *w, char out[CHANGES_CURSOR]);

/* Waits until there is a change to take and changes_ask() was called.  A
 * negative errno: the watch has ended; -ENOBUFS: changes were lost. */
int changes_wait(struct changes_watcher *w);
void changes_ask(struct changes_watcher *w);

/* 1: *out is the next change, which the caller releases; 0: there is none
 * now. */
int changes_take(struct changes_watcher *w, struct content_change *out);

/* Ends a wait in changes_wait(), with -ECANCELED. */
void changes_cancel(struct changes_watcher *w);

/* Before changes_release(). */
void changes_end(struct changes_watcher *w);

#endif

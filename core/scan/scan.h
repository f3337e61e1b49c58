/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SCAN_SCAN_H
#define CORE_SCAN_SCAN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/catalog/catalog.h"

/*
 * The walk over SOURCE: a listing of each directory is posted to the
 * committer, which compares it with the catalog.  No file is opened.  Between
 * directories it looks at the files that the host came across; when there are
 * many without a rest, as no more than SEEN_MAX are remembered.
 *
 * What the committer is told and cannot apply, as the catalog does not know the
 * directory or the file meant, is owed: an event was lost, or came in an order
 * in which nothing could be made of it.  The scan then reads that directory, or
 * the one that the file is in, so that whatever else was lost does not matter.
 * When too much is owed it walks the whole tree.
 *
 * A directory that changed while it was read is unsettled: its names are told
 * one by one, and it is read again later for what has vanished from it, less
 * and less often until it is found at rest.
 */
enum { SEEN_MAX = 4096, OWED_MAX = 256 };

struct seen {
	dev_t device;
	ino_t inode;
	struct file_identity identity;
};

struct owed {
	struct file_key key;
	bool deep; /* a directory with all below it */
};

struct unsettled;
struct engine;

struct scan {
	pthread_mutex_t lock; /* everything below but the atomics */
	pthread_cond_t work;
	struct seen seen[SEEN_MAX];
	size_t seen_first, seen_count;
	struct owed owed[OWED_MAX];
	size_t owed_count;
	bool wanted;
	bool stopped;
	bool looking;  /* at a seen file just now */
	bool paying;   /* what was owed */
	bool deferred; /* not now: the catalog is a batch behind */
	bool started;
	atomic_bool running;
	atomic_uint scans; /* finished */
	pthread_t thread;
	int64_t since_ns;            /* the thread's own, see throttle_wait() */
	atomic_ullong files_seen;    /* by this scan */
	atomic_ullong skipped;       /* by this scan */
	struct unsettled *unsettled; /* by due time; the thread's own */
	atomic_uint settling; /* of these, which were not tried often yet */
};

int scan_init(struct scan *s);
int scan_start(struct engine *e);
void scan_stop(struct engine *e);
void scan_release(struct scan *s);

void scan_want(struct engine *e);
/* False when there was no room to remember it. */
bool scan_saw(struct engine *e, const struct stat *st);
/* The catalog misses something in that directory, or that file.  deep: and in
 * all directories below. */
void scan_owe(struct engine *e, const struct file_key *key, bool deep);
/* The same of what the catalog does not know at all: nothing happens when the
 * host does not know it either, as then it is gone or cannot be found. */
void scan_owe_unknown(struct engine *e, const struct file_key *key);
/* Owed, unless a scan of the tree will come by. */
void scan_owe_new(struct engine *e, const struct file_key *directory);
/* What is owed waits while the committer writes a batch, as it is to be looked
 * for with what the catalog knows after that. */
void scan_defer(struct engine *e, bool on);
/* The scan's thread finds out where the owed directories are. */
void scan_pay(struct engine *e);
/* The scan's thread will read that directory soon. */
int scan_add_unsettled(struct scan *s, const char *path,
		       const struct file_key *key, unsigned tries, bool deep);
/* The scan's thread looks at what was seen. */
void scan_look_at_seen(struct engine *e);
/* A walk over the whole tree is under way or wanted. */
bool scan_is_running(struct scan *s);

/* Nothing wanted, running or seen; a directory that changes all the time does
 * not count. */
bool scan_is_idle(struct scan *s);

#endif

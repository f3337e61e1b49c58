/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ENGINE_SCAN_H
#define CORE_ENGINE_SCAN_H

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
 * A directory that changed while it was read is unsettled: its names are told
 * one by one, and it is read again later for what has vanished from it, less
 * and less often until it is found at rest.
 */
enum { SEEN_MAX = 4096 };

struct seen {
	dev_t device;
	ino_t inode;
	struct file_identity identity;
};

struct unsettled;
struct engine;

struct scan {
	pthread_mutex_t lock; /* everything below but the atomics */
	pthread_cond_t work;
	bool wanted;
	bool stopped;
	struct seen seen[SEEN_MAX];
	size_t seen_first, seen_count;
	bool looking; /* at a seen file just now */
	pthread_t thread;
	int64_t since_ns; /* the thread's own, see pace_rest() */
	bool started;
	atomic_bool running;
	atomic_ullong files_seen;    /* by this scan */
	atomic_ullong skipped;       /* by this scan */
	atomic_uint scans;           /* finished */
	struct unsettled *unsettled; /* by due time; the thread's own */
	atomic_uint settling; /* of these, which were not tried often yet */
};

int scan_init(struct scan *s);
int scan_start(struct engine *e);
void scan_stop(struct engine *e);
void scan_release(struct scan *s);

void scan_want(struct engine *e);
void scan_saw(struct engine *e, const struct stat *st);
/* The scan's thread looks at what was seen. */
void scan_look_at_seen(struct engine *e);
/* A walk over the whole tree is under way or wanted. */
bool scan_is_running(struct scan *s);

/* Nothing wanted, running or seen; a directory that changes all the time does
 * not count. */
bool scan_is_idle(struct scan *s);

#endif

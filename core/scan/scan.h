/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SCAN_SCAN_H
#define CORE_SCAN_SCAN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/catalog/catalog.h"
#include "core/queue/throttle.h"
#include "core/queue/hash.h"
#include "core/queue/listener.h"
#include "core/source/listing.h"
#include "core/source/source.h"

/*
 * Finds the changes of SOURCE that nobody has reported.
 *
 * One thread, in the background class, has three kinds of work, in this order:
 *
 *   whole tree   A walk from the root, at the start and when it is requested.
 *                The listing of each directory is posted to the committer,
 *                which compares it with the catalog: new and changed files
 *                become pending, names that are gone are removed.
 *   seen files   Files whose stat the host has read.  A file that differs from
 *                its record is reported as changed.  Seen files are also
 *                examined between two directories of a walk, because only
 *                SEEN_MAX are kept.
 *   requests     Directories to be read again, and files whose names are to
 *                be reported.  Most come from the committer: it had an event
 *                of a file without a record, because an earlier event was lost
 *                or came late.  A request is served a moment later, together
 *                with those that come for the same directory meanwhile.  When
 *                there are more than REQUESTS_MAX, or more than HELD_MAX with
 *                a descriptor, or more than DEEP_MAX for a directory with all
 *                below it, the whole tree is walked instead.
 *
 * A directory whose names changed while they were read is requested again.  The
 * names that were read are reported one by one.  The directory is read again to
 * find the names that are gone, at growing intervals until its names do not
 * change meanwhile.  What was not found is looked up again, too.
 *
 * A directory may move, or one above it may, before it is read.  A directory
 * that is not found counts as gone only if the catalog has no record of it
 * after all posted events are committed.  Otherwise it is looked up again, and
 * after EARLY_TRIES the whole tree is walked.  A directory that moves during a
 * walk may leave a place that is still to be read for one that was read; it is
 * read again with all below it (scan_directory_moved()).
 *
 * An entry that cannot be looked at is in the listing with its error, and those
 * beside it are as always.  A directory that cannot be read has a listing of
 * what was read before the error; what else is known of it stays.
 *
 * What the system lacked (err_is_lack()) says nothing of an entry.  What could
 * not be looked at for that is in the catalog with its error, and the
 * directories of it are read again with all below them, and nothing else, after
 * LACK_MIN_MS, at intervals that double to LACK_MAX_MS as long as something is
 * left.  A request that meets a lack is served again at such intervals.
 *
 * The names read from a directory may be older than a rename that has been
 * posted; see "Versions of names" in core/queue/event.h.
 *
 * The scan never opens a regular file for reading, never writes to SOURCE or
 * the catalog, and never follows a symbolic link.  In memory it has the entries
 * of one directory, and the directories still to be read beside the path to it.
 *
 * Functions may be called from any thread and do not block, unless they say
 * otherwise.
 */
enum {
	SEEN_MAX = 4096,
	/* A walk over a large tree in use finds many directories that
	 * change. */
	REQUESTS_MAX = 4096,
	HELD_MAX = 256, /* of these, with a descriptor */
	DEEP_MAX = 4,   /* of these, with deep set */
	/* A file is closed soon, or many of the users' are open for long. */
	LACK_MIN_MS = 1000,
	LACK_MAX_MS = 256000,
};

struct seen_file {
	dev_t device;
	ino_t inode;
	struct file_identity identity;
};

/* A directory to be read; or a file whose names are to be reported. */
struct scan_request {
	struct scan_request *next;
	struct file_key key;
	bool deep;      /* read all directories below it, too */
	unsigned tries; /* made before, in vain */
	bool lacks;     /* the last one met a lack */
	int fd;         /* of key, O_PATH; -1: it is looked up by key */
	int64_t due_ms;
};

struct scanner {
	struct engine_parts context; /* constant */
	pthread_mutex_t lock;        /* everything below but the atomics */
	pthread_cond_t work;
	struct seen_file seen[SEEN_MAX];
	size_t seen_first, seen_count;
	struct scan_request *requests; /* by due_ms; owned */
	struct scan_request *serving;  /* the thread is at this one; or NULL */
	/* When what could not be looked at for a lack is tried again;
	 * INT64_MAX: there is nothing.  How often it was, in vain. */
	int64_t again_ms;
	unsigned again_tries;
	bool wanted; /* a walk over the whole tree is requested */
	bool stopped;
	bool checking; /* the thread is at seen files */
	bool deferred; /* what is to be looked up waits for a batch */
	bool started;
	atomic_bool running; /* the thread is at a walk over the whole tree */
	pthread_t thread;
	atomic_ullong files; /* found by the last walk */
	/* Files, and directories with all in them, that a rule kept out of
	 * it. */
	atomic_ullong skipped;
	atomic_uint walks; /* over the whole tree, finished */

	struct gate gate; /* the thread's pauses */
};

/* The context is copied; what it points to is borrowed. */
int scan_init(struct scanner *s, const struct engine_parts *context);
int scan_start(struct scanner *s);
/* Ends the thread; context.stopping is set by then. */
void scan_stop(struct scanner *s);
void scan_release(struct scanner *s);

/* Requests a walk over the whole tree; it begins after the running one. */
void scan_request_tree(struct scanner *s);

/* Whether a walk over the whole tree is under way or requested. */
bool scan_is_running(struct scanner *s);

/* Whether the thread has nothing to do.  Directories tried EARLY_TRIES
 * times do not count: such a directory changes all the time.  Nor does what
 * meets a lack. */
bool scan_is_idle(struct scanner *s);

/* How many requests wait because they met a lack. */
size_t scan_count_lacks(struct scanner *s);

/* Adds a seen file.  False: SEEN_MAX files wait already. */
bool scan_add_seen(struct scanner *s, const struct stat *st);

/* ---- directories to be read again ---- */

/* Requests the directory or file.  deep: and all directories below it. */
void scan_request(struct scanner *s, const struct file_key *key, bool deep);

/* Requests the directory behind fd, which need not be in the catalog. */
void scan_request_directory(struct scanner *s, const struct file_key *key,
			    int fd);

/* Requests a file or directory without a record.  If the host does not have it
 * either, it is gone or cannot be found, and the request is ignored. */
void scan_request_unknown(struct scanner *s, const struct file_key *key);

/* A directory was moved into another one.  If a walk or a deep request has not
 * ended, which may miss it, the directory is requested with all below it. */
void scan_directory_moved(struct scanner *s, const struct file_key *directory);

/* on: requests wait until the next call with false.  The committer defers them
 * while it writes a batch, as they need the catalog after it. */
void scan_defer_requests(struct scanner *s, bool on);

/* If the catalog has no path to the file behind fd (O_PATH will do), reports
 * the names on its present path.  Reads no directory.  -ENOENT: it moved
 * meanwhile; -ESTALE: names change all the time. */
int scan_report_path(struct scanner *s, int fd, const struct file_key *key);

#endif

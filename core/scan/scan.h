/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SCAN_SCAN_H
#define CORE_SCAN_SCAN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/catalog/catalog.h"
#include "core/source/listing.h"
#include "core/source/source.h"

/*
 * Finds out what changed in SOURCE without being told.
 *
 * One thread, in the background class, has four kinds of work, in this order:
 *
 *   whole tree   A walk from the root at the start and when it is requested.
 *                The listing of each directory goes to the committer, which
 *                compares it with the catalog: new and changed files become
 *                pending, names that are gone are removed.
 *   seen files   Files whose stat the host saw.  Those with another identity
 *                than the catalog's are reported as changed.  They are looked
 *                at between two directories of a walk, too, because no more
 *                than SEEN_MAX are remembered.
 *   requests     The committer was told something that it could not apply, as
 *                the catalog does not know the directory or the file: an event
 *                was lost, or came in an order that made no sense.  The
 *                directory, or the one that the file is in, is read again.
 *                When there are more than REQUESTS_MAX, or DEEP_MAX that
 *                may have each other below them, the whole tree is walked
 *                instead.
 *   retries      A directory whose names changed while it was read: its names
 *                are reported one by one, and it is read again later for what
 *                has vanished from it, less and less often until its names are
 *                found unchanged.  A request for a directory that was not found
 *                is a retry, too.
 *
 * A directory that is to be read may move meanwhile, or one above it may.  It
 * counts as gone only if it is not found while the catalog, with all that was
 * posted before, has no record of it.  Otherwise it is looked for again, and
 * after EARLY_TRIES times the whole tree is walked.  A directory that moves
 * while others are read with all below them, perhaps from a place that was not
 * read yet to one that was, is read with all below it, too
 * (scan_directory_moved()).
 *
 * Names that are read from a directory may be older than a rename that the
 * committer already has.  So the committer keeps a version of each directory's
 * names; a listing carries the version from before the reading, and is refused
 * with -ESTALE when there is a newer one.
 *
 * The scan opens no regular file for reading, writes nothing to SOURCE and
 * nothing to the catalog, follows no symbolic link and remembers no more than
 * the path from the root to where it is.  A directory that cannot be read is
 * passed over and logged; what the catalog knew of it stays.
 *
 * Functions may be called from any thread and do not block, unless they say
 * otherwise.
 */
enum {
	SEEN_MAX = 4096,
	REQUESTS_MAX = 256,
	DEEP_MAX = 4, /* of these, for a directory with all below it */
};

struct scan_context {
	const struct source *source;
	struct catalog *catalog;
	const struct logger *log;
	const atomic_bool *stopping;
	void *ctx; /* of the functions below, which the scan's thread calls */

	/* Takes the listing, but for -ESTALE. */
	int (*post_listing)(void *ctx, struct source_listing *l);
	/* A name that was read when the names of the directory parent had
	 * that version. */
	int (*post_name)(void *ctx, const struct file_key *parent,
			 const char *name, const struct file_key *key,
			 bool directory, unsigned version);
	unsigned (*names_version)(void *ctx, const struct file_key *directory);
	/* Blocks until all that was posted before is in the catalog. */
	int (*settle)(void *ctx);
	/* Blocks while the committer has too much to do; false at the end. */
	bool (*wait_for_room)(void *ctx);
	/* Waits while the host is busy; see throttle_wait(). */
	void (*throttle)(void *ctx, int64_t *since_ns);
	/* The file has an identity that the catalog does not know. */
	void (*file_changed)(void *ctx, const struct file_key *key,
			     const struct file_identity *identity);
	/* A walk over the whole tree has ended. */
	void (*tree_done)(void *ctx);
};

struct seen_file {
	dev_t device;
	ino_t inode;
	struct file_identity identity;
};

/* A directory that is to be read, or the one that a file is in. */
struct scan_request {
	struct file_key key;
	bool deep;      /* a directory with all below it */
	unsigned tries; /* to find it, or to read it without a change */
	int fd;         /* O_PATH, of what may not be found otherwise; or -1 */
};

struct scan_retry;

struct scanner {
	struct scan_context context; /* constant */
	pthread_mutex_t lock;        /* everything below but the atomics */
	pthread_cond_t work;
	struct seen_file seen[SEEN_MAX];
	size_t seen_first, seen_count;
	struct scan_request requests[REQUESTS_MAX];
	size_t request_count;
	bool wanted; /* a walk over the whole tree */
	bool stopped;
	bool checking;     /* a seen file just now */
	bool serving;      /* a request just now, */
	bool serving_deep; /* a deep one */
	bool deferred;     /* requests wait: the catalog is a batch behind */
	bool started;
	atomic_bool running; /* a walk over the whole tree */
	pthread_t thread;
	atomic_ullong files;   /* met by this walk */
	atomic_ullong skipped; /* by a rule, by this walk */
	atomic_uint walks;     /* that ended */

	int64_t throttle_ns;        /* the thread's own */
	struct scan_retry *retries; /* by due time; the thread's own */
	atomic_uint early_retries;  /* of these, those that are waited for */
	atomic_uint deep_retries;   /* and those that are deep */
};

/* The context is copied; what it points to is borrowed. */
int scan_init(struct scanner *s, const struct scan_context *context);
int scan_start(struct scanner *s);
/* Ends the thread; context.stopping is set by then. */
void scan_stop(struct scanner *s);
void scan_release(struct scanner *s);

/* Requests a walk over the whole tree; one that runs starts over at its end. */
void scan_request_tree(struct scanner *s);

/* Whether a walk over the whole tree is under way or requested. */
bool scan_is_running(struct scanner *s);

/* Nothing is requested, running or seen.  A directory that changes all the time
 * does not count. */
bool scan_is_idle(struct scanner *s);

/* Whether the file is as the catalog knows it shall be found out.  False when
 * there was no room to remember it. */
bool scan_add_seen(struct scanner *s, const struct stat *st);

/* ---- what the committer could not apply ---- */

/* The catalog misses something in that directory, or that file.  deep: and in
 * all directories below. */
void scan_request(struct scanner *s, const struct file_key *key, bool deep);

/* The catalog misses something in the directory behind fd, which need not be in
 * the catalog. */
void scan_request_directory(struct scanner *s, const struct file_key *key,
			    int fd);

/* The catalog does not know that key.  Ignored when the host does not know it
 * either, as the file is gone then, or cannot be found. */
void scan_request_unknown(struct scanner *s, const struct file_key *key);

/* A directory was moved to another directory: a walk over the tree, or a deep
 * request, that has not ended may miss it. */
void scan_directory_moved(struct scanner *s, const struct file_key *directory);

/* Requests are deferred while the committer writes a batch, because they are
 * served with what the catalog knows after it. */
void scan_defer_requests(struct scanner *s, bool on);

/* Reports the names on the present path of an open file (O_PATH will do) that
 * no name in the catalog leads to.  Reads no directory. */
void scan_report_path(struct scanner *s, int fd, const struct file_key *key);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HASH_HASH_H
#define CORE_HASH_HASH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/logger.h"
#include "core/catalog/catalog.h"
#include "core/hash/meter.h"
#include "core/queue/queue.h"
#include "core/queue/throttle.h"
#include "core/source/source.h"

/*
 * Hashes the files of SOURCE that the queue has jobs for.
 *
 * Threads.  There are two kinds of workers, as many of each as the context
 * says: those for files that a request waits for, at normal priority and with
 * QUEUE_SPARE more; and background workers, one more, under SCHED_IDLE and the
 * idle I/O class.  Background workers wait while the host is busy
 * (throttle.h), read past the page cache, and move files from the catalog's
 * pending list to the queue when it runs low (feed.c).  A worker holds
 * one file at a time and less than 4 MiB of memory.
 *
 * The life of a file:
 *
 *   1. A worker takes its job from the queue and opens it O_PATH, by its key
 *      (source_find()).  A file that cannot be found is reported.
 *   2. The worker decides whether to read it (worker.c).  It does not if a rule
 *      excludes the file or the catalog has digests of its identity.  It does
 *      not yet if the file is open for writing, a metadata change of it is not
 *      committed, or its times are so young that the next change might not move
 *      them.
 *   3. A large file waits until the queue admits it.  For a file without a name
 *      in the catalog, its path is reported.
 *   4. The file is reopened for reading, what is dirty through mappings is
 *      written out, and its bytes are read and digested in chunks (task.c).
 *      Between chunks the worker looks whether it should stop: the file
 *      changed, requests began or ceased to wait for it, or all is paused.
 *      What is done of a large file stays with its job then.  Other threads
 *      help with a large file, one file of a kind at a time; holes are not
 *      read.
 *   5. Use and identity are looked at again.  If they are as before, the result
 *      is posted to the committer and the parked requests of the job are
 *      answered (queue_done()); else the file is hashed again, later each time.
 *
 * Crashes.  Nothing here is on disk.  A file stays pending in the catalog until
 * its result is committed.
 *
 * Locks.  A worker holds none but for feeding (struct hash_feeder), when it
 * calls the catalog and the queue, and while it adds to the meter.  No function
 * of the context is called then.
 *
 * A worker never writes to SOURCE or the catalog, never opens special files,
 * and never posts digests of bytes that a change may have been mixed into.
 */
struct hash_context {
	const struct source *source;
	struct catalog *catalog;
	struct queue *queue;
	struct throttle *throttle;
	const struct logger *log;
	const atomic_bool *stopping;
	uint32_t digest_set; /* what is computed */
	unsigned workers;    /* of each kind */
	void *ctx;           /* of the functions below; workers call them */

	/* Takes a reference to the result on success, see queue_done(). */
	int (*post_result)(void *ctx, struct result *r);
	/* A rule keeps the file from being hashed. */
	void (*file_excluded)(void *ctx, const struct file_key *key);
	/* The host does not have the file, and no name leads to it. */
	void (*file_missing)(void *ctx, const struct file_key *key);
	/* The file may have no name in the catalog; fd is O_PATH. */
	void (*report_path)(void *ctx, int fd, const struct file_key *key);
	/* Whether metadata changes were posted and are not committed. */
	bool (*metadata_changes)(void *ctx);
	/* Has what was posted committed soon. */
	void (*hurry_commit)(void *ctx);
	/* Blocks while results cannot be committed and many wait. */
	void (*wait_writable)(void *ctx);
	/* Waits a moment until the host has passed on what happened before the
	 * call; false when it has not come so far. */
	bool (*catch_up)(void *ctx);
};

/* Moves files from the catalog's pending list to the queue. */
struct hash_feeder {
	pthread_mutex_t lock; /* one thread at a time; guards the next two */
	struct file_key after;
	bool started;        /* after is valid */
	atomic_bool wanted;  /* files were put on the list since the start */
	atomic_bool running; /* a pass over the list is not finished */
};

/* Threads that help one worker of a kind at a time with a large file. */
struct hash_team {
	atomic_bool taken;
	struct team *team; /* of the worker that took it; NULL until needed */
};

struct hasher {
	struct hash_context context; /* constant */
	struct hash_feeder feeder;
	struct meter meter;
	struct hash_team teams[2]; /* waited for, background */
	pthread_t *workers;
	size_t worker_count; /* started */
	atomic_ullong files; /* hashed */
	atomic_ullong bytes; /* of these */
};

/* The context is copied; what it points to is borrowed. */
int hash_init(struct hasher *h, const struct hash_context *context);
int hash_start(struct hasher *h);
/* Ends the workers; context.stopping is set and the queue stopped by then. */
void hash_stop(struct hasher *h);
void hash_release(struct hasher *h);

/* The catalog's pending list has new files: a pass over all of it is wanted. */
void hash_want_feed(struct hasher *h);
/* Starts that pass; a background worker does it. */
void hash_feed(struct hasher *h);
/* Whether the pending list has files that were not given to the queue yet. */
bool hash_is_feeding(struct hasher *h);

#endif

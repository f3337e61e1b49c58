/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_COMMIT_COMMIT_H
#define CORE_COMMIT_COMMIT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/logger.h"
#include "core/catalog/catalog.h"
#include "core/queue/event.h"
#include "core/queue/gate.h"
#include "core/queue/hash.h"
#include "core/index/index.h"
#include "core/queue/throttle.h"
#include "core/scan/scan.h"
#include "core/source/source.h"

/*
 * Writes the catalog.  Other modules post events (event.h), and one thread, the
 * committer, applies them.  While a mount runs, nothing else writes to the
 * catalog.
 *
 * The life of an event:
 *
 *   1. Any thread posts it.  A post takes a mutex and appends to a list; it
 *      never waits and never touches the disk.
 *   2. The committer takes the first events of the list, in the order of the
 *      posts, as a batch, and applies them in one transaction (apply.c).
 *   3. The transaction is committed and durable.  New contents are added to the
 *      index, and contents that are gone are removed from it (batch.c).
 *   4. The events leave the list and are freed.
 *
 * Batches.  A durable commit flushes the disk, which delays all other programs
 * that write there.  So a batch is written QUIET_MS after the last post, but at
 * most BATCH_MS after the first, or when BATCH_EVENTS are posted, or at once
 * after commit_hurry().  Unless a thread waits for the commit, the committer
 * works in slices and pauses while the host is busy (gate.h).
 *
 * Crashes.  A crash loses the events that are not committed.  The next scan
 * compares names and identities with the disk and finds the same changes again.
 * So the catalog and the files of SOURCE need not be written in any order.  The
 * index is built from the catalog at each start.  It is updated only after the
 * commit, so it never has a content that a crash may remove from the catalog.
 *
 * Failures.  If a batch cannot be written (a full disk), its events stay first
 * in the list, and the batch is tried again every RETRY_MS; at once if the
 * catalog is damaged, since another one takes its place.  From EVENTS_MANY
 * events on, the committer no longer pauses while the host is busy.  From
 * EVENTS_MAX on, all posts but results fail, and the whole tree is scanned
 * instead.  When commits fail and STUCK_RESULTS results wait, results are
 * refused, too.
 *
 * Versions of names.  The names that the scan or a worker reads from a
 * directory may be older than a rename that has been posted.  So each change of
 * names in a directory increments the directory's version before its event is
 * posted.  An event that was read from disk carries the version from before the
 * reading.  If the version has changed, its post fails with -ESTALE, and the
 * names are read again.  Directories whose keys have the same hash share a
 * version.
 *
 * A listing may also be newer than a move whose event has not been posted yet.
 * So the event of a move has the key of the file moved.  If the catalog already
 * has the file by its new name, the event is ignored.  If one of the two names
 * belongs to another file, both directories are read again.
 *
 * Unknown files.  An event may name a directory or file without a record: an
 * earlier event was lost, or events were posted in a wrong order.  Then the
 * scan is asked to read that directory again.
 *
 * Locks.  `lock` guards all fields but the versions.  It is held for a few
 * instructions only: never while the disk is touched, never during a callback.
 *
 * The module must never: let a post wait, drop a result that it has accepted,
 * apply events in another order than that of the posts, or add a content to the
 * index before it is durable.
 */

/* All pointers are borrowed. */
struct commit_context {
	const struct source *source;
	struct catalog *catalog;
	struct index *index;
	struct throttle *throttle; /* NULL: the host is never busy */
	struct queue *queue;
	struct hasher *hasher;
	struct scanner *scan;
	const struct logger *log;
	const struct engine_listener *up;
};

enum { NAME_VERSIONS = 4096 };

struct committer {
	struct commit_context context; /* constant */
	pthread_mutex_t lock;          /* everything below but the versions */
	pthread_cond_t work;
	pthread_cond_t progress; /* attempted has changed, or unblocked */
	struct event *first, *last;
	size_t count;            /* events not yet committed */
	size_t results;          /* of these, EVENT_RESULT */
	size_t metadata_changes; /* of these, EVENT_METADATA */
	size_t listings;         /* of these, EVENT_LISTING */
	int64_t oldest_ms, newest_ms;
	int64_t trim_ms;    /* when to return memory; INT64_MAX: not */
	uint64_t posted;    /* number of the last event */
	uint64_t committed; /* number of the last event in the catalog */
	uint64_t attempted; /* ... of the last batch that was tried */
	bool urgent;        /* a thread waits for a commit */
	bool unblocked;     /* commit_unblock() was called */
	bool stopped;
	struct gate gate;
	int error; /* negative: why the last batch could not be written */
	pthread_t thread;
	bool started;
	atomic_uint versions[NAME_VERSIONS];
};

/* The context is copied. */
int commit_init(struct committer *c, const struct commit_context *context);
int commit_start(struct committer *c);
/* Threads that wait in a function below return, now and later. */
void commit_unblock(struct committer *c);
/* Tries to write all events, once, and ends the thread. */
void commit_stop(struct committer *c);
/* Frees the events that could not be written. */
void commit_release(struct committer *c);

/*
 * Takes ev and what it owns; NULL, for which there was no memory, becomes a scan
 * of the whole tree (-ENOMEM).  On failure ev is freed, but its result stays the
 * caller's, and with -ESTALE its listing, too.  -ENOBUFS: too many events; the
 * whole tree is scanned instead.  -ENOSPC: too many results wait while commits
 * fail.  -ESTALE: the names changed since they were read.  -ECANCELED: stopped.
 */
int commit_post(struct committer *c, struct event *ev);

/* Has the committer write all posted events at once. */
void commit_hurry(struct committer *c);
/* Blocks the scan while too many events wait; false: unblocked. */
bool commit_wait_room(struct committer *c);
/* Blocks while too many results wait because commits fail. */
void commit_wait_writable(struct committer *c);
/* Blocks until all events posted before are committed.  The error when a commit
 * fails; -ECANCELED: unblocked. */
int commit_settle(struct committer *c);

/* See "Versions of names" above. */
unsigned commit_names_version(struct committer *c, const struct file_key *dir);
void commit_names_changed(struct committer *c, const struct file_key *dir);

struct commit_counts {
	size_t events, results, metadata_changes; /* not yet committed */
	uint64_t posted,
		attempted; /* numbers of events, see struct committer */
	int error;
};
void commit_counts(struct committer *c, struct commit_counts *out);

#endif

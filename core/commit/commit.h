/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_COMMIT_COMMIT_H
#define CORE_COMMIT_COMMIT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/logger.h"
#include "core/catalog/catalog.h"
#include "core/commit/event.h"
#include "core/commit/gate.h"
#include "core/index/index.h"
#include "core/queue/throttle.h"
#include "core/source/source.h"

/*
 * The way into the catalog.  Whatever is to be remembered is posted as an event
 * (event.h); one thread, the committer, writes the events.  While a mount runs,
 * nothing else writes to the catalog.
 *
 * The life of an event:
 *
 *   1. Any thread posts it.  A post takes a mutex and appends to a list; it
 *      never waits and never touches the disk.
 *   2. The committer takes the first events of the list, in the order of the
 *      posts, as a batch, and applies them in one transaction (apply.c).
 *   3. The transaction is committed and durable.  The index is told which
 *      contents appeared and which are gone (batch.c).
 *   4. The events leave the list and are freed.
 *
 * Batches.  A durable commit makes the disk wait, and with it all other
 * programs that write there.  So a batch is written QUIET_MS after the last
 * post, but at most BATCH_MS after the first, or when BATCH_EVENTS are posted,
 * or at once after commit_hurry().  Unless a thread waits, the committer
 * applies events in slices and lets a busy host go first (gate.h).
 *
 * Crashes.  A crash loses the events that are not committed, and the next scan
 * finds the same things again: it compares names and identities with the disk,
 * and what differs is hashed.  So no order between the catalog and the files of
 * SOURCE is needed.  The index is made of the catalog at each start; it is
 * changed only after the commit, so that it never knows a content that the
 * catalog may lose.
 *
 * Failures.  Events of a batch that cannot be written (a full disk) stay first
 * in the list, and the batch is tried again every RETRY_MS.  Of a damaged
 * catalog, the events that it cannot take are found by halving the batch, and
 * dropped.  From EVENTS_MANY events on the committer no longer lets the host go
 * first.  From EVENTS_MAX on, posts of anything but results fail, and the whole
 * tree is scanned instead.  When STUCK_RESULTS wait and nothing can be written,
 * results are refused, too.
 *
 * Versions of names.  What the scan or a worker reads from a directory may be
 * older than a rename that was posted before it.  So each change of names in a
 * directory increments the directory's version before its event is posted.  An
 * event that was read from disk carries the version from before the reading;
 * its post fails with -ESTALE when the version is another one by then, and the
 * reader reads again.  Directories whose keys have the same hash share a
 * version.
 *
 * A listing may also be newer than a move whose event is yet to be posted.  So
 * the event of a move says what moved.  If the catalog has it by its new name
 * already, nothing is done; if one of the two names is of something else, the
 * directories are read again.
 *
 * Unknown files.  An event may name a directory or file that has no record: an
 * event before it was lost, or events came in an order that makes no sense.
 * Then the scan is asked to read that directory again.
 *
 * Locks.  `lock` guards all but the versions and is held for a few instructions
 * only: never while the disk is touched, never during a callback.
 *
 * It must never: let a post wait, drop a result that it has accepted, apply
 * events in another order than that of the posts, or tell the index of what is
 * not durable.
 */

struct result;

/* All pointers are borrowed. */
struct commit_context {
	const struct source *source;
	struct catalog *catalog;
	struct index *index;
	struct index *texts;       /* or NULL: texts are not kept */
	struct throttle *throttle; /* NULL: the host is never busy */
	const struct logger *log;
	void *ctx; /* of the functions below */

	/* The whole tree must be scanned: events were dropped.  Any thread that
	 * posts may call this; all others are called by the committer's. */
	void (*rescan_tree)(void *ctx);
	/* The catalog misses something in the directory of that key, or in the
	 * one that the file is in.  deep: and in all directories below. */
	void (*rescan)(void *ctx, const struct file_key *key, bool deep);
	/* The catalog does not know that key, perhaps because the file is
	 * gone. */
	void (*rescan_unknown)(void *ctx, const struct file_key *key);
	/* A batch begins, or it has ended.  What is requested in between is to
	 * be compared with what the catalog holds after the batch. */
	void (*batch)(void *ctx, bool begins);
	/* The pending list of the catalog has new files.  The events that put
	 * them there are still counted (commit_counts()). */
	void (*pending_added)(void *ctx);
	/* The result is committed; the event is about to be freed. */
	void (*result_committed)(void *ctx, struct result *r);
	/* All events up to that number are committed, or failed to be at least
	 * once; those that are committed are no longer counted. */
	void (*attempted)(void *ctx, uint64_t number);
	/* The catalog contradicts itself (-EUCLEAN). */
	void (*damaged)(void *ctx);
};

enum { NAME_VERSIONS = 4096 };

struct committer {
	struct commit_context context; /* constant */
	pthread_mutex_t lock;          /* everything below but the versions */
	pthread_cond_t work;
	pthread_cond_t progress; /* a batch was tried, or commit_unblock() */
	struct event *first, *last;
	size_t count;            /* events not yet committed */
	size_t results;          /* of these, EVENT_RESULT */
	size_t metadata_changes; /* of these, EVENT_METADATA */
	size_t listings;         /* of these, EVENT_LISTING */
	int64_t oldest_ms, newest_ms;
	uint64_t posted;    /* number of the last event */
	uint64_t committed; /* all up to this one are in the catalog */
	uint64_t attempted; /* ... or failed to get there at least once */
	bool urgent;        /* a thread waits for a commit */
	bool unblocked;     /* no thread waits any more */
	bool stopped;
	struct gate gate;
	int64_t throttle_ns; /* see throttle_due_ns() */
	int error; /* negative: why the last batch could not be written */
	pthread_t thread;
	bool started;
	atomic_uint versions[NAME_VERSIONS];
};

/* The context is copied. */
int commit_init(struct committer *c, const struct commit_context *context);
int commit_start(struct committer *c);
/* The threads that wait in a function below return; so do later ones. */
void commit_unblock(struct committer *c);
/* Writes what there is, once, and ends the thread. */
void commit_stop(struct committer *c);
/* Drops what could not be written. */
void commit_release(struct committer *c);

/*
 * Takes ev and what it owns; when it fails, not the result, and not the listing
 * if that is -ESTALE.  -ENOBUFS: too many events, the whole tree is scanned
 * instead; -ENOSPC: too many results and the catalog cannot be written;
 * -ESTALE: names changed since they were read; -ECANCELED: stopped.
 */
int commit_post(struct committer *c, struct event *ev);

/* Has the committer write all that was posted now instead of in a while. */
void commit_hurry(struct committer *c);
/* Blocks the scan while too much is uncommitted; false when unblocked. */
bool commit_wait_room(struct committer *c);
/* Blocks while results pile up because the catalog cannot be written. */
void commit_wait_writable(struct committer *c);
/* Waits until everything posted by now is in the catalog; the error when the
 * catalog cannot be written, -ECANCELED when unblocked. */
int commit_settle(struct committer *c);

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

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
#include "core/queue/hash.h"
#include "core/index/index.h"
#include "core/scan/scan.h"
#include "core/source/source.h"

/*
 * Writes the catalog.  Other modules post events (core/queue/event.h), and one
 * thread, the committer, applies them.  While a mount runs, nothing else writes
 * to the catalog.
 *
 * The life of an event:
 *
 *   1. Any thread posts it, which appends it to the list.
 *   2. The committer takes the first events of the list, in the order of the
 *      posts, as a batch, and applies them in one transaction (apply.c).
 *   3. The transaction is committed and durable.  New contents are added to the
 *      index, and contents that are gone are removed from it.
 *   4. The events leave the list and are freed.
 *
 * Batches.  A durable commit flushes the disk, which delays all other programs
 * that write there.  So a batch is written QUIET_MS after the last post, but at
 * most BATCH_MS after the first, or when BATCH_EVENTS are posted, or at once
 * after events_hurry().  Unless a thread waits for the commit, the committer
 * works in slices and pauses while the host is busy (throttle.h).
 *
 * Crashes.  A crash loses the events that are not committed.  The next scan
 * compares names and identities with the disk and finds the same changes again.
 * So the catalog and the files of SOURCE need not be written in any order.  The
 * index is built from the catalog at each start.  It is updated only after the
 * commit, so it never has a content that a crash may remove from the catalog.
 *
 * Failures.  If a batch cannot be written (a full disk), its events stay first
 * in the list, and the batch is tried again every RETRY_MS; at once if the
 * catalog is damaged, since another one takes its place.
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
 * The module must never: drop a result that it has accepted,
 * apply events in another order than that of the posts, or add a content to the
 * index before it is durable.
 */

struct committer {
	struct engine_parts context; /* constant */
	/* Under the lock of the events: when to return memory; INT64_MAX:
	 * not. */
	int64_t trim_ms;
	pthread_t thread;
	bool started;
};

/* The context is copied. */
void commit_init(struct committer *c, const struct engine_parts *context);
int commit_start(struct committer *c);
/* Tries to write all events, once, and ends the thread. */
void commit_stop(struct committer *c);

/* Applies an event to the catalog.  It is no error if the catalog already has
 * what the event says, or misses what it removes. */
int event_apply(const struct committer *c, struct catalog_txn *txn,
		const struct event *ev);

#endif

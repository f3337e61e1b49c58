/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_COMMIT_COMMIT_H
#define CORE_COMMIT_COMMIT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/commit/gate.h"
#include "core/queue/queue.h"
#include "core/source/listing.h"

/*
 * The way into the catalog.
 *
 * Everything that is to be remembered is posted as an event; one thread takes
 * them in order and writes them in batches, one durable commit a batch.  A
 * commit makes the disk wait for it, and with it whoever else writes there; so
 * a batch is as large as memory allows, while nobody waits for it and posts
 * follow one another.  What a crash takes along the next scan finds again.
 * Posts never wait.  Events that could not be committed (a full disk) stay and
 * are tried again.  When many have piled up, they are written without regard to
 * who works in the host; when too many have, names and pending marks are dropped
 * and a scan is asked for instead, which finds the same things.
 *
 * What the scan or a worker read from a directory may be older than a rename
 * that was posted before it.  So every change of names in a directory bumps a
 * counter (hashed by the directory's key) before it is posted; what was read
 * carries the counter's value from before and is not taken when that has moved
 * on.  What is posted after it is applied after it.
 */
enum event_kind {
	EVENT_RESULT,   /* a file was hashed, or failed */
	EVENT_PENDING,  /* a file must be hashed some time */
	EVENT_FORGET,   /* a file is skipped by a rule */
	EVENT_MISSED,   /* a file is not where it was */
	EVENT_METADATA, /* its ctime moved, its content did not change */
	EVENT_NAME_ADDED,
	EVENT_NAME_REMOVED,
	EVENT_NAME_MOVED,
	EVENT_LISTING, /* the entries of a directory */
};

struct event {
	struct event *next;
	enum event_kind kind;
	struct file_key key;
	struct file_identity identity;
	struct file_identity before; /* touched: identity is the new one */
	struct file_key parent, new_parent;
	bool directory, exchange;
	bool known;            /* moved: key and directory are of what moved */
	bool learned;          /* the name was read from disk ... */
	unsigned version;      /* ... when the parent's counter was this */
	struct result *result; /* owned */
	struct source_listing *listing; /* owned */
	char *name, *new_name;          /* owned */
};

enum { NAME_VERSIONS = 4096 };

struct engine;

struct commit {
	pthread_mutex_t lock; /* everything below but versions */
	pthread_cond_t work;
	pthread_cond_t room; /* the scan may post again */
	struct event *first, *last;
	size_t count;    /* events not yet committed */
	size_t results;  /* of these, results */
	size_t touches;  /* of these, EVENT_METADATA */
	size_t listings; /* of these, EVENT_LISTING */
	int64_t oldest_ms, newest_ms;
	uint64_t posted;    /* number of the last event */
	uint64_t committed; /* all up to this one are in the catalog */
	uint64_t attempted; /* ... or failed to get there at least once */
	bool urgent;
	bool stopped;
	struct gate gate; /* open when it presses, or too much waits */
	int64_t since_ns; /* for throttle_due_ns() */
	int error; /* negative: why the last batch could not be written */
	pthread_t thread;
	bool started;
	atomic_uint versions[NAME_VERSIONS];
};

int commit_init(struct commit *c);
int commit_start(struct engine *e);
/* Writes what there is, once, and ends the thread. */
void commit_stop(struct engine *e);
void commit_release(struct commit *c);

/* Takes ev (and what it owns), but for its result when it fails, and for its
 * listing when that is -ESTALE: names changed since it was read. */
int commit_post(struct engine *e, struct event *ev);
/* Wakes the committer now instead of when a batch is full. */
void commit_hurry(struct engine *e);
/* Blocks the scan while too much is uncommitted; false at the end. */
bool commit_wait_room(struct engine *e);
/* Blocks while results pile up because the catalog cannot be written. */
void commit_wait_writable(struct engine *e);
/* Waits until everything posted by now is in the catalog; the error when it
 * cannot be written, -ECANCELED at the end. */
int commit_settle(struct engine *e);
/* The engine is stopping: they return. */
void commit_unblock(struct engine *e);

unsigned commit_names_version(struct commit *c, const struct file_key *dir);
void commit_names_changed(struct commit *c, const struct file_key *dir);

struct commit_counts {
	size_t events, results, touches;
	uint64_t posted, attempted;
	int error;
};
void commit_counts(struct commit *c, struct commit_counts *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_EVENT_H
#define CORE_QUEUE_EVENT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/base/buf.h"
#include "core/catalog/catalog.h"
#include "core/queue/throttle.h"
#include "core/source/listing.h"

struct result;

/* A change that is to be written to the catalog; the comments name the fields
 * of struct event that are used. */
enum event_kind {
	EVENT_RESULT,       /* result: a file was hashed, or cannot be read */
	EVENT_PENDING,      /* key, identity: the file is to be hashed */
	EVENT_FORGET,       /* key: a rule excludes the file */
	EVENT_MISSED,       /* key: the file was not found */
	EVENT_METADATA,     /* key, before, identity: the ctime changed, the
			   content did not */
	EVENT_NAME_ADDED,   /* parent, name, key, directory */
	EVENT_NAME_REMOVED, /* parent, name */
	EVENT_NAME_MOVED,   /* parent, name, new_parent, new_name, exchange */
	EVENT_LISTING,      /* listing: the entries of a directory */
	EVENT_TEXT,         /* key, identity, text: of the file's content;
			   NULL: it is the one that is known */
	EVENT_KINDS,
};

/* What became of the text of a content. */
struct text_result {
	struct content_text text;
	struct buf kept; /* see catalog_text_set() */
};

struct event {
	struct event *next; /* the list's */
	enum event_kind kind;
	struct file_key key;
	struct file_identity identity;
	struct file_identity before; /* EVENT_METADATA only */
	struct file_key parent, new_parent;
	bool directory, exchange;
	bool known;       /* EVENT_NAME_MOVED: key and directory are set */
	bool learned;     /* EVENT_NAME_ADDED: the name was read from disk */
	unsigned version; /* learned: events_names_version() before reading */
	struct result *result;          /* owned */
	struct source_listing *listing; /* owned */
	struct text_result *text;       /* owned */
	char *name, *new_name;          /* owned */
};

/* With the key, or NULL; all other fields are zero.  NULL: no memory. */
struct event *event_new(enum event_kind kind, const struct file_key *key);
/* The same with parent and a copy of the name. */
struct event *event_new_name(enum event_kind kind,
			     const struct file_key *parent, const char *name);
void event_free(struct event *ev);

/* ---- the list of events ---- */

/*
 * Events that are to be written to the catalog.  Any thread posts them, and the
 * committer (core/commit/commit.h) applies them in the order of the posts.  They
 * stay in the list until they are committed.
 *
 * A post takes the lock and appends to the list; it never waits and never
 * touches the disk.  From EVENTS_MANY events on, the committer no longer pauses
 * while the host is busy.  From EVENTS_MAX on, all posts but results fail, and
 * the whole tree is scanned instead.  When commits fail and STUCK_RESULTS
 * results wait, results are refused, too.
 *
 * Versions of names.  The names that the scan or a worker reads from a
 * directory may be older than a rename that has been posted.  So each change of
 * names in a directory increments the directory's version before its event is
 * posted.  An event that was read from disk carries the version from before the
 * reading.  If the version has changed, its post fails with -ESTALE, and the
 * names are read again.  Directories whose keys have the same hash share a
 * version.
 *
 * The lock is held for a few instructions only.
 */
enum {
	NAME_VERSIONS = 4096,
	BATCH_EVENTS = 4096,  /* a batch is due with so many events */
	LISTINGS_MANY = 256,  /* with so many the scan waits */
	EVENTS_MANY = 32768,  /* ... and the gate is open */
	EVENTS_MAX = 262144,  /* with so many all but results are dropped */
	STUCK_RESULTS = 4096, /* results kept while commits fail */
};

struct event_list {
	pthread_mutex_t lock;    /* everything below but gate and versions */
	pthread_cond_t work;     /* of the committer */
	pthread_cond_t progress; /* a batch was tried, or unblocked */
	struct event *first, *last;
	size_t count;               /* events not yet committed */
	size_t counts[EVENT_KINDS]; /* of these */
	int64_t oldest_ms, newest_ms;
	uint64_t posted;    /* number of the last event */
	uint64_t committed; /* number of the last event in the catalog */
	bool lost;          /* an event: the whole tree is to be scanned */
	bool urgent;        /* a thread waits for a commit */
	bool unblocked;     /* events_unblock() was called */
	bool stopped;       /* no more are posted */
	int error;          /* negative: why the last batch was not written */
	struct gate gate;   /* the committer's */
	atomic_uint versions[NAME_VERSIONS];
};

/* throttle: NULL: the host is never busy. */
int events_init(struct event_list *l, struct throttle *throttle);
/* Frees the events that were not written. */
void events_release(struct event_list *l);

/*
 * Takes ev and what it owns; NULL, for which there was no memory, becomes a scan
 * of the whole tree (-ENOMEM).  On failure ev is freed, but its result stays the
 * caller's, and with -ESTALE its listing, too.  -ENOBUFS: too many events; the
 * whole tree is scanned instead.  -ENOSPC: too many results wait while commits
 * fail.  -ESTALE: the names changed since they were read.  -ECANCELED: stopped.
 */
int events_post(struct event_list *l, struct event *ev);

/* Has the committer write all posted events at once. */
void events_hurry(struct event_list *l);
/* Blocks the scan while too many events wait; false: unblocked. */
bool events_wait_room(struct event_list *l);
/* Blocks while too many results wait because commits fail. */
void events_wait_writable(struct event_list *l);
/* Blocks until all events posted before are committed.  The error when a commit
 * fails; -ECANCELED: unblocked. */
int events_settle(struct event_list *l);
/* Threads that wait in a function above return, now and later. */
void events_unblock(struct event_list *l);

/* See "Versions of names" above. */
unsigned events_names_version(struct event_list *l, const struct file_key *dir);
void events_names_changed(struct event_list *l, const struct file_key *dir);

struct event_counts {
	size_t events, metadata_changes; /* not yet committed */
	uint64_t posted;                 /* see struct event_list */
	int error;
};
void events_counts(struct event_list *l, struct event_counts *out);

#endif

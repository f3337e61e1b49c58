/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_WATCH_WATCH_IMPL_H
#define CORE_WATCH_WATCH_IMPL_H

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/statfs.h>
#include <sys/types.h>

#include "core/watch/watch.h"

enum {
	WATCH_FILESYSTEMS_MAX = 64,
	PENDING_MAX = 16384,
	PENDING_BUCKETS = 4096,
	FOREIGN_SLOTS = 4096,
	/* From the first event of a file until it is resolved. */
	SETTLE_MS = 50,
	/* SETTLE_MS of a file that was written to and not closed. */
	SETTLE_WRITTEN_MS = 10000,
	RESOLVER_IDLE_MS = 10000,
	/* See watch_is_late(). */
	LATE_MS = 500,
	/* Between two reads of the groups. */
	REST_MS = 5,
	/* Between two reads of the group of opens while this process opens
	 * files. */
	OPENS_MS = 25,
};

/* A struct file_handle (<fcntl.h>) that has room for its bytes. */
struct watch_handle {
	unsigned bytes;
	int type;
	unsigned char data[MAX_HANDLE_SZ];
};

struct watch_filesystem {
	fsid_t id; /* as in events */
	int fd;    /* a directory on it, for open_by_handle_at() */
};

/* A file or directory that the resolver is to open. */
struct pending_file {
	TAILQ_ENTRY(pending_file) order;
	struct pending_file *next; /* in its bucket */
	uint64_t id;
	int64_t due_ms;
	bool directory;
	bool late; /* in the list late */
	fsid_t filesystem;
	struct watch_handle file;
	struct watch_handle parent; /* its directory; bytes 0: not known */
};

TAILQ_HEAD(pending_list, pending_file);

/* The files and directories that wait, by id, and in two lists by due_ms: those
 * that were only written to (late), and the others (soon). */
struct pending_set {
	struct pending_file *buckets[PENDING_BUCKETS];
	struct pending_list soon, late;
	size_t count;
};

void pending_init(struct pending_set *s);
void pending_release(struct pending_set *s);

/* A change of one file or directory. */
struct pending_news {
	uint64_t id;
	bool directory;
	bool written; /* only written to: the file is likely still open */
	fsid_t filesystem;
	const struct file_handle *file;
	const struct file_handle *parent; /* or NULL */
};

/* -ENOSPC: the set has PENDING_MAX.  -ENOMEM. */
int pending_add(struct pending_set *s, const struct pending_news *news,
		int64_t now_ms);
/* When the first one is due; INT64_MAX: the set is empty. */
int64_t pending_due_ms(const struct pending_set *s);
/* Removes one that is due; the caller frees it.  NULL: none is due. */
struct pending_file *pending_take(struct pending_set *s, int64_t now_ms);

/* The reader starts the resolver when there is something to resolve; it ends
 * when there was nothing for RESOLVER_IDLE_MS. */
enum resolver_state { RESOLVER_NONE, RESOLVER_RUNS, RESOLVER_ENDED };

struct watch {
	int changes, opens; /* fanotify groups */
	int mounts;         /* /proc/self/mountinfo; -1: cannot be opened */
	int wake;           /* eventfd that ends the reader */
	pid_t own;          /* this process */
	struct watch_context context;
	pthread_t reader, resolver;
	bool reading; /* the thread was started */

	pthread_mutex_t lock; /* up to foreign */
	enum resolver_state resolving;
	pthread_cond_t work;
	struct pending_set pending;
	bool stopped;
	bool resolves;  /* the resolver is at a file */
	unsigned moves; /* how many directories were moved */
	/* Ids of foreign directories, direct-mapped.  Written under the lock,
	 * read without it. */
	_Atomic uint64_t foreign[FOREIGN_SLOTS];

	pthread_mutex_t filesystem_lock; /* the next two */
	struct watch_filesystem filesystems[WATCH_FILESYSTEMS_MAX];
	size_t filesystem_count;

	int64_t idle_ms;  /* when no events were left; the reader's own */
	bool own_opens;   /* the last reads had some; the reader's own */
	atomic_bool late; /* see watch_is_late() */
	atomic_bool busy; /* events were read and not all are handled */
	atomic_ullong events, lost;
};

/* The id of a handle. */
uint64_t watch_id_of(const struct file_handle *h);

/* ---- reader.c ---- */

void *watch_read_events(void *watch);
/* Handles the events in buf; for tests. */
void watch_handle_events(struct watch *w, const void *buf, size_t len);

/* ---- resolver.c ---- */

void *watch_resolve(void *watch);

/* ---- foreign directories ---- */

/* Whether the directory of that id is in the table of foreign directories. */
bool watch_is_foreign(const struct watch *w, uint64_t id);
/* Adds a directory, unless one was moved since moves = watch_get_moves(). */
void watch_add_foreign(struct watch *w, uint64_t id, unsigned moves);
unsigned watch_get_moves(struct watch *w);
/* A directory was moved: clears the table. */
void watch_directory_moved(struct watch *w);

#endif

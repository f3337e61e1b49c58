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
	/* A file is dealt with so long after its event, with further ones. */
	SETTLE_MS = 50,
	/* A file that is written to and was not closed waits so long. */
	SETTLE_WRITTEN_MS = 10000,
	/* The reader is late when it finds no end of events for so long. */
	LATE_MS = 500,
	/* Between two times that it reads. */
	REST_MS = 5,
};

/* struct file_handle of <fcntl.h>, with its bytes. */
struct watch_handle {
	unsigned bytes;
	int type;
	unsigned char data[MAX_HANDLE_SZ];
};

struct watch_filesystem {
	fsid_t id; /* as events have it */
	int fd;    /* a directory on it, for open_by_handle_at() */
};

/* A file or directory that the resolver is to open. */
struct pending_file {
	TAILQ_ENTRY(pending_file) order;
	struct pending_file *next; /* in its bucket */
	uint64_t id;
	int64_t due_ms;
	bool directory;
	bool late; /* in the list of those that were only written to */
	fsid_t filesystem;
	struct watch_handle file;
	struct watch_handle parent; /* of a file; bytes 0: not known */
};

TAILQ_HEAD(pending_list, pending_file);

/* What waits, by id and in two lists, each in the order of due_ms. */
struct pending_set {
	struct pending_file *buckets[PENDING_BUCKETS];
	struct pending_list soon, late;
	size_t count;
};

void pending_init(struct pending_set *s);
void pending_release(struct pending_set *s);

/* What an event says of one file or directory. */
struct pending_news {
	uint64_t id;
	bool directory;
	bool written; /* and nothing else: the file is likely to be open */
	fsid_t filesystem;
	const struct file_handle *file;
	const struct file_handle *parent; /* or NULL */
};

/* -ENOSPC when there are PENDING_MAX, -ENOMEM. */
int pending_add(struct pending_set *s, const struct pending_news *news,
		int64_t now_ms);
/* When the first one is due; INT64_MAX when there is none. */
int64_t pending_due_ms(const struct pending_set *s);
/* Takes one that is due; free() it.  NULL when none is. */
struct pending_file *pending_take(struct pending_set *s, int64_t now_ms);

struct watch {
	int changes, opens; /* fanotify groups */
	int mounts;         /* /proc/self/mountinfo; -1: not known */
	int wake;           /* eventfd that ends the reader */
	pid_t own;
	struct watch_context context;
	pthread_t reader, resolver;
	bool reading, resolving; /* they were started */

	pthread_mutex_t lock; /* these five */
	pthread_cond_t work;
	struct pending_set pending;
	bool stopped;
	bool resolves;  /* something was taken and is not done */
	unsigned moves; /* of directories */
	/* Ids of directories that the caller does not care for, each in the
	 * place that its id leads to.  Written under the lock. */
	_Atomic uint64_t foreign[FOREIGN_SLOTS];

	pthread_mutex_t filesystem_lock; /* these two */
	struct watch_filesystem filesystems[WATCH_FILESYSTEMS_MAX];
	size_t filesystem_count;

	int64_t call_at_ms; /* the reader's own */
	int64_t idle_ms;    /* when no events were left */
	atomic_bool late;
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

/* ---- foreign.c ---- */

/* Whether the directory of that id is known to be one that the caller does not
 * care for. */
bool watch_is_foreign(const struct watch *w, uint64_t id);
/* Remembers that, if no directory was moved since moves was read. */
void watch_add_foreign(struct watch *w, uint64_t id, unsigned moves);
unsigned watch_get_moves(struct watch *w);
/* A directory was moved: forgets all. */
void watch_directory_moved(struct watch *w);

#endif

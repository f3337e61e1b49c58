/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_WATCH_WATCH_H
#define CORE_WATCH_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * Reports changes to the filesystem of SOURCE as they happen, by any process
 * and any path.  It uses fanotify(7) with a mark on the whole filesystem.  That
 * needs CAP_SYS_ADMIN, and a filesystem that has file handles and is changed by
 * this kernel alone.  Otherwise watch_open() fails.
 *
 * An event identifies a file or a directory by its file handle; paths are never
 * used.  An id is a hash of a handle.  The caller compares the ids of its own
 * files with those of events, so an event of another file costs no system call.
 * If two handles have the same id, the caller gets an event too many, never one
 * too few.
 *
 * Threads.  The reader passes every event to context.event() at once.  The
 * resolver, in the background class, opens what has changed by its handle and
 * passes it to context.file_changed() or context.directory_changed(), once for
 * several events in a short time.  At most PENDING_MAX files and directories
 * wait for the resolver; when there are more, all are dropped and
 * context.overrun() is called.
 *
 * Foreign directories.  The rest of the filesystem may be busier than the
 * caller's tree.  A directory that context.directory_changed() does not know is
 * stored in a table, and events in it cost one lookup there.  When a directory
 * is moved, it may have come into the tree, so the table is cleared.
 *
 * There are two fanotify groups.  One is for changes.  The other is for opens
 * of files, because the kernel reports no stores through a mapping until the
 * file is closed.  It leaves out directories, which are opened all the time.
 * The kernel reports the opens of this process, too: while there are some, the
 * reader does not wait for that group, and reads it every OPENS_MS.
 *
 * The kernel queues a limited number of events for each group
 * (/proc/sys/fs/fanotify/max_queued_events) and drops the others; then
 * context.lost() is called.  Changes by this process are not reported.
 *
 * The kernel does not report stores through a mapping, access times, and a
 * filesystem that is mounted on a directory; for the last there is
 * context.mounts_changed().
 */
struct watch;
struct file_handle;

/* Kinds of changes; an event may have several. */
enum watch_what {
	WATCH_NAME = 1,       /* a name was added, removed or moved */
	WATCH_ATTRIBUTES = 2, /* metadata, also the number of links */
	WATCH_WRITTEN = 4,
	WATCH_CLOSED = 8, /* a descriptor that was open for writing */
	WATCH_OPENED = 16,
};

struct watch_event {
	unsigned what;
	uint64_t directory; /* id of the directory that has the name; or 0 */
	const char *name;   /* in that directory; or NULL */
	uint64_t file;      /* id of the file or directory itself; or 0 */
};

struct watch_context {
	void *ctx;

	/* The reader calls these four.  They must not block. */

	/* False: the resolver need not open what has changed. */
	bool (*event)(void *ctx, const struct watch_event *event);
	/* Events were lost, so anything may have changed. */
	void (*lost)(void *ctx);
	/* Files that waited for the resolver were dropped. */
	void (*overrun)(void *ctx);
	/* A filesystem was mounted or unmounted. */
	void (*mounts_changed)(void *ctx);

	/* The resolver calls these two; fd is O_PATH. */

	/* False: the caller does not know the file; the directory of its name
	 * is passed to directory_changed() then. */
	bool (*file_changed)(void *ctx, int fd, const struct stat *st);
	/* False: the directory is not in the caller's tree. */
	bool (*directory_changed)(void *ctx, int fd, const struct stat *st);
};

/*
 * Makes the groups and marks the filesystem of source_fd (a directory, O_PATH
 * will do).  -EPERM: the process has no CAP_SYS_ADMIN.  -ENOTSUP: the
 * filesystem has no file handles, or is not changed by this kernel alone.
 * Other errors are the kernel's.
 */
int watch_open(int source_fd, struct watch **out);

/* Marks the filesystem of fd, too. */
int watch_add(struct watch *w, int fd);

/* Starts the threads.  context is copied. */
int watch_start(struct watch *w, const struct watch_context *context);
/* Ends the threads; no callback is called any more. */
void watch_stop(struct watch *w);
void watch_free(struct watch *w);

/* The id of the file behind fd (O_PATH will do), never 0. */
int watch_get_id(int fd, uint64_t *id_out);

/* Whether the reader has read events for LATE_MS without reaching the end, so
 * that unread events may be old.  Any thread. */
bool watch_is_late(const struct watch *w);

/* Whether no event is left to be read, handled or resolved. */
bool watch_is_idle(struct watch *w);

struct watch_counts {
	uint64_t events; /* read; without those of this process */
	uint64_t lost;   /* how often events were lost */
};

void watch_get_counts(const struct watch *w, struct watch_counts *out);

/* Whether a filesystem of that type (f_type of statfs(2)) is changed by this
 * kernel alone, which reports the changes. */
bool watch_is_local_type(uint64_t type);

#endif

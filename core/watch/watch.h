/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_WATCH_WATCH_H
#define CORE_WATCH_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * Tells of changes to the filesystem of SOURCE while they happen, made by any
 * process and by any path: by fanotify(7), with a mark on the whole
 * filesystem.  That takes CAP_SYS_ADMIN, and a filesystem with file handles all
 * of whose changes are made by this kernel; elsewhere watch_open() fails and
 * nothing is promised.
 *
 * An event names a file or a directory by its file handle, with the name in the
 * directory where there is one.  No path is ever formed.  An id is
 * a hash of a handle: the caller compares ids of the files that it cares for
 * with those of events, so an event of another file costs no system call.  Two
 * handles with one id make an event too many, never one too few.
 *
 * Two threads.  The reader hands every event to context.event() at once.  The
 * resolver is for what takes longer: it opens what has changed by its handle
 * and hands it to context.file_changed() or context.directory_changed(), once
 * for many events in a short time.  It runs in the background class.  At most
 * PENDING_MAX files and directories wait for it; when more do, they are dropped
 * and context.overrun() says so.
 *
 * The rest of the filesystem may be busier than the tree that the caller cares
 * for.  So directories that context.directory_changed() does not know are
 * remembered, and an event in them costs one look at a table.  A directory
 * that is moved may have come into the tree: then they are forgotten.
 *
 * Two groups of marks: one for changes, one for files that are opened, as an
 * open file may be changed through a mapping, of which the kernel tells nothing
 * until it is closed.  The second is without directories, which are opened all
 * the time.
 *
 * The kernel keeps so many events for each group
 * (/proc/sys/fs/fanotify/max_queued_events) and then drops them:
 * context.lost().  Changes by the process itself make no events for the
 * caller.
 *
 * Changes that the kernel does not tell of: a store through a mapping, the
 * access time, a filesystem that is mounted on a directory (of that
 * context.mounts_changed() tells).
 */
struct watch;
struct file_handle;

/* What happened; several may be true of one event. */
enum watch_what {
	WATCH_NAME = 1,       /* a name appeared, or went, or was moved */
	WATCH_ATTRIBUTES = 2, /* among them the number of links */
	WATCH_WRITTEN = 4,
	WATCH_CLOSED = 8, /* a descriptor for writing */
	WATCH_OPENED = 16,
};

struct watch_event {
	unsigned what;
	uint64_t directory; /* id of the directory that has the name; or 0 */
	uint64_t file;      /* id of the file or directory itself; or 0 */
};

struct watch_context {
	void *ctx;
	/* Of the reader; must not wait for anything.  False: file_changed()
	 * need not be called for it. */
	bool (*event)(void *ctx, const struct watch_event *event);
	/* Of the reader: events were lost, anything may have changed. */
	void (*lost)(void *ctx);
	/* Of the reader: files that waited for the resolver were dropped. */
	void (*overrun)(void *ctx);
	/* Of the reader: something was mounted or unmounted. */
	void (*mounts_changed)(void *ctx);
	/* Of the reader: after some events, and at the time that was asked for
	 * by watch_call_at(). */
	void (*pause)(void *ctx);
	/* Of the resolver; fd is O_PATH.  A file that is not known (false) may
	 * be found in its directory.  A directory that is not known is one that
	 * the caller does not care for. */
	bool (*file_changed)(void *ctx, int fd, const struct stat *st);
	bool (*directory_changed)(void *ctx, int fd, const struct stat *st);
};

/*
 * Makes the groups and marks the filesystem of source_fd (a directory, O_PATH
 * will do).  To be called while the process has CAP_SYS_ADMIN.  -EPERM without;
 * -ENOTSUP where the filesystem is one that others change, too, or has no
 * handles; or what the kernel says.
 */
int watch_open(int source_fd, struct watch **out);

/* Marks the filesystem of fd, too. */
int watch_add(struct watch *w, int fd);

/* Starts the threads.  context is copied. */
int watch_start(struct watch *w, const struct watch_context *context);
/* Ends them; nothing is called any more. */
void watch_stop(struct watch *w);
void watch_free(struct watch *w);

/* The id of the file behind fd (O_PATH will do), never 0. */
int watch_get_id(int fd, uint64_t *id_out);

/* Of the reader: context.pause() is called at that time of CLOCK_MONOTONIC, if
 * not before. */
void watch_call_at(struct watch *w, int64_t time_ms);

/* Whether the reader has had events to read for so long that what it has not
 * read yet may be old.  Any thread. */
bool watch_is_late(const struct watch *w);

/* Whether nothing is left to be read or resolved, as far as is known. */
bool watch_is_idle(struct watch *w);

struct watch_counts {
	uint64_t events; /* read, without those of the process itself */
	uint64_t lost;   /* times that some were */
};

void watch_get_counts(const struct watch *w, struct watch_counts *out);

/* Whether all changes to a filesystem of that type (f_type of statfs(2)) are
 * made by this kernel, which tells of them. */
bool watch_is_local_type(uint64_t type);

#endif

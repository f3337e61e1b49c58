/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_OPS_NOTIFY_H
#define FS_OPS_NOTIFY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "core/catalog/catalog.h"
#include "fs/inode/inode.h"

struct fs;
struct engine_options;

/*
 * Reports operations of the mount to the engine, and has the mount's callbacks
 * for the engine.  None of these functions waits.
 */

/* Fills in options->host. */
void notify_host(struct fs *fs, struct engine_options *options);

/* The engine's key of a file; computed once. */
int notify_key(struct fs *fs, struct inode *inode, struct file_key *out);

/* A lookup or getattr has read the stat of a file. */
void notify_looked_up(struct fs *fs, struct inode *inode,
		      const struct stat *st);

/* The file was opened for writing by fd.  Called before the reply. */
void notify_opened(struct fs *fs, struct inode *inode, int fd);

/* A descriptor for writing was closed; perhaps not the last one. */
void notify_flushed(struct fs *fs, struct inode *inode, int fd);

/* Called before the content is changed. */
static inline void notify_writes(struct inode *inode)
{
	if (atomic_load(&inode->flushed))
		atomic_store(&inode->flushed, false);
}

/* The last handle for writing was closed; fd is one of the file. */
void notify_closed(struct fs *fs, struct inode *inode, int fd);

/* Names of regular files and directories changed. */
void notify_added(struct fs *fs, struct inode *parent, const char *name,
		  struct inode *child);
/* A name was added, and its file cannot be examined: the tree is scanned. */
void notify_lost(struct fs *fs);
void notify_removed(struct fs *fs, struct inode *parent, const char *name);
struct moved {
	struct inode *parent, *new_parent;
	const char *name, *new_name;
	struct inode *child; /* the file that moved; NULL: not known */
	bool exchange;
};

void notify_moved(struct fs *fs, const struct moved *m);

/* ---- metadata_change.c ---- */

/*
 * Used around an operation that changes the ctime of a regular file but not its
 * content (rename, link, chmod, ...), so that the digests stay valid and the
 * file need not be hashed again.  There are two conditions; if one is not met,
 * the file is hashed again.
 *
 * First, no process changes the content between the stat before the operation
 * and the stat after it.  A read lease that is held all the time ensures that.
 *
 * Second, a change after the second stat must get another ctime.  That is not
 * so if the filesystem counts in clock ticks or seconds.  It is so with the
 * multigrain timestamps of Linux 6.13 and newer: a change that follows a stat
 * gets a later time.  The first file whose metadata changes is used to find out
 * which kind SOURCE has.
 */
struct metadata_change {
	struct inode *inode; /* NULL: nothing to do; else a reference */
	int fd;              /* holds the lease; -1: there is none */
	struct file_identity before;
};

enum metadata_change_times {
	METADATA_TIMES_UNKNOWN, /* not found out yet */
	METADATA_TIMES_FINE,    /* a change after a stat has another ctime */
	METADATA_TIMES_COARSE,
};

void metadata_change_begin(struct fs *fs, struct inode *inode,
			   struct metadata_change *out);
void metadata_change_end(struct fs *fs, struct metadata_change *change);

/* ---- behind.c ---- */

/*
 * Changes behind the mount: other processes change SOURCE directly.  Where
 * core/watch reports these changes, the kernel's cache of the file is
 * invalidated (fs/inode/cache.h), and the engine is told, so that the file is
 * hashed before a request needs it.
 *
 * The thread that reads the events never waits for a request: invalidating
 * attributes and expiring names take no lock that a request may hold.
 *
 * If events are lost, everything in the kernel's cache is invalidated and the
 * tree is scanned.  While the thread is late (watch_is_late()), nothing is
 * cached for long.
 */

/* Called before the sandbox and before there are threads.  It is no error if
 * changes cannot be watched. */
void behind_open(struct fs *fs);
/* Called when the engine runs. */
int behind_start(struct fs *fs);
/* Called while the session and the engine still exist. */
void behind_stop(struct fs *fs);
/* Called after the inodes are freed. */
void behind_free(struct fs *fs);

/* A new JSON object for user.kinfs.status: {"on": bool, ...}. */
struct json_t;
struct json_t *behind_status(const struct fs *fs);

#endif

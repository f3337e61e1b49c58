/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_OPS_BEHIND_H
#define FS_OPS_BEHIND_H

struct fs;
struct json_t;

/*
 * Changes behind the mount: other processes change SOURCE directly.  Where
 * core/watch reports these changes, the kernel's cache of the file is
 * invalidated (fs/inode/cache.h), and the engine is told, so that the file is
 * hashed before a request needs it.
 *
 * The thread that reads the events never waits for a request: invalidating
 * attributes and expiring names take no lock that a request may hold.
 *
 * An expiry makes the kernel look up every name again.  So there is at most one
 * in EXPIRE_MS, and only if a name was looked up, since the last expiry, in a
 * directory that changed.
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
struct json_t *behind_status(const struct fs *fs);

#endif

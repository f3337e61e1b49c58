/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_OPS_BEHIND_H
#define FS_OPS_BEHIND_H

struct fs;
struct json_t;

/*
 * Changes behind the mount: what others do to SOURCE and its files without
 * asking the mount.  Where core/watch can tell of them, the kernel is made to
 * forget what it keeps of a file (fs/inode/watched.h), and the engine hears of
 * it, so that it is hashed before a request needs it.
 *
 * The thread that reads the events waits for no request: forgetting attributes
 * and expiring names take no lock that a request may hold.
 *
 * An expiry makes the kernel look up every name once more, so there is at most
 * one in EXPIRE_MS, and none when no name was looked up in the directories that
 * changed since the last one.
 *
 * When events were lost the kernel is made to forget all, and the tree is
 * scanned.  While the thread is late (watch_is_late()), nothing is kept for
 * long.
 */

/* Before privileges are given up and before there are threads.  Where changes
 * cannot be watched that is no error. */
void behind_open(struct fs *fs);
/* When the engine runs. */
int behind_start(struct fs *fs);
/* While the session and the engine are still there. */
void behind_stop(struct fs *fs);
/* After the inodes are gone. */
void behind_free(struct fs *fs);

/* For user.kinfs.status: {"on": bool, ...} to be freed. */
struct json_t *behind_status(const struct fs *fs);

#endif

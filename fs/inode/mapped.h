/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_INODE_MAPPED_H
#define FS_INODE_MAPPED_H

#include <stdbool.h>

struct fs;
struct inode;

/*
 * Writes out pages that were changed through a shared mapping of the mount.
 *
 * The kernel writes such pages back later, and until then the timestamps of the
 * file below do not change.  So before a digest of a file that may be mapped
 * for writing is used, the kernel is told to write its pages back.  That waits
 * for write requests to the daemon, so a thread of its own does it.
 */
int mapped_open(struct fs *fs);
/* From now on done is called with -ECANCELED. */
void mapped_stop(struct fs *fs);
/* Ends the thread; called after the unmount. */
void mapped_free(struct fs *fs);

/* Whether a writable mapping can exist: a handle is open for reading and
 * writing. */
bool mapped_is_possible(struct fs *fs, struct inode *inode);

/* Calls done() once, from the thread, after the pages have been written.  Its
 * result is 0 or -ECANCELED.  The caller holds a reference to inode until then.
 * -ENOMEM. */
int mapped_write_out(struct fs *fs, struct inode *inode,
		     void (*done)(void *arg, int result), void *arg);

#endif

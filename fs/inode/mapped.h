/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_INODE_MAPPED_H
#define FS_INODE_MAPPED_H

#include <stdbool.h>

struct fs;
struct inode;

/*
 * Pages that were changed through a shared mapping.
 *
 * They reach the file below when the kernel gets round to it, and until then
 * its times say nothing.  So before a digest of a file that may be mapped for
 * writing is believed, the kernel is made to write them out.  That waits for
 * write requests, so it has a thread of its own.
 */
int mapped_open(struct fs *fs);
/* When it returns, done is called with -ECANCELED only. */
void mapped_stop(struct fs *fs);
/* After the session was unmounted: ends the thread. */
void mapped_free(struct fs *fs);

/* Whether a mapping for writing can exist: the file is open for both. */
bool mapped_is_possible(struct fs *fs, struct inode *inode);

/* Calls done (once, from the thread) when the pages have been written: 0 or
 * -ECANCELED.  The caller keeps inode referenced until then.  -ENOMEM. */
int mapped_write_out(struct fs *fs, struct inode *inode,
		     void (*done)(void *arg, int result), void *arg);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_LOOP_LOCKS_H
#define FS_LOOP_LOCKS_H

#include <stdint.h>

struct fs;
struct handle;
struct inode;

/*
 * The locks of files, see locks.c.  The operations getlk, setlk and flock are
 * in ops.h.
 */
int locks_open(struct fs *fs);

/* Ends every wait with EINTR and returns when no thread waits any more. */
void locks_stop(struct fs *fs);
void locks_free(struct fs *fs);

/* The owner closed one of its descriptors: its POSIX locks go. */
void locks_owner_closed(struct fs *fs, struct inode *inode, uint64_t owner);

/* The handle goes, and with it the locks of owners that used only this one. */
void locks_handle_closed(struct fs *fs, const struct handle *h);

/* The inode goes: closes the descriptors that are left. */
void locks_forget(struct inode *inode);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_LOOP_LOCKS_H
#define FS_LOOP_LOCKS_H

#include <stdint.h>

struct fs;
struct handle;
struct inode;

/*
 * File locks, see locks.c.  The operations getlk, setlk and flock are in ops.h.
 */
int locks_open(struct fs *fs);

/* Ends all waits with EINTR, and returns when no thread waits any more. */
void locks_stop(struct fs *fs);
void locks_free(struct fs *fs);

/* The owner closed one of its descriptors: drops its POSIX locks. */
void locks_owner_closed(struct fs *fs, struct inode *inode, uint64_t owner);

/* The handle is closed: removes the owners that used it last. */
void locks_handle_closed(struct fs *fs, const struct handle *h);

/* The inode is freed: removes all its owners. */
void locks_forget(struct inode *inode);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_OPS_LOOKUP_H
#define FS_OPS_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct fs;
struct fuse_entry_param;
struct fuse_req;
struct inode;

/* Looks up name for the kernel and counts a lookup.  known: the file is likely
 * in the table of inodes; this is faster if it is, and slower if not.  With
 * -ENOENT, out has the time for which the kernel may cache the negative
 * entry. */
int lookup_name(struct fs *fs, struct inode *parent, int parent_fd,
		const char *name, bool known, struct fuse_entry_param *out);

/* Looks up name for the daemon itself; takes a reference. */
int lookup_find(struct fs *fs, struct inode *parent, int parent_fd,
		const char *name, struct stat *st, struct inode **inode_out);

/* Fills in the entry of an inode; a reference of the caller becomes a lookup
 * count. */
void lookup_fill_entry(struct fs *fs, struct inode *inode,
		       const struct stat *st, struct fuse_entry_param *out);

/* Replies with an entry.  Drops the lookup count if the request was
 * interrupted. */
void lookup_reply_entry(struct fuse_req *req, struct fs *fs,
			const struct fuse_entry_param *e);

/* The inode number that the mount shows (core/base/inode_number.h).  Bit 63 is
 * set in virtual nodes only. */
uint64_t lookup_number(struct fs *fs, dev_t dev, ino_t ino);

#endif

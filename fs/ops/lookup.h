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
struct statx;

/*
 * From a name in a directory to the inode and the entry that the kernel is
 * told.
 */

/* Finds name for the kernel and counts one lookup.  known: it is likely to be
 * of a file that is known, which takes fewer calls if it is and more if not.
 * With -ENOENT out has how long the kernel may keep that. */
int lookup_name(struct fs *fs, struct inode *parent, int parent_fd,
		const char *name, bool known, struct fuse_entry_param *out);

/* Finds name for the daemon itself: the kernel is not told, and the times in
 * out say nothing. */
int lookup_find(struct fs *fs, struct inode *parent, int parent_fd,
		const char *name, struct fuse_entry_param *out);

/* Fills out for an inode whose reference becomes a lookup count. */
void lookup_fill_entry(struct fs *fs, struct inode *inode,
		       const struct stat *st, struct fuse_entry_param *out);

/* Replies with an entry; takes the count back when the request was
 * interrupted. */
void lookup_reply_entry(struct fuse_req *req, struct fs *fs,
			const struct fuse_entry_param *e);

/* Turns a struct stat into a struct statx. */
void lookup_fill_statx(const struct stat *st, struct statx *out);

/* Every stat of a file is handed to this: remembered facts about the file that
 * the stat contradicts are dropped, the engine is told. */
void lookup_observe(struct fs *fs, struct inode *inode, const struct stat *st);

/*
 * The inode number that is shown: the real one on the device of SOURCE.  On
 * other devices (mounts below SOURCE, subvolumes) bits 48..62 carry the
 * device's ordinal, so that numbers of two devices do not meet.  Bit 63 is
 * never set: it belongs to the virtual nodes.
 */
uint64_t lookup_number(struct fs *fs, dev_t dev, ino_t ino);

/* Puts that number into st. */
void lookup_set_number(struct fs *fs, struct stat *st);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_XATTR_DERIVED_H
#define FS_XATTR_DERIVED_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct engine_answer;
struct fs;
struct fuse_req;
struct inode;

/*
 * The attributes that are computed, not stored: the digests and user.kinfs.*.
 * Each function replies, at once or later from an engine thread.
 */
bool xattr_is_derived(const char *name);

void xattr_derived_get(struct fuse_req *req, struct fs *fs, struct inode *inode,
		       const char *name, size_t size);
void xattr_derived_set(struct fuse_req *req, struct fs *fs, struct inode *inode,
		       const char *name, const char *value, size_t size,
		       int flags);
void xattr_derived_remove(struct fuse_req *req, struct fs *fs,
			  struct inode *inode, const char *name);

/* The whole list of a file: real names without those that are hidden behind
 * derived ones, then the derived ones. */
void xattr_derived_list(struct fuse_req *req, struct fs *fs,
			struct inode *inode, size_t size);

/*
 * Reading a digest needs read permission on the file, and so does seeing its
 * name in a list: a listed name must have a value.  The kernel asks for none
 * to list names; and what it knows of permissions may be as old as the timeout
 * of attributes, which a digest of what is secret by now must not be.
 */
bool xattr_may_read(struct fuse_req *req, struct fs *fs, struct inode *inode);

/* The text of user.kinfs.state of a file. */
int xattr_format_state(const struct engine_answer *answer, struct buf *out);

/* Replies as getxattr and listxattr do: the size alone when size is 0. */
void xattr_reply(struct fuse_req *req, const void *data, size_t len,
		 size_t size);

#endif

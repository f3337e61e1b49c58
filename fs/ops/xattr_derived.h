/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_OPS_XATTR_DERIVED_H
#define FS_OPS_XATTR_DERIVED_H

#include <stdbool.h>
#include <stddef.h>

struct fs;
struct fuse_req;
struct inode;

/*
 * Attributes that are not stored in the file: the digests and user.kinfs.*.
 * Each function replies, at once or later from a thread of the engine.
 */
bool xattr_is_derived(const char *name);

void xattr_derived_get(struct fuse_req *req, struct fs *fs, struct inode *inode,
		       const char *name, size_t size);
/* value NULL: the attribute is removed. */
void xattr_derived_set(struct fuse_req *req, struct fs *fs, struct inode *inode,
		       const char *name, const char *value, size_t size);

#endif

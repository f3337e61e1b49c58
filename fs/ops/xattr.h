/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_OPS_XATTR_H
#define FS_OPS_XATTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/buf.h"

struct digest_ops;
struct digests;
struct file_digests;
struct fs;
struct fuse_req;
struct inode;

/* ---- xattr_query.c ---- */

/* The reply to a listxattr: the names of the real attributes, then those of the
 * digests. */
struct xattr_list {
	struct buf names;
	size_t size; /* of the caller's buffer */
	size_t room; /* bytes left for names and values of digests */
};

/*
 * Tools copy listed attributes as real ones, and ext4 stores all attributes of
 * a file and its ACL in one block.  So many bytes of names and values fill half
 * of a block of 4 KiB.
 */
enum { XATTR_ROOM = 1900 };

/* Replies with the list, and frees it. */
void xattr_list_reply(struct fuse_req *req, void *list);
/* Adds the names of digests as long as there is room.  -ENOMEM. */
int xattr_list_digests(struct xattr_list *l, const struct digests *d);

/* engine_ask() of an inode. */
int xattr_ask(struct fs *fs, struct inode *inode, uint32_t wanted,
	      struct file_digests *answer_out);

/*
 * Whether the caller may read the file now.  That is needed to read a digest,
 * and to see its name in a list, because a listed name must have a value.  The
 * kernel does not check it to list names; and it may use cached permissions,
 * which are not good enough for the digest of a file that is secret by now.
 */
bool xattr_may_read(struct fuse_req *req, struct fs *fs, struct inode *inode);

/* The text of user.kinfs.state of a file. */
int xattr_format_state(const struct file_digests *answer, struct buf *out);

/* Replies to a getxattr of a digest, parked until the file is hashed. */
void xattr_query_digest(struct fuse_req *req, struct fs *fs,
			struct inode *inode, const struct digest_ops *info,
			size_t size);

/* Replies to a listxattr; takes list, which has the names of the real
 * attributes.  If there are no digests, the reply is these names. */
void xattr_query_list(struct fuse_req *req, struct fs *fs, struct inode *inode,
		      struct xattr_list *list);

/* ---- xattr_derived.c ---- */

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

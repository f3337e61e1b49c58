/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_OPS_XATTR_QUERY_H
#define FS_OPS_XATTR_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/buf.h"

struct digest_info;
struct digests;
struct file_digests;
struct fs;
struct fuse_req;
struct inode;

/* What a listxattr is answered: the names of the real attributes, and behind
 * them those of the digests. */
struct xattr_list {
	struct buf names;
	size_t size; /* of the caller's buffer */
	size_t room; /* for names and values of digests */
};

/*
 * A listed attribute is copied out as a real one, and ext4 keeps all attributes
 * of a file in one block, its ACL included.  So many bytes of names and values
 * leave a block of 4 KiB half empty.
 */
enum { XATTR_ROOM = 1900 };

/* Takes the list, as it is. */
void xattr_list_reply(struct fuse_req *req, void *list);
/* Adds the names of those digests that there is room for.  -ENOMEM */
int xattr_list_digests(struct xattr_list *l, const struct digests *d);

/* engine_ask() of an inode. */
int xattr_ask(struct fs *fs, struct inode *inode, uint32_t wanted,
	      struct file_digests *answer_out);

/*
 * Reading a digest needs read permission on the file, and so does seeing its
 * name in a list: a listed name must have a value.  The kernel asks for none
 * to list names; and what it knows of permissions may be as old as the timeout
 * of attributes, which a digest of what is secret by now must not be.
 */
bool xattr_may_read(struct fuse_req *req, struct fs *fs, struct inode *inode);

/* The text of user.kinfs.state of a file. */
int xattr_format_state(const struct file_digests *answer, struct buf *out);

/* A getxattr of a digest of a regular file, which waits for it when it is to
 * come. */
void xattr_query_digest(struct fuse_req *req, struct fs *fs,
			struct inode *inode, const struct digest_info *info,
			size_t size);

/* A listxattr, with a list of the real attributes (taken), which the caller may
 * read: it never fails, they are what there is at least. */
void xattr_query_list(struct fuse_req *req, struct fs *fs, struct inode *inode,
		      struct xattr_list *list);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_XATTR_QUERY_H
#define FS_XATTR_QUERY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/buf.h"

struct digest_info;
struct engine_answer;
struct fs;
struct fuse_req;
struct inode;

/* What a listxattr is answered: the names of the real attributes, and behind
 * them those of the digests. */
struct xattr_list {
	struct buf names;
	size_t size; /* of the caller's buffer */
};

/* Takes the list, as it is. */
void xattr_list_reply(struct fuse_req *req, void *list);
/* -ENOMEM */
int xattr_list_digests(struct xattr_list *l, uint32_t set);

/* engine_ask() of an inode. */
int xattr_ask(struct fs *fs, struct inode *inode,
	      struct engine_answer *answer_out);

/*
 * A getxattr or a listxattr of a regular file, which waits for the digests when
 * they are to come.  For a listxattr info is NULL, and there is a list of the
 * real attributes (taken): it never fails, they are what there is at least.
 */
void xattr_query(struct fuse_req *req, struct fs *fs, struct inode *inode,
		 const struct digest_info *info, size_t size,
		 struct xattr_list *list);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SIMILAR_SIMILAR_H
#define FS_SIMILAR_SIMILAR_H

#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <stdint.h>

struct fs;

/*
 * The virtual tree /.similar.
 *
 * Its nodes stand for paths: a directory of SOURCE, a regular file (which is
 * a directory here) or one of the links in it.  A node lives while the kernel
 * counts lookups of it, something is below it, or it is open.  Its nodeid is
 * the node's address with the lowest bit set.
 *
 * Nothing here is cached by the kernel: every lookup and listing comes to us
 * and is answered for the caller, with the caller's credentials.
 */
int similar_open(struct fs *fs);
void similar_free(struct fs *fs);

/* The names of views that no listing shows. */
#define SIMILAR_WITHIN ".within"
#define SIMILAR_CONTAINS ".contains"
#define SIMILAR_DIRECTORIES ".dirs"
#define SIMILAR_QUERY ".query" /* of the top alone */

/* The operations on virtual nodes; those that change something are not here,
 * because they are refused before (see fs/dispatch.c).  Each replies exactly
 * once. */
extern const struct fuse_lowlevel_ops similar_ops;

/* The operation lookup for the name of the tree in the root of the mount. */
void similar_lookup_root(fuse_req_t req, struct fs *fs);

static inline bool similar_is_node(fuse_ino_t node)
{
	return (node & 1) && node != FUSE_ROOT_ID;
}

/* Whether name in parent, which is not virtual, is that of the tree. */
bool similar_claims(const struct fs *fs, fuse_ino_t parent, const char *name);

/* Whether readdir of the root shows it. */
bool similar_in_listing(const struct fs *fs);
/* Its inode number, for that. */
uint64_t similar_root_number(const struct fs *fs);

/* The kernel forgets count lookups of a node. */
void similar_forget(struct fs *fs, fuse_ino_t node, uint64_t count);

#endif

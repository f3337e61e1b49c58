/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SIMILAR_SIMILAR_H
#define FS_SIMILAR_SIMILAR_H

#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <stdint.h>

struct fs;

/*
 * The virtual tree /.similar: one directory for each file of SOURCE, with a
 * link for each near-duplicate of the file.
 *
 * Objects.  A node (node.h) stands for a path: a directory of SOURCE, a regular
 * file, which is a directory here, or one of the links in it.  A node lives
 * while the kernel counts lookups of it, another node is below it, or it is
 * open.  Its nodeid is its address with the lowest bit set.  A listing
 * (listing.h) is the content of a directory at one moment for one caller; it
 * never changes.  An open .query (query_file.h) has a query and its answer.
 * The directories below .groups (groups_view.h) are nodes whose listings have
 * groups and the files of one.  .elsewhere (elsewhere.h) has names of other
 * hosts.
 *
 * The life of a request.  opendir asks the engine (listing_query.c): the
 * request is parked, a thread of the engine makes the listing, keeps it at its
 * node and replies.  readdir reads the listing of the handle.  A lookup of a
 * link is answered from the kept listing if that was made for the same
 * credentials and is young, and if the listed file and the link's file are
 * unchanged on disk; else the engine is asked again.  An operation that changes
 * something is refused before it comes here (fs/ops/dispatch.c).
 *
 * Threads and locks.  Any thread of the loop or of the engine may call in.  One
 * lock, struct similar, guards the table of nodes and the kept listings; no
 * function of another module is called under it but share_take() and
 * share_give().
 *
 * What the kernel may remember.  Its cache is the same for all callers, so with
 * allow_other it caches no name.  Otherwise all callers may see the same, and
 * names and attributes are valid for NODE_CACHE_S: long enough that `ls -l`
 * asks once for a link that readdir has just brought.  A change through the
 * mount makes the kernel look everything up again (similar_expire()); where it
 * cannot be told to, nothing is cached.
 *
 * Never: an answer is made for one caller and given to another; a link is shown
 * without a look at the file on disk, NODE_CACHE_S ago at most.
 */
int similar_open(struct fs *fs);
void similar_free(struct fs *fs);

/* Where the catalog is, before requests come. */
void similar_set_catalog(struct fs *fs, const char *directory);

/* Waits for the threads that ask a kin-share, and reply. */
void similar_stop(struct fs *fs);

/* The names of views that no listing shows. */
#define SIMILAR_WITHIN ".within"
#define SIMILAR_CONTAINS ".contains"
#define SIMILAR_ALL ".all"
#define SIMILAR_TEXT ".text"
#define SIMILAR_SHARES ".shares"
#define SIMILAR_ELSEWHERE ".elsewhere" /* for the owner of the mount */
#define SIMILAR_DIRECTORIES ".dirs"
#define SIMILAR_GROUPS ".groups"
#define SIMILAR_QUERY ".query" /* of the top alone */

/* The operations on virtual nodes; those that change something are not here,
 * because they are refused before (see fs/ops/dispatch.c).  Each replies
 * exactly once. */
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

/* A file or a name changes: what the kernel remembers of the tree may be wrong
 * now. */
void similar_expire(struct fs *fs);

/* The kernel forgets count lookups of a node. */
void similar_forget(struct fs *fs, fuse_ino_t node, uint64_t count);

#endif

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
 * A node (node.c) stands for a path: a directory of SOURCE, a regular file,
 * which is a directory here, a view, or one of the links in them.  It lives
 * while the kernel counts lookups of it, while another node is below it, and
 * while it is open.  Its nodeid is its address with the lowest bit set.  A
 * listing (listing.c) has the entries of a directory at one moment for one
 * caller; it never changes.  A view is a row of a table in ops.c, which says how
 * its listing is made.  An open .query (query_file.c) has a query and its answer.
 *
 * opendir asks for a listing (listing_query.c): the request is parked, and a
 * job of the engine makes the listing, keeps it with its node and replies.
 * readdir reads the listing of the handle.  A lookup of a link is answered from
 * the node's listing if that was made for the same credentials and is young, and
 * if the listed file and the link's file have not changed on disk; otherwise the
 * engine is asked again.
 *
 * Any thread of the loop or of the engine may call these functions.  The lock of
 * struct similar guards the table of nodes and the kept listings.  While it is
 * held, no function of another module is called except changes_cancel().
 *
 * The kernel caches no names and attributes of the tree: its cache is the same
 * for all callers, and a link must be gone as soon as its file has changed.
 *
 * It must never happen that an answer for one caller is given to another, or
 * that a link is shown whose file was not verified on disk, or whose directories
 * were not verified SEARCH_TRUST_MS before that.
 */
int similar_open(struct fs *fs);
/* Has all queries of open files end, also those of files that are opened later.
 * Called while the engine exists. */
void similar_stop(struct fs *fs);
void similar_free(struct fs *fs);

/* Called before the first request. */
void similar_set_catalog(struct fs *fs, const char *directory);

/* The names of views; no listing has them. */
#define SIMILAR_WITHIN ".within"
#define SIMILAR_CONTAINS ".contains"
#define SIMILAR_ALL ".all"
#define SIMILAR_SHARES ".shares"
#define SIMILAR_BASE ".base"           /* a link: the best base for a delta */
#define SIMILAR_ELSEWHERE ".elsewhere" /* for the owner of the mount */
#define SIMILAR_DIRECTORIES ".dirs"
#define SIMILAR_GROUPS ".groups"
#define SIMILAR_QUERY ".query" /* in the top directory only */

/* The operations on virtual nodes that change nothing, for the ones of the
 * same name in fs/ops.  Each replies exactly once. */
extern const struct fuse_lowlevel_ops similar_ops;

/* Looks up the virtual tree in the root of the mount. */
void similar_lookup_root(fuse_req_t req, struct fs *fs);

static inline bool similar_is_node(fuse_ino_t node)
{
	return (node & 1) && node != FUSE_ROOT_ID;
}

/* Whether name in parent, which is not virtual, is that of the virtual tree. */
bool similar_claims(const struct fs *fs, fuse_ino_t parent, const char *name);

/* For an operation that changes node.  If the node is virtual, replies err and
 * returns true. */
bool similar_refuses(fuse_req_t req, fuse_ino_t node, int err);
/* For one that adds or removes a name.  Also refuses the name of the virtual
 * tree, with the error claimed. */
bool similar_refuses_name(fuse_req_t req, fuse_ino_t parent, const char *name,
			  int claimed);

/* The attributes of a virtual node. */
int similar_stat(struct fs *fs, fuse_ino_t node, struct stat *out);

/* Whether readdir of the root shows the virtual tree. */
bool similar_in_listing(const struct fs *fs);
/* The inode number of the top of the virtual tree. */
uint64_t similar_root_number(const struct fs *fs);

/* The kernel forgets count lookups of a node. */
void similar_forget(struct fs *fs, fuse_ino_t node, uint64_t count);

#endif

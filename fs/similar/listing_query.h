/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SIMILAR_LISTING_QUERY_H
#define FS_SIMILAR_LISTING_QUERY_H

#include <fuse_lowlevel.h>
#include <stddef.h>
#include <sys/stat.h>

struct search_caller;
struct fs;
struct listing;
struct similar_node;

/*
 * Listings and lookups in them.  The functions that get a request reply to it,
 * listing_query_*() when the engine has made the listing.  Private to
 * fs/similar.
 */
void listing_query_item(fuse_req_t req, struct similar_node *n,
			const char *name);
void listing_query_opened(fuse_req_t req, struct similar_node *n,
			  const struct fuse_file_info *fi);
void listing_query_state(fuse_req_t req, struct similar_node *n, size_t size);

/* Replies with the entry of n; a reference to n becomes a lookup count. */
void similar_reply_node(fuse_req_t req, struct fs *fs, struct similar_node *n);
/* As similar_reply_node(), if the stat of the real file is known. */
void similar_reply_found(fuse_req_t req, struct fs *fs, struct similar_node *n,
			 const struct stat *real);
void similar_reply_item(fuse_req_t req, struct fs *fs,
			struct similar_node *parent, const struct listing *l,
			const char *name);
void similar_reply_state(fuse_req_t req, const struct listing *l, size_t size);

/* The caller of a request; free its credentials with credentials_release().  A
 * trusted caller gets no groups, which would be read from /proc and are not
 * used. */
int similar_caller(struct fs *fs, fuse_req_t req, struct search_caller *out);

/* The listing that listing_query_opened() has opened. */
const struct listing *similar_opened(const struct fuse_file_info *fi);
void similar_close(struct fs *fs, const struct fuse_file_info *fi);

#endif

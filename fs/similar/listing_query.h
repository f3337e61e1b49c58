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
 * Listings, asked of the engine, and what is looked up in them.  Every one of
 * these replies to the request, those that ask as soon as there is an answer.
 * Private to fs/similar.
 */
void listing_query_item(fuse_req_t req, struct similar_node *n,
			const char *name);
void listing_query_opened(fuse_req_t req, struct similar_node *n,
			  const struct fuse_file_info *fi);
void listing_query_state(fuse_req_t req, struct similar_node *n, size_t size);

/* Takes the reference of n as the kernel's lookup count. */
void similar_reply_node(fuse_req_t req, struct fs *fs, struct similar_node *n);
/* The same where the attributes of the real file are known. */
void similar_reply_found(fuse_req_t req, struct fs *fs, struct similar_node *n,
			 const struct stat *real);
void similar_reply_item(fuse_req_t req, struct fs *fs,
			struct similar_node *parent, const struct listing *l,
			const char *name);
void similar_reply_state(fuse_req_t req, const struct listing *l, size_t size);

/* The caller of a request; credentials_release() frees its credentials.  Those
 * of one who is trusted have no groups: nothing depends on them, and they are
 * read from a file of /proc. */
int similar_caller(struct fs *fs, fuse_req_t req, struct search_caller *out);

/* Of what listing_query_opened() opened. */
const struct listing *similar_opened(const struct fuse_file_info *fi);
void similar_close(struct fs *fs, const struct fuse_file_info *fi);

#endif

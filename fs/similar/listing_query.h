/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SIMILAR_LISTING_QUERY_H
#define FS_SIMILAR_LISTING_QUERY_H

#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "core/engine/engine.h"
#include "fs/ops/reply.h"

struct fs;
struct listing;
struct similar_node;

/* What a request wants of the listing of a directory. */
struct listing_want {
	const char *name;          /* lookup: the entry of this item; or */
	struct fuse_file_info *fi; /* opendir: a handle of it; or NULL: */
	size_t size; /* getxattr: its state, for a buffer of this size */
};

/*
 * Replies with what is wanted of the node's listing: of the kept one if that is
 * still valid, else of a new one.  For that the request is parked, and a job of the
 * engine (core/search/search.h) calls list() of the node's view.
 */
void listing_answer(fuse_req_t req, struct similar_node *n,
		    const struct listing_want *want);

struct listing_query {
	struct park park;
	struct search_job *job;
	struct fs *fs;
	struct similar_node *node; /* holds a reference */
	struct listing_want want;  /* name: owned; fi: the next field */
	struct fuse_file_info fi;
	struct search_caller caller;
	int64_t listed_ctime_ns; /* of the listed file, before the query */
};

/* Sets the state of a listing.  file: NULL, or a listing of a file whose digests
 * are not known is in that file's state.  cut: there are more than most items;
 * SIZE_MAX: the number is not known.  -ENOMEM. */
int listing_set_state(struct listing *l, const struct file_digests *file,
		      bool incomplete, bool cut, size_t most);

/* Makes the listing of the hits, which it releases; file as above. */
int listing_of_hits(struct listing_query *q, struct search_hits *hits,
		    const struct file_digests *file, size_t most,
		    struct listing **out);

/* list() of the views of a file, of .dirs, of a directory, of .groups and each
 * group in it, and of .elsewhere (-EACCES: not for this caller). */
int list_relation(struct listing_query *q, int fd, struct listing **out);
int list_directories(struct listing_query *q, int fd, struct listing **out);
int list_browsed(struct listing_query *q, int fd, struct listing **out);
int list_groups(struct listing_query *q, int fd, struct listing **out);
int list_elsewhere(struct listing_query *q, int fd, struct listing **out);

/* Replies with the entry of n; a reference to n becomes a lookup count.  real:
 * the stat of its file; NULL: not known. */
void similar_reply_node(fuse_req_t req, struct fs *fs, struct similar_node *n,
			const struct stat *real);

/* The caller of a request; free its credentials with credentials_release().  A
 * trusted caller gets no groups, which would be read from /proc and are not
 * used. */
int similar_caller(struct fs *fs, fuse_req_t req, struct search_caller *out);

/* The listing of an open directory. */
const struct listing *similar_opened(const struct fuse_file_info *fi);
void similar_close(struct fs *fs, const struct fuse_file_info *fi);

#endif

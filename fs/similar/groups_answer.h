/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SIMILAR_GROUPS_ANSWER_H
#define FS_SIMILAR_GROUPS_ANSWER_H

#include <fuse_lowlevel.h>
#include <stddef.h>

#include "core/engine/engine.h"

struct fs;

/*
 * The answer to a query for groups that was put by .query (query_file.h).  It
 * begins to be made with groups_answer_new(), and is read in pieces.  The next
 * files are asked of the engine when a reader has read those before, so that an
 * answer of any length takes little memory.
 */
struct groups_answer;

/* The caller has a reference. */
int groups_answer_new(struct fs *fs, const struct search_caller *caller,
		      const struct file_groups_query *query,
		      struct groups_answer **out);
void groups_answer_ref(struct groups_answer *a);
void groups_answer_unref(struct groups_answer *a);

/* The answer is not read any more: the search ends soon. */
void groups_answer_cancel(struct groups_answer *a);

/* Replies, at once or when there is something to read.  The caller holds a
 * reference of its own until this returns: after the reply the file may be
 * closed at any moment. */
void groups_answer_read(fuse_req_t req, struct groups_answer *a, size_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SIMILAR_GROUPS_ANSWER_H
#define FS_SIMILAR_GROUPS_ANSWER_H

#include <fuse_lowlevel.h>
#include <stddef.h>

#include "core/engine/engine.h"

struct fs;

/*
 * The answer to a query for groups by .query (query_file.h), which is made
 * while it is read.  The next files are requested from the engine when most of
 * the earlier ones have been read, so an answer of any length takes little
 * memory.
 */
struct groups_answer;

/* Starts the search.  The caller gets a reference. */
int groups_answer_new(struct fs *fs, const struct search_caller *caller,
		      const struct file_groups_query *query,
		      struct groups_answer **out);
void groups_answer_ref(struct groups_answer *a);
void groups_answer_unref(struct groups_answer *a);

/* The answer is no longer read: has the search end soon. */
void groups_answer_cancel(struct groups_answer *a);

/* Replies, at once or when there is text to read.  The caller holds a reference
 * of its own until this function returns, because the file may be closed right
 * after the reply. */
void groups_answer_read(fuse_req_t req, struct groups_answer *a, size_t size);

#endif

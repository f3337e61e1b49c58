/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SIMILAR_GROUPS_ANSWER_H
#define FS_SIMILAR_GROUPS_ANSWER_H

#include "core/engine/engine.h"
#include "fs/similar/answer.h"

/*
 * The answer to a query for groups.  The next files are requested from the
 * engine when most of the earlier ones have been read, so an answer of any
 * length takes little memory.
 *
 * Starts the search.  The caller gets a reference.
 */
int groups_answer_new(struct fs *fs, const struct search_caller *caller,
		      const struct file_groups_query *query,
		      struct answer **out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SIMILAR_CHANGES_ANSWER_H
#define FS_SIMILAR_CHANGES_ANSWER_H

#include "core/engine/engine.h"
#include "fs/similar/answer.h"

/* The answer to a query for changes: it goes on until the mount ends or the file
 * is closed.  Takes within on success; the caller gets a reference.  -EBUSY: the
 * user has another one. */
int changes_answer_new(struct fs *fs, const struct search_caller *caller,
		       struct search_paths *within, struct answer **out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SIMILAR_QUERY_TEXT_H
#define FS_SIMILAR_QUERY_TEXT_H

#include <stddef.h>

#include "core/digest/digest.h"
#include "core/index/index.h"

/* A query written to .query, see query_file.h. */
struct query_text {
	struct digests digests; /* owned */
	enum index_relation relation;
};

/* -EINVAL: the text is not valid, has a line twice, has no size or no digest,
 * or has a sketch that cannot be compared with those here.  -ENOMEM. */
int query_text_parse(const char *text, size_t len, struct query_text *out);
void query_text_release(struct query_text *q);

#endif

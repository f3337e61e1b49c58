/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SIMILAR_QUERY_TEXT_H
#define FS_SIMILAR_QUERY_TEXT_H

#include <stddef.h>

#include "core/digest/digest.h"
#include "core/index/index.h"

/* What is written to .query, see query_file.h. */
struct query_text {
	struct digests digests; /* owned */
	enum index_relation relation;
};

/* -EINVAL: nonsense, something is there twice, or size or every digest is
 * missing, or nothing here can be compared with it; -ENOMEM. */
int query_text_parse(const char *text, size_t len, struct query_text *out);
void query_text_release(struct query_text *q);

#endif

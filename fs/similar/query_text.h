/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SIMILAR_QUERY_TEXT_H
#define FS_SIMILAR_QUERY_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/changes/changes.h"
#include "core/digest/digest.h"
#include "core/index/index.h"
#include "core/search/groups.h"
#include "core/search/search.h"

enum query_asked { QUERY_CONTENT, QUERY_GROUPS, QUERY_CHANGES };

/* Nobody asks for more hits than these: they take memory of the daemon. */
enum { QUERY_LIMIT_MAX = 4096 };

/* A query written to .query, see query_file.h. */
struct query_text {
	enum query_asked kind;
	/* QUERY_GROUPS; of QUERY_CHANGES only within; owned */
	struct file_groups_query groups;
	/* QUERY_CONTENT: */
	struct digests digests;   /* owned */
	struct judge_rules rules; /* 0: that of the mount */
	size_t limit;             /* 0: that of the mount */
	bool ignore;
};

/* -EINVAL: the text is no JSON object, has a key that is not known or twice, or
 * a value that is not valid; or a query about a content has no size or no
 * digest, or a sketch that cannot be compared with those here.  -ENOMEM. */
int query_text_parse(const char *text, size_t len, struct query_text *out);
void query_text_release(struct query_text *q);

/* Appends the lines of an answer. */
int query_text_add_hit(const struct search_hit *hit,
		       enum index_relation relation, struct buf *out);
int query_text_add_files(const struct search_hits *hits, struct buf *out);
int query_text_add_change(const struct content_change *change, struct buf *out);
int query_text_add_end(bool cut, bool incomplete, struct buf *out);

#endif

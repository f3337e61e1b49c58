/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SIMILAR_GROUPS_TEXT_H
#define FS_SIMILAR_GROUPS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/search/groups.h"

/* The text of a query for groups and of its answer, see query_file.h. */

/* Whether the text begins like a query for groups. */
bool groups_text_is_query(const char *text, size_t len);

/* -EINVAL: the text is not valid, or has a line twice; -ENOMEM. */
int groups_text_parse(const char *text, size_t len,
		      struct file_groups_query *out);
void groups_text_release(struct file_groups_query *q);

/* Appends records of files. */
int groups_text_add_files(const struct search_group_hits *files,
			  struct buf *out);

#endif

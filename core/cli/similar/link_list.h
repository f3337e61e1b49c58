/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_SIMILAR_LINK_LIST_H
#define CORE_CLI_SIMILAR_LINK_LIST_H

#include <stddef.h>

/* What resembles a file or directory, as a view of .similar lists it: links. */
struct listed_link {
	char *path; /* owned; below the root of the mount */
	int score;
};

struct link_list {
	struct listed_link *all;
	size_t count;
};

#define LINK_LIST_REASON 320

/* listings: the place of .similar; rel: below the root; view: ".dirs", or "" of
 * a file.  reason_out: the state of the list, "" when it is complete.  To be
 * released in any case. */
int link_list_read(const char *listings, const char *rel, const char *view,
		   struct link_list *out, char reason_out[LINK_LIST_REASON]);

void link_list_release(struct link_list *list);

#endif

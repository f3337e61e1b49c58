/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SIMILAR_LISTING_H
#define FS_SIMILAR_LISTING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/engine/engine.h"

/*
 * The content of one directory of the virtual tree at one moment, for one
 * caller.  Constant once made; shared by the handles and the node that show
 * it.
 */
struct listing_item {
	char *name;
	char *target;     /* of a link; NULL in a directory of directories */
	const char *path; /* the end of target: relative to SOURCE */
	struct file_key key;
	struct file_identity identity;
};

struct listing {
	atomic_uint refs;
	struct listing_item *items; /* in the order of readdir */
	size_t *by_name; /* their indices in byte order of the names */
	size_t count;
	size_t bytes;                   /* of memory, about */
	char *state;                    /* user.kinfs.state, or NULL */
	bool answered;                  /* the state says complete or cut */
	struct credentials credentials; /* it was made for; owned */
	int64_t made_ns;                /* CLOCK_MONOTONIC */
	int64_t listed_ctime_ns;        /* of the listed file then */
	/* How long names are looked up in it although it may have changed. */
	int64_t lifetime_ns;
	struct file_groups *groups; /* a reference; of .groups alone */
};

/*
 * "097_report.txt" -> "../../docs/report.txt": names are the score and the
 * base name; equal ones get "~2", "~3"; longer ones are cut to NAME_MAX at a
 * character boundary.  depth: components of the listed file's path.
 */
int listing_from_hits(const struct search_hits *hits, unsigned depth,
		      struct listing **out);
int listing_from_entries(const struct search_entries *entries,
			 struct listing **out);

/* The longest prefix of at most max bytes that does not end inside a UTF-8
 * character; text that is not UTF-8 is cut anywhere. */
size_t listing_cut_name(const char *text, size_t max);

struct listing *listing_ref(struct listing *l);
void listing_unref(struct listing *l);

/* NULL when there is no such name. */
const struct listing_item *listing_find(const struct listing *l,
					const char *name);

#endif

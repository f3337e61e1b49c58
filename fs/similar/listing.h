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
 * The entries of a directory of the virtual tree at one moment, for one caller.
 * Constant once made; shared by the node and its open handles.
 */
struct listing_item {
	char *name;
	char *target;     /* of a link; NULL: the item is a directory */
	const char *path; /* relative to SOURCE; points into target */
	struct file_key key;
	struct file_identity identity;
};

struct listing {
	atomic_uint refs;
	struct listing_item *items; /* in the order of readdir */
	size_t *by_name; /* indices of items, in byte order of the names */
	size_t count;
	size_t bytes;                   /* of memory, estimated */
	char *state;                    /* user.kinfs.state; or NULL */
	bool answered;                  /* the state is complete or cut */
	struct credentials credentials; /* of the caller; owned */
	int64_t made_ns;                /* CLOCK_MONOTONIC */
	int64_t listed_ctime_ns;        /* ctime of the listed file */
	/* Added to the time for which names are looked up in the listing. */
	int64_t lifetime_ns;
	struct file_groups *groups; /* a reference; of .groups only */
};

/*
 * Makes links such as "097_report.txt" -> "../../docs/report.txt".  A name is
 * the score and the base name; equal names get "~2", "~3"; longer names are cut
 * to NAME_MAX at a character boundary.  depth: the number of components in the
 * path of the listed file.
 */
int listing_from_hits(const struct search_hits *hits, unsigned depth,
		      struct listing **out);
/* Makes directories, in the order of the names. */
int listing_from_names(const struct search_paths *names, struct listing **out);

/* The length of the longest prefix of at most max bytes that does not end
 * inside a UTF-8 character.  Text that is not UTF-8 is cut anywhere. */
size_t listing_cut_name(const char *text, size_t max);

struct listing *listing_ref(struct listing *l);
void listing_unref(struct listing *l);

/* NULL: there is no such name. */
const struct listing_item *listing_find(const struct listing *l,
					const char *name);

#endif

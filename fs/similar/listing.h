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
 * Makes a listing: items are added in the order of readdir, then it is finished.
 *
 * listing_add_hit() adds a link such as "097_report.txt" ->
 * "../../docs/report.txt", with the score and the base name, or with another
 * name.  depth: the number of components in the path of the listed file.  Names are
 * cut to NAME_MAX at a character boundary; equal ones get "~2", "~3".
 * listing_add() takes name and target (NULL: a directory), also on failure.
 * -ENOMEM, also if name is NULL.
 */
int listing_new(struct listing **out);
int listing_add(struct listing *l, char *name, char *target);
int listing_add_hit(struct listing *l, const struct search_hit *hit,
		    unsigned depth, const char *name);
int listing_finish(struct listing *l);

/* "097_name", cut; NULL: no memory. */
char *listing_make_name(int score, const char *base);

/* The length of the longest prefix of at most max bytes that does not end
 * inside a UTF-8 character.  Text that is not UTF-8 is cut anywhere. */
size_t listing_cut_name(const char *text, size_t max);

struct listing *listing_ref(struct listing *l);
void listing_unref(struct listing *l);

/* NULL: there is no such name. */
const struct listing_item *listing_find(const struct listing *l,
					const char *name);

#endif

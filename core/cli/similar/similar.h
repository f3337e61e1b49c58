/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_SIMILAR_SIMILAR_H
#define CORE_CLI_SIMILAR_SIMILAR_H

#include <sys/stat.h>

#include "core/base/filter.h"
#include "core/cli/cli.h"
#include "core/cli/table.h"
#include "core/index/index.h"

/*
 * kin similar.
 *
 *   similar.c        the command: operands and what goes with what
 *   similar_find.c   what the mount finds, by .similar/.query, what other hosts
 *                    have (--everywhere), or an export (--in)
 *   similar_list.c   the list of one operand: sorted, filtered, printed; why a
 *                    file is not in it
 *   similar_trees.c  how the files of two directories differ
 *
 * A file of the list is a row of the printer from the line on in which it was
 * told:
 *
 *   {"relation":"shares","score":3,"shared":20480,"path":"docs/a",
 *    "root":"/mnt"}
 *
 * with "distinctive" and "by" as far as they are told, and "host" instead of
 * "root" if it is of another host.  Once it is to be listed, the file system's
 * "size", "on_disk" and "mtime" are added, and every measure with -v.
 */

/* What FILE is to the one that is listed: "FILE is within PATH".  In the order
 * of the list, as the scores of two relations are shares of different files. */
enum similar_relation {
	SIMILAR_ANY, /* as --relation: all but boilerplate */
	SIMILAR_COPY,
	SIMILAR_VERSION,
	SIMILAR_WITHIN,
	SIMILAR_CONTAINS,
	SIMILAR_SHARES,
	SIMILAR_BOILERPLATE, /* if asked for by name alone */
};
enum { SIMILAR_RELATIONS = SIMILAR_BOILERPLATE + 1 };

extern const char *const similar_relation_names[SIMILAR_RELATIONS];

/* State that the files of kin similar share. */
struct similar_job {
	struct table table;
	struct filter filter;
	struct best best;
	uint64_t share_min;             /* --share-min; 0: the mount's */
	enum similar_relation relation; /* --relation */
	bool why;                       /* --why: of path and other */
	const char *of;                 /* --of: a file of elsewhere */
	const char *in;  /* --in: an export, instead of a mount */
	bool everywhere; /* --everywhere: of other hosts, too */

	bool several, any_cut;
	char doubt[CLIENT_REASON]; /* the first reason */

	/* Of the operand at hand. */
	const char *path, *other; /* as given; other: of a pair */
	const char *name;         /* of, or path */
	char *other_rel;          /* owned; below the root of the mount */
	struct mount mount;
	const char *within;     /* only below this directory, of the root */
	struct digests digests; /* of what is asked about; of no byte: none */
	struct stat self;       /* zero: it is not in the mount */
	/* By the options, else those of the mount, else those of kinfs. */
	struct judge_rules rules;
	json_t *rows; /* an object; a row is below its path */
	/* Likewise, all of the mount that are alike or share a passage however
	 * little, or of an export the nearest that are not in rows. */
	json_t *alike, *sharing;
	bool cut;
	char reason[CLIENT_REASON]; /* why it is not complete; "": it is */
	size_t unknown;             /* files of directories without digests */
};

/* A number of a row; -1: it has none. */
int64_t similar_number(const json_t *row, const char *key);

/* ---- similar_list.c ---- */

/* Takes a row that lacks its relation, its path, the root of that (NULL: it has
 * none) and what was asked about, and which was found in that relation of the
 * index; NULL: -ENOMEM.  Of two rows for a path the first stays. */
int similar_add(const struct similar_job *job, json_t *rows,
		enum index_relation relation, const char *root,
		const char *path, json_t *row);

/* -v: adds what the measures say of the two contents. */
void similar_set_measures(const struct similar_job *job,
			  const struct digests *d, json_t *row);

/* Sorts the rows, leaves out what the options leave out and prints them.  0,
 * -ENOMEM, or 1 after a message. */
int similar_print(struct similar_job *job);

/* Of a file of which nothing was listed, what comes nearest to that: the row with
 * the best score, and that with the longest passage. */
void similar_complain_near(const struct similar_job *job);

/* Why job->other is listed, or not: as similar_print(). */
int similar_print_why(const struct similar_job *job);

/* ---- similar_find.c: 0, a negative errno, or 1 after a message ---- */

/* Finds what resembles the digests: rows. */
int similar_find(struct similar_job *job);

/* Of the mount: alike, sharing. */
int similar_find_near(struct similar_job *job);

/* Of an export: all three. */
int similar_find_in(struct similar_job *job);

/* ---- similar_trees.c: likewise ---- */

int similar_trees(struct similar_job *job);

#endif

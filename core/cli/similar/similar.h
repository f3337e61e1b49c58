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

/* The relation of FILE to the one that is listed: "FILE is within PATH". */
struct similar_relation {
	const char *name;
	enum index_relation found_by;
};

/* State that the files of kin similar share. */
struct similar_job {
	struct table table;
	struct filter filter;
	struct best best;
	uint64_t share_min; /* --share-min; 0: the mount's */
	/* --relation; NULL: all but boilerplate */
	const struct similar_relation *relation;
	bool why;        /* --why: of path and other */
	const char *of;  /* --of: a file of elsewhere */
	const char *in;  /* --in: an export, instead of a mount */
	bool everywhere; /* --everywhere: of other hosts, too */

	bool several, any_cut;
	char doubt[CLIENT_REASON]; /* the first reason */

	/* Of the operand at hand. */
	const char *path, *other; /* as given; other: of a pair */
	const char *name; /* of, or path, or that of a pair without an answer */
	char *other_rel;  /* owned; other below the root of the mount */
	struct mount mount;
	const char *within;     /* only below this directory, of the root */
	struct digests digests; /* of what is asked about; of no byte: none */
	struct stat self;       /* zero: it is not in the mount */
	/* By the options, else those of the mount, else those of kinfs. */
	struct judge_rules rules;
	/* An object: the list; the key of a row is its path, with the root.
	 * --why: the row of other alone. */
	json_t *rows;
	/* An object: the row with the largest "score" and that with the largest
	 * "shared", which are the keys, of the files that are near.  --why: the
	 * rows of other. */
	json_t *near;
	bool cut;
	char reason[CLIENT_REASON]; /* why it is not complete; "": it is */
	size_t unknown;             /* files of directories without digests */
};

/* Whether files are to be found by that relation of the index. */
static inline bool similar_asks(const struct similar_job *job,
				enum index_relation r)
{
	return job->relation ? r == job->relation->found_by : r != INDEX_ALL;
}

static inline void similar_set_incomplete(struct similar_job *job)
{
	(void)snprintf(job->reason, sizeof(job->reason), "incomplete");
}

/* ---- similar_list.c ---- */

/* NULL: there is none of that name. */
const struct similar_relation *similar_relation_find(const char *name);

/* A number of a row; -1: it has none. */
int64_t similar_number(const json_t *row, const char *key);

/* Gives a row, which was found in that relation of the index, the name of that,
 * its path, the root of the path (NULL: it has none) and what was asked about.
 * NULL, and the row is dropped, without memory. */
json_t *similar_row(const struct similar_job *job, enum index_relation relation,
		    const char *root, const char *path, json_t *row);

/* Takes a row, as similar_row(), for the list, unless it has one of that path or
 * the options leave it out.  near: the key of job->near to set instead, or NULL.
 * -ENOMEM. */
int similar_add(const struct similar_job *job, const char *near,
		enum index_relation relation, const char *root,
		const char *path, json_t *row);

/* -v: adds what the measures say of the two contents. */
void similar_set_measures(const struct similar_job *job,
			  const struct digests *d, json_t *row);

/* Sorts the list and prints it. */
int similar_print(struct similar_job *job);

/* Tells which file comes nearest to one for which nothing was listed. */
void similar_complain_near(const struct similar_job *job);

/* Why job->other is listed, or not. */
int similar_print_why(const struct similar_job *job);

/* ---- similar_find.c ---- */

/* Sets job->rows to the files that resemble the digests. */
int similar_find(struct similar_job *job);

/* Sets job->near, of all files that are alike or share a passage, however
 * little; --why: first of those in the relation, if it is that of a part. */
int similar_find_near(struct similar_job *job);

/* Of an export sets job->rows, and job->near, of files that are not in rows. */
int similar_find_in(struct similar_job *job);

/* ---- similar_trees.c ---- */

int similar_trees(struct similar_job *job);

#endif

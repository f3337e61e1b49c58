/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_SIMILAR_SIMILAR_H
#define CORE_CLI_SIMILAR_SIMILAR_H

#include "core/base/filter.h"
#include "core/cli/cli.h"
#include "core/cli/table.h"
#include "core/client/question.h"
#include "core/index/index.h"

/*
 * kin similar.
 *
 *   similar.c        the command: operands and what goes with what
 *   similar_find.c   the files of the list: of the mount, of other hosts
 *                    (--everywhere), or of an export (--in)
 *   similar_list.c   the list of one operand: sorted, filtered, printed; what
 *                    comes nearest to it
 *   similar_why.c    why a file is in the list or not
 *   similar_trees.c  how the files of two directories differ
 *
 * The mount judges the files; where there is no mount, judge_digests() does here.
 */

/* The relation of FILE to the one of the line, "FILE is within PATH", in the
 * order of the list, as the scores of two relations are shares of different
 * files. */
enum similar_relation {
	SIMILAR_COPY, /* by a score of 100 */
	SIMILAR_VERSION,
	SIMILAR_PICTURE, /* by what they show */
	SIMILAR_WITHIN,
	SIMILAR_CONTAINS,
	SIMILAR_SHARES,
	SIMILAR_BOILERPLATE, /* if asked for by name alone */
	SIMILAR_RELATIONS,   /* of an option: all but boilerplate */
};

extern const char *const similar_relation_names[SIMILAR_RELATIONS];

/* The relation of the index that finds it. */
extern const enum index_relation similar_found_by[SIMILAR_RELATIONS];

/* A file or directory of the list. */
struct similar_row {
	enum similar_relation relation;
	struct verdict verdict;
	char *path;       /* owned; below the root */
	const char *root; /* borrowed; NULL: it has none */
	char *host;       /* owned; of another host, else NULL */
	/* Once it is to be listed; -1: not known. */
	int64_t size, on_disk;
	int64_t mtime_ns; /* INT64_MAX: not known */
	bool has_measures;
	struct measures measures;
};

/* Room for why an answer is not complete. */
enum { SIMILAR_REASON = 320 };

/* State that the files of kin similar share. */
struct similar_job {
	struct table table;
	struct filter filter;
	struct best best;
	uint64_t share_min; /* --share-min; 0: the mount's */
	enum similar_relation relation;
	bool why;        /* --why: of path and other */
	const char *of;  /* --of: a file of elsewhere */
	const char *in;  /* --in: an export, instead of a mount */
	bool everywhere; /* --everywhere: of other hosts, too */

	bool several, any_cut;
	char doubt[SIMILAR_REASON]; /* the first reason */

	/* Of the operand at hand. */
	const char *path, *other; /* as given; other: of a pair */
	const char *name; /* of, or path, or that of a pair without an answer */
	char *other_rel;  /* owned; other below the root of the mount */
	bool is_directory;
	struct mount mount;
	const char *within; /* only below this directory, of the root */
	/* Of what is asked about: of a file of the mount only once they are
	 * needed, see similar_own_digests(). */
	struct digests digests;
	/* By the options, else those of the mount, else those of kinfs. */
	struct judge_rules rules;
	struct similar_row *rows;
	size_t row_count;
	/* Of all files, listed or not: the one with the best score, and the one
	 * with the longest passage; a path NULL: there is none. */
	struct similar_row nearest, longest;
	bool cut;
	char reason[SIMILAR_REASON]; /* why it is not complete; "": it is */
	size_t unknown;              /* files of directories without digests */
};

/* Whether files are to be found by that relation of the index. */
static inline bool similar_asks(const struct similar_job *job,
				enum index_relation r)
{
	return job->relation == SIMILAR_RELATIONS ?
		       r != INDEX_ALL :
		       r == similar_found_by[job->relation];
}

/* Whether the files that share passages are read: of short ones the sketches tell
 * too little. */
static inline bool similar_verifies(const struct similar_job *job)
{
	return job->share_min && job->share_min < INDEX_SHARE_MIN && !job->of &&
	       !job->in;
}

static inline void similar_set_incomplete(struct similar_job *job)
{
	(void)snprintf(job->reason, sizeof(job->reason), "incomplete");
}

/* ---- similar_list.c ---- */

/* The relation that a verdict in a relation of the index stands for. */
enum similar_relation similar_relation_of(enum index_relation found_by,
					  const struct verdict *v);

/* Takes path and host, also on failure; path NULL: -ENOMEM.  Adds a row to the
 * list, unless the options leave it out. */
int similar_add(struct similar_job *job, const struct similar_row *row);

/* Keeps the row, likewise, if it is nearer than the one in *best: by its passages,
 * or its score. */
int similar_keep_nearer(struct similar_row *best,
			const struct similar_row *row);

void similar_row_release(struct similar_row *row);

/* The row as JSON; NULL without memory. */
json_t *similar_row_json(const struct similar_job *job,
			 const struct similar_row *row);

/* -v: sets what the measures say of the two contents. */
void similar_set_measures(struct similar_job *job, const struct digests *d,
			  struct similar_row *row);

/* Sorts the list and prints it. */
int similar_print(struct similar_job *job);

/* Tells which file comes nearest to one for which nothing was listed. */
void similar_complain_near(struct similar_job *job);

/* ---- similar_find.c ---- */

/* The digests of what is asked about. */
const struct digests *similar_own_digests(struct similar_job *job);

/* Of a path of the mount with other_rel, or of what is not in it. */
void similar_question(struct similar_job *job, enum index_relation relation,
		      struct question *out);

/* question_ask_one(), closed; sets the reason why it is not complete. */
int similar_ask_one(struct similar_job *job, const struct question *question,
		    struct answer *out);

/* Adds the files, or the directories, that resemble what is asked about. */
int similar_find(struct similar_job *job);
int similar_find_directories(struct similar_job *job);

/* Sets nearest and longest, of all files that are alike or share a passage, however
 * little. */
int similar_find_near(struct similar_job *job);

/* Of an export adds the files, and sets nearest and longest of those that are not
 * listed. */
int similar_find_in(struct similar_job *job);

/* ---- similar_why.c ---- */

int similar_why(struct similar_job *job);

/* ---- similar_trees.c ---- */

int similar_trees(struct similar_job *job);

#endif

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
 *   similar.c             the command: operands and what goes with what
 *   similar_hit.c         the list of one file: collected, sorted, printed
 *   similar_ask.c         what the mount finds, by .similar/.query
 *   similar_in.c          what an export has (--in)
 *   similar_everywhere.c  what other hosts have (--everywhere)
 *   similar_why.c         why two files are listed, or not (--why)
 *   similar_trees.c       how the files of two directories differ
 */

/* What FILE is to the one that is listed: "FILE is within PATH".  In the order
 * of the list, as the scores of two relations are shares of different files. */
enum similar_relation {
	SIMILAR_COPY,
	SIMILAR_VERSION,
	SIMILAR_WITHIN,
	SIMILAR_CONTAINS,
	SIMILAR_SHARES,
	SIMILAR_BOILERPLATE, /* if asked for by name alone */
};
enum { SIMILAR_RELATIONS = SIMILAR_BOILERPLATE + 1 };

extern const char *const similar_relation_names[SIMILAR_RELATIONS];

/* A file of the list. */
struct similar_hit {
	enum similar_relation relation;
	int score;
	int distinctive;       /* -1: not told */
	bool by_text;          /* of a document, or of members of an archive */
	int64_t shared;        /* bytes in passages; -1: not told */
	char *path;            /* owned; below the root, or HOST:PATH */
	const char *host;      /* owned; NULL: this one */
	const char *root;      /* borrowed; NULL: of another host */
	int64_t size, on_disk; /* -1: not known */
	int64_t mtime_ns;
	bool has_mtime, has_measures;
	struct measures measures;
};

struct similar_hits {
	struct similar_hit *all;
	size_t count;
};

/* State that the files of kin similar share. */
struct similar_job {
	struct output output;
	struct filter filter;
	struct best best;
	uint64_t share_min;   /* --share-min; 0: the mount's */
	const char *relation; /* --relation; NULL: all but boilerplate */
	bool why;             /* --why: of path and other */
	const char *of;       /* --of: a file of elsewhere */
	const char *in;       /* --in: an export, instead of a mount */
	bool everywhere;      /* --everywhere: of other hosts, too */

	struct table table;
	size_t found; /* hits of all operands */
	bool several, any_cut;
	char doubt[320]; /* the first reason */

	/* Of the operand at hand. */
	const char *path, *other; /* as given; other: of a pair */
	struct mount mount;
	const char *within;     /* only below this directory, of the root */
	struct digests digests; /* of what is asked about */
	struct stat self;
	struct similar_hits hits;
	bool cut;
	char reason[320]; /* why the answer is not complete; "": it is */
	size_t unknown;   /* files of directories without digests */
};

/* What the options say, else the mount, else what kinfs takes by itself. */
int similar_threshold(const struct similar_job *job);
uint64_t similar_share_min(const struct similar_job *job);

/* ---- similar_hit.c ---- */

/* The relations that are asked for, in turn from 0; false: no more. */
bool similar_next(const struct similar_job *job, int *at_io,
		  enum index_relation *out);

/* What a verdict, or a line that tells one, makes of a pair. */
enum similar_relation similar_relation_of(enum index_relation relation,
					  int score,
					  enum verdict_reason reason);

/* Adds a hit with copies of its path and host.  -ENOMEM. */
int similar_hits_add(struct similar_hits *hits, const struct similar_hit *hit);
void similar_hits_release(struct similar_hits *hits);

/* Sorts the hits, leaves out what the options leave out and prints them.  0,
 * -ENOMEM, or 1 after a message. */
int similar_print(struct similar_job *job);

/* Of one that found nothing, which of these comes nearest to being listed: that
 * with the best score, and that with the longest passage. */
void similar_complain_near(struct similar_job *job, struct similar_hits *near);

/* ---- similar_ask.c ---- */

/* The digests of a file that is read now; "-": of the standard input.  1 after
 * a message. */
int similar_digest(struct similar_job *job, const char *path);

/* What is asked of the mount.  0: what its options say. */
struct similar_question {
	enum index_relation relation;
	int threshold;
	uint64_t share_min, limit;
	bool all; /* also pairs that are ignored, in the same mount */
};

/* Asks for the files in a relation to a content with job->digests, best first. */
int similar_ask(struct similar_job *job, const struct similar_question *q,
		struct similar_hits *out);

/* Why a file has no complete answer, by its state, in job->reason. */
void similar_look_file(struct similar_job *job, const char *file);

/* ---- the kinds of queries: 0, a negative errno, or 1 after a message ---- */

int similar_file(struct similar_job *job);
int similar_in(struct similar_job *job);
int similar_everywhere(struct similar_job *job);
int similar_trees(struct similar_job *job);
int similar_why(struct similar_job *job);

#endif

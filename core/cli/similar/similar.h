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
 *   similar_ask.c    what the mount finds, by .similar/.query, and other hosts
 *                    (--everywhere)
 *   similar_in.c     what an export has (--in)
 *   similar_list.c   the list of one operand: sorted, filtered, printed
 *   similar_why.c    why two files are listed, or not (--why)
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
	size_t found; /* rows of all operands */
	bool several, any_cut;
	char doubt[CLIENT_REASON]; /* the first reason */

	/* Of the operand at hand. */
	const char *path, *other; /* as given; other: of a pair */
	struct mount mount;
	const char *within;     /* only below this directory, of the root */
	struct digests digests; /* of what is asked about */
	struct stat self;
	json_t *rows;  /* an object, by their paths */
	size_t listed; /* of them */
	bool cut;
	char reason[CLIENT_REASON]; /* why it is not complete; "": it is */
	size_t unknown;             /* files of directories without digests */
};

/* What the options say, else the mount, else what kinfs takes by itself. */
int similar_threshold(const struct similar_job *job);
uint64_t similar_share_min(const struct similar_job *job);

/* A number of a row; -1: it has none. */
int64_t similar_number(const json_t *row, const char *key);

/* ---- similar_list.c ---- */

/* The relations that are asked for, in turn from 0; false: no more. */
bool similar_next(const struct similar_job *job, int *at_io,
		  enum index_relation *out);

/* Takes a row that lacks its relation alone, which is found in that relation of
 * the index; NULL: -ENOMEM.  key: its path as bytes, behind SIMILAR_ELSEWHERE if
 * it is of another host.  Of two rows for a key the first stays. */
int similar_add(json_t *rows, const char *key, enum index_relation relation,
		bool is_boilerplate, json_t *row);

#define SIMILAR_ELSEWHERE "//"

/* -v: adds what the measures say of the two contents. */
void similar_set_measures(const struct similar_job *job,
			  const struct digests *d, json_t *row);

/* Sorts the rows, leaves out what the options leave out and prints them.  0,
 * -ENOMEM, or 1 after a message. */
int similar_print(struct similar_job *job);

/* Of one that found nothing, which of these comes nearest to being listed: that
 * with the best score, and that with the longest passage. */
void similar_complain_near(const struct similar_job *job, json_t *alike,
			   json_t *sharing);

/* ---- similar_ask.c ---- */

/* The digests of a file that is read now; "-": of the standard input.  1 after
 * a message. */
int similar_digest(struct similar_job *job, const char *path);

/* A filter that kin applies must not be starved by the mount's limit. */
enum { LIMIT_OF_FILTERS = 4096 };

/* Settings of the question in place of the mount's own; 0: those. */
json_t *similar_settings(const struct similar_job *job, int threshold,
			 uint64_t share_min, uint64_t limit);

/* Asks for the files in a relation to a content with job->digests, best first.
 * Takes settings. */
int similar_ask(struct similar_job *job, enum index_relation relation,
		json_t *settings, json_t *rows);

/* Why a file has no complete answer, by its state, in job->reason. */
void similar_look_file(struct similar_job *job, const char *file);

/* ---- the kinds of queries: 0, a negative errno, or 1 after a message ---- */

int similar_file(struct similar_job *job);
int similar_in(struct similar_job *job);
int similar_trees(struct similar_job *job);
int similar_why(struct similar_job *job);

#endif

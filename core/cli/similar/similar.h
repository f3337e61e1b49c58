/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_SIMILAR_SIMILAR_H
#define CORE_CLI_SIMILAR_SIMILAR_H

#include "core/cli/cli.h"
#include "core/index/index.h"

/* State that the files of kin similar share. */
struct similar_job {
	bool json;
	bool why;        /* --why: of path and other */
	const char *of;  /* --of: a file of elsewhere */
	const char *in;  /* --in: an export, instead of a mount */
	bool everywhere; /* --everywhere: of other hosts, too; */
	const char *db;  /* --db: by this database */
	enum index_relation relation;
	const char *path, *other; /* as given; other only of directories */
	struct mount mount;
	char *listings;           /* the place of .similar */
	struct digests digests;   /* of what is asked about */
	json_t *array;            /* of the hits, --json only */
	struct similar_hit *kept; /* with everywhere: those to be shown */
	size_t kept_count;
	size_t printed;
	size_t unknown;   /* files of directories without digests */
	size_t unnamed;   /* hits whose path is longer than a link can be */
	char reason[320]; /* why the answer is not complete; "": it is */
};

/* The text, to be freed; NULL without memory. */
char *similar_format(const char *pattern, ...)
	__attribute__((format(printf, 1, 2)));

/* The digests that the mount keeps of a file; one that is missing stays
 * unset. */
void similar_digests(const char *path, struct digests *out);

/* A path below SOURCE as one below the mount's root; NULL without memory. */
char *similar_path(const struct similar_job *job, const char *rel);

/* What is said of a file that was found. */
struct similar_found {
	int score;
	int distinctive;            /* -1 but with INDEX_ALL */
	enum verdict_reason reason; /* with INDEX_ALL */
	json_int_t bytes; /* in common, about; -1 but with INDEX_SHARES */
	const char *path;
};

/* Prints a hit, or adds it to the array. */
int similar_show(struct similar_job *job, const struct similar_found *found);

/* As similar_show(), for a file that is not on this machine. */
int similar_show_measured(struct similar_job *job, int score, const char *path,
			  uint64_t size, const struct measures *measures);

/* Hits of the mount and of other hosts are kept; this shows them, best first,
 * and those of the mount before others of the same score. */
int similar_show_kept(struct similar_job *job);

/* What is listed in a directory of .similar, best first, with full paths;
 * stops at an error of take. */
int similar_each(struct similar_job *job, const char *listing,
		 int (*take)(void *arg, int score, const char *path),
		 void *arg);

/* An entry that similar_each() found. */
struct similar_path {
	char *path;
	int score;
};

struct similar_paths {
	struct similar_path *all;
	size_t count;
};

/* For similar_each(); arg: a struct similar_paths. */
int similar_paths_add(void *arg, int score, const char *path);
void similar_paths_release(struct similar_paths *paths);

typedef int similar_take_fn(void *arg, const struct similar_found *found);

/* Asks the mount for the files in job->relation to a content with job->digests:
 * best first, with full paths; stops at an error of take. */
int similar_ask(struct similar_job *job, similar_take_fn *take, void *arg);

/* Why a file has no complete listing, by its state; "" when it has one. */
void similar_look_file(struct similar_job *job, const char *file);

/* Sets job->reason by the states of two files.  Whether both were hashed. */
bool similar_look_pair(struct similar_job *job, const char *file,
		       const char *other);

/* Sets job->reason from the state of a listing. */
void similar_look_state(struct similar_job *job, const char *listing);

/* Whether near-duplicates beyond the mount's limit were left out. */
bool similar_is_cut(const struct similar_job *job);

/* ---- the kinds of queries ---- */

/* The digests of a file that is read now; "-": of the standard input.  1 after
 * a message. */
int similar_digest(struct similar_job *job, const char *path);

/* 0, a negative errno, or 1 after a message. */
int similar_of(struct similar_job *job);
int similar_all(struct similar_job *job);
int similar_why(struct similar_job *job);
/* Explains what two files of the mount share; both named as the mount does. */
int similar_why_shares(struct similar_job *job, const char *file,
		       const char *other);
int similar_in(struct similar_job *job);
/* After one of the others, or with --db alone. */
int similar_everywhere(struct similar_job *job);
int similar_only_elsewhere(struct similar_job *job);
int similar_directories(struct similar_job *job);

#endif

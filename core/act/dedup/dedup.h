/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DEDUP_DEDUP_H
#define CORE_DEDUP_DEDUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "core/act/groups/groups.h"
#include "core/base/filter.h"

/*
 * Turns exact copies into hard links, into files that share their extents, or
 * into nothing; makes near-duplicates share the blocks that are equal.
 *
 *   plan.c         groups that are said to be equal or alike -> a step for
 *                  each file that is to be made of another one
 *   step.c         one step: opens both files, says why it must not be done,
 *                  asked for a plan and the deed, and replaces all names of one
 *   file.c         opens files without following symbolic links; compares or
 *                  copies one and hashes it; attributes
 *   blocks.c       shares equal blocks
 *   journal.c      what was done, written and synced before it is done; taken
 *                  back, also the step that a run was killed in
 *
 * All names (hard links) of a file go in one step: a file that keeps a name
 * keeps its blocks.  A file with a name that no group lists is left alone.
 *
 * Nothing is taken for granted.  The groups may be wrong, and the files may have
 * changed since: each step opens both files, compares every byte, and
 * replaces the names only if neither has changed meanwhile.
 *
 * Nothing is trusted on the way either: paths have no "..", no directory on
 * them may be a symbolic link, and names are checked again after a rename,
 * because another user may own a directory of the tree.
 *
 * Invariants, at every moment, also after kill -9 or power loss:
 *
 *   - A path that is replaced has its content: the old inode until one atomic
 *     rename, the new one after it.  The old inode has a name beside the path
 *     until all names were renamed.
 *   - A content is never without a path: the kept file was opened, compared and
 *     is held open while a copy goes.
 *   - A step that cannot be undone from the journal was not begun.
 *
 * A file that another program has open for writing is left alone, where the
 * filesystem has leases (fcntl(2), F_SETLEASE).  Everything here is for one
 * thread.  Errors are negative errno.
 */
enum dedup_method {
	DEDUP_HARDLINK,
	DEDUP_REFLINK, /* FIDEDUPERANGE: the kernel compares once more */
	DEDUP_REMOVE,
	DEDUP_BLOCKS, /* of files that need not be equal */
	DEDUP_METHODS
};

static inline bool dedup_is_sharing(enum dedup_method method)
{
	return method == DEDUP_REFLINK || method == DEDUP_BLOCKS;
}

/* "hardlink", ... */
extern const char *const dedup_method_names[DEDUP_METHODS];

/* Of a path that is left alone, the reason. */
typedef void dedup_tell(const char *path, const char *reason);

struct dedup_rules {
	enum dedup_method method;
	enum keep_order keep; /* which of the equal files stays as it is */
	/* Absolute directories: files with a name below are never replaced, and
	 * are kept before others. */
	struct name_list directories;
	bool *used; /* of each: set where a file of the plan is below */
	struct filter filter;
	bool internal;       /* also what is internal, see path_is_internal() */
	bool force_metadata; /* also if owners or metadata differ */
	bool apply;          /* else nothing is changed */
};

/* ---- plan.c ---- */

/* An inode. */
struct dedup_file {
	/* The names that a group lists, absolute, and what keep_compare() needs;
	 * keep: it has a name below a directory of the rules. */
	struct found_file found;
	char *below;         /* where the first one is below its mount; NULL: it
		      * is in none, or cannot be reached there */
	struct stat st;      /* of the names, which may be in a mount */
	uint64_t filesystem; /* what links, or blocks, can be shared within */
	char xxh128[33]; /* that the content is said to have; "": not known */
	size_t first;    /* the number of the first file of its member */
	const struct dedup_file *keep; /* that it is to be made of; NULL: it
					* stays */
};

/* Zeroed but for rules and skip.  Ends with the process, which frees it. */
struct dedup_plan {
	struct dedup_rules rules;
	struct dedup_file **files;
	size_t file_count;
	size_t linked_count; /* paths that are links of the kept file already */
	void *known;         /* the files by inode: tsearch(3) */
	/* The kinfs mount that the last path was in.  The kernel shares blocks
	 * below it, and knows there which processes have a file open. */
	struct mount mount;
	const char *refused; /* after -EXDEV: the path, of the group */
	dedup_tell *skip;
};

/*
 * Adds the files of a group that no earlier one has: those of a member are said
 * to have one content.  With DEDUP_BLOCKS one file of each member shares with
 * one of the first, and the others of the member with it.
 *
 * Paths are relative to root and must not lead out of it; without it (NULL)
 * they are relative to the current directory, and absolute ones may be anywhere.
 * -EXDEV, -ENOMEM, or why there is no current directory.
 */
int dedup_plan_add(struct dedup_plan *p, const char *root,
		   const struct found_group *group);

/* ---- journal.c ---- */

/* A new file, which must not exist yet, synced together with its directory: to
 * be closed.  -EEXIST; -EPERM: other users could replace it there; or why it
 * cannot be written. */
int dedup_journal_create(const char *path, FILE **out);

/* ---- step.c ---- */

struct dedup_result {
	char reason[160]; /* why it was not done: no content was changed */
	bool no_journal; /* no other step may be tried, if this was done or not */
	/* Bytes that the step did free, or would.  Where blocks are shared:
	 * those that are equal, not shared yet, and that no third file refers
	 * to. */
	uint64_t gain;
	uint64_t shared; /* bytes that the two files shared before */
};

/* The step of a file that is to be made of another one: replaces it, unless
 * there is a reason not to, which is -ECANCELED.  The steps are taken in the
 * order of the files.  Without rules.apply nothing is changed: the reasons are the
 * same, and out has what would be.  journal: NULL where blocks are shared, which
 * changes no content. */
int dedup_apply(const struct dedup_rules *rules,
		const struct dedup_file *replace, FILE *journal,
		struct dedup_result *out);

/* ---- plan.c: two files by themselves ---- */

/* Compares two files of a group of a mount: 0 if they are two, of the same bytes;
 * else -ECANCELED, and out has the reason.  Of a file of a mount below this one,
 * mount becomes that. */
int dedup_verify(struct mount *mount, const struct found_file *keep,
		 const struct found_file *copy, struct dedup_result *out);

/* ---- journal.c ---- */

struct dedup_undo {
	bool force_metadata; /* also where the file that was kept belongs to
			      * another user */
	dedup_tell *tell;    /* of what could not be taken back */
	/* The result: */
	size_t restored; /* files, with all their names */
	size_t failed;   /* paths */
	size_t nothing;  /* steps that changed nothing, or nothing any more */
};

/* Takes the steps of a journal back, the last one first, whichever of them were
 * begun.  0 also with failures; -EINVAL: it is no such journal; -EPERM: another
 * user could have written it; -EBUSY: a run is writing it.  A journal that was
 * cut in the middle of its last line is read up to there. */
int dedup_undo(const char *journal, struct dedup_undo *u);

#endif

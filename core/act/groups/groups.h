/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_GROUPS_GROUPS_H
#define CORE_GROUPS_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/filter.h"
#include "core/client/client.h"

/*
 * Groups of near-duplicates, as a program outside of the daemon gets them: from
 * a mount, or from what `kin groups --json` wrote.  kin groups, dedup, report,
 * ignore and export are made of this.  Nothing here prints.
 *
 * Objects
 *
 *   wish     what the caller wants: rules, directories, marks
 *   group    a head and its members; a member is one content with the files
 *            that have it
 *   groups   an iterator over groups, and the totals
 *
 * The life of a query.  groups_ask() asks the mount (core/client);
 * groups_next() reads lines while the daemon makes them (their
 * format: fs/similar/query_text.h), puts the files of a group together and
 * applies what only concerns names (across, keep).  The group is freed by the
 * next call, so memory is bounded by the largest group.
 *
 * Any thread may call these functions; an iterator belongs to one.
 *
 * What must never happen: a line that is damaged or cut off is taken for an
 * answer (-EBADMSG); a group is handed over that lacks files because the answer
 * ended early.
 */

/* ---- what stays (found.c) ---- */

/*
 * Which of several exact copies stays.  Everything that proposes copies for
 * removal uses this one rule: two commands that keep different ones would, one
 * after the other, take two clones of a tree apart.
 */
enum keep_order { KEEP_OLDEST, KEEP_NEWEST, KEEP_SHORTEST, KEEP_ORDERS };

extern const char *const keep_order_names[KEEP_ORDERS];

/* "oldest", "newest" or "shortest".  False: it is none of them. */
bool keep_order_parse(const char *name, enum keep_order *out);

struct found_file;

/* Negative: a is to be kept rather than b, by its first name; what is internal
 * never rather than what is not.  0 only for one path.  The names of both are
 * absolute, or relative to one directory. */
int keep_compare(enum keep_order order, const struct found_file *a,
		 const struct found_file *b);

static inline int compare_numbers(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

/* ---- groups ---- */

struct name_list {
	const char **names;
	size_t count;
};

/* path_is_internal(), but not by the directory of these that it is below: that
 * was asked for. */
bool name_list_is_internal(const struct name_list *asked, const char *path);

struct groups_wish {
	bool exact;    /* identical files only */
	bool every;    /* each content is a group, also of one file */
	bool internal; /* also what is internal, see path_is_internal() */
	int threshold; /* 0: that of the mount */
	struct filter filter; /* of the files, by path and size */
	/* Paths relative to the root of the mount: */
	struct name_list within; /* only files below these; none: all */
	/* Only groups with files below two of these, of which each file is
	 * below the innermost one alone; none: all groups. */
	struct name_list across;
	struct name_list keep; /* files below these are marked */
	enum keep_order order; /* which of the exact copies stays */
};

/* An inode with the names that the caller sees.  Removing some of its names
 * frees nothing: they go together, or not at all. */
struct found_file {
	const char **names; /* one or more, owned and in order; relative to the
			     * root of the mount */
	size_t name_count;
	uint64_t nlink;   /* names that it has, seen or not; 0: not told */
	int64_t mtime_ns; /* INT64_MAX: after 2262, or not told */
	uint64_t disk;    /* bytes on disk; fewer than the length with holes */
	bool internal;    /* all of its names are: path_is_internal() */
	/* Of a mount: */
	bool keep; /* it has a name below a directory of wish.keep */
	bool goes; /* a copy of one that stays, of which all names are seen */
};

/* One content.  Files in byte order of the first names. */
struct found_member {
	int score;      /* with the head; 100: the head */
	const char *by; /* which part spoke, of subject_part_names; or NULL */
	uint64_t size;
	bool has_size;         /* a mount always tells it, a line may not */
	char xxh128[33];       /* "": a line did not tell it */
	int64_t document_date; /* that the content has, in seconds; 0: none */
	json_t *digests;       /* with every: names and texts; else NULL */
	struct found_file *files;
	size_t file_count;
	/* Of a mount: */
	uint64_t group, number; /* which content of which group */
	size_t stays;           /* the file that is kept before all others */
};

/* Members: head first, then best score first, then by path; those of a file as
 * they are in it, but for the head. */
struct found_group {
	struct found_member *members;
	size_t count;
	size_t files;
	/* Bytes on disk of all files that could go, and of a file of each
	 * member but the head.  Only the former could be saved. */
	uint64_t saved_exact, saved_near;
};

struct groups_totals {
	int threshold; /* of a mount */
	uint64_t groups, files, exact_bytes, near_bytes;
	bool incomplete; /* not all files were hashed, or some changed */
	/* Files and directories that could not be read, as far as the caller is
	 * told; it is incomplete then. */
	uint64_t failed;
	uint64_t failed_texts; /* documents whose text could not; as above */
};

/* What groups_next() has found. */
enum groups_event {
	GROUPS_END,
	GROUPS_GROUP,    /* group has it */
	GROUPS_PROGRESS, /* done has it */
};

struct groups {
	const struct groups_wish *wish; /* borrowed; NULL: of a file */
	char *root; /* absolute, that paths are relative to; NULL: not told */
	struct found_group group;
	struct groups_totals totals; /* up to here; of a file: of its end */
	bool is_listing;             /* all were found, and are handed over */
	double done; /* of 1: of the search, or of the listing */
	/* The answer of a mount; or what kin groups --json printed, or kin
	 * export. */
	struct lines lines;
	bool has_totals; /* of a file */
	/* Of a mount: */
	struct found_member next; /* of another group; without files: none */
	uint64_t number, all;     /* of the group at hand; of all */
	uint64_t left_out; /* number + 1 of the last group that lacks files, as
			    * they were not asked for */
};

/* Asks a mount that has listings for what the wish says.  To be closed in any
 * case. */
int groups_ask(struct groups *g, const struct groups_wish *wish,
	       const struct mount *mount);

/* Reads what kin groups --json printed, or kin export behind its first line;
 * takes in. */
void groups_read(struct groups *g, FILE *in);

/* An event, or a negative errno.  -EBADMSG: the answer of a mount is not
 * understood, or it ended too early; -EINVAL: the line of the file is no
 * group; -EFBIG: it is too long. */
int groups_next(struct groups *g);
void groups_close(struct groups *g);

/*
 * A line of what kin groups --json prints.  GROUPS_GROUP: a group as it was
 * written, neither sorted nor summed again, in g->group, and g->root if it says
 * that; GROUPS_END: the totals, in g->totals.
 * -EINVAL: it is neither.  -ENOMEM.  g->group is empty before.
 */
int groups_take_line(struct groups *g, const struct json_t *object);

/* The members as such a line has them; brief: without what concerns removal.  NULL
 * without memory. */
struct json_t *found_members_json(const struct found_group *group, bool brief);

/* ---- found.c: one group ---- */

void found_group_release(struct found_group *group);

void found_file_release(struct found_file *file);

/* Takes file, also on failure. */
int found_member_add(struct found_member *member, struct found_file *file);
void found_member_release(struct found_member *member);

/* Takes member, also on failure. */
int found_group_add(struct found_group *group, struct found_member *member);

/* Sorts, marks and sums.  False: it is no group that was wished for. */
bool found_group_finish(struct found_group *group,
			const struct groups_wish *wish);

/* ---- order.c: which member is the newest ---- */

/* The criterion of a group: the first of these that all members have, and not
 * all equal. */
enum found_order {
	FOUND_BY_NOTHING,
	FOUND_BY_DOCUMENT_DATE,
	FOUND_BY_NAME, /* all are names of versions of one thing */
	FOUND_BY_MTIME,
};

/* Puts the members in order from new to old; the head, the one with score 100,
 * is where its age puts it.  -ENOMEM, and the group is as before. */
int found_group_order(struct found_group *group, enum found_order *out);

#endif

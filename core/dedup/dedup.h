/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DEDUP_DEDUP_H
#define CORE_DEDUP_DEDUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * Turns exact copies into hard links, into files that share their extents, or
 * into nothing.
 *
 *   plan.c     sets of paths that are said to be equal -> steps
 *   apply.c    one step: checks everything again, then replaces one path
 *   compare.c  are two files equal, in bytes and in metadata?
 *   journal.c  what was done, written and synced before it is done
 *   undo.c     takes a journal back
 *
 * Nobody is believed.  Whoever made the sets may have been wrong, and the files
 * may have changed since: each step opens both files, compares every byte, and
 * replaces the path only if neither has changed meanwhile.
 *
 * Invariants, at every moment, also after kill -9 or power loss:
 *
 *   - A path that is replaced has its content: the old inode until one atomic
 *     rename, the new one after it.
 *   - A content is never without a path: the kept file was opened, compared and
 *     is held open while a copy goes.
 *   - What cannot be undone from the journal was not begun.
 *
 * A file that another program has open for writing is left alone, where the
 * filesystem has leases (fcntl(2), F_SETLEASE).  Everything here is for one
 * thread.  Errors are negative errno.
 */
enum dedup_method {
	DEDUP_HARDLINK,
	DEDUP_REFLINK, /* FIDEDUPERANGE: the kernel compares once more */
	DEDUP_REMOVE,
	DEDUP_METHODS
};

/* "hardlink", ... */
extern const char *const dedup_method_names[DEDUP_METHODS];

/* ---- plan.c ---- */

enum dedup_keep { DEDUP_KEEP_OLDEST, DEDUP_KEEP_NEWEST, DEDUP_KEEP_SHORTEST };

struct dedup_rules {
	enum dedup_method method;
	enum dedup_keep keep; /* which of the equal files stays as it is */
	/* Absolute directories: files below are never replaced, and are kept
	 * before others. */
	const char *const *directories;
	size_t directory_count;
	uint64_t min_size;
};

struct dedup_file {
	char *path; /* owned; absolute */
	struct stat st;
};

/* The file replace is to be made of the file keep. */
struct dedup_step {
	size_t keep, replace; /* indices of files */
	uint64_t bytes;       /* that this step sets free */
};

struct dedup_plan {
	struct dedup_file *files; /* owned */
	size_t file_count;
	struct dedup_step *steps; /* owned */
	size_t step_count;
	uint64_t bytes; /* the sum of the steps' */
	/* A path that is left alone, and why; may be NULL. */
	void (*skip)(void *arg, const char *path, const char *reason);
	void *arg;
};

/* Adds the steps for a set of paths that are said to have equal content.
 * -ENOMEM. */
int dedup_plan_add(struct dedup_plan *p, const struct dedup_rules *rules,
		   const char *const *paths, size_t count);

void dedup_plan_release(struct dedup_plan *p);

/* ---- journal.c ---- */

struct dedup_journal;

/* A new file, which must not exist yet; synced together with its directory.
 * -EEXIST, or why it cannot be written. */
int dedup_journal_create(const char *path, struct dedup_journal **out);
void dedup_journal_free(struct dedup_journal *j);

/* ---- apply.c ---- */

enum dedup_outcome {
	DEDUP_DONE,
	DEDUP_SKIPPED, /* reason says why; nothing was changed */
	DEDUP_STOP,    /* the same, and no other step may be tried */
};

struct dedup_options {
	enum dedup_method method;
	bool force_metadata; /* hard links of files whose metadata differ */
	/* Attributes that are worked out, not stored: they do not count.
	 * NULL: there are none. */
	bool (*is_derived)(const char *attribute);
	/* The path below which the kernel shares extents when it is not the
	 * path of the file itself (a FUSE mount): free() it.  NULL: the same. */
	char *(*real_path)(void *arg, const char *path);
	void *arg;
};

struct dedup_result {
	enum dedup_outcome outcome;
	char reason[160];
};

/* Replaces one file of the plan. */
void dedup_apply(const struct dedup_plan *p, const struct dedup_step *step,
		 const struct dedup_options *options, struct dedup_journal *j,
		 struct dedup_result *out);

/* ---- undo.c ---- */

struct dedup_undo_counts {
	size_t restored;
	size_t failed;  /* told through tell */
	size_t nothing; /* steps that changed nothing, or nothing any more */
};

/* Takes the steps of a journal back, the last one first, whichever of them were
 * begun.  tell gets what could not be taken back.  0 also with failures;
 * -EINVAL: it is no such journal.  A journal that was cut in the middle of its
 * last line is read up to there. */
int dedup_undo(const char *journal,
	       void (*tell)(void *arg, const char *path, const char *reason),
	       void *arg, struct dedup_undo_counts *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DEDUP_DEDUP_IMPL_H
#define CORE_DEDUP_DEDUP_IMPL_H

#include <jansson.h>

#include "core/dedup/dedup.h"

/* ---- open.c ---- */

/* Absolute, without "", "." or ".." between the slashes. */
bool dedup_is_plain_path(const char *path);

/* Opens the directory of a plain path (O_PATH); the name in it to name_out.
 * -ELOOP when a directory on the way is a symbolic link. */
int dedup_open_parent(const char *path, const char **name_out);

/* Opens a regular file for reading; -ESTALE when it is none. */
int dedup_open_at(int directory, const char *name);

/* ---- pair.c ---- */

struct dedup_side {
	int directory;    /* that the file is in */
	const char *name; /* in it; borrowed from the plan */
	int fd;           /* for reading */
	struct stat st;   /* before the files were compared */
	/* The file below, if this one is in a kinfs mount; -1: it is in none,
	 * or the tree below cannot be reached. */
	int below_fd;
	struct stat below_st;
	bool leased, below_leased;
};

/* Two open files that may be equal. */
struct dedup_pair {
	struct dedup_side keep, replace;
	char xxh128[33]; /* of the content, in hex, once compared */
};

/* -ESTALE: it has changed since the plan; -ETXTBSY: open for writing; -EBUSY:
 * locked by another run; -EEXIST: they are two paths, and perhaps two device
 * numbers, of one file.  is_kept_out: which one it was.  To be closed in any
 * case. */
int dedup_pair_open(const struct dedup_plan *p, const struct dedup_step *step,
		    const struct dedup_options *o, struct dedup_pair *pair,
		    bool *is_kept_out);
void dedup_pair_close(struct dedup_pair *pair);

/* Where content and metadata are, not where the kernel remembers them. */
int dedup_side_fd(const struct dedup_side *s);
const struct stat *dedup_side_stat(const struct dedup_side *s);

/* Another program opened one of them for writing, or waits for that. */
bool dedup_pair_is_broken(const struct dedup_pair *p);

/* Whether neither has changed since: -ESTALE, -ETXTBSY.  renamed: the second
 * was, which moves its ctime. */
int dedup_pair_check(const struct dedup_pair *p, bool renamed);

/* ---- compare.c ---- */

/* 0 when the contents are equal; -EILSEQ when not; -ETXTBSY when another
 * program opened one for writing; -ESTALE when one changed meanwhile. */
int dedup_compare_content(struct dedup_pair *p);

/* One of them gives rights to those that execute it. */
bool dedup_has_privileges(const struct dedup_pair *p);

/* Names the first kind of metadata in which they differ, or NULL; by errno
 * when it cannot be found out. */
int dedup_compare_metadata(const struct dedup_pair *p,
			   bool (*is_derived)(const char *attribute),
			   const char **difference_out);

/* The attributes of an open file but for those that are derived: a new object
 * of hexadecimal values. */
int dedup_read_attributes(int fd, bool (*is_derived)(const char *attribute),
			  json_t **out);
int dedup_write_attributes(int fd, const json_t *attributes);

/* The XXH128 of a file, as 32 digits and a NUL. */
int dedup_hash(int fd, char out[33]);

/* ---- journal.c ---- */

/* What the names of temporary links begin with. */
#define DEDUP_TEMPORARY ".kin-dedup-"

struct dedup_record {
	json_int_t step;
	enum dedup_method method;
	char *path, *keep; /* owned; absolute */
	char *temporary;   /* owned; a name beside path; NULL: none is made */
	struct stat st;    /* of what was replaced: mode, owner, times, inode */
	ino_t keep_inode;
	char xxh128[33];    /* "": not known */
	json_t *attributes; /* owned */
	bool ended, done;   /* the journal says so */
};

/* Writes that the step begins, and syncs it if there is anything to undo; sets
 * r->step. */
int dedup_journal_begin(struct dedup_journal *j, struct dedup_record *r);

/* That it has ended.  Not synced: undo finds out by itself. */
int dedup_journal_end(struct dedup_journal *j, const struct dedup_record *r,
		      bool done);

/* All steps, in order; free each with dedup_record_release(), and the array. */
int dedup_journal_read(const char *path, struct dedup_record **out,
		       size_t *count_out);
void dedup_record_release(struct dedup_record *r);

/* ---- undo.c ---- */

/* What is found where a step was made. */
struct dedup_undo_spot {
	int directory;
	const char *name;
	ino_t inode, beside; /* 0: there is none */
	nlink_t beside_links;
	bool is_old;        /* the path has the old file, or a copy of it */
	bool is_beside_old; /* the old file, unchanged, has the name beside */
};

/* directory and name are set. */
void dedup_spot_read(struct dedup_undo_spot *s, const struct dedup_record *r);

/* The name beside is a link to the kept file that is not needed. */
bool dedup_spot_has_spare_link(const struct dedup_undo_spot *s,
			       const struct dedup_record *r);

/* ---- apply.c ---- */

/* Says why a step was not done.  Always -ECANCELED, for callers to return. */
int dedup_stop(struct dedup_result *r, enum dedup_outcome outcome,
	       const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Says by an errno why a step was not done; 0 for 0.  action: "cannot be
 * opened", ... */
int dedup_explain(struct dedup_result *r, const char *action, int err);

/* Opens both files of a step, and says why that cannot be. */
int dedup_open_step(const struct dedup_plan *p, const struct dedup_step *step,
		    const struct dedup_options *o, struct dedup_pair *pair,
		    struct dedup_result *r);

/* ---- blocks.c ---- */

/* dedup_apply() of methods that share blocks, but for DEDUP_REFLINK with a
 * journal. */
void dedup_share_step(const struct dedup_plan *p, const struct dedup_step *step,
		      const struct dedup_options *o, struct dedup_journal *j,
		      struct dedup_result *out);

/* Shares all of two equal files; -EILSEQ when they are not. */
int dedup_share_whole(const struct dedup_pair *pair, bool apply,
		      struct dedup_sharing *counts);

/* ---- share_range.c ---- */

/* Makes a range of the second file refer to the blocks of the first one
 * (FIDEDUPERANGE).  -EILSEQ: the kernel found them different; -EOPNOTSUPP: not
 * on this filesystem.  done_out: bytes that are shared, also after an error. */
int dedup_share_range(int keep_fd, uint64_t from, int replace_fd, uint64_t to,
		      uint64_t len, uint64_t *done_out);

/* Whether blocks of two files could be shared: 0, -EOPNOTSUPP, -EXDEV, -EPERM.
 * Asks for a range that no filesystem can share. */
int dedup_share_probe(int keep_fd, int replace_fd);

#endif

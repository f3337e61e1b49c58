/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DEDUP_DEDUP_IMPL_H
#define CORE_DEDUP_DEDUP_IMPL_H

#include <jansson.h>

#include "core/dedup/dedup.h"

/* ---- compare.c ---- */

/* Two open files that may be equal. */
struct dedup_pair {
	int keep_fd, replace_fd;         /* for reading */
	struct stat keep_st, replace_st; /* before they were compared */
	bool keep_leased, replace_leased;
	char xxh128[33]; /* of the content, in hex, once compared */
};

/* 0 when the contents are equal; -EILSEQ when not; -EBUSY when another program
 * opened one for writing; -ESTALE when one changed meanwhile. */
int dedup_compare_content(struct dedup_pair *p);

/* Whether neither has changed since: -ESTALE, -EBUSY.  renamed: the second was,
 * which moves its ctime. */
int dedup_check_unchanged(const struct dedup_pair *p, bool renamed);

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

struct dedup_record {
	json_int_t step;
	enum dedup_method method;
	char *path, *keep; /* owned; absolute */
	char *temporary;   /* owned; a name beside path */
	struct stat st;    /* of what was replaced: mode, owner, times, inode */
	ino_t keep_inode;
	char xxh128[33];
	json_t *attributes; /* owned */
	bool done;          /* or not known to be */
};

/* Writes and syncs that the step begins; sets r->step. */
int dedup_journal_begin(struct dedup_journal *j, struct dedup_record *r);

/* That it has ended.  Not synced: undo finds out by itself. */
int dedup_journal_end(struct dedup_journal *j, const struct dedup_record *r,
		      bool done);

/* All steps, in order; free each with dedup_record_release(), and the array. */
int dedup_journal_read(const char *path, struct dedup_record **out,
		       size_t *count_out);
void dedup_record_release(struct dedup_record *r);

/* ---- apply.c ---- */

/* Opens the directory of a path; the name in it to name_out. */
int dedup_open_parent(const char *path, const char **name_out);

#endif

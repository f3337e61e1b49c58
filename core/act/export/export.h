/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_EXPORT_EXPORT_H
#define CORE_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/buf.h"
#include "core/digest/digest.h"
#include "core/index/index.h"
#include "core/act/groups/groups.h"

/*
 * What is known about a tree, as a file that can be taken elsewhere: kin export
 * writes it, kin missing and kin similar --in read it.
 *
 * The file is JSON lines, compressed by zstd (it may also be given without
 * compression):
 *
 *   {"kinfs_export":3,"root":"/data","made":1790000000,"within":"docs"}
 *   {"members":[{"score":100,"size":N,"xxh128":"...",
 *                "files":[{"path":"a","mtime":S}],
 *                "digests":{"sif":"...","simhash":"..."}}]}
 *   ...
 *   {"totals":{"groups":CONTENTS,"files":FILES,"failed":0,"complete":true}}
 *
 * within: the directory below root that it is of, if it is not of all.  A line for
 * each content (broken here), in the order of XXH128, then of size,
 * so that two files are compared in one pass.  A file that has no last line, or
 * another number of contents, was cut.
 *
 *   stream.c   compression
 *   export.c   the lines, written and read
 *   near.c     near-duplicates among what was read
 *
 * A file comes from elsewhere: every line is checked, and a line is at most
 * CLIENT_LINE_MAX long.  Nothing here prints.  Writing and reading need memory
 * for one content; near.c keeps all digests.
 */
#define EXPORT_VERSION 4

/* Values of a sketch by which a base is found for a file that is to come (RDC keeps
 * its similarity traits for that, [MS-RDC] 3.1.5.4). */
#define EXPORT_SEED_VALUES 12

/* A stream that compresses what is written to it (mode "w"), or decompresses what
 * is read ("r"); fclose() ends it and leaves the file open.  NULL: errno says
 * why.  Reading fails with EIO for data that are damaged or cut, with EMEDIUMTYPE
 * for data that are not compressed. */
FILE *export_stream(FILE *file, const char *mode);

/* ---- writing ---- */

/* All contents of a mount, which was asked for every one.  seeds: of the digests
 * only what finds bases.  0 or a negative errno. */
int export_write(FILE *out, struct groups *g, bool seeds);

/* ---- reading ---- */

/* A tree that is read content by content. */
struct export_reader {
	const char *path;   /* borrowed: what export_open() was given */
	struct mount mount; /* owned; root NULL: path is a file */
	FILE *compressed;   /* owned; NULL: the file is not, or a mount */
	char *within;       /* owned: the directory that it is of; NULL: all */
	struct groups_wish wish; /* of a mount; of a file only within */
	int err;          /* why it ended early; 0: it did not; see below */
	bool is_complete; /* once the end was read */
	uint64_t contents, files; /* read so far */
	struct groups content;    /* a group of the content at hand; the root */
	struct digests digests;   /* of it, with size and XXH128 */
};

/*
 * Begins with the first content of a tree: of a file that kin export wrote, or of
 * a mount or a directory in one.  To be closed in any case.
 *
 * r->err is told here or by export_next().  Of a file: -EMEDIUMTYPE: it is no
 * export; -EPROTONOSUPPORT: of another version; -EINVAL: the line is damaged;
 * -EFBIG: a line is too long; -ENODATA, -EIO: it was cut, or is damaged.  Of a
 * mount: as mount_find() and groups_next(); -EINVAL: the answer has no contents;
 * -EOPNOTSUPP: it has no listings.
 */
void export_open(struct export_reader *r, const char *path);

/* Whether there is another content; false: the end, or r->err says why not. */
bool export_next(struct export_reader *r);
void export_close(struct export_reader *r);

/* The order of contents in a file: negative, 0, positive. */
static inline int export_order(const struct digests *a, const struct digests *b)
{
	int order = memcmp(a->xxh128, b->xxh128, sizeof(a->xxh128));

	return order ? order : (a->size > b->size) - (a->size < b->size);
}

static inline const struct found_member *export_member(
	const struct export_reader *r)
{
	return &r->content.group.members[0];
}

/* Gives the content at hand away, without digests. */
struct found_member export_take(struct export_reader *r);

/* ---- near.c ---- */

/*
 * Near-duplicates among contents of which the digests alone are known: an index
 * that is made once and searched as often as needed, by one thread.  A zeroed
 * one is empty and valid.
 */
struct near_index {
	struct near_content *all; /* by their numbers */
	size_t count;
	struct index *index;
	struct sketch room[SUBJECT_PARTS]; /* of the query */
	/* Of the last search; content: the number. */
	struct index_match matches[INDEX_MATCHES];
	size_t match_count;
};

/* Copies the digests; the numbers ascend.  Before near_begin().  -ENOMEM. */
int near_add(struct near_index *n, const struct digests *d, uint32_t number);
int near_begin(struct near_index *n);

/* Finds those with a score of least and more, best first; an empty content has
 * none. */
int near_search(struct near_index *n, const struct digests *d, int least);
void near_release(struct near_index *n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SIMILAR_QUERY_TEXT_H
#define FS_SIMILAR_QUERY_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/changes/changes.h"
#include "core/client/question.h"
#include "core/search/search.h"

/*
 * The file .query of the virtual tree: finds files that resemble another one,
 * which need not be below SOURCE, and directories.
 *
 * Every open has a query and an answer of its own.  A program writes the query,
 * a JSON object, and reads the answer, an object a line: for a question about a
 * file or a directory as core/client/question.h has them.  The last line is
 *
 *   {"end":true,"cut":false,"complete":true,"state":"pending"}
 *
 * Paths are relative to SOURCE; of one that is not UTF-8 there are the bytes
 * as "path_hex".  cut: there are more files than the limit of the
 * mount; not complete: a scan is running, or its files are still to be hashed;
 * state: that of the file that was asked about by its path, if its digests are
 * not known.
 * A write after that begins another query; one before it fails with EBUSY.
 *
 * A query for the groups of the tree (core/search/search.h) is
 *
 *   {"relation":"groups","exact":true,"threshold":N,"min_size":N,
 *    "internal":true,"within":[{"path":"docs"}, ...]}
 *
 * of which only the relation must be there; within: only files below these
 * paths; internal: also what path_is_internal() (core/base/filter.h).  With "every":true no contents are compared: each is a group.  The
 * answer is made while it is read, and has these lines:
 *
 *   {"progress":N}  N thousandths of the search are done; only for the owner
 *                   of the mount and root, as others' files count in it
 *   {"threshold":N,"groups":N}
 *                   the threshold of the search, and what it found
 *   {"group":0,"member":0,"score":100,"size":N,"xxh128":"...","files":[
 *    {"path":"docs/a","on_disk":N,"mtime_ns":N,"nlink":2,
 *     "links":[{"path":"docs/b"}]}]}
 *                   a file, with its content as kin groups --json prints a
 *                   member; groups count from 0, and so do the contents of
 *                   one, of which two may have one XXH128; the score is that with the
 *                   head of the group, 100 for the head itself; on_disk: the
 *                   bytes that it takes on disk; nlink: names that it has;
 *                   links: the other names, but for those that the caller does
 *                   not see, or that are not below a path of within, or that
 *                   are behind QUERY_NAMES_MAX bytes of them.  With every, the
 *                   first file of a content has "digests".
 *   {"end":true,"cut":false,"complete":true,"failed":N,
 *    "failed_texts":N}
 *                   failed: files and directories that could not be read;
 *                   failed_texts: documents whose text could not; if there are
 *                   some, and the caller is told
 *
 * Files of one content follow one another, and so do members of a group, of
 * which the head is the first.
 *
 * A query for changes (core/changes/changes.h) is
 *
 *   {"relation":"changes","within":[{"path":"docs"}, ...],"since":"..."}
 *
 * Its answer has a line for each change that is committed after the first line
 * was read, or behind the cursor since, and ends with the mount:
 *
 *   {"watching":true,"cursor":"..."}
 *   {"path":"docs/a","event":"changed","size":N,"kept":97,"time_ns":N,
 *    "merged":2,"cursor":"..."}
 *                   event: new, changed, moved, removed; kept: per cent of the
 *                   earlier content that is left, where that is known; merged:
 *                   further changes of the path that were not read in time;
 *                   time_ns: when the last of them was committed; cursor: for
 *                   since, of a reader that has all lines until this one
 *   {"path":"old","event":"moved","directory":true,"from":"docs","time_ns":N,
 *    "cursor":"..."}
 *   {"end":true,"cut":false,"complete":true}
 *
 * The first read fails with ESTALE when the changes behind since are not known,
 * and a later one with ENOBUFS when changes were lost, because CHANGES_UNREAD
 * bytes of them were not read.
 *
 * If the file cannot be opened for writing, a program sends the query by
 * ioctl(), see core/engine/query_ioctl.h.
 *
 * If the query is not valid, the read fails with EINVAL and the query is
 * dropped.  If it is too long, the write fails with EFBIG.
 */
enum query_asked { QUERY_QUESTION, QUERY_GROUPS, QUERY_CHANGES };

/* A line has eight bytes for one at most, six in "path" and two in "path_hex", and
 * some for each name; kin reads no line of more than 64 MiB. */
enum { QUERY_NAMES_MAX = 4 << 20 };

/* A query written to .query. */
struct query_text {
	enum query_asked kind;
	/* QUERY_GROUPS; of QUERY_CHANGES only within; owned */
	struct file_groups_query groups;
	char *since;              /* of QUERY_CHANGES; owned; or NULL */
	struct question question; /* QUERY_QUESTION; owned */
};

/* -EINVAL: the text is no JSON object, has a key that is not known or twice, or
 * a value that is not valid; or as question_parse().  -ENOMEM. */
int query_text_parse(const char *text, size_t len, struct query_text *out);
void query_text_release(struct query_text *q);

/* Appends the lines of an answer. */
int query_text_add_hit(const struct search_hit *hit, struct buf *out);
int query_text_add_files(const struct search_hits *hits, struct buf *out);
int query_text_add_change(const struct content_change *change, struct buf *out);
int query_text_add_watching(const char *cursor, struct buf *out);
/* state: NULL: there is none to tell. */
int query_text_add_end(bool cut, bool incomplete, uint64_t failed,
		       uint64_t failed_texts, const char *state,
		       struct buf *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SIMILAR_QUERY_FILE_H
#define FS_SIMILAR_QUERY_FILE_H

#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <stddef.h>

struct fs;

/*
 * The file .query of the virtual tree: finds files that resemble a content,
 * which need not be below SOURCE.
 *
 * Every open has a query and an answer of its own.  A program writes the query:
 * a line NAME=VALUE for the size and for each digest in its text form, and
 * optionally relation=NAME (index_relation_names; default: alike).  Then it
 * reads the answer, best files first.  A record, ended by a NUL, is SCORE/PATH
 * with the path relative to SOURCE; with relation=all it is SCORE
 * DISTINCTIVE/PATH, with relation=shares SCORE BYTES/PATH.  A record "cut"
 * follows if there are more files than the limit of the mount, and "incomplete"
 * while a scan is running or its files are still to be hashed.  A write after
 * that begins another query.
 *
 * A query with the first line relation=groups is for the groups of the tree
 * (core/search/groups.h).  Further lines may be exact=1, text=1, threshold=N,
 * min_size=N, and any number of within=PATH, in hexadecimal digits, for only
 * the files below these paths.  With every=1 no contents are compared: each is
 * a group.  The answer is made while it is read, and has these records:
 *
 *   progress N      N thousandths of the search are done; only for the owner
 *                   of the mount and root, as others' files count in it
 *   threshold N     the threshold of the search
 *   groups N        the number of groups
 *   file GROUP SCORE SIZE DISK XXH128 MTIME/PATH
 *                   a file; GROUP counts from 0; SCORE with the head of the
 *                   group, 100 for the head itself; DISK: the bytes that it
 *                   takes on disk; MTIME in nanoseconds
 *   nlink N         the file before has N names, 2 or more
 *   link PATH       one of them; those that the caller does not see, or that
 *                   are not below a path of within, are missing
 *   digests GROUP   with every=1: lines NAME=DIGEST of the content
 *   incomplete      as above
 *   end             the answer is complete
 *
 * Files of one content follow one another, and so do members of a group.
 *
 * If the file cannot be opened for writing, a program sends the query by
 * ioctl(), see core/engine/query_ioctl.h.
 *
 * If the query is not valid, the read fails with EINVAL and the query is
 * dropped.  If it is too long, the write fails with EFBIG.
 */
void query_open(fuse_req_t req, struct fs *fs, struct fuse_file_info *fi);
void query_release(struct fs *fs, const struct fuse_file_info *fi);

void query_write(fuse_req_t req, struct fuse_bufvec *in,
		 const struct fuse_file_info *fi);

/* Replies to an ioctl() with a part of the query.  False, without a reply: it
 * is another ioctl. */
bool query_ioctl(fuse_req_t req, unsigned command, const void *in,
		 size_t in_size, const struct fuse_file_info *fi);

/* Replies with the next part of the answer; parked until it is made. */
void query_read(fuse_req_t req, size_t size, const struct fuse_file_info *fi);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SIMILAR_QUERY_FILE_H
#define FS_SIMILAR_QUERY_FILE_H

#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <stddef.h>

struct fs;

/*
 * The file .query of the virtual tree: what resembles a content that need not
 * be below SOURCE.
 *
 * Every open of it has a question and an answer of its own.  What is written is
 * the question: a line NAME=VALUE for the size, for each digest in its text
 * form, and relation=NAME (index_relation_names; alike when there is none).
 * Reading answers it, best first: a record SCORE/PATH for each file, the path
 * relative to SOURCE, ended by a NUL; with relation=all SCORE DISTINCTIVE/PATH,
 * with relation=shares SCORE BYTES/PATH; then "cut" when there were more than
 * the limit of the mount, and "incomplete" when a scan or the hashing of what
 * it found is under way.  Writing after that begins another question.
 *
 * A query whose first line is relation=groups is for the groups of the tree
 * (core/search/groups.h).  The lines exact=1, text=1, threshold=N and
 * min_size=N may follow, and any number of lines within=PATH, the path in
 * hexadecimal digits, for files below that path alone.  The answer is read
 * while it is made, and has these records:
 *
 *   progress N      N thousandths of the search are done
 *   threshold N, groups N    what was searched with, how many were found
 *   file GROUP SCORE SIZE XXH128 MTIME/PATH
 *                   a file; GROUP counts from 0; SCORE with the head of the
 *                   group, 100 for the head itself; MTIME in nanoseconds
 *   incomplete      as above
 *   end             nothing was lost
 *
 * Files of one content follow one another, members of one group as well.
 *
 * Where the file cannot be opened for writing, the question is put by ioctl(),
 * see core/engine/query_ioctl.h.
 *
 * A question that makes no sense fails the read with EINVAL and is forgotten;
 * one that is too long fails the write with EFBIG.
 */
void query_open(fuse_req_t req, struct fs *fs, struct fuse_file_info *fi);
void query_release(struct fs *fs, const struct fuse_file_info *fi);

void query_write(fuse_req_t req, struct fuse_bufvec *in,
		 const struct fuse_file_info *fi);

/* A question that comes by ioctl().  False, without a reply: it is another
 * ioctl. */
bool query_ioctl(fuse_req_t req, unsigned command, const void *in,
		 size_t in_size, const struct fuse_file_info *fi);

/* Parked until the answer is there. */
void query_read(fuse_req_t req, size_t size, const struct fuse_file_info *fi);

#endif

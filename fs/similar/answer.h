/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SIMILAR_ANSWER_H
#define FS_SIMILAR_ANSWER_H

#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

struct answer;
struct answer_read;
struct fs;

/*
 * An answer by .query (query_file.h) that is made while it is read: of groups
 * (groups_answer.h) or of changes (changes_answer.h).  Its kind adds text; a
 * read that finds none is parked until there is.
 *
 * The file has a reference, each operation on it has one, and whatever works on
 * the answer may have one.  At most one read waits at a time.
 */
struct answer_kind {
	/* There is room for text, or a read waits for it. */
	void (*want)(struct answer *a);
	/* The answer is no longer read. */
	void (*cancel)(struct answer *a);
	/* Frees it; a read is not waiting. */
	void (*release)(struct answer *a);
};

struct answer {
	const struct answer_kind *kind;
	struct fs *fs;
	pthread_mutex_t lock; /* everything below */
	unsigned refs;
	struct buf text;            /* the part of the answer made so far */
	size_t taken;               /* bytes of text that were read */
	struct answer_read *reader; /* owned; NULL: no read waits */
	bool ended;                 /* text is complete */
	int err;                    /* returned to the reader after text */
};

void answer_init(struct answer *a, struct fs *fs,
		 const struct answer_kind *kind, unsigned refs);
void answer_ref(struct answer *a);
void answer_unref(struct answer *a); /* NULL is none */
void answer_cancel(struct answer *a);

/* Text was added, or the answer has ended: answers the parked read, if there is
 * one and it can be answered. */
void answer_tell(struct answer *a);

/* Replies, at once or when there is text to read.  The caller holds a reference
 * of its own until this function returns, because the file may be closed right
 * after the reply. */
void answer_read(fuse_req_t req, struct answer *a, size_t size);

#endif

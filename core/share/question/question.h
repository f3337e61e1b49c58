/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SHARE_QUESTION_H
#define CORE_SHARE_QUESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/digest/digest.h"
#include "core/share/db.h"

/*
 * What the hosts of a shared catalog have that resembles a content.
 *
 *  1. Which contents have values of its sketch: one statement for each of the
 *     SHARE_ANCHORS smallest values and of some below the limit, at most
 *     QUESTION_VALUES.  A value of more than QUESTION_COMMON contents is
 *     boilerplate and counts for nothing.
 *  2. The sketches of those with most values, at most QUESTION_CANDIDATES, and
 *     of the content itself; scored as in a mount (core/index/judge.h).
 *  3. Where those with a score of at least the threshold are.
 *
 * Each step is one round trip and one transaction.  A step that fails is
 * repeated with a statement and a transaction for each value or content: a
 * server that is gone costs what it alone has, and the answer says that it is
 * not complete.
 */
#define QUESTION_VALUES 24
#define QUESTION_COMMON 128
#define QUESTION_POSTINGS 1000
#define QUESTION_CANDIDATES 200
#define QUESTION_COPIES 1000

struct question {
	const struct digests *digests; /* sif as text, if there is one */
	int threshold;                 /* 1..100 */
	size_t limit;                  /* contents in the answer */
	unsigned wait_ms;              /* for all of it */
	bool boilerplate;              /* also what is alike in nothing else */
	const uint8_t *but;            /* NULL, or a host that is left out */
	int64_t share_limit;           /* of the shared catalog */
};

struct answer_copy {
	uint8_t host[DB_UUID_BYTES];
	char *label; /* owned; NULL: the host is gone */
	char *path;  /* owned; NULL: it is not told */
	int64_t mtime;
};

struct answer_hit {
	uint8_t content[DB_UUID_BYTES];
	int score;
	struct digests digests; /* owned; those that are shared */
	struct answer_copy *copies;
	size_t copy_count;
};

struct share_answer {
	struct answer_hit *hits; /* best score first */
	size_t count;
	bool is_cut;      /* more than limit, or more than QUESTION_COPIES */
	char reason[200]; /* why it is not complete; "": it is */
};

/* An answer that is not complete is no error.  Else a negative errno with
 * db->message: nothing can be said.  The caller releases the answer. */
int question_ask(struct share_db *db, const struct question *q,
		 struct share_answer *out);
void answer_release(struct share_answer *a);

#endif

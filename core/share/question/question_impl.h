/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SHARE_QUESTION_IMPL_H
#define CORE_SHARE_QUESTION_IMPL_H

#include <errno.h>

#include "core/index/judge.h"
#include "core/share/question/question.h"

/* One question; see question.h for the steps. */
struct question_candidate {
	uint8_t content[DB_UUID_BYTES];
	unsigned values; /* in common */
};

struct question_job {
	const struct question *q;
	struct share_db *db;
	struct share_answer *answer;
	struct sketch *sketch; /* owned; of the question; NULL: none */
	struct weighed_sketch *weighed;
	struct sketch *other; /* owned; room for that of a candidate */
	uint64_t values[QUESTION_VALUES];
	bool is_common[QUESTION_VALUES];
	size_t value_count;
	struct question_candidate *candidates;
	size_t candidate_count;
};

/* Notes why the answer is not complete; the first reason is kept. */
void question_doubt(struct question_job *j, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Whether the connection can be used after that. */
static inline bool question_may_go_on(int err)
{
	return err == -EREMOTEIO || err == -ENOTRECOVERABLE;
}

int question_score(struct question_job *j);
int question_find_copies(struct question_job *j);

#endif

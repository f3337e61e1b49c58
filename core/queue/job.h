/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_JOB_H
#define CORE_QUEUE_JOB_H

#include "core/queue/queue.h"

/* Changes of a job; the caller holds the lock of its queue. */

struct job *job_find(struct queue *q, const struct file_key *key);
/* It is in no list yet; NULL without memory. */
struct job *job_add(struct queue *q, const struct file_key *key);
/* The job is in no list any more and no request waits for it; frees it. */
void job_drop(struct queue *q, struct job *job);

/* Takes it off whatever it is in, to be put somewhere else. */
void job_leave(struct queue *q, struct job *job);
void job_enqueue(struct queue *q, struct job *job);
/* There is news of its file: it coalesces with others first, or is queued. */
void job_renew(struct queue *q, struct job *job);

/* Work that is kept with a job that is not running: takes it off, or frees it;
 * whether there is room for more; puts it there (taken), or frees it. */
struct kept *job_take_kept(struct queue *q, struct job *job);
void job_forget_kept(struct queue *q, struct job *job);
bool job_may_keep(struct queue *q);
void job_keep(struct queue *q, struct job *job, struct kept *kept);

void job_raise(struct queue *q, struct job *job, enum job_level level);
/* No request waits for it any more. */
void job_lower(struct queue *q, struct job *job);

#endif

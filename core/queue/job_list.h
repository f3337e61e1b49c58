/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_JOB_LIST_H
#define CORE_QUEUE_JOB_LIST_H

#include "core/queue/queue.h"

/* Under the lock of the queue whose jobs these are. */

void job_list_append(struct job_list *list, struct job *job);
void job_list_remove(struct job_list *list, struct job *job);
/* Into a list in that order, from its end. */
void job_list_insert_by_time(struct job_list *list, struct job *job);
void job_list_insert_by_turn(struct job_list *list, struct job *job);

#endif

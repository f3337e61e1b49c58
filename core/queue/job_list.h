/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_JOB_LIST_H
#define CORE_QUEUE_JOB_LIST_H

#include "core/queue/queue.h"

/* Doubly linked lists of jobs.  The caller holds the queue's lock. */

void job_list_append(struct job_list *list, struct job *job);
void job_list_remove(struct job_list *list, struct job *job);
/* These search from the end of a list that is in that order. */
void job_list_insert_by_time(struct job_list *list, struct job *job);
void job_list_insert_by_turn(struct job_list *list, struct job *job);

#endif

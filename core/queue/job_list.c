/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/job_list.h"

void job_list_remove(struct job_list *list, struct job *job)
{
	if (job->prev)
		job->prev->next = job->next;
	else
		list->first = job->next;
	if (job->next)
		job->next->prev = job->prev;
	else
		list->last = job->prev;
	job->prev = job->next = NULL;
	list->count--;
}

static void insert_after(struct job_list *list, struct job *job,
			 struct job *after)
{
	job->prev = after;
	job->next = after ? after->next : list->first;
	if (job->next)
		job->next->prev = job;
	else
		list->last = job;
	if (after)
		after->next = job;
	else
		list->first = job;
	list->count++;
}

void job_list_append(struct job_list *list, struct job *job)
{
	insert_after(list, job, list->last);
}

void job_list_insert_by_time(struct job_list *list, struct job *job)
{
	struct job *after = list->last;

	while (after && after->ready_ms > job->ready_ms)
		after = after->prev;
	insert_after(list, job, after);
}

void job_list_insert_by_turn(struct job_list *list, struct job *job)
{
	struct job *after = list->last;

	while (after && after->turn > job->turn)
		after = after->prev;
	insert_after(list, job, after);
}

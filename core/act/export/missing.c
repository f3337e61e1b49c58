/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/act/export/export.h"
#include "core/act/export/near.h"

/* A content of the one tree that the other has not. */
struct candidate {
	struct found_group group; /* owned; of one member */
	struct digests digests;
	char *near; /* owned; the best so far */
	int score;
};

struct batch {
	struct missing_job *job;
	struct candidate *all;
	size_t count;
	struct near_index near; /* content i + 1 is all[i] */
};

static void batch_clear(struct batch *b)
{
	while (b->count) {
		struct candidate *c = &b->all[--b->count];

		found_group_release(&c->group);
		digests_release(&c->digests);
		free(c->near);
	}
	free(b->all);
	b->all = NULL;
}

/* Takes the content at hand out of the reader. */
static int batch_add(struct batch *b, struct export_reader *r)
{
	struct candidate *c = array_with_room(b->all, b->count, sizeof(*c));

	if (!c)
		return -ENOMEM;
	b->all = c;
	c += b->count;
	*c = (struct candidate){ .group = r->content.group };
	r->content.group = (struct found_group){ 0 };
	b->count++;
	return digests_copy(&r->digests, &c->digests);
}

/* ---- near-duplicates ---- */

/* Searches for the content at hand of the other tree in the batch.  Of two that
 * are as like, the first path is taken. */
static int search_content(struct batch *b, const struct export_reader *r)
{
	const char *path = export_member(r)->files[0].path;
	size_t count = 0, i;
	int err = near_search(&b->near, &r->digests, b->job->threshold, &count);

	for (i = 0; i < count && !err; i++) {
		const struct index_match *match = &b->near.matches[i];
		struct candidate *c = &b->all[match->content - 1];

		if (match->verdict.score < c->score ||
		    (match->verdict.score == c->score && c->near &&
		     strcmp(c->near, path) <= 0))
			continue;
		free(c->near);
		c->near = strdup(path);
		c->score = match->verdict.score;
		err = c->near ? 0 : -ENOMEM;
	}
	return err;
}

static int search_other(struct batch *b)
{
	struct missing_job *job = b->job;
	struct export_reader r = { 0 };
	size_t i;
	int err = 0, more = 1;

	for (i = 0; i < b->count && !err; i++)
		err = near_add(&b->near, &b->all[i].digests);
	if (!err)
		err = near_begin(&b->near);
	if (err)
		return err;
	job->failed_in_other = true;
	err = job->reopen(job->arg, &r);
	while (!err && (more = export_next(&r)) > 0)
		err = search_content(b, &r);
	if (!err)
		err = more;
	if (!err)
		job->failed_in_other = false;
	else
		job->other_line = r.lines.number;
	export_close(&r);
	return err;
}

/* Finds near-duplicates of all in the batch, reports them and empties it. */
static int finish_batch(struct batch *b)
{
	struct missing_job *job = b->job;
	size_t i;
	int err = 0;

	if (job->threshold && b->count)
		err = search_other(b);
	near_release(&b->near);
	for (i = 0; i < b->count && !err; i++) {
		const struct candidate *c = &b->all[i];
		const struct missing m = { .member = &c->group.members[0],
					   .score = c->score,
					   .near = c->near };

		err = job->found(job->arg, &m);
	}
	if (!err)
		batch_clear(b);
	return err;
}

/* ---- equal contents ---- */

/* The other tree has the content at hand. */
static int report_there(struct missing_job *job, struct export_reader *r)
{
	const struct missing m = { .member = export_member(r),
				   .is_there = true };

	return job->found(job->arg, &m);
}

static int compare(struct batch *b, struct export_reader *one,
		   struct export_reader *other)
{
	bool *in_other = &b->job->failed_in_other;
	int more = export_next(other), next = 1, err = 0;

	while (!err && more >= 0 && (next = export_next(one)) > 0) {
		while (more > 0 &&
		       export_order(&other->digests, &one->digests) < 0)
			more = export_next(other);
		if (more > 0 && !export_order(&other->digests, &one->digests))
			err = report_there(b->job, one);
		else if (more >= 0)
			err = batch_add(b, one);
		if (!err && b->count >= MISSING_BATCH)
			err = finish_batch(b);
	}
	if (!err)
		err = next < 0 ? next : 0;
	/* The end of other is read, too: it may be damaged or not complete. */
	while (!err && more > 0)
		more = export_next(other);
	if (!err && more < 0) {
		*in_other = true;
		return more;
	}
	if (!err)
		err = finish_batch(b);
	b->job->incomplete = !one->is_complete || !other->is_complete;
	return err;
}

int missing_find(struct missing_job *job, struct export_reader *one)
{
	struct batch *b = calloc(1, sizeof(*b));
	struct export_reader other = { 0 };
	int err;

	if (!b)
		return -ENOMEM;
	b->job = job;
	err = job->reopen(job->arg, &other);
	job->failed_in_other = err != 0;
	if (!err)
		err = compare(b, one, &other);
	if (!job->other_line)
		job->other_line = other.lines.number;
	export_close(&other);
	batch_clear(b);
	free(b);
	return err;
}

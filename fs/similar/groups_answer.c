/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/similar/groups_answer.h"

#include <errno.h>
#include <stdlib.h>

#include "fs/fs.h"
#include "fs/similar/query_text.h"

/* A query that the engine works on has a reference; there is one at a time. */
struct groups_answer {
	struct answer answer;        /* first: it is cast to this */
	struct search_caller caller; /* constant; owned */
	struct file_groups_watch watch;
	atomic_bool cancelled;
	/* Under the lock of the answer. */
	struct file_groups *groups; /* a reference; NULL: not found yet */
	struct search_group_cursor next;
	bool is_searching; /* the engine works on a query */
};

static void release(struct answer *answer)
{
	struct groups_answer *a = (struct groups_answer *)answer;

	credentials_release(&a->caller.credentials);
	file_groups_unref(a->groups);
	free(a);
}

static void cancel(struct answer *answer)
{
	atomic_store(&((struct groups_answer *)answer)->cancelled, true);
}

/* ---- callbacks of the engine ---- */

/* Ends a query of the engine. */
static void query_ended(struct groups_answer *a, int err)
{
	pthread_mutex_lock(&a->answer.lock);
	a->is_searching = false;
	if (!a->answer.err)
		a->answer.err = err;
	pthread_mutex_unlock(&a->answer.lock);
	answer_tell(&a->answer);
	answer_unref(&a->answer);
}

/* Adds progress only if all text was read, because only the latest matters. */
static void on_progress(void *arg, unsigned thousandths)
{
	struct answer *a = arg;

	pthread_mutex_lock(&a->lock);
	if (a->taken == a->text.len &&
	    buf_append_format(&a->text, "{\"progress\":%u}\n", thousandths))
		buf_release(&a->text);
	pthread_mutex_unlock(&a->lock);
	answer_tell(a);
}

/* The caller holds the lock. */
static int add_head(struct groups_answer *a)
{
	const struct group_set *set = a->groups->set;

	return buf_append_format(&a->answer.text,
				 "{\"threshold\":%d,\"groups\":%zu}\n",
				 set->rules.threshold, set->count);
}

static int add_end(struct groups_answer *a)
{
	a->answer.ended = true;
	return query_text_add_end(false, a->groups->incomplete,
				  &a->answer.text);
}

static void on_groups(void *arg, int result, struct file_groups *groups)
{
	struct groups_answer *a = arg;

	pthread_mutex_lock(&a->answer.lock);
	a->groups = groups;
	if (!result)
		result = add_head(a);
	pthread_mutex_unlock(&a->answer.lock);
	query_ended(a, result);
}

static void on_files(void *arg, int result,
		     const struct search_group_hits *files)
{
	struct groups_answer *a = arg;

	pthread_mutex_lock(&a->answer.lock);
	if (!result)
		result = query_text_add_files(files, &a->answer.text);
	if (!result)
		a->next = files->next;
	if (!result && files->end)
		result = add_end(a);
	pthread_mutex_unlock(&a->answer.lock);
	query_ended(a, result);
}

/* ---- reading ---- */

/* Requests the next files, if there is no other query and less than READ_AHEAD
 * of text: the engine finds them while the caller reads. */
static void request_files(struct answer *answer)
{
	enum { READ_AHEAD = 1 << 20 };
	struct groups_answer *a = (struct groups_answer *)answer;
	struct search_group_range range = { .last = UINT32_MAX, .names = true };
	bool ask;
	int err;

	pthread_mutex_lock(&answer->lock);
	ask = a->groups && !a->is_searching && !answer->ended && !answer->err &&
	      answer->text.len - answer->taken < READ_AHEAD;
	if (ask) {
		a->is_searching = true;
		answer->refs++;
		range.from = a->next;
	}
	pthread_mutex_unlock(&answer->lock);
	if (!ask)
		return;
	err = engine_group_files(answer->fs->engine, a->groups, &range,
				 &a->caller, on_files, a);
	if (err)
		query_ended(a, err);
}

static const struct answer_kind groups_kind = { request_files, cancel,
						release };

int groups_answer_new(struct fs *fs, const struct search_caller *caller,
		      const struct file_groups_query *query,
		      struct answer **out)
{
	struct groups_answer *a = calloc(1, sizeof(*a));
	int err = a ? search_caller_copy(caller, &a->caller) : -ENOMEM;

	if (err) {
		free(a);
		return err;
	}
	answer_init(&a->answer, fs, &groups_kind, 2);
	a->is_searching = true;
	a->watch.progress = on_progress;
	a->watch.done = on_groups;
	a->watch.arg = a;
	a->watch.cancelled = &a->cancelled;
	atomic_init(&a->cancelled, false);
	err = engine_find_groups(fs->engine, query, &a->caller, &a->watch);
	if (err) {
		pthread_mutex_destroy(&a->answer.lock);
		release(&a->answer);
	} else {
		*out = &a->answer;
	}
	return err;
}

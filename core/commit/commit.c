/* SPDX-License-Identifier: Apache-2.0 */
#include "core/commit/commit.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/thread.h"
#include "core/commit/commit_impl.h"

/* ---- a batch ---- */

/* Takes the first count events off the list. */
static struct event *detach_events(struct event_list *l, size_t count)
{
	struct event *first = l->first, *last = first;
	size_t results = 0, metadata_changes = 0, listings = 0, i;

	for (i = 0;; last = last->next) {
		results += last->kind == EVENT_RESULT;
		metadata_changes += last->kind == EVENT_METADATA;
		listings += last->kind == EVENT_LISTING;
		if (++i == count)
			break;
	}
	pthread_mutex_lock(&l->lock);
	l->first = last->next;
	if (!l->first)
		l->last = NULL;
	l->count -= count;
	l->results -= results;
	l->metadata_changes -= metadata_changes;
	l->listings -= listings;
	l->committed += count;
	pthread_mutex_unlock(&l->lock);
	last->next = NULL;
	return first;
}

/* Frees the first count events, which are committed. */
static void drop_events(struct committer *c, size_t count)
{
	struct event *ev =
		count ? detach_events(c->context.events, count) : NULL;

	while (ev) {
		struct event *next = ev->next;

		if (ev->result)
			queue_committed(c->context.queue, ev->result);
		event_free(ev);
		ev = next;
	}
}

static void note_outcome(struct committer *c, int err)
{
	struct event_list *l = c->context.events;
	bool lost;
	int before;

	pthread_mutex_lock(&l->lock);
	before = l->error;
	l->error = err;
	lost = l->lost;
	l->lost = false;
	l->oldest_ms = clock_now_ms();
	pthread_cond_broadcast(&l->progress);
	pthread_mutex_unlock(&l->lock);
	/* -ECANCELED: the engine ends before the catalog was open. */
	if (err && err != before && err != -ECANCELED)
		logger_print(c->context.log,
			     "catalog: %s; digests are still answered, and "
			     "written when it works again",
			     err_text(err));
	if (!err && before) {
		logger_print(c->context.log, "catalog: works again");
		/* Results were refused and other events dropped meanwhile. */
		queue_want_feed(c->context.queue);
		lost = true;
	}
	if (lost)
		scan_request_tree(c->context.scan);
	hash_want_texts(c->context.hasher);
}

static bool adds_pending(const struct event *ev, size_t count)
{
	while (count--) {
		if (ev->kind == EVENT_PENDING || ev->kind == EVENT_LISTING ||
		    ev->kind == EVENT_NAME_ADDED ||
		    ev->kind == EVENT_NAME_MOVED)
			return true;
		if (count)
			ev = ev->next;
	}
	return false;
}

static void commit_batch(struct committer *c, const struct event *first,
			 size_t count)
{
	const struct engine_parts *context = &c->context;
	int err;

	/* Directories requested meanwhile are to be compared with the catalog
	 * after the batch. */
	scan_defer_requests(context->scan, true);
	err = count ? batch_write(c, first, count) : 0;
	scan_defer_requests(context->scan, false);
	if (!err && adds_pending(first, count))
		queue_want_feed(context->queue);
	if (!err)
		drop_events(c, count);
	note_outcome(c, err);
}

/* ---- the thread ---- */

/* When the next batch is due; a time in the past means now. */
static int64_t due_ms(const struct committer *c)
{
	const struct event_list *l = c->context.events;

	if (l->stopped)
		return 0;
	if (l->error)
		return l->oldest_ms + RETRY_MS;
	if (l->urgent || l->lost || l->count >= BATCH_EVENTS ||
	    l->listings >= LISTINGS_MANY)
		return 0;
	if (!l->count)
		return c->trim_ms;
	return l->newest_ms + QUIET_MS < l->oldest_ms + BATCH_MS ?
		       l->newest_ms + QUIET_MS :
		       l->oldest_ms + BATCH_MS;
}

/* What the commits have left behind: half-empty pages of the catalog, those that
 * are mapped, and memory that the C library would keep. */
static void trim_unlocked(struct committer *c)
{
	c->trim_ms = INT64_MAX;
	pthread_mutex_unlock(&c->context.events->lock);
	(void)catalog_pack(c->context.catalog);
	(void)catalog_trim_rss(c->context.catalog);
	(void)malloc_trim(0);
	pthread_mutex_lock(&c->context.events->lock);
}

static void *commit_run(void *arg)
{
	struct committer *c = arg;
	struct event_list *l = c->context.events;
	bool last = false;

	thread_set_name("kinfs-commit");
	pthread_mutex_lock(&l->lock);
	while (!last) {
		int64_t due = due_ms(c);
		const struct event *first = l->first;
		size_t count = l->count < BATCH_MAX ? l->count : BATCH_MAX;

		if (due > clock_now_ms()) {
			cond_wait_until(&l->work, &l->lock, due);
			continue;
		}
		if (!count && !l->stopped && !l->lost) {
			trim_unlocked(c);
			continue;
		}
		last = l->stopped && (count == l->count || l->error);
		gate_set(&l->gate,
			 l->urgent || l->stopped || l->count >= EVENTS_MANY);
		if (count == l->count)
			l->urgent = false;
		pthread_mutex_unlock(&l->lock);
		commit_batch(c, first, count);
		pthread_mutex_lock(&l->lock);
		c->trim_ms = clock_now_ms() + REST_MS;
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

/* ---- life ---- */

void commit_init(struct committer *c, const struct engine_parts *context)
{
	c->context = *context;
	c->trim_ms = INT64_MAX;
}

int commit_start(struct committer *c)
{
	int err = -pthread_create(&c->thread, NULL, commit_run, c);

	c->started = !err;
	return err;
}

void commit_stop(struct committer *c)
{
	struct event_list *l = c->context.events;

	if (!l)
		return; /* nothing was initialised */
	pthread_mutex_lock(&l->lock);
	l->stopped = true;
	pthread_cond_broadcast(&l->work);
	pthread_mutex_unlock(&l->lock);
	gate_set(&l->gate, true);
	if (c->started)
		pthread_join(c->thread, NULL);
	c->started = false;
}

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
static struct event *detach_events(struct committer *c, size_t count)
{
	struct event *first = c->first, *last = first;
	size_t results = 0, metadata_changes = 0, listings = 0, i;

	for (i = 0;; last = last->next) {
		results += last->kind == EVENT_RESULT;
		metadata_changes += last->kind == EVENT_METADATA;
		listings += last->kind == EVENT_LISTING;
		if (++i == count)
			break;
	}
	pthread_mutex_lock(&c->lock);
	c->first = last->next;
	if (!c->first)
		c->last = NULL;
	c->count -= count;
	c->results -= results;
	c->metadata_changes -= metadata_changes;
	c->listings -= listings;
	c->committed += count;
	pthread_mutex_unlock(&c->lock);
	last->next = NULL;
	return first;
}

/* Frees the first count events, which are committed. */
static void drop_events(struct committer *c, size_t count)
{
	struct event *ev = count ? detach_events(c, count) : NULL;

	while (ev) {
		struct event *next = ev->next;

		if (ev->result)
			queue_committed(c->context.queue, ev->result);
		event_free(ev);
		ev = next;
	}
}

static void note_outcome(struct committer *c, int err, uint64_t attempted)
{
	const struct engine_listener *up = c->context.up;
	int before;

	pthread_mutex_lock(&c->lock);
	before = c->error;
	c->error = err;
	c->attempted = attempted;
	c->oldest_ms = clock_now_ms();
	pthread_cond_broadcast(&c->progress);
	pthread_mutex_unlock(&c->lock);
	/* -ECANCELED: the engine ends before the catalog was open. */
	if (err && err != before && err != -ECANCELED)
		logger_print(c->context.log,
			     "catalog: %s; digests are still answered, and "
			     "written when it works again",
			     err_text(err));
	if (!err && before) {
		logger_print(c->context.log, "catalog: works again");
		/* Results were refused and other events dropped meanwhile. */
		hash_want_feed(c->context.hasher);
		scan_request_tree(c->context.scan);
	}
	/* By now the batch's results have left the queue, so there is room to
	 * feed it. */
	hash_feed(c->context.hasher);
	up->attempted(up->ctx, attempted);
	up->catalog_damaged(up->ctx, false);
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
			 size_t count, uint64_t number)
{
	const struct commit_context *context = &c->context;
	int err;

	/* Directories requested meanwhile are to be compared with the catalog
	 * after the batch. */
	scan_defer_requests(context->scan, true);
	err = batch_write(c, first, count);
	scan_defer_requests(context->scan, false);
	if (!err && adds_pending(first, count))
		hash_want_feed(context->hasher);
	if (!err)
		drop_events(c, count);
	note_outcome(c, err, number);
}

/* ---- the thread ---- */

/* When the next batch is due; a time in the past means now. */
static int64_t due_ms(const struct committer *c)
{
	if (!c->count)
		return c->stopped ? 0 : c->trim_ms;
	if (c->stopped)
		return 0;
	if (c->error)
		return c->oldest_ms + RETRY_MS;
	if (c->urgent || c->count >= BATCH_EVENTS ||
	    c->listings >= LISTINGS_MANY)
		return 0;
	return c->newest_ms + QUIET_MS < c->oldest_ms + BATCH_MS ?
		       c->newest_ms + QUIET_MS :
		       c->oldest_ms + BATCH_MS;
}

/* What the commits have left behind: half-empty pages of the catalog, those that
 * are mapped, and memory that the C library would keep. */
static void trim_unlocked(struct committer *c)
{
	c->trim_ms = INT64_MAX;
	pthread_mutex_unlock(&c->lock);
	(void)catalog_pack(c->context.catalog);
	(void)catalog_trim_rss(c->context.catalog);
	(void)malloc_trim(0);
	pthread_mutex_lock(&c->lock);
}

static bool is_pressing(const struct committer *c)
{
	return c->urgent || c->stopped || c->count >= EVENTS_MANY;
}

static void *commit_run(void *arg)
{
	struct committer *c = arg;
	bool last = false;

	thread_set_name("kinfs-commit");
	pthread_mutex_lock(&c->lock);
	while (!last) {
		int64_t due = due_ms(c);
		const struct event *first;
		uint64_t number;
		size_t count;

		if (due > clock_now_ms()) {
			cond_wait_until(&c->work, &c->lock, due);
			continue;
		}
		if (!c->count && !c->stopped) {
			trim_unlocked(c);
			continue;
		}
		count = c->count < BATCH_MAX ? c->count : BATCH_MAX;
		first = c->first;
		number = c->committed + count;
		last = c->stopped && (count == c->count || c->error);
		gate_set(&c->gate, is_pressing(c));
		if (count == c->count)
			c->urgent = false;
		pthread_mutex_unlock(&c->lock);
		commit_batch(c, first, count, number);
		pthread_mutex_lock(&c->lock);
		c->trim_ms = clock_now_ms() + REST_MS;
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* ---- life ---- */

int commit_init(struct committer *c, const struct commit_context *context)
{
	int err = -pthread_mutex_init(&c->lock, NULL);

	c->context = *context;
	c->trim_ms = INT64_MAX;
	if (!err)
		err = cond_init_monotonic(&c->work);
	if (!err)
		err = cond_init_monotonic(&c->progress);
	c->gate.throttle = context->throttle;
	return err;
}

int commit_start(struct committer *c)
{
	int err = -pthread_create(&c->thread, NULL, commit_run, c);

	c->started = !err;
	return err;
}

void commit_stop(struct committer *c)
{
	pthread_mutex_lock(&c->lock);
	c->stopped = true;
	pthread_cond_broadcast(&c->work);
	pthread_mutex_unlock(&c->lock);
	gate_set(&c->gate, true);
	if (c->started)
		pthread_join(c->thread, NULL);
	c->started = false;
}

void commit_release(struct committer *c)
{
	while (c->first) {
		struct event *ev = c->first;

		c->first = ev->next;
		event_free(ev);
	}
	pthread_cond_destroy(&c->progress);
	pthread_cond_destroy(&c->work);
	pthread_mutex_destroy(&c->lock);
}

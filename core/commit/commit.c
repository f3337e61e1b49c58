/* SPDX-License-Identifier: Apache-2.0 */
#include "core/commit/commit.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/thread.h"

enum {
	BATCH_MS = 5000,   /* a batch is due so long after the first event, */
	QUIET_MS = 250,    /* ... or so long after the last one. */
	BATCH_MAX = 16384, /* events of one transaction */
	RETRY_MS = 2000,   /* after a failure */
	REST_MS = 1000,    /* after the last batch, memory is returned */
};

/* ---- a batch is written ---- */

/* Applies the events in one transaction. */
static int write_batch(struct committer *c, const struct event *ev,
		       size_t count, struct catalog_changes *changes)
{
	struct catalog_txn *txn;
	int err;

	err = catalog_write(c->context.catalog, &txn);
	if (err)
		return err;
	if (c->context.up->watch)
		c->context.up->watch(c->context.up->ctx, txn);
	while (!err && count--) {
		gate_pass(&c->context.events->gate);
		err = event_apply(c, txn, ev);
		if (count) /* the last one's next is under the lock */
			ev = ev->next;
	}
	if (err == -EUCLEAN)
		catalog_found_damage(c->context.catalog);
	if (err) {
		catalog_abort(txn);
		return err;
	}
	c->context.events->gate.slice_ns = 0;
	gate_pass(&c->context.events->gate);
	return catalog_commit(txn, changes);
}

static int index_add_hash(struct committer *c, struct catalog_txn *txn,
			  uint32_t id)
{
	struct picture_hashes picture;
	uint32_t content;
	int err = catalog_picture_get(txn, id, &picture);

	if (!err)
		err = catalog_text_owner(txn, id, &content);
	if (!err && picture.has & PICTURE_JUDGING)
		err = index_add_picture(c->context.index, id, content,
					&picture.judging);
	return err;
}

static int index_add_sketch(struct committer *c, struct catalog_txn *txn,
			    uint32_t id, const struct sketch *sketch)
{
	uint32_t content;
	int err = catalog_text_owner(txn, id, &content);

	if (!err)
		return index_add_text(c->context.index, id, content, sketch);
	return err == -ENOENT ? index_add(c->context.index, id, sketch) : err;
}

/* id: of a content, of a text or of a picture. */
static int index_add_content(struct committer *c, struct catalog_txn *txn,
			     uint32_t id)
{
	struct sketch sketch;
	int err = catalog_sketch_get(txn, id, &sketch);

	/* It has none, was removed again, or the catalog was replaced after the
	 * commit. */
	if (err == -ENOENT)
		err = index_add_hash(c, txn, id);
	else if (!err)
		return index_add_sketch(c, txn, id, &sketch);
	return err == -ENOENT ? 0 : err;
}

static int index_added(struct committer *c, struct catalog_txn *txn,
		       const struct catalog_changes *ch)
{
	uint64_t id;
	int err = 0;

	for (id = ch->added_begin; id < ch->added_end && !err; id++) {
		gate_pass(&c->context.events->gate);
		err = index_add_content(c, txn, (uint32_t)id);
	}
	return err;
}

/* From so many on a bulk load (index_load_begin()) is worth its cost. */
#define LOAD_CONTENTS 256

static int load_added(struct committer *c, struct catalog_txn *txn,
		      const struct catalog_changes *ch)
{
	int err = index_load_begin(c->context.index), end_err;

	if (err)
		return err;
	err = index_added(c, txn, ch);
	end_err = index_load_end(c->context.index);
	return err ? err : end_err;
}

static void update_index(struct committer *c, const struct catalog_changes *ch)
{
	const uint64_t added = ch->added_end - ch->added_begin;
	struct catalog_txn *txn;
	size_t i;
	int err;

	for (i = 0; i < ch->removed_count; i++)
		index_remove(c->context.index, ch->removed[i]);
	if (!added)
		return;
	err = catalog_read(c->context.catalog, &txn);
	if (!err) {
		err = added < LOAD_CONTENTS ? index_added(c, txn, ch) :
					      load_added(c, txn, ch);
		catalog_abort(txn);
	}
	if (err)
		logger_print(c->context.log,
			     "index: %s; near-duplicates will be missing "
			     "until the next mount",
			     err_text(err));
}

static int write_and_index(struct committer *c, const struct event *first,
			   size_t count)
{
	struct catalog_changes changes = { 0 };
	int err = write_batch(c, first, count, &changes);

	if (!err)
		update_index(c, &changes);
	if (!err && (changes.event_count || changes.events_lost))
		c->context.up->changed(c->context.up->ctx, &changes);
	catalog_changes_release(&changes);
	return err;
}

/* ---- what follows ---- */

/* The first count events are committed.  The queue drops the jobs of the
 * results before it is fed: a file that a later event of the batch made pending
 * again is not queued while its job is there. */
static void drop_events(struct committer *c, struct event *first, size_t count)
{
	struct event_list *l = c->context.events;
	struct event *ev, *last = NULL;
	size_t counts[EVENT_KINDS] = { 0 }, i;

	for (i = 0; i < count; i++) {
		last = last ? last->next : first;
		counts[last->kind]++;
		if (last->result)
			queue_committed(c->context.queue, last->result);
	}
	if (counts[EVENT_PENDING] || counts[EVENT_LISTING] ||
	    counts[EVENT_NAME_ADDED] || counts[EVENT_NAME_MOVED])
		queue_want(c->context.queue, QUEUE_FEED, 0);
	if (!last)
		return;
	pthread_mutex_lock(&l->lock);
	l->first = last->next;
	if (!l->first)
		l->last = NULL;
	for (i = 0; i < EVENT_KINDS; i++)
		l->counts[i] -= counts[i];
	l->count -= count;
	l->committed += count;
	pthread_mutex_unlock(&l->lock);
	last->next = NULL;
	while ((ev = first)) {
		first = ev->next;
		event_free(ev);
	}
}

static void note_outcome(struct committer *c, int err)
{
	struct event_list *l = c->context.events;
	const int before = l->error; /* written by this thread alone */
	bool lost;

	/* -ECANCELED: the engine ends before the catalog was open. */
	if (err && err != before && err != -ECANCELED)
		logger_print(c->context.log,
			     "catalog: %s; digests are still answered, and "
			     "written when it works again",
			     err_text(err));
	if (!err && before) {
		logger_print(c->context.log, "catalog: works again");
		/* Results were refused and other events dropped meanwhile. */
		queue_want(c->context.queue, QUEUE_FEED, 0);
		scan_request_tree(c->context.scan);
	}
	pthread_mutex_lock(&l->lock);
	lost = l->lost;
	l->lost = false;
	l->error = err;
	l->oldest_ms = clock_now_ms();
	pthread_cond_broadcast(&l->progress);
	pthread_mutex_unlock(&l->lock);
	if (lost)
		scan_request_tree(c->context.scan);
	hash_want_texts(c->context.hasher);
}

static void commit_batch(struct committer *c, struct event *first, size_t count)
{
	const struct engine_parts *context = &c->context;
	int err;

	/* Directories requested meanwhile are to be compared with the catalog
	 * after the batch. */
	scan_defer_requests(context->scan, true);
	err = count ? write_and_index(c, first, count) : 0;
	/* Another catalog takes its place; the next transaction waits for
	 * that. */
	if (err == -EUCLEAN)
		err = write_and_index(c, first, count);
	scan_defer_requests(context->scan, false);
	if (!err)
		drop_events(c, first, count);
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
	    l->counts[EVENT_LISTING] >= LISTINGS_MANY)
		return 0;
	if (!l->count)
		return c->trim_ms;
	return l->newest_ms + QUIET_MS < l->oldest_ms + BATCH_MS ?
		       l->newest_ms + QUIET_MS :
		       l->oldest_ms + BATCH_MS;
}

/* What the commits have left behind: half-empty pages of the catalog, those
 * that are mapped, and memory that the C library would keep. */
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
		struct event *first = l->first;
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

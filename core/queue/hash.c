/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/hash.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/thread.h"
#include "core/digest/fingerprint.h"
#include "core/extract/client.h"
#include "core/queue/event.h"
#include "core/queue/hash_impl.h"

/* ---- feeding the queue ---- */

/* How many files are pushed at a time. */
enum { FEED_COUNT = 4096 };

void hash_want_feed(struct hasher *h)
{
	atomic_store(&h->feeder.wanted, true);
}

void hash_feed(struct hasher *h)
{
	if (atomic_load(&h->feeder.wanted))
		queue_feed(h->context.queue);
}

/* Reads wanted first, because a pass sets running before it clears wanted. */
bool hash_is_feeding(struct hasher *h)
{
	return atomic_load(&h->feeder.wanted) ||
	       atomic_load(&h->feeder.running);
}

/* Pushes at most FEED_COUNT files; more_out: the list has more. */
static int push_pending(struct hasher *h, bool *more_out)
{
	const struct engine_parts *c = &h->context;
	struct hash_feeder *f = &h->feeder;
	struct catalog_txn *txn;
	struct file_record rec;
	struct file_key key;
	int i, err;

	err = catalog_read(c->catalog, &txn);
	if (err)
		return err;
	for (i = 0; i < FEED_COUNT && !err; i++) {
		err = catalog_pending_next(txn, f->started ? &f->after : NULL,
					   &key, &rec);
		if (!err)
			err = queue_push(c->queue, &key, JOB_SCAN, NULL);
		if (!err) {
			f->after = key;
			f->started = true;
		}
	}
	catalog_abort(txn);
	*more_out = !err || err == -ENOBUFS;
	return err == -ENOENT || err == -ENOBUFS ? 0 : err;
}

/* Pushes the next files of the catalog's pending list. */
static void feed_queue(struct hasher *h)
{
	struct hash_feeder *f = &h->feeder;
	bool more = false;
	int err;

	pthread_mutex_lock(&f->lock);
	atomic_store(&f->running, true); /* before wanted is cleared */
	if (!f->started)
		atomic_store(&f->wanted, false);
	err = push_pending(h, &more);
	if (!more || err)
		f->started = false;
	more = more || atomic_load(&f->wanted);
	atomic_store(&f->running, more);
	pthread_mutex_unlock(&f->lock);
	if (err && err != -ECANCELED)
		logger_print(h->context.log, "catalog: %s", err_text(err));
	if (more && !err)
		queue_feed(h->context.queue);
}

/* ---- one worker ---- */

static void worker_free(struct hash_worker *w)
{
	fingerprint_free(w->fp);
	free(w->chunk);
	free(w);
}

static void *worker_run(void *arg)
{
	static const char *const names[WORKER_KINDS] = {
		"kinfs-hash",
		"kinfs-hash-idle",
		"kinfs-hash-big",
	};
	struct hash_worker *w = arg;
	const struct engine_parts *c = w->context;
	bool ends = false, feed;

	thread_set_name(names[w->kind]);
	if (w->kind == WORKER_BACKGROUND)
		thread_enter_background();
	else if (w->kind == WORKER_LARGE)
		thread_lower_io();
	while (!ends) {
		struct job *job;

		if (w->kind == WORKER_BACKGROUND) {
			events_wait_writable(c->events);
			gate_set(&w->gate, false);
			gate_pass(&w->gate);
		}
		job = queue_take(c->queue, w->kind, &w->gate, &feed);
		if (job && job->demanded == QUEUE_TEXT)
			worker_make_text(w, job);
		else if (job)
			worker_do_job(w, job);
		else if (feed)
			feed_queue(w->h);
		else
			ends = true;
	}
	worker_free(w);
	return NULL;
}

static int worker_start(void *arg)
{
	const struct hash_crew *crew = arg;
	struct hasher *h = crew->h;
	struct hash_worker *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->h = h;
	w->context = &h->context;
	w->kind = (enum worker_kind)(crew - h->crews);
	w->gate.throttle = h->context.throttle;
	w->gate.is_idle = w->kind == WORKER_BACKGROUND;
	w->chunk = malloc(HASH_CHUNK);
	err = w->chunk ? fingerprint_new(h->context.digest_set, &w->fp) :
			 -ENOMEM;
	if (!err)
		err = crew_thread(worker_run, w);
	if (err)
		worker_free(w);
	return err;
}

/* ---- all of them ---- */

int hash_init(struct hasher *h, const struct engine_parts *context)
{
	const unsigned workers = context->workers;
	const unsigned most[WORKER_KINDS] = {
		[WORKER_SERVING] = workers + QUEUE_SPARE,
		[WORKER_BACKGROUND] = workers,
		[WORKER_LARGE] = workers + QUEUE_LARGE_USERS,
	};
	int err = -pthread_mutex_init(&h->feeder.lock, NULL), kind;
	struct queue *q = context->queue;

	h->context = *context;
	if (context->extract)
		extract_stop_when(context->extract, context->stopping);
	for (kind = 0; kind < WORKER_KINDS; kind++) {
		struct hash_crew *crew = &h->crews[kind];

		crew->h = h;
		crew->crew = (struct crew){ .queue = q,
					    .lock = &q->lock,
					    .start = worker_start,
					    .arg = crew,
					    .most = most[kind] };
		crew_init(&crew->crew);
		q->workers[kind] = &crew->crew;
	}
	return err;
}

void hash_stop(struct hasher *h)
{
	int kind;

	for (kind = 0; kind < WORKER_KINDS; kind++)
		if (h->crews[kind].crew.lock)
			crew_stop(&h->crews[kind].crew);
}

void hash_release(struct hasher *h)
{
	int kind;

	for (kind = 0; kind < WORKER_KINDS; kind++)
		crew_release(&h->crews[kind].crew);
	pthread_mutex_destroy(&h->feeder.lock);
}

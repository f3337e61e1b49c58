/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/hash.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/thread.h"
#include "core/digest/fingerprint.h"
#include "core/queue/hash_impl.h"

/* ---- one worker ---- */

static void worker_free(struct hash_worker *w)
{
	fingerprint_free(w->fp);
	free(w->chunk);
	free(w);
}

static void wait_in_background(struct hash_worker *w)
{
	const struct hash_context *c = w->context;

	c->up->wait_writable(c->up->ctx);
	(void)throttle_wait(c->throttle, NULL, &w->throttle_ns);
}

static void *worker_run(void *arg)
{
	struct hash_worker *w = arg;
	const struct hash_context *c = w->context;
	bool ends = false, feed;

	thread_set_name(w->background ? "kinfs-hash-idle" : "kinfs-hash");
	if (w->background)
		thread_enter_background();
	while (!ends) {
		struct job *job;

		if (w->background)
			wait_in_background(w);
		job = queue_take(c->queue, w->background, &feed);
		if (job)
			worker_do_job(w, job);
		else if (feed)
			feed_queue(w->h);
		else
			ends = true;
	}
	worker_free(w);
	return NULL;
}

static int worker_start(struct hasher *h, bool background)
{
	struct hash_worker *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->h = h;
	w->context = &h->context;
	w->background = background;
	w->chunk = malloc(HASH_CHUNK);
	err = w->chunk ? fingerprint_new(h->context.digest_set, &w->fp) :
			 -ENOMEM;
	if (!err)
		err = crew_thread(worker_run, w);
	if (err)
		worker_free(w);
	return err;
}

static int start_served(void *hasher)
{
	return worker_start(hasher, false);
}

static int start_background(void *hasher)
{
	return worker_start(hasher, true);
}

/* ---- all of them ---- */

static void init_crew(struct hasher *h, bool background)
{
	struct queue *q = h->context.queue;
	struct crew *c = &h->crews[background];

	*c = (struct crew){
		.queue = q,
		.lock = &q->lock,
		.start = background ? start_background : start_served,
		.arg = h,
		.most = h->context.workers + (background ? 1 : QUEUE_SPARE),
	};
	crew_init(c);
	q->workers[background] = c;
}

int hash_init(struct hasher *h, const struct hash_context *context)
{
	int err = -pthread_mutex_init(&h->feeder.lock, NULL);

	h->context = *context;
	if (!err)
		err = meter_init(&h->meter);
	init_crew(h, false);
	init_crew(h, true);
	return err;
}

void hash_stop(struct hasher *h)
{
	if (h->crews[0].lock)
		crew_stop(&h->crews[0]);
	if (h->crews[1].lock)
		crew_stop(&h->crews[1]);
}

void hash_release(struct hasher *h)
{
	crew_release(&h->crews[0]);
	crew_release(&h->crews[1]);
	meter_release(&h->meter);
	pthread_mutex_destroy(&h->feeder.lock);
}

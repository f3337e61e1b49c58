/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hash/hash.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/thread.h"
#include "core/digest/fingerprint.h"
#include "core/hash/hash_impl.h"

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

	c->wait_writable(c->ctx);
	(void)throttle_wait(c->throttle, NULL, &w->throttle_ns);
}

static void *worker_run(void *arg)
{
	struct hash_worker *w = arg;
	const struct hash_context *c = w->context;

	thread_set_name(w->background ? "kinfs-hash-idle" : "kinfs-hash");
	if (w->background)
		thread_enter_background();
	while (!atomic_load(c->stopping)) {
		struct job *job;

		if (w->background)
			wait_in_background(w);
		job = queue_take(c->queue, w->background);
		if (job)
			worker_do_job(w, job);
		else if (!atomic_load(c->stopping))
			feed_queue(w->h);
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
		err = -pthread_create(&h->workers[h->worker_count], NULL,
				      worker_run, w);
	if (err)
		worker_free(w);
	else
		h->worker_count++;
	return err;
}

/* ---- all of them ---- */

int hash_init(struct hasher *h, const struct hash_context *context)
{
	int err = -pthread_mutex_init(&h->feeder.lock, NULL);

	h->context = *context;
	if (!err)
		err = meter_init(&h->meter);
	return err;
}

int hash_start(struct hasher *h)
{
	unsigned count = h->context.workers, i;
	int err = 0;

	h->workers = calloc((size_t)count * 2 + QUEUE_SPARE + 1,
			    sizeof(*h->workers));
	if (!h->workers)
		return -ENOMEM;
	for (i = 0; i < count * 2 && !err; i++)
		err = worker_start(h, i % 2);
	for (i = 0; i < QUEUE_SPARE && !err; i++)
		err = worker_start(h, false);
	if (!err)
		err = worker_start(h, true);
	return err;
}

void hash_stop(struct hasher *h)
{
	size_t i;

	for (i = 0; i < h->worker_count; i++)
		pthread_join(h->workers[i], NULL);
	h->worker_count = 0;
	free(h->workers);
	h->workers = NULL;
}

void hash_release(struct hasher *h)
{
	meter_release(&h->meter);
	pthread_mutex_destroy(&h->feeder.lock);
}

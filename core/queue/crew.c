/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/crew.h"

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/queue/queue.h"

void crew_init(struct crew *c)
{
	(void)pthread_cond_init(&c->ended, NULL);
	if (!c->queue)
		return;
	c->next = c->queue->crews;
	c->queue->crews = c;
}

void crew_stop(struct crew *c)
{
	pthread_mutex_lock(c->lock);
	c->stopped = true;
	while (c->count)
		pthread_cond_wait(&c->ended, c->lock);
	pthread_mutex_unlock(c->lock);
}

void crew_release(struct crew *c)
{
	if (c->lock)
		pthread_cond_destroy(&c->ended);
}

/* ---- with the lock ---- */

static bool has_room(const struct crew *c)
{
	return !c->stopped && !c->waiting && c->count < c->most;
}

void crew_want(struct crew *c)
{
	if (!c->lock || !has_room(c))
		return;
	if (!c->queue) {
		c->count++;
		if (c->start(c->arg))
			crew_leave(c);
	} else if (!atomic_exchange(&c->wanted, true)) {
		queue_wake_timer(c->queue);
	}
}

bool crew_wait(struct crew *c, pthread_cond_t *work, int64_t until_ms,
	       int64_t idle_ms)
{
	int64_t end_ms = idle_ms + CREW_IDLE_MS;

	if (clock_now_ms() >= end_ms)
		return false;
	c->waiting++;
	cond_wait_until(work, c->lock, until_ms < end_ms ? until_ms : end_ms);
	c->waiting--;
	return true;
}

void crew_leave(struct crew *c)
{
	if (--c->count == 0)
		pthread_cond_broadcast(&c->ended);
}

/* ---- without it ---- */

int crew_thread(void *(*run)(void *arg), void *arg)
{
	pthread_t thread;
	int err = -pthread_create(&thread, NULL, run, arg);

	if (!err)
		(void)pthread_detach(thread);
	return err;
}

bool crew_serve(struct crew *c)
{
	bool starts, failed;

	if (!atomic_exchange(&c->wanted, false))
		return true;
	pthread_mutex_lock(c->lock);
	starts = has_room(c);
	c->count += starts;
	pthread_mutex_unlock(c->lock);
	failed = starts && c->start(c->arg);
	if (!failed)
		return true;
	pthread_mutex_lock(c->lock);
	crew_leave(c);
	pthread_mutex_unlock(c->lock);
	atomic_store(&c->wanted, true);
	return false;
}

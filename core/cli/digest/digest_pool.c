/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/digest/digest_pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Files between the one that is next to come out and the last that went in. */
#define SLOTS 1024

struct slot {
	char *path; /* owned */
	bool follow;
	bool done;
	int err;
	struct buf output;
};

struct pool {
	struct pool_work work;
	pthread_mutex_t lock; /* everything below */
	pthread_cond_t more;  /* a file went in, or the end */
	pthread_cond_t done;  /* the file that is next to come out is done */
	uint64_t in, taken, out;
	bool stopping;
	struct slot slots[SLOTS];
	pthread_t *threads;
	size_t started;
};

struct pool_thread {
	struct pool *pool;
	void *state;
};

/* ---- the threads ---- */

/* The next file, NULL at the end; in the lock. */
static struct slot *next_slot(struct pool *p)
{
	while (p->taken == p->in && !p->stopping)
		pthread_cond_wait(&p->more, &p->lock);
	return p->taken == p->in ? NULL : &p->slots[p->taken++ % SLOTS];
}

static void *thread_run(void *arg)
{
	struct pool_thread *t = arg;
	struct pool *p = t->pool;
	struct slot *s;

	pthread_mutex_lock(&p->lock);
	while ((s = next_slot(p))) {
		pthread_mutex_unlock(&p->lock);
		s->err = p->work.run(t->state, s->path, s->follow, &s->output);
		pthread_mutex_lock(&p->lock);
		s->done = true;
		if (s == &p->slots[p->out % SLOTS])
			pthread_cond_signal(&p->done);
	}
	pthread_mutex_unlock(&p->lock);
	free(t);
	return NULL;
}

static int thread_start(struct pool *p, void *state)
{
	struct pool_thread *t = malloc(sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	*t = (struct pool_thread){ p, state };
	err = -pthread_create(&p->threads[p->started], NULL, thread_run, t);
	if (err)
		free(t);
	else
		p->started++;
	return err;
}

/* ---- the caller ---- */

/* Leaves the lock while the file is taken. */
static void take_out(struct pool *p)
{
	struct slot *s = &p->slots[p->out % SLOTS];

	while (!s->done)
		pthread_cond_wait(&p->done, &p->lock);
	pthread_mutex_unlock(&p->lock);
	p->work.take(p->work.arg, s->path, s->err, &s->output);
	free(s->path);
	buf_release(&s->output);
	*s = (struct slot){ 0 };
	pthread_mutex_lock(&p->lock);
	p->out++;
}

int pool_push(struct pool *p, const char *path, bool follow)
{
	char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	pthread_mutex_lock(&p->lock);
	while (p->out < p->in &&
	       (p->in - p->out == SLOTS || p->slots[p->out % SLOTS].done))
		take_out(p);
	p->slots[p->in++ % SLOTS] = (struct slot){
		.path = copy,
		.follow = follow,
	};
	pthread_cond_signal(&p->more);
	pthread_mutex_unlock(&p->lock);
	return 0;
}

void pool_drain(struct pool *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	while (p->out < p->in)
		take_out(p);
	pthread_mutex_unlock(&p->lock);
}

void pool_free(struct pool *p)
{
	size_t i;

	pool_drain(p);
	pthread_mutex_lock(&p->lock);
	p->stopping = true;
	pthread_cond_broadcast(&p->more);
	pthread_mutex_unlock(&p->lock);
	for (i = 0; i < p->started; i++)
		pthread_join(p->threads[i], NULL);
	pthread_cond_destroy(&p->more);
	pthread_cond_destroy(&p->done);
	pthread_mutex_destroy(&p->lock);
	free(p->threads);
	free(p);
}

int pool_new(const struct pool_work *work, struct pool **out)
{
	struct pool *p = calloc(1, sizeof(*p));
	int err = 0;
	size_t i;

	if (!p)
		return -ENOMEM;
	p->work = *work;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->more, NULL);
	pthread_cond_init(&p->done, NULL);
	p->threads = calloc(work->thread_count, sizeof(*p->threads));
	if (!p->threads)
		err = -ENOMEM;
	for (i = 0; i < work->thread_count && !err; i++)
		err = thread_start(p, work->threads[i]);
	if (err)
		pool_free(p);
	else
		*out = p;
	return err;
}

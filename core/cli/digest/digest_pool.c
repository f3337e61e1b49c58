/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/cli/digest/digest_job.h"

/* Files between the one that is next to come out and the last that went in. */
enum { SLOTS = 1024 };

struct slot {
	char *path; /* owned */
	bool follow, done;
	int err;
	struct buf output;
};

struct pool {
	struct digest_job *job;
	pthread_mutex_t lock; /* everything below */
	pthread_cond_t more;  /* a file went in, or the end */
	pthread_cond_t done;  /* the file that is next to come out is done */
	uint64_t in, taken, out;
	bool stopping;
	struct slot slots[SLOTS];
	size_t started;
	pthread_t threads[];
};

static void *work(void *arg)
{
	struct pool *p = arg;
	struct reader reader;
	struct slot *s;
	const bool ready = !reader_init(&reader, p->job->digest_set);

	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (p->taken == p->in && !p->stopping)
			pthread_cond_wait(&p->more, &p->lock);
		if (p->taken == p->in)
			break;
		s = &p->slots[p->taken++ % SLOTS];
		pthread_mutex_unlock(&p->lock);
		s->err = ready ? digest_file(p->job, &reader, s->path,
					     s->follow, &s->output) :
				 -ENOMEM;
		pthread_mutex_lock(&p->lock);
		s->done = true;
		if (s == &p->slots[p->out % SLOTS])
			pthread_cond_signal(&p->done);
	}
	pthread_mutex_unlock(&p->lock);
	reader_release(&reader);
	return NULL;
}

/* Leaves the lock while the file is told. */
static void take_out(struct pool *p)
{
	struct slot *s = &p->slots[p->out % SLOTS];

	while (!s->done)
		pthread_cond_wait(&p->done, &p->lock);
	pthread_mutex_unlock(&p->lock);
	digest_tell(p->job, s->path, s->err, &s->output);
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
	p->slots[p->in++ % SLOTS] =
		(struct slot){ .path = copy, .follow = follow };
	pthread_cond_signal(&p->more);
	pthread_mutex_unlock(&p->lock);
	return 0;
}

void pool_drain(struct pool *p)
{
	pthread_mutex_lock(&p->lock);
	while (p->out < p->in)
		take_out(p);
	pthread_mutex_unlock(&p->lock);
}

void pool_free(struct pool *p)
{
	pool_drain(p);
	pthread_mutex_lock(&p->lock);
	p->stopping = true;
	pthread_cond_broadcast(&p->more);
	pthread_mutex_unlock(&p->lock);
	while (p->started)
		pthread_join(p->threads[--p->started], NULL);
	pthread_cond_destroy(&p->more);
	pthread_cond_destroy(&p->done);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

int pool_new(struct digest_job *job, struct pool **out)
{
	struct pool *p =
		calloc(1, sizeof(*p) + job->threads * sizeof(p->threads[0]));
	int err = 0;

	if (!p)
		return -ENOMEM;
	p->job = job;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->more, NULL);
	pthread_cond_init(&p->done, NULL);
	while (p->started < job->threads && !err) {
		err = -pthread_create(&p->threads[p->started], NULL, work, p);
		p->started += !err;
	}
	if (p->started) {
		*out = p;
		return 0;
	}
	pool_free(p);
	return err;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/team.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define CHUNK_BYTES ((size_t)256 * 1024)
#define CHUNKS 4

struct part {
	uint64_t done; /* chunks */
	bool busy;
	bool unused;
};

/* Chunk n of the stream is in chunks[n % CHUNKS] until all parts have done
 * it. */
struct team {
	pthread_mutex_t lock;   /* everything up to threads */
	pthread_cond_t changed; /* work to do, work done, or the end */
	struct fingerprint *fp; /* NULL between streams */
	uint64_t filled;        /* chunks read so far */
	bool ended;             /* no more will be read */
	int err;
	bool stopping;
	struct part parts[FINGERPRINT_PARTS];
	size_t lengths[CHUNKS];

	void (*enter)(void *arg);
	void *arg;
	unsigned thread_count;
	pthread_t *threads;
	uint8_t chunks[CHUNKS][CHUNK_BYTES];
};

/* ---- under the lock ---- */

/* The part that lags behind most and that no thread works at. */
static struct part *part_to_do(struct team *t)
{
	struct part *best = NULL, *p;

	for (p = t->parts; p < t->parts + FINGERPRINT_PARTS; p++)
		if (!p->unused && !p->busy && p->done < t->filled &&
		    (!best || p->done < best->done))
			best = p;
	return best;
}

static bool has_room(const struct team *t)
{
	const struct part *p;

	for (p = t->parts; p < t->parts + FINGERPRINT_PARTS; p++)
		if (!p->unused && t->filled - p->done == CHUNKS)
			return false;
	return true;
}

/* All is done, or, after a failure, no thread works at a part. */
static bool is_over(const struct team *t)
{
	const struct part *p;

	for (p = t->parts; p < t->parts + FINGERPRINT_PARTS; p++)
		if (p->busy || (!t->err && !p->unused && p->done < t->filled))
			return false;
	return t->ended || t->err;
}

/* Leaves the lock while it works. */
static void do_part(struct team *t, struct part *p)
{
	enum fingerprint_part part = (enum fingerprint_part)(p - t->parts);
	size_t slot = p->done % CHUNKS;
	size_t len = t->lengths[slot];
	int err;

	p->busy = true;
	pthread_mutex_unlock(&t->lock);
	err = fingerprint_update_part(t->fp, part, t->chunks[slot], len);
	pthread_mutex_lock(&t->lock);
	p->busy = false;
	p->done++;
	if (err && !t->err)
		t->err = err;
	pthread_cond_broadcast(&t->changed);
}

/* Leaves the lock while it fills the chunk. */
static void fill_chunk(struct team *t,
		       ssize_t (*fill)(void *arg, void *buffer, size_t len),
		       void *arg)
{
	size_t slot = t->filled % CHUNKS;
	ssize_t got;

	pthread_mutex_unlock(&t->lock);
	got = fill(arg, t->chunks[slot], CHUNK_BYTES);
	pthread_mutex_lock(&t->lock);
	if (got < 0 && !t->err)
		t->err = (int)got;
	t->ended = got <= 0;
	if (got > 0) {
		t->lengths[slot] = (size_t)got;
		t->filled++;
	}
	pthread_cond_broadcast(&t->changed);
}

/* ---- a stream ---- */

static void begin(struct team *t, struct fingerprint *fp)
{
	int i;

	t->fp = fp;
	t->filled = 0;
	t->ended = false;
	t->err = 0;
	for (i = 0; i < FINGERPRINT_PARTS; i++)
		t->parts[i] = (struct part){
			.unused = !fingerprint_has_part(
				fp, (enum fingerprint_part)i),
		};
}

int team_update(struct team *t, struct fingerprint *fp,
		ssize_t (*fill)(void *arg, void *buffer, size_t len), void *arg)
{
	struct part *p;
	int err;

	pthread_mutex_lock(&t->lock);
	begin(t, fp);
	while (!is_over(t)) {
		p = t->err ? NULL : part_to_do(t);
		if (!t->ended && !t->err && has_room(t))
			fill_chunk(t, fill, arg);
		else if (p)
			do_part(t, p);
		else
			pthread_cond_wait(&t->changed, &t->lock);
	}
	err = t->err;
	t->fp = NULL;
	pthread_mutex_unlock(&t->lock);
	return err;
}

/* ---- the threads ---- */

static void *help(void *arg)
{
	struct team *t = arg;
	struct part *p;

	if (t->enter)
		t->enter(t->arg);
	pthread_mutex_lock(&t->lock);
	while (!t->stopping) {
		p = t->fp && !t->err ? part_to_do(t) : NULL;
		if (p)
			do_part(t, p);
		else
			pthread_cond_wait(&t->changed, &t->lock);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

int team_new(unsigned threads, void (*enter)(void *arg), void *arg,
	     struct team **out)
{
	struct team *t = calloc(1, sizeof(*t));
	int err = 0;

	if (!t)
		return -ENOMEM;
	t->enter = enter;
	t->arg = arg;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, NULL);
	t->threads = calloc(threads + 1, sizeof(*t->threads));
	if (!t->threads)
		err = -ENOMEM;
	while (!err && t->thread_count < threads) {
		err = -pthread_create(&t->threads[t->thread_count], NULL, help,
				      t);
		t->thread_count += !err;
	}
	if (err)
		team_free(t);
	else
		*out = t;
	return err;
}

void team_free(struct team *t)
{
	unsigned i;

	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->stopping = true;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	for (i = 0; i < t->thread_count; i++)
		pthread_join(t->threads[i], NULL);
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	free(t->threads);
	free(t);
}

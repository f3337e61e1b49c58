/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/sketch_reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/thread.h"
#include "core/digest/sif/sif.h"

/* Sketches are handed over in batches, because a hand-over takes about as long
 * as reading a sketch: some microseconds. */
enum { BATCH = 32, BATCHES = 4 };

struct sketch_batch {
	size_t count;
	uint32_t contents[BATCH];
	struct sif_sketch sketches[BATCH];
};

/* A ring buffer: batch n is batches[n % BATCHES].  Batches taken..filled - 1
 * belong to the calling thread, the others to the reader. */
struct sketch_reader {
	int (*list)(struct catalog_txn *txn, sketch_each each, void *arg);
	struct catalog_txn *txn;
	pthread_mutex_t lock; /* everything below except the batches */
	pthread_cond_t changed;
	size_t filled, taken;
	bool is_ended, is_stopped;
	int result; /* of list(); valid when is_ended */
	struct sketch_batch batches[BATCHES];
};

/* ---- the reader's thread ---- */

static void copy_in_full(const struct sif_sketch *from, struct sif_sketch *to)
{
	to->window = from->window;
	to->distinct = from->distinct;
	to->windows = 0;
	to->count = from->count;
	to->rest = 0;
	to->rest_shift = 0;
	to->is_placed = false;
	memcpy(to->values, from->values, from->count * sizeof(to->values[0]));
}

/* Hands the batch over and waits until the next one is free. */
static int hand_over(struct sketch_reader *r)
{
	int err;

	(void)pthread_mutex_lock(&r->lock);
	r->filled++;
	(void)pthread_cond_signal(&r->changed);
	while (r->filled - r->taken == BATCHES && !r->is_stopped)
		(void)pthread_cond_wait(&r->changed, &r->lock);
	err = r->is_stopped ? -ECANCELED : 0;
	r->batches[r->filled % BATCHES].count = 0;
	(void)pthread_mutex_unlock(&r->lock);
	return err;
}

/* Reads filled without the lock: only this thread changes it. */
static int add_to_batch(void *arg, uint32_t content,
			const struct sif_sketch *sketch)
{
	struct sketch_reader *r = arg;
	struct sketch_batch *b = &r->batches[r->filled % BATCHES];

	b->contents[b->count] = content;
	copy_in_full(sketch, &b->sketches[b->count]);
	return ++b->count == BATCH ? hand_over(r) : 0;
}

static void *reader_run(void *arg)
{
	struct sketch_reader *r = arg;
	int result;

	thread_set_name("kinfs-read");
	result = r->list(r->txn, add_to_batch, r);
	(void)pthread_mutex_lock(&r->lock);
	if (r->batches[r->filled % BATCHES].count)
		r->filled++;
	r->result = result;
	r->is_ended = true;
	(void)pthread_cond_signal(&r->changed);
	(void)pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* ---- the calling thread ---- */

/* Waits for the next batch; NULL: there is none. */
static const struct sketch_batch *next_batch(struct sketch_reader *r)
{
	const struct sketch_batch *b = NULL;

	(void)pthread_mutex_lock(&r->lock);
	while (r->taken == r->filled && !r->is_ended)
		(void)pthread_cond_wait(&r->changed, &r->lock);
	if (r->taken != r->filled)
		b = &r->batches[r->taken % BATCHES];
	(void)pthread_mutex_unlock(&r->lock);
	return b;
}

static void return_batch(struct sketch_reader *r, bool stop)
{
	(void)pthread_mutex_lock(&r->lock);
	r->taken++;
	r->is_stopped = stop;
	(void)pthread_cond_signal(&r->changed);
	(void)pthread_mutex_unlock(&r->lock);
}

static int take_batches(struct sketch_reader *r, sketch_each each, void *arg)
{
	const struct sketch_batch *b;
	int result = 0;
	size_t i;

	while (!result && (b = next_batch(r))) {
		for (i = 0; i < b->count && !result; i++)
			result = each(arg, b->contents[i], &b->sketches[i]);
		return_batch(r, result != 0);
	}
	return result;
}

static int run_reader(struct sketch_reader *r, sketch_each each, void *arg)
{
	pthread_t thread;
	int result = -pthread_create(&thread, NULL, reader_run, r);

	if (result)
		return r->list(r->txn, each, arg);
	result = take_batches(r, each, arg);
	(void)pthread_join(thread, NULL);
	return result ? result : r->result;
}

int sketch_reader_each(int (*list)(struct catalog_txn *txn, sketch_each each,
				   void *arg),
		       struct catalog_txn *txn, sketch_each each, void *arg)
{
	struct sketch_reader *r = calloc(1, sizeof(*r));
	int result = -ENOMEM;

	if (!r)
		return result;
	r->list = list;
	r->txn = txn;
	(void)pthread_mutex_init(&r->lock, NULL);
	(void)pthread_cond_init(&r->changed, NULL);
	result = run_reader(r, each, arg);
	(void)pthread_cond_destroy(&r->changed);
	(void)pthread_mutex_destroy(&r->lock);
	free(r);
	return result;
}

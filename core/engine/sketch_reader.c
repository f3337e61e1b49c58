/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/sketch_reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/thread.h"
#include "core/digest/sketch/sketch.h"

/* Sketches are handed over in batches, because a hand-over takes about as long
 * as reading a sketch: some microseconds. */
enum { BATCH = 32, BATCHES = 8 };

enum batch_state {
	BATCH_PACKED,
	BATCH_UNPACKING, /* one of the threads is at it */
	BATCH_UNPACKED,
};

struct sketch_batch {
	enum batch_state state; /* guarded by the reader's lock */
	size_t count;
	int result; /* what comes after these: -EUCLEAN, or 0 */
	uint32_t contents[BATCH];
	struct buf packed;
	size_t ends[BATCH]; /* of each sketch in packed */
	struct sketch sketches[BATCH];
};

/*
 * A ring buffer: batch n is batches[n % BATCHES].  Batches taken..filled - 1
 * are there; the next one belongs to the reader.  The calling thread takes them
 * in order.  Each thread unpacks batches while it would wait: the reader when
 * the ring is full, the calling thread when the first batch is not unpacked.
 * So both have work, whatever each() costs.
 */
struct sketch_reader {
	struct catalog_txn *txn;
	sketch_each *each;
	void *arg;
	pthread_mutex_t lock; /* everything below except the batches */
	pthread_cond_t changed;
	size_t filled, taken;
	bool is_ended, is_stopped;
	int result; /* of the reader; valid when is_ended */
	struct sketch_batch batches[BATCHES];
};

static struct sketch_batch *batch_of(struct sketch_reader *r, size_t n)
{
	return &r->batches[n % BATCHES];
}

/* Called with the lock, which is released meanwhile. */
static void unpack(struct sketch_reader *r, struct sketch_batch *b)
{
	const uint8_t *packed = (const uint8_t *)b->packed.data;
	size_t i, at = 0;

	b->state = BATCH_UNPACKING;
	(void)pthread_mutex_unlock(&r->lock);
	for (i = 0; i < b->count; at = b->ends[i++])
		if (sketch_unpack(packed + at, b->ends[i] - at,
				  &b->sketches[i])) {
			b->result = -EUCLEAN;
			b->count = i;
		}
	(void)pthread_mutex_lock(&r->lock);
	b->state = BATCH_UNPACKED;
	(void)pthread_cond_broadcast(&r->changed);
}

/* Unpacks the first batch that is packed, also called with the lock.  False:
 * there is none. */
static bool unpack_any(struct sketch_reader *r)
{
	size_t n;

	for (n = r->taken; n != r->filled; n++) {
		if (batch_of(r, n)->state != BATCH_PACKED)
			continue;
		unpack(r, batch_of(r, n));
		return true;
	}
	return false;
}

/* ---- the reader's thread ---- */

/* Hands the batch over and waits until the next one is free. */
static int hand_over(struct sketch_reader *r)
{
	int err;

	(void)pthread_mutex_lock(&r->lock);
	r->filled++;
	(void)pthread_cond_broadcast(&r->changed);
	while (r->filled - r->taken == BATCHES && !r->is_stopped)
		if (!unpack_any(r))
			(void)pthread_cond_wait(&r->changed, &r->lock);
	err = r->is_stopped ? -ECANCELED : 0;
	(void)pthread_mutex_unlock(&r->lock);
	return err;
}

/* Reads filled without the lock: only this thread changes it. */
static int add_to_batch(struct sketch_reader *r, uint32_t content,
			const uint8_t *packed, size_t len)
{
	struct sketch_batch *b = batch_of(r, r->filled);
	int err = buf_append(&b->packed, packed, len);

	if (err)
		return err;
	b->contents[b->count] = content;
	b->ends[b->count] = b->packed.len;
	return ++b->count == BATCH ? hand_over(r) : 0;
}

/* One of the two tables with sketches, and its next one. */
struct sketch_table {
	int (*next)(struct catalog_walk *w, uint32_t *id_out,
		    const uint8_t **packed_out, size_t *len_out);
	struct catalog_walk *walk;
	int found; /* 1: these are valid; 0: there is none; or an error */
	uint32_t id;
	const uint8_t *packed;
	size_t len;
};

static void read_next(struct sketch_table *t)
{
	t->found = t->next(t->walk, &t->id, &t->packed, &t->len);
}

/* Merges the two tables in the order of their ids. */
static int read_tables(struct sketch_reader *r, struct sketch_table tables[2])
{
	struct sketch_table *a = &tables[0], *b = &tables[1], *t;
	int err = 0;

	read_next(a);
	read_next(b);
	while (!err && (a->found == 1 || b->found == 1)) {
		t = b->found != 1 || (a->found == 1 && a->id < b->id) ? a : b;
		err = add_to_batch(r, t->id, t->packed, t->len);
		if (!err)
			read_next(t);
	}
	return err ? err : a->found < 0 ? a->found : b->found;
}

static int read_sketches(struct sketch_reader *r)
{
	struct sketch_table tables[2] = { { .next = catalog_sketches_next },
					  { .next = catalog_texts_next } };
	int err = catalog_sketches_begin(r->txn, &tables[0].walk);

	if (!err)
		err = catalog_texts_begin(r->txn, &tables[1].walk);
	if (!err)
		err = read_tables(r, tables);
	catalog_walk_end(tables[0].walk);
	catalog_walk_end(tables[1].walk);
	return err;
}

static void *reader_run(void *arg)
{
	struct sketch_reader *r = arg;
	int result;

	thread_set_name("kinfs-read");
	result = read_sketches(r);
	(void)pthread_mutex_lock(&r->lock);
	if (batch_of(r, r->filled)->count && !r->is_stopped)
		r->filled++;
	r->result = result;
	r->is_ended = true;
	(void)pthread_cond_broadcast(&r->changed);
	while (!r->is_stopped && unpack_any(r))
		;
	(void)pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* ---- the calling thread ---- */

/* Waits for the next batch; NULL: there is none. */
static struct sketch_batch *next_batch(struct sketch_reader *r)
{
	struct sketch_batch *b = NULL;

	(void)pthread_mutex_lock(&r->lock);
	while (r->taken == r->filled && !r->is_ended)
		(void)pthread_cond_wait(&r->changed, &r->lock);
	if (r->taken != r->filled)
		b = batch_of(r, r->taken);
	while (b && b->state != BATCH_UNPACKED)
		if (!unpack_any(r))
			(void)pthread_cond_wait(&r->changed, &r->lock);
	(void)pthread_mutex_unlock(&r->lock);
	return b;
}

static void return_batch(struct sketch_reader *r, struct sketch_batch *b,
			 bool stop)
{
	(void)pthread_mutex_lock(&r->lock);
	b->state = BATCH_PACKED;
	b->count = 0;
	buf_clear(&b->packed);
	r->taken++;
	r->is_stopped = stop;
	(void)pthread_cond_broadcast(&r->changed);
	(void)pthread_mutex_unlock(&r->lock);
}

static int take_batches(struct sketch_reader *r)
{
	struct sketch_batch *b;
	int result = 0;
	size_t i;

	while (!result && (b = next_batch(r))) {
		for (i = 0; i < b->count && !result; i++)
			result = r->each(r->arg, b->contents[i],
					 &b->sketches[i]);
		if (!result)
			result = b->result;
		return_batch(r, b, result != 0);
	}
	return result;
}

int sketch_reader_each(struct catalog_txn *txn, sketch_each *each, void *arg)
{
	struct sketch_reader *r = calloc(1, sizeof(*r));
	pthread_t thread;
	int result;
	size_t i;

	if (!r)
		return -ENOMEM;
	r->txn = txn;
	r->each = each;
	r->arg = arg;
	(void)pthread_mutex_init(&r->lock, NULL);
	(void)pthread_cond_init(&r->changed, NULL);
	result = -pthread_create(&thread, NULL, reader_run, r);
	if (!result) {
		result = take_batches(r);
		(void)pthread_join(thread, NULL);
		result = result ? result : r->result;
	}
	(void)pthread_cond_destroy(&r->changed);
	(void)pthread_mutex_destroy(&r->lock);
	for (i = 0; i < BATCHES; i++)
		buf_release(&r->batches[i].packed);
	free(r);
	return result;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/base/err.h"
#include "core/queue/hash_impl.h"

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
	const struct hash_context *c = &h->context;
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

void feed_queue(struct hasher *h)
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

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/base/err.h"
#include "core/engine/engine_impl.h"

/* How many files are pushed at a time. */
enum { FEED_COUNT = 4096 };

void workers_feed_want(struct engine *e)
{
	atomic_store(&e->feeder.wanted, true);
}

/* Pushes the next pending files; sets more_out when the pass goes on. */
static int feed_some(struct engine *e, struct feeder *f, bool *more_out)
{
	struct catalog_txn *txn;
	struct file_record rec;
	struct file_key key;
	int i, err;

	err = catalog_read(e->catalog, &txn);
	if (err)
		return err;
	for (i = 0; i < FEED_COUNT && !err; i++) {
		err = catalog_pending_next(txn, f->started ? &f->after : NULL,
					   &key, &rec);
		if (!err)
			err = queue_push(&e->queue, &key, JOB_SCAN, NULL);
		if (!err) {
			f->after = key;
			f->started = true;
		}
	}
	catalog_abort(txn);
	*more_out = !err || err == -ENOBUFS;
	return err == -ENOENT || err == -ENOBUFS ? 0 : err;
}

void workers_feed(struct engine *e)
{
	struct feeder *f = &e->feeder;
	bool more = false;
	int err;

	pthread_mutex_lock(&f->lock);
	atomic_store(&f->running, true); /* before wanted: see status.c */
	if (!f->started)
		atomic_store(&f->wanted, false);
	err = feed_some(e, f, &more);
	if (!more || err)
		f->started = false;
	more = more || atomic_load(&f->wanted);
	atomic_store(&f->running, more);
	pthread_mutex_unlock(&f->lock);
	if (err && err != -ECANCELED)
		logger_print(&e->log, "catalog: %s", err_text(err));
	if (more && !err)
		queue_feed(&e->queue);
}

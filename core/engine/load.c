/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/digest/sketch/sketch.h"
#include "core/engine/engine_impl.h"

/*
 * A thread of its own opens the catalog and loads the index, while the host
 * already serves files.  Until the catalog is open, other threads wait for it
 * or treat all files as pending.  Then the thread waits until somebody finds
 * the catalog to be damaged.  It sets that aside and begins a new one, and
 * everything is scanned and hashed again.
 */

/* Damaged catalogs that are replaced while mounted.  On a bad disk the new one
 * fails as well, and it would never end. */
enum { REPLACED_MAX = 3 };

/* engine_start() waits this long, so that a small catalog is loaded before the
 * first request.  A large one takes longer, and is not waited for. */
enum { SMALL_CATALOG_MS = 200 };

/* ---- the index ---- */

/*
 * A thread of its own reads the catalog and unpacks sketches, which takes about
 * as long as to add them to the index.  It hands them over in batches, because
 * that takes about as long as reading one: some microseconds.
 */
enum { BATCH = 32, BATCHES = 4 };

struct load_item {
	uint32_t id, content; /* content: whose text it is, or 0 */
	struct sketch sketch;
};

struct load_reader {
	struct catalog_txn *txn;
	const atomic_bool *stop;
	sem_t filled, free;  /* batches */
	atomic_bool stopped; /* what is read is not wanted any more */
	int result;          /* valid after a batch that is not full */
	size_t counts[BATCHES];
	struct load_item items[BATCHES][BATCH];
};

/* 1; 0: there is none. */
static int read_item(struct load_reader *r, struct catalog_walk *sketches,
		     struct load_item *out)
{
	const uint8_t *packed;
	size_t len;
	int found = catalog_sketches_next(sketches, &out->id, &packed, &len);

	if (found != 1)
		return found;
	if (sketch_unpack(packed, len, &out->sketch))
		return -EUCLEAN;
	out->content = 0;
	found = catalog_text_owner(r->txn, out->id, &out->content);
	return found && found != -ENOENT ? found : 1;
}

static int read_items(struct load_reader *r, struct catalog_walk *sketches)
{
	size_t batch = 0;
	int found;

	while (!atomic_load(&r->stopped)) {
		if (atomic_load(r->stop))
			return -ECANCELED;
		found = read_item(r, sketches,
				  &r->items[batch][r->counts[batch]]);
		if (found != 1)
			return found;
		if (++r->counts[batch] < BATCH)
			continue;
		(void)sem_post(&r->filled);
		while (sem_wait(&r->free))
			;
		batch = (batch + 1) % BATCHES;
		r->counts[batch] = 0;
	}
	return 0;
}

static void *reader_run(void *arg)
{
	struct load_reader *r = arg;
	struct catalog_walk *sketches;

	thread_set_name("kinfs-read");
	r->result = catalog_sketches_begin(r->txn, &sketches);
	if (!r->result) {
		r->result = read_items(r, sketches);
		catalog_walk_end(sketches);
	}
	(void)sem_post(&r->filled);
	return NULL;
}

static int add_item(struct index *ix, const struct load_item *item)
{
	return item->content ? index_add_text(ix, item->id, item->content,
					      &item->sketch) :
			       index_add(ix, item->id, &item->sketch);
}

static int add_items(struct load_reader *r, struct engine *e)
{
	size_t batch, count = BATCH, i;
	int err = 0;

	for (batch = 0; count == BATCH; batch = (batch + 1) % BATCHES) {
		while (sem_wait(&r->filled))
			;
		count = r->counts[batch];
		for (i = 0; i < count && !err; i++)
			/* Without texts= those of an earlier mount do not
			 * speak. */
			if (e->options.texts || !r->items[batch][i].content)
				err = add_item(e->index, &r->items[batch][i]);
		atomic_store(&r->stopped, err != 0);
		(void)sem_post(&r->free);
	}
	return err ? err : r->result;
}

static int load_contents(struct engine *e, struct catalog_txn *txn)
{
	struct load_reader *r = calloc(1, sizeof(*r));
	pthread_t thread;
	int err;

	if (!r)
		return -ENOMEM;
	r->txn = txn;
	r->stop = &e->stopping;
	(void)sem_init(&r->filled, 0, 0);
	(void)sem_init(&r->free, 0, BATCHES - 1);
	err = -pthread_create(&thread, NULL, reader_run, r);
	if (!err) {
		err = add_items(r, e);
		(void)pthread_join(thread, NULL);
	}
	(void)sem_destroy(&r->filled);
	(void)sem_destroy(&r->free);
	free(r);
	return err;
}

static int load_pictures(struct engine *e, struct catalog_txn *txn)
{
	struct picture_hashes picture;
	struct catalog_walk *w;
	uint32_t id, content;
	int found, err = catalog_pictures_begin(txn, &w);

	if (err)
		return err;
	while (!err && (found = catalog_pictures_next(w, &id, &picture)) == 1) {
		err = catalog_text_owner(txn, id, &content);
		if (!err && picture.has & PICTURE_JUDGING)
			err = index_add_picture(e->index, id, content,
						&picture.judging);
	}
	catalog_walk_end(w);
	return err ? err : found;
}

static int load_index(struct engine *e)
{
	struct catalog_txn *txn;
	int err = catalog_read(e->catalog, &txn), end_err;

	if (err)
		return err;
	err = index_load_begin(e->index);
	if (!err) {
		err = load_contents(e, txn);
		/* As texts, those of an earlier mount do not speak. */
		if (!err && e->options.texts && e->options.pictures)
			err = load_pictures(e, txn);
		end_err = index_load_end(e->index);
		err = err ? err : end_err;
	}
	catalog_abort(txn);
	if (!err)
		(void)catalog_trim_rss(e->catalog);
	return err;
}

/* ---- the catalog ---- */

static void forget_contents(struct index *ix)
{
	uint32_t content, end = index_end(ix);

	for (content = 1; content < end; content++)
		index_remove(ix, content);
}

static int replace_catalog(struct engine *e, int why)
{
	struct buf aside = { 0 };
	int err = catalog_replace(e->catalog, &aside);

	if (!err)
		logger_print(&e->log,
			     "%s: the catalog is %s; %s%s, building a new one",
			     e->options.catalog_dir,
			     why == -EUCLEAN ?
				     "damaged" :
				     "whole, but of another version of kinfs "
				     "or LMDB",
			     aside.len ? "moved to " : "its file is gone",
			     aside.len ? aside.data : "");
	buf_release(&aside);
	forget_contents(e->index);
	changes_lose(&e->changes);
	return err;
}

/* Lets the other threads use the catalog; err: or tells them that they cannot. */
static void admit(struct engine *e, int err)
{
	if (err && err != -ECANCELED)
		logger_print(&e->log,
			     "%s: %s; files are served, their digests are not "
			     "known",
			     e->options.catalog_dir, err_text(err));
	catalog_admit(e->catalog, err);
}

static int open_catalog(struct engine *e)
{
	int err = catalog_finish(e->catalog);

	if (!err)
		err = load_index(e);
	if (err == -EUCLEAN || err == -EMEDIUMTYPE)
		err = replace_catalog(e, err);
	return err;
}

/* After it was found to be damaged.  If it is not replaced now, the next mount
 * does it. */
static int reopen_catalog(struct engine *e, unsigned times)
{
	int err = atomic_load(&e->stopping) ? -ECANCELED : -EUCLEAN;

	if (err == -EUCLEAN && times < REPLACED_MAX)
		err = replace_catalog(e, err);
	admit(e, err);
	if (!err)
		scan_request_tree(&e->scan);
	return err;
}

static void *loader_run(void *arg)
{
	struct engine *e = arg;
	unsigned replaced = 0;
	int err = 0;

	thread_set_name("kinfs-load");
	if (!catalog_is_open(e->catalog)) {
		err = open_catalog(e);
		admit(e, err);
	} /* else a new one, which has nothing to load */
	while (!err) {
		err = catalog_await_damage(e->catalog);
		if (!err)
			err = reopen_catalog(e, replaced++);
	}
	return NULL;
}

int engine_start_loading(struct engine *e)
{
	int err = -pthread_create(&e->loader, NULL, loader_run, e);

	e->loads = !err;
	if (!err)
		catalog_wait_open(e->catalog, SMALL_CATALOG_MS);
	return err;
}

void engine_stop_loading(struct engine *e)
{
	if (!e->loads)
		return;
	catalog_cancel(e->catalog);
	(void)pthread_join(e->loader, NULL);
}

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
 * or treat all files as pending.  Then the thread ends.  If the catalog turns
 * out to be damaged, which a failed commit, query or scan tells, another one
 * sets it aside and begins a new one, and everything is scanned and hashed
 * again.
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

/* A content, or the sketch of a text, whose size does not matter. */
struct load_item {
	uint32_t id;
	bool has_sketch;
	struct digests digests;
	struct sketch sketch;
};

struct load_reader {
	struct catalog_txn *txn;
	sem_t filled, free;  /* batches */
	atomic_bool stopped; /* what is read is not wanted any more */
	int result;          /* valid after a batch that is not full */
	size_t batch;        /* the reader's own */
	size_t counts[BATCHES];
	struct load_item items[BATCHES][BATCH];
};

/* One of the tables, and its next record: id is UINT32_MAX at the end. */
struct load_table {
	struct catalog_walk *walk;
	uint32_t id;
	const uint8_t *packed;
	size_t len;
	struct digests digests;
};

enum { CONTENTS, SKETCHES, TEXTS, TABLES };

static int read_next(struct load_table *t, int which)
{
	int found;

	if (which == CONTENTS)
		found = catalog_contents_next(t->walk, &t->id, &t->digests);
	else if (which == SKETCHES)
		found = catalog_sketches_next(t->walk, &t->id, &t->packed,
					      &t->len);
	else
		found = catalog_texts_next(t->walk, &t->id);
	if (found != 1)
		t->id = UINT32_MAX;
	return found < 0 ? found : 0;
}

/* Reads the content or text of the lowest id, and its sketch. */
static int read_item(struct load_table tables[TABLES], struct load_item *out)
{
	struct load_table *sketches = &tables[SKETCHES];
	const int which =
		tables[TEXTS].id < tables[CONTENTS].id ? TEXTS : CONTENTS;
	int err = 0;

	out->id = tables[which].id;
	out->digests = which == TEXTS ? (struct digests){ .size = 1 } :
					tables[which].digests;
	/* A sketch of neither is left out. */
	while (!err && sketches->id < out->id)
		err = read_next(sketches, SKETCHES);
	out->has_sketch = !err && sketches->id == out->id;
	if (out->has_sketch &&
	    sketch_unpack(sketches->packed, sketches->len, &out->sketch))
		err = -EUCLEAN;
	return err ? err : read_next(&tables[which], which);
}

static void end_batch(struct load_reader *r)
{
	(void)sem_post(&r->filled);
	while (sem_wait(&r->free))
		;
	r->batch = (r->batch + 1) % BATCHES;
	r->counts[r->batch] = 0;
}

static int read_items(struct load_reader *r, struct load_table tables[TABLES])
{
	int err = 0, i;

	for (i = 0; i < TABLES && !err; i++)
		err = read_next(&tables[i], i);
	while (!err && !atomic_load(&r->stopped) &&
	       (tables[CONTENTS].id & tables[TEXTS].id) != UINT32_MAX) {
		err = read_item(tables,
				&r->items[r->batch][r->counts[r->batch]]);
		if (!err && ++r->counts[r->batch] == BATCH)
			end_batch(r);
	}
	return err;
}

static void *reader_run(void *arg)
{
	struct load_table tables[TABLES] = { 0 };
	struct load_reader *r = arg;
	int i;

	thread_set_name("kinfs-read");
	r->result =
		catalog_contents_begin(r->txn, &tables[CONTENTS].walk) ?:
			catalog_sketches_begin(r->txn, &tables[SKETCHES].walk) ?:
			catalog_texts_begin(r->txn, &tables[TEXTS].walk) ?:
			read_items(r, tables);
	for (i = 0; i < TABLES; i++)
		catalog_walk_end(tables[i].walk);
	(void)sem_post(&r->filled);
	return NULL;
}

static int add_items(struct load_reader *r, struct index *ix)
{
	size_t batch, count = BATCH, i;
	int err = 0;

	for (batch = 0; count == BATCH; batch = (batch + 1) % BATCHES) {
		while (sem_wait(&r->filled))
			;
		count = r->counts[batch];
		for (i = 0; i < count && !err; i++) {
			struct load_item *item = &r->items[batch][i];

			if (item->digests.size) /* else it is empty */
				err = index_add(ix, item->id, &item->digests,
						item->has_sketch ?
							&item->sketch :
							NULL);
		}
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
	(void)sem_init(&r->filled, 0, 0);
	(void)sem_init(&r->free, 0, BATCHES - 1);
	err = -pthread_create(&thread, NULL, reader_run, r);
	if (!err) {
		err = add_items(r, e->index);
		(void)pthread_join(thread, NULL);
	}
	(void)sem_destroy(&r->filled);
	(void)sem_destroy(&r->free);
	free(r);
	return err;
}

static int load_index(struct engine *e)
{
	struct catalog_txn *txn;
	int err = catalog_read(e->catalog, &txn), end_err;

	if (err)
		return err;
	catalog_stop_when(txn, &e->stopping);
	err = index_load_begin(e->index);
	if (!err) {
		err = load_contents(e, txn);
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
				     "of another version of LMDB or kinfs",
			     aside.len ? "moved to " : "its file is gone",
			     aside.len ? aside.data : "");
	buf_release(&aside);
	forget_contents(e->index);
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

/* The catalog was found to be damaged since it was opened. */
static bool is_damaged(const struct engine *e)
{
	return !catalog_is_open(e->catalog) && !catalog_failure(e->catalog);
}

static void *loader_run(void *arg)
{
	struct engine *e = arg;
	int err = 0;

	thread_set_name("kinfs-load");
	if (!e->loaded && !catalog_is_open(e->catalog)) {
		err = open_catalog(e);
		admit(e, err);
	} /* else a new one, which has nothing to load */
	e->loaded = true;
	pthread_mutex_lock(&e->load_lock);
	while (!err && is_damaged(e)) {
		pthread_mutex_unlock(&e->load_lock);
		err = catalog_await_damage(e->catalog);
		if (!err)
			err = reopen_catalog(e, e->reloads++);
		pthread_mutex_lock(&e->load_lock);
	}
	crew_leave(&e->load);
	pthread_mutex_unlock(&e->load_lock);
	return NULL;
}

static int start_loader(void *engine)
{
	return crew_thread(loader_run, engine);
}

void engine_reload_if_damaged(struct engine *e)
{
	if (atomic_load(&e->stopping) || !is_damaged(e))
		return;
	pthread_mutex_lock(&e->load_lock);
	crew_want(&e->load);
	pthread_mutex_unlock(&e->load_lock);
}

void engine_await_reload(struct engine *e)
{
	pthread_mutex_lock(&e->load_lock);
	while (!e->load.stopped && is_damaged(e)) {
		crew_want(&e->load);
		pthread_cond_wait(&e->load.ended, &e->load_lock);
	}
	pthread_mutex_unlock(&e->load_lock);
}

int engine_start_loading(struct engine *e)
{
	e->load = (struct crew){ .queue = &e->queue,
				 .lock = &e->load_lock,
				 .start = start_loader,
				 .arg = e,
				 .most = 1,
				 .wanted = true };
	crew_init(&e->load);
	if (!crew_serve(&e->load))
		return -EAGAIN;
	catalog_wait_open(e->catalog, SMALL_CATALOG_MS);
	return 0;
}

void engine_stop_loading(struct engine *e)
{
	if (!e->load.lock)
		return;
	catalog_cancel(e->catalog);
	crew_stop(&e->load);
	pthread_cond_broadcast(&e->load.ended); /* engine_await_reload() */
}

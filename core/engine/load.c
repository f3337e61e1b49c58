/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/engine/engine_impl.h"
#include "core/engine/sketch_reader.h"

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

static int load_sketch(void *arg, uint32_t content, const struct sketch *sketch)
{
	struct engine *e = arg;
	int err = index_add_sketch(e->index, content, sketch);

	/* -ENOENT: a sketch without a content, which is left out. */
	return err == -ENOMEM ? err : 0;
}

/* Adds the texts with ids below the content. */
static int load_texts(struct engine *e, struct catalog_walk *walk,
		      uint32_t *next, uint32_t content)
{
	const struct digests d = { .size = 1 };
	const uint8_t *packed;
	size_t len;
	int err = 0;

	while (!err && *next < content) {
		if (*next)
			err = index_add(e->index, *next, &d, NULL);
		*next = UINT32_MAX;
		if (!err)
			err = catalog_texts_next(walk, next, &packed, &len);
		err = err == 1 ? 0 : err;
	}
	return err;
}

/* Contents and texts have ids of one sequence, and are added in its order. */
static int load_contents(struct engine *e, struct catalog_txn *txn)
{
	struct catalog_walk *walk, *texts = NULL;
	struct digests d;
	uint32_t content, text = 0;
	int err = catalog_contents_begin(txn, &walk);

	if (err)
		return err;
	err = catalog_texts_begin(txn, &texts);
	while (!err && (err = catalog_contents_next(walk, &content, &d)) == 1) {
		err = load_texts(e, texts, &text, content);
		if (!err && d.size)
			err = index_add(e->index, content, &d, NULL);
	}
	if (!err)
		err = load_texts(e, texts, &text, UINT32_MAX);
	catalog_walk_end(walk);
	catalog_walk_end(texts);
	return err ? err : sketch_reader_each(txn, load_sketch, e);
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
			     e->catalog_dir,
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
			     e->catalog_dir, err_text(err));
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

	(void)catalog_mark_damaged(e->catalog);
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

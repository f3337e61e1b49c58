/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/engine/engine_impl.h"
#include "core/engine/sketch_reader.h"
#include "core/index/texts.h"

/*
 * A thread of its own opens the catalog and loads the indexes, while the host
 * already serves files.  Until the catalog is open, other threads wait for it
 * or treat all files as pending.
 */

/* engine_start() waits this long, so that a small catalog is loaded before the
 * first request.  A large one takes longer, and is not waited for. */
enum { SMALL_CATALOG_MS = 200 };

/* ---- the index ---- */

static int load_content(void *arg, uint32_t content, const struct digests *d)
{
	struct engine *e = arg;

	return d->size ? index_add(e->index, content, d, NULL) : 0;
}

static int load_sketch(void *arg, uint32_t content,
		       const struct sif_sketch *sketch)
{
	struct engine *e = arg;
	int err = index_add_sketch(e->index, content, sketch);

	/* -ENOENT: a sketch without a content, which is left out. */
	return err == -ENOMEM ? err : 0;
}

static int load_text(void *arg, uint32_t content,
		     const struct sif_sketch *sketch)
{
	struct engine *e = arg;
	int err = texts_add(e->texts, content, sketch);

	return err == -ENOMEM ? err : 0;
}

static int load_contents(struct engine *e, struct catalog_txn *txn)
{
	int err = catalog_content_each(txn, load_content, e);

	return err ? err :
		     sketch_reader_each(catalog_sketch_each, txn, load_sketch,
					e);
}

static int load_texts(struct engine *e, struct catalog_txn *txn)
{
	return sketch_reader_each(catalog_text_sketch_each, txn, load_text, e);
}

/* Loads one of the two indexes; NULL: it is not kept. */
static int load_index(struct engine *e, struct index *ix,
		      struct catalog_txn *txn,
		      int (*load)(struct engine *e, struct catalog_txn *txn))
{
	int err = ix ? index_load_begin(ix) : 0;

	if (err || !ix)
		return err;
	err = load(e, txn);
	if (err == -EUCLEAN) {
		engine_found_damage(e);
		err = 0;
	}
	return err ? err : index_load_end(ix);
}

static int load_counts(void *arg, const uint8_t *bytes, size_t len)
{
	struct engine *e = arg;
	const uint8_t *end = bytes + len;
	int err = index_load_counts(e->index, &bytes, end);

	return err || !e->texts ? err :
				  index_load_counts(e->texts, &bytes, end);
}

static void distrust_counts(struct engine *e)
{
	index_distrust_counts(e->index);
	if (e->texts)
		index_distrust_counts(e->texts);
}

void engine_keep_counts(struct engine *e)
{
	struct buf bytes = { 0 };
	int kept = 0;

	if (index_count(e->index) >= e->least_counts)
		kept = index_store_counts(e->index, &bytes);
	if (kept > 0 &&
	    (!e->texts || index_store_counts(e->texts, &bytes) >= 0))
		catalog_attach(e->catalog, &bytes);
	buf_release(&bytes);
}

/* Damaged records are left out.  Digests in text form stay in the catalog. */
static int load_indexes(struct engine *e)
{
	struct catalog_txn *txn;
	int err = catalog_read(e->catalog, &txn);

	if (err)
		return err;
	catalog_stop_when(txn, &e->stopping);
	/* Without counts, which are not always there, all is counted anew. */
	(void)catalog_attachment(e->catalog, load_counts, e);
	err = load_index(e, e->index, txn, load_contents);
	if (!err)
		err = load_index(e, e->texts, txn, load_texts);
	catalog_abort(txn);
	if (!err)
		(void)catalog_trim_rss(e->catalog);
	return err;
}

/* ---- the catalog ---- */

static int replace_catalog(struct engine *e, int why)
{
	struct buf aside = { 0 };
	int err = catalog_replace(e->catalog, &aside);

	if (!err)
		logger_print(&e->log,
			     "%s: the catalog is %s; moved to %s, building a "
			     "new one",
			     e->catalog_dir,
			     why == -EUCLEAN ?
				     "damaged" :
				     "of another version of LMDB or kinfs",
			     aside.data);
	buf_release(&aside);
	return err;
}

static void *loader_run(void *arg)
{
	struct engine *e = arg;
	int err;

	thread_set_name("kinfs-load");
	err = catalog_finish(e->catalog);
	if (err == -EUCLEAN || err == -EMEDIUMTYPE)
		err = replace_catalog(e, err);
	if (!err)
		err = load_indexes(e);
	if (err && err != -ECANCELED)
		logger_print(&e->log,
			     "%s: %s; files are served, their digests are not "
			     "known",
			     e->catalog_dir, err_text(err));
	if (err)
		distrust_counts(e);
	catalog_admit(e->catalog, err);
	return NULL;
}

int engine_start_loading(struct engine *e)
{
	int err;

	if (catalog_is_open(e->catalog))
		return 0; /* a new catalog has nothing to load */
	err = -pthread_create(&e->loader, NULL, loader_run, e);
	if (err)
		return err;
	e->loading = true;
	catalog_wait_open(e->catalog, SMALL_CATALOG_MS);
	return 0;
}

void engine_stop_loading(struct engine *e)
{
	if (!e->loading)
		return;
	catalog_cancel(e->catalog);
	pthread_join(e->loader, NULL);
	e->loading = false;
}

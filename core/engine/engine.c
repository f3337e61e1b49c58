/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/engine/engine_impl.h"
#include "core/source/file.h"
#include "core/source/source.h"

/* ---- opening ---- */

static int open_source(struct engine *e)
{
	const struct engine_options *o = &e->options;

	e->log = (struct logger){ o->host.ctx, o->host.log };
	e->source = (struct source){
		.fd = o->source_fd,
		.path = o->source,
		.rules = { .min_size = o->min_size,
			   .max_size = o->max_size,
			   .excludes = o->excludes,
			   .exclude_count = o->exclude_count,
			   .cross = o->cross },
		.ctx = o->host.ctx,
		.open_known = o->host.open_known,
		.use = o->host.use,
		.catch_up = o->host.catch_up,
	};
	return source_init(&e->source);
}

static int begin_catalog(struct engine *e)
{
	struct catalog_options options = {
		.directory = e->options.catalog_dir,
		.holder = e->options.holder,
		.source = e->source.path,
		.root = e->source.root,
		.filesystem = e->source.filesystem.id,
		.digest_set = e->options.digest_set,
		.text_version = e->options.texts ? e->options.text_version : 0,
	};
	int err = index_new(&e->index);

	return err ? err : catalog_begin(&options, &e->catalog);
}

/* ---- the listener: what parts tell those above them ---- */

static void report_path(void *engine, int fd, const struct file_key *key)
{
	struct engine *e = engine;

	(void)scan_report_path(&e->scan, fd, key);
}

static void watch(void *engine, struct catalog_txn *txn)
{
	struct engine *e = engine;

	changes_begin(&e->changes, txn);
}

static void changed(void *engine, struct catalog_changes *changes)
{
	struct engine *e = engine;

	changes_post(&e->changes, changes);
}

/* ---- the parts ---- */

static int init_parts(struct engine *e)
{
	const struct engine_options *o = &e->options;
	const struct engine_parts parts = {
		.source = &e->source,
		.catalog = e->catalog,
		.index = e->index,
		.throttle = &e->throttle,
		.events = &e->events,
		.queue = &e->queue,
		.hasher = &e->hash,
		.scan = &e->scan,
		.log = &e->log,
		.stopping = &e->stopping,
		.up = &e->listener,
		.digest_set = o->digest_set,
		.workers = o->workers,
		.extract = o->texts,
	};
	const struct search_context search = {
		.source = &e->source,
		.catalog = e->catalog,
		.index = e->index,
		.hasher = &e->hash,
		.scan = &e->scan,
		.events = &e->events,
		.ignored = &e->ignored,
		.stopping = &e->queries_end,
		.threshold = o->threshold,
		.share_min = o->share_min ? o->share_min : INDEX_SHARE_MIN,
		.limit = o->limit,
		.texts = o->texts != NULL,
		.pictures = o->texts && o->pictures,
		.no_wait = o->no_wait,
	};
	int err;

	e->listener = (struct engine_listener){
		.ctx = e,
		.report_path = report_path,
		.watch = watch,
		.changed = changed,
	};
	e->throttle = (struct throttle){
		.workers = o->workers,
		.rate = o->rate,
		.had_requests = o->host.had_requests,
		.ctx = o->host.ctx,
	};
	commit_init(&e->commit, &parts);
	err = queue_init(&e->queue, o->workers);
	if (err)
		return err;
	hash_init(&e->hash, &parts);
	return throttle_init(&e->throttle)                                ?:
		       events_init(&e->events, &e->throttle)              ?:
		       scan_init(&e->scan, &parts)                        ?:
		       changes_init(&e->changes, &e->source)              ?:
		       ignored_init(&e->ignored, o->catalog_dir, &e->log) ?:
		       search_init(&e->search, &search);
}

int engine_open(const struct engine_options *options, struct engine **out)
{
	struct engine *e = calloc(1, sizeof(*e));
	int err;

	if (!e)
		return -ENOMEM;
	e->started_ms = clock_now_ms();
	e->options = *options;
	if (!options->workers)
		e->options.workers = processors_usable();
	err = open_source(e);
	if (!err)
		err = begin_catalog(e);
	if (!err)
		err = init_parts(e);
	if (err)
		engine_free(e);
	else
		*out = e;
	return err;
}

int engine_start(struct engine *e)
{
	int err = engine_start_loading(e);

	search_start(&e->search, &e->queue);
	if (!err)
		err = queue_start(&e->queue);
	if (!err)
		err = commit_start(&e->commit);
	if (err)
		return err;
	queue_want(&e->queue, QUEUE_FEED, 0);
	hash_want_texts(&e->hash);
	scan_request_tree(&e->scan);
	return scan_start(&e->scan);
}

void engine_end_waits(struct engine *e)
{
	atomic_store(&e->queries_end, true);
	queue_end_waits(&e->queue);
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	atomic_store(&e->stopping, true);
	engine_end_waits(e);
	engine_stop_loading(e);
	throttle_stop(&e->throttle);
	queue_stop(&e->queue);
	events_unblock(&e->events);
	scan_stop(&e->scan);
	hash_stop(&e->hash);
	commit_stop(&e->commit);
	changes_stop(&e->changes);
	search_stop(&e->search);
	queue_release(&e->queue);
	events_release(&e->events);
	changes_release(&e->changes);
	scan_release(&e->scan);
	search_release(&e->search);
	ignored_release(&e->ignored);
	throttle_release(&e->throttle);
	index_free(e->index);
	catalog_free(e->catalog);
	free(e);
}

void engine_file_key(const struct engine *e, int fd, const struct stat *st,
		     struct file_key *out)
{
	source_get_key(&e->source, fd, st, out);
}

/* ---- digests ---- */

int engine_ask(struct engine *e, int fd, uint32_t wanted,
	       struct file_digests *answer_out)
{
	return hash_ask(&e->hash, fd, wanted, answer_out);
}

bool engine_digests_hold(struct engine *e, int fd,
			 const struct file_digests *answer)
{
	return hash_answer_holds(&e->hash, fd, answer);
}

int engine_wait(struct engine *e, struct digests_wait *w)
{
	return hash_wait(&e->hash, w);
}

uint64_t engine_closings(struct engine *e)
{
	return queue_closings(&e->queue);
}

void engine_give_up(struct engine *e, uint64_t ticket)
{
	queue_give_up_waiting(&e->queue, ticket);
}

/* Begins to read about the regular file behind fd.  -ENODATA: it is another
 * one, or the catalog is not open. */
static int read_of_file(struct engine *e, int fd, struct stat *st_out,
			struct file_key *key_out, struct catalog_txn **txn_out)
{
	if (fstat(fd, st_out))
		return -errno;
	if (!S_ISREG(st_out->st_mode) || !catalog_is_open(e->catalog))
		return -ENODATA;
	source_get_key(&e->source, fd, st_out, key_out);
	return catalog_read(e->catalog, txn_out);
}

static int end_read_of_file(struct engine *e, struct catalog_txn *txn, int err)
{
	if (err == -EUCLEAN)
		catalog_found_damage(e->catalog);
	catalog_abort(txn);
	return err == -ENOENT || err == -EUCLEAN ? -ENODATA : err;
}

int engine_last_change(struct engine *e, int fd, struct catalog_change *out)
{
	struct catalog_txn *txn;
	struct file_key key;
	struct stat st;
	int err = read_of_file(e, fd, &st, &key, &txn);

	if (err)
		return err;
	return end_read_of_file(e, txn, catalog_change_get(txn, &key, out));
}

int engine_text(struct engine *e, int fd, bool trusted,
		struct content_text *out)
{
	struct file_identity identity;
	struct catalog_txn *txn;
	struct file_record rec;
	struct file_key key;
	struct stat st;
	int err = read_of_file(e, fd, &st, &key, &txn);

	if (err)
		return err;
	source_get_identity(&st, &identity);
	*out = (struct content_text){ .state = TEXT_NONE };
	err = catalog_file_get(txn, &key, &rec);
	if (!err && (rec.state == FILE_PENDING ||
		     !file_identity_equal(&rec.identity, &identity)))
		out->state = TEXT_PENDING;
	else if (!err && rec.state == FILE_FRESH)
		err = catalog_text_get(txn, rec.content, out);
	if (!err && !trusted && rec.state == FILE_FRESH &&
	    !catalog_text_is_told(txn, rec.content, &key))
		out->state = TEXT_PENDING;
	if (err == -ENOENT)
		err = 0;
	return end_read_of_file(e, txn, err);
}

/* ---- changes and control ---- */

int engine_watch_changes(struct engine *e, const struct search_caller *caller,
			 struct search_paths *within, const char *since,
			 struct changes_watcher **out)
{
	/* What was done before is told before, or not at all. */
	if (!since)
		(void)events_settle(&e->events);
	return changes_watch(&e->changes, caller, within, since, out);
}

bool engine_doubts_times(const struct engine *e)
{
	return e->source.filesystem.times == TIMES_DOUBTFUL;
}

void engine_rescan(struct engine *e)
{
	scan_request_tree(&e->scan);
}

void engine_hurry(struct engine *e)
{
	engine_hurry_until(e, clock_now_ms() + THROTTLE_HURRY_MS);
}

void engine_pause(struct engine *e, bool on)
{
	queue_pause(&e->queue, on);
}

struct searcher *engine_searcher(struct engine *e)
{
	return &e->search;
}

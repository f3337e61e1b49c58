/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/processors.h"
#include "core/engine/engine_impl.h"
#include "core/source/file.h"
#include "core/source/source.h"

/* ---- opening ---- */

static unsigned worker_count(const struct engine_options *options)
{
	return options->workers ? options->workers : processors_usable();
}

static int copy_options(struct engine *e, const struct engine_options *from)
{
	struct engine_options *to = &e->options;
	const char **globs;
	size_t i;

	*to = *from;
	to->catalog_dir = NULL;
	to->holder = NULL;
	to->exclude_count = 0;
	to->source = strdup(from->source);
	e->catalog_dir = strdup(from->catalog_dir);
	globs = calloc(from->exclude_count + 1, sizeof(*globs));
	to->excludes = globs;
	if (!to->source || !e->catalog_dir || !globs)
		return -ENOMEM;
	for (i = 0; i < from->exclude_count; i++) {
		globs[i] = strdup(from->excludes[i]);
		if (!globs[i])
			return -ENOMEM;
		to->exclude_count++;
	}
	to->workers = worker_count(from);
	return 0;
}

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
	};
	return source_init(&e->source);
}

static int begin_catalog(struct engine *e, const struct engine_options *from)
{
	struct catalog_options options = {
		.directory = from->catalog_dir,
		.holder = from->holder,
		.source = e->source.path,
		.digest_set = e->options.digest_set,
	};
	int err = index_new(&e->index);

	return err ? err : catalog_begin(&options, &e->catalog);
}

/* ---- the scan's callbacks, and the initialisation of the parts ---- */

static unsigned names_version(void *engine, const struct file_key *directory)
{
	struct engine *e = engine;

	return commit_names_version(&e->commit, directory);
}

static int settle_commits(void *engine)
{
	struct engine *e = engine;

	return commit_settle(&e->commit);
}

static bool wait_for_room(void *engine)
{
	struct engine *e = engine;

	return commit_wait_room(&e->commit);
}

static void throttle_scan(void *engine, int64_t *since_ns)
{
	struct engine *e = engine;

	(void)throttle_wait(&e->throttle, NULL, since_ns);
	gate_pass(&e->scan_gate, &e->scan_slice_ns);
}

static int64_t scan_due_ns(void *engine)
{
	struct engine *e = engine;

	/* throttle_wait() has charged the time. */
	return throttle_due_ns(&e->throttle, &(int64_t){ 0 });
}

static void scan_found_change(void *engine, const struct file_key *key,
			      const struct file_identity *identity)
{
	engine_file_closed(engine, key, identity);
}

static void scan_ended(void *engine)
{
	struct engine *e = engine;

	/* The scan counts on all moves being reported until its end, see
	 * scan_directory_moved(). */
	(void)host_catch_up(e);
	(void)catalog_trim_rss(e->catalog);
	commit_hurry(&e->commit);
	engine_reload_if_damaged(e);
}

static int init_scan(struct engine *e)
{
	const struct scan_context context = {
		.source = &e->source,
		.catalog = e->catalog,
		.log = &e->log,
		.stopping = &e->stopping,
		.ctx = e,
		.post_listing = engine_post_listing,
		.post_name = engine_post_name,
		.names_version = names_version,
		.settle = settle_commits,
		.wait_for_room = wait_for_room,
		.throttle = throttle_scan,
		.file_changed = scan_found_change,
		.tree_done = scan_ended,
	};
	int err = scan_init(&e->scan, &context);

	e->scan_gate.due_ns = scan_due_ns;
	e->scan_gate.arg = e;
	return err ? err : gate_init(&e->scan_gate);
}

static int init_throttle(struct engine *e)
{
	const struct throttle_context context = {
		.queue = &e->queue,
		.workers = e->options.workers,
		.rate = e->options.rate,
		.had_requests = e->options.host.had_requests,
		.ctx = e->options.host.ctx,
	};

	return throttle_init(&e->throttle, &context);
}

static int init_parts(struct engine *e)
{
	int err = queue_init(&e->queue, e->options.workers);

	if (!err)
		err = changes_init(&e->changes, &e->source, e->catalog);
	if (!err)
		err = engine_init_commit(e);
	if (!err)
		err = init_scan(e);
	if (!err)
		err = ignored_init(&e->ignored, e->catalog_dir, &e->log);
	if (!err)
		err = engine_init_search(e);
	if (!err)
		err = demand_pool_init(&e->on_demand, &e->source, &e->stopping);
	if (!err)
		err = init_throttle(e);
	if (!err)
		err = engine_init_hash(e);
	return err;
}

int engine_open(const struct engine_options *options, struct engine **out)
{
	struct engine *e = calloc(1, sizeof(*e));
	int err;

	if (!e)
		return -ENOMEM;
	e->started_ms = clock_now_ms();
	(void)pthread_mutex_init(&e->load_lock, NULL);
	err = copy_options(e, options);
	if (!err)
		err = open_source(e);
	if (!err)
		err = begin_catalog(e, options);
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
	demand_pool_start(&e->on_demand, &e->queue);
	if (!err)
		err = queue_start(&e->queue);
	if (!err)
		err = commit_start(&e->commit);
	if (err)
		return err;
	hash_want_feed(&e->hash);
	hash_feed(&e->hash);
	scan_request_tree(&e->scan);
	return scan_start(&e->scan);
}

void engine_free(struct engine *e)
{
	size_t i;

	if (!e)
		return;
	atomic_store(&e->stopping, true);
	engine_stop_loading(e);
	queue_stop(&e->queue);
	commit_unblock(&e->commit);
	gate_set(&e->scan_gate, true);
	scan_stop(&e->scan);
	hash_stop(&e->hash);
	commit_stop(&e->commit);
	changes_stop(&e->changes);
	search_stop(&e->search);
	demand_pool_stop(&e->on_demand);
	queue_release(&e->queue);
	commit_release(&e->commit);
	changes_release(&e->changes);
	scan_release(&e->scan);
	gate_release(&e->scan_gate);
	search_release(&e->search);
	ignored_release(&e->ignored);
	demand_pool_release(&e->on_demand);
	throttle_release(&e->throttle);
	hash_release(&e->hash);
	index_free(e->index);
	catalog_free(e->catalog);
	crew_release(&e->load);
	pthread_mutex_destroy(&e->load_lock);
	for (i = 0; i < e->options.exclude_count; i++)
		free((char *)e->options.excludes[i]);
	free((void *)e->options.excludes);
	free((char *)e->options.source);
	free(e->catalog_dir);
	free(e);
}

void engine_file_key(const struct engine *e, int fd, const struct stat *st,
		     struct file_key *out)
{
	source_get_key(&e->source, fd, st, out);
}

/* ---- digests ---- */

static int ask_catalog(struct engine *e, const struct file_key *key,
		       const struct file_identity *identity, uint32_t wanted,
		       struct file_digests *out)
{
	struct catalog_txn *txn;
	struct file_record rec;
	int err = catalog_read(e->catalog, &txn);

	if (err == -EUCLEAN)
		engine_reload_if_damaged(e);
	if (err)
		return err == -EUCLEAN ? 0 : err;
	err = catalog_file_get(txn, key, &rec);
	if (!err && !file_identity_equal(&rec.identity, identity))
		err = -ENOENT;
	if (!err && rec.state == FILE_FRESH) {
		err = catalog_content_some(txn, rec.content, wanted,
					   &out->digests);
		if (!err)
			out->state = DIGESTS_FRESH;
	} else if (!err && rec.state == FILE_FAILED) {
		out->state = DIGESTS_FAILED;
		out->error = rec.error;
	}
	if (err == -EUCLEAN)
		catalog_found_damage(e->catalog);
	catalog_abort(txn);
	if (err == -EUCLEAN)
		engine_reload_if_damaged(e);
	/* Where the catalog is damaged, the file is pending and hashed again. */
	return err == -ENOENT || err == -EUCLEAN ? 0 : err;
}

/* Looks in the queue first: it has results that are not committed yet. */
static int ask_queue_and_catalog(struct engine *e, const struct file_key *key,
				 const struct file_identity *identity,
				 uint32_t wanted, struct file_digests *out)
{
	enum queue_view view;
	int err, error = 0;

	err = queue_look(&e->queue, key, identity, &view, &error,
			 &out->digests);
	if (err || view == QUEUE_CHANGED)
		return err;
	if (view != QUEUE_RESULT)
		return ask_catalog(e, key, identity, wanted, out);
	out->state = error ? DIGESTS_FAILED : DIGESTS_FRESH;
	out->error = error;
	return 0;
}

bool host_catch_up(const struct engine *e)
{
	const struct engine_host *host = &e->options.host;

	return !host->catch_up || host->catch_up(host->ctx);
}

static enum digests_state state_of_use(enum source_use use)
{
	switch (use) {
	case SOURCE_WRITTEN:
		return DIGESTS_BUSY;
	case SOURCE_CLOSING:
		return DIGESTS_CLOSED;
	case SOURCE_UNUSED:
		break;
	}
	return DIGESTS_PENDING;
}

/* Whether equal identities mean equal content.  Where timestamps do not show
 * every change, they do not while the file is open for writing. */
static bool is_identity_reliable(const struct engine *e,
				 const struct file_key *key,
				 const struct stat *st)
{
	return source_get_times(&e->source, key) == TIMES_OWN ||
	       source_get_use(&e->source, st) == SOURCE_UNUSED;
}

bool engine_digests_hold(struct engine *e, int fd,
			 const struct file_digests *answer)
{
	struct file_identity identity;
	struct file_key key;
	struct stat st;

	if (answer->state != DIGESTS_FRESH && answer->state != DIGESTS_FAILED)
		return false;
	if (fstat(fd, &st))
		return false;
	source_get_key(&e->source, fd, &st, &key);
	source_get_identity(&st, &identity);
	return file_key_equal(&key, &answer->key) &&
	       file_identity_equal(&identity, &answer->identity) &&
	       is_identity_reliable(e, &key, &st) &&
	       !queue_doubts_file(&e->queue, &key);
}

int engine_ask(struct engine *e, int fd, uint32_t wanted,
	       struct file_digests *answer_out)
{
	struct file_digests answer = { .state = DIGESTS_PENDING };
	struct stat st;
	const char *rule;
	int err = 0;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return -ENODATA;
	rule = source_skip_rule_at(&e->source, fd, &st);
	if (rule) {
		answer.state = DIGESTS_SKIPPED;
		(void)snprintf(answer.rule, sizeof(answer.rule), "%s", rule);
		*answer_out = answer;
		return 0;
	}
	if (S_ISDIR(st.st_mode))
		return -ENODATA;
	source_get_key(&e->source, fd, &st, &answer.key);
	source_get_identity(&st, &answer.identity);
	/* This function must not wait until the catalog is open. */
	if (catalog_is_open(e->catalog) &&
	    is_identity_reliable(e, &answer.key, &st))
		err = ask_queue_and_catalog(e, &answer.key, &answer.identity,
					    wanted, &answer);
	else
		engine_reload_if_damaged(e);
	if (err)
		return err;
	if (answer.state == DIGESTS_PENDING)
		answer.state = state_of_use(source_get_use(&e->source, &st));
	*answer_out = answer;
	return 0;
}

int engine_last_change(struct engine *e, int fd, struct catalog_change *out)
{
	struct catalog_txn *txn;
	struct file_key key;
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || !catalog_is_open(e->catalog))
		return -ENODATA;
	source_get_key(&e->source, fd, &st, &key);
	err = catalog_read(e->catalog, &txn);
	if (!err) {
		err = catalog_change_get(txn, &key, out);
		if (err == -EUCLEAN)
			catalog_found_damage(e->catalog);
		catalog_abort(txn);
	}
	if (err == -EUCLEAN)
		engine_reload_if_damaged(e);
	return err == -ENOENT || err == -EUCLEAN ? -ENODATA : err;
}

int engine_digest_on_demand(struct engine *e, const struct demand_query *q)
{
	return demand_pool_post(&e->on_demand, q);
}

/* ---- changes and control ---- */

int engine_watch_changes(struct engine *e, const struct search_caller *caller,
			 struct search_paths *within, void (*wake)(void *arg),
			 void *arg, struct changes_watcher **out)
{
	return changes_watch(&e->changes, caller, within, wake, arg, out);
}

bool engine_doubts_times(const struct engine *e)
{
	return e->source.times == TIMES_DOUBTFUL;
}

void engine_rescan(struct engine *e)
{
	scan_request_tree(&e->scan);
}

void engine_hurry(struct engine *e)
{
	throttle_hurry(&e->throttle);
}

void engine_pause(struct engine *e, bool on)
{
	queue_pause(&e->queue, on);
}

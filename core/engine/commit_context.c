/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/engine_impl.h"

/* The committer's callbacks. */

static void rescan_tree(void *engine)
{
	struct engine *e = engine;

	scan_request_tree(&e->scan);
}

static void rescan_directory(void *engine, const struct file_key *key,
			     bool deep)
{
	struct engine *e = engine;

	scan_request(&e->scan, key, deep);
}

static void rescan_unknown(void *engine, const struct file_key *key)
{
	struct engine *e = engine;

	scan_request_unknown(&e->scan, key);
}

static void batch_boundary(void *engine, bool begins)
{
	struct engine *e = engine;

	scan_defer_requests(&e->scan, begins);
}

static void pending_added(void *engine)
{
	struct engine *e = engine;

	hash_want_feed(&e->hash);
}

static void result_committed(void *engine, struct result *r)
{
	struct engine *e = engine;

	queue_committed(&e->queue, r);
}

/* By now the batch's results have left the queue, so there is room to feed
 * it. */
static void batch_attempted(void *engine, uint64_t number)
{
	struct engine *e = engine;

	hash_feed(&e->hash);
	search_committed(&e->search, number);
	engine_reload_if_damaged(e);
}

static bool is_watched(void *engine)
{
	struct engine *e = engine;

	return changes_are_watched(&e->changes);
}

static void changed(void *engine, struct catalog_changes *changes)
{
	struct engine *e = engine;

	changes_post(&e->changes, changes);
}

static void catalog_damaged(void *engine)
{
	engine_await_reload(engine);
}

int engine_init_commit(struct engine *e)
{
	const struct commit_context context = {
		.source = &e->source,
		.catalog = e->catalog,
		.index = e->index,
		.throttle = &e->throttle,
		.log = &e->log,
		.ctx = e,
		.rescan_tree = rescan_tree,
		.rescan = rescan_directory,
		.rescan_unknown = rescan_unknown,
		.batch = batch_boundary,
		.pending_added = pending_added,
		.result_committed = result_committed,
		.is_watched = is_watched,
		.changed = changed,
		.catalog_damaged = catalog_damaged,
		.attempted = batch_attempted,
	};

	return commit_init(&e->commit, &context);
}

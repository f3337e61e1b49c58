/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/engine/engine_impl.h"

/* The hashing workers' callbacks. */

static int post_result(void *engine, struct result *r)
{
	struct engine *e = engine;
	struct event *ev = event_new(EVENT_RESULT);

	if (!ev)
		return -ENOMEM;
	ev->result = r;
	return commit_post(&e->commit, ev);
}

/* Without memory the event is dropped; the file stays on the pending list. */
static void post_key(struct engine *e, enum event_kind kind,
		     const struct file_key *key)
{
	struct event *ev = event_new(kind);

	if (!ev)
		return;
	ev->key = *key;
	(void)commit_post(&e->commit, ev);
}

static void file_excluded(void *engine, const struct file_key *key)
{
	post_key(engine, EVENT_FORGET, key);
}

static void file_missing(void *engine, const struct file_key *key)
{
	post_key(engine, EVENT_MISSED, key);
}

static void report_path(void *engine, int fd, const struct file_key *key)
{
	struct engine *e = engine;

	scan_report_path(&e->scan, fd, key);
}

static bool has_metadata_changes(void *engine)
{
	struct engine *e = engine;
	struct commit_counts counts;

	commit_counts(&e->commit, &counts);
	return counts.metadata_changes && !counts.error;
}

static void hurry_commit(void *engine)
{
	struct engine *e = engine;

	commit_hurry(&e->commit);
}

static void wait_writable(void *engine)
{
	struct engine *e = engine;

	commit_wait_writable(&e->commit);
}

static bool catch_up(void *engine)
{
	return host_catch_up(engine);
}

int engine_init_hash(struct engine *e)
{
	const struct hash_context context = {
		.source = &e->source,
		.catalog = e->catalog,
		.queue = &e->queue,
		.throttle = &e->throttle,
		.log = &e->log,
		.stopping = &e->stopping,
		.digest_set = e->options.digest_set,
		.workers = e->options.workers,
		.ctx = e,
		.post_result = post_result,
		.file_excluded = file_excluded,
		.file_missing = file_missing,
		.report_path = report_path,
		.metadata_changes = has_metadata_changes,
		.hurry_commit = hurry_commit,
		.wait_writable = wait_writable,
		.catch_up = catch_up,
	};

	return hash_init(&e->hash, &context);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/engine/engine_impl.h"

/* The search's callbacks, and the host's queries, which go to the search. */

static int get_digests(void *engine, int fd, uint32_t wanted,
		       struct file_digests *out)
{
	return engine_ask(engine, fd, wanted, out);
}

static bool digests_hold(void *engine, int fd,
			 const struct file_digests *answer)
{
	return engine_digests_hold(engine, fd, answer);
}

static int wait_digests(void *engine, struct digests_wait *w)
{
	return engine_wait(engine, w);
}

static void commit_position(void *engine, uint64_t *posted_out,
			    uint64_t *attempted_out)
{
	struct engine *e = engine;
	struct commit_counts counts;

	commit_counts(&e->commit, &counts);
	*posted_out = counts.posted;
	*attempted_out = counts.attempted;
}

static void hurry_commit(void *engine)
{
	struct engine *e = engine;

	commit_hurry(&e->commit);
}

/* Whether files of the scan are still to be hashed, or some change all the
 * time.  Files that were closed a moment ago do not count, as a tree in use
 * would never be complete; nor does a later scan, of a tree that is known. */
static bool is_incomplete(void *engine, bool *only_pending_out)
{
	struct engine *e = engine;
	struct queue_counts counts;

	/* In the order in which a file passes through them, see status.c. */
	*only_pending_out =
		!scan_is_running(&e->scan) || atomic_load(&e->scan.walks);
	if (!*only_pending_out || hash_is_feeding(&e->hash))
		return true;
	queue_counts(&e->queue, &counts);
	return counts.scanned || counts.unsteady;
}

static bool is_recent(void *engine, const struct file_key *key)
{
	struct engine *e = engine;

	return queue_is_recent(&e->queue, key);
}

static void file_changed(void *engine, const struct file_key *key,
			 const struct file_identity *identity)
{
	struct engine *e = engine;

	(void)queue_push(&e->queue, key, JOB_CLOSED, identity);
}

static bool ignores_any(void *engine)
{
	struct engine *e = engine;

	ignored_refresh(&e->ignored);
	return ignored_any(&e->ignored);
}

static bool is_ignored(void *engine, const struct digests *a,
		       const struct digests *b)
{
	struct engine *e = engine;

	return ignored_has(&e->ignored, a, b);
}

static void catalog_damaged(void *engine)
{
	engine_reload_if_damaged(engine);
}

int engine_init_search(struct engine *e)
{
	const struct search_context context = {
		.source = &e->source,
		.catalog = e->catalog,
		.index = e->index,
		.stopping = &e->stopping,
		.threshold = e->options.threshold,
		.share_min = e->options.share_min ? e->options.share_min :
						    INDEX_SHARE_MIN,
		.limit = e->options.limit,
		.measure = e->options.measure,
		.ctx = e,
		.get_digests = get_digests,
		.digests_hold = digests_hold,
		.wait_digests = wait_digests,
		.commit_position = commit_position,
		.commit_hurry = hurry_commit,
		.is_incomplete = is_incomplete,
		.is_recent = is_recent,
		.catalog_damaged = catalog_damaged,
		.file_changed = file_changed,
		.ignores_any = ignores_any,
		.is_ignored = is_ignored,
	};

	return search_init(&e->search, &context);
}

int engine_similar(struct engine *e, const struct search_file_query *q,
		   const struct search_caller *caller, search_hits_fn *done,
		   void *arg)
{
	return search_file(&e->search, q, caller, done, arg);
}

int engine_similar_to(struct engine *e, const struct digests *digests,
		      enum index_relation relation,
		      const struct search_caller *caller, search_hits_fn *done,
		      void *arg)
{
	return search_content(&e->search, digests, relation, caller, done, arg);
}

int engine_directories(struct engine *e, int fd,
		       const struct search_caller *caller, search_hits_fn *done,
		       void *arg)
{
	return search_directories(&e->search, fd, caller, done, arg);
}

int engine_browse(struct engine *e, int fd, const struct search_caller *caller,
		  search_entries_fn *done, void *arg)
{
	return search_browse(&e->search, fd, caller, done, arg);
}

int engine_find_groups(struct engine *e, const struct file_groups_query *query,
		       const struct search_caller *caller,
		       struct file_groups_watch *watch)
{
	return search_groups(&e->search, query, caller, watch);
}

int engine_group_files(struct engine *e, struct file_groups *groups,
		       const struct search_group_range *range,
		       const struct search_caller *caller,
		       search_group_files_fn *done, void *arg)
{
	return search_group_files(&e->search, groups, range, caller, done, arg);
}

bool engine_hit_holds(const struct engine *e, const char *path,
		      const struct file_key *key,
		      const struct file_identity *identity)
{
	return search_hit_holds(&e->source, path, key, identity);
}

bool engine_directory_holds(const struct engine *e, const char *path,
			    const struct file_key *key)
{
	return search_directory_holds(&e->source, path, key);
}

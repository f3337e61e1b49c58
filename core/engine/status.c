/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/json.h"
#include "core/engine/engine_impl.h"

/* The state of all parts, read one after the other: each number is right, but
 * they are not all of the same moment. */
struct snapshot {
	struct catalog_counts catalog;
	struct queue_counts queue;
	struct event_counts commit;
	uint64_t catalog_bytes;
	int catalog_error; /* why there are no digests, or none are written */
	unsigned walks;    /* over the whole tree, finished */
	size_t lacks; /* requests of the scan that wait for a lack to pass */
	bool catalog_open, caught_up, scan_idle, quiet, texts_busy;
	/* The path of queue.longest, or "..." and its end; empty: none. */
	struct buf longest;
};

static int find_longest(const struct engine *e, struct catalog_txn *txn,
			struct snapshot *s)
{
	struct catalog_walk *walk = NULL;
	const char *path, *end;
	int err;

	if (!s->queue.longest_left)
		return 0;
	err = catalog_paths_begin(txn, &e->source.root, &s->queue.longest,
				  &walk);
	if (!err)
		err = catalog_paths_next(walk, &path);
	if (err == 1) {
		/* The status is an attribute, which has 64 KB at most. */
		end = strlen(path) < PATH_MAX ?
			      path :
			      strchr(path + strlen(path) - PATH_MAX, '/');
		err = buf_append_format(&s->longest, "%s%s",
					end == path ? "" : "...", end);
	}
	catalog_walk_end(walk);
	return err;
}

static int take_snapshot(struct engine *e, struct snapshot *s)
{
	struct event_counts before;
	struct catalog_txn *txn;
	int err;

	/* In the order in which a file passes through the parts (host, scan,
	 * events, queue, events again): a file that moves on meanwhile
	 * is found in the next part. */
	s->caught_up = source_catch_up(&e->source);
	events_counts(&e->events, &before);
	s->scan_idle = scan_is_idle(&e->scan);
	s->lacks = scan_count_lacks(&e->scan);
	events_counts(&e->events, &s->commit);
	queue_counts(&e->queue, &s->queue);
	s->quiet = !s->commit.events && !s->queue.feeding;
	s->walks = atomic_load(&e->scan.walks);
	/* An event that was applied may have sent a request to the scan. */
	s->scan_idle = scan_is_idle(&e->scan) && s->scan_idle;
	s->texts_busy = hash_has_texts_to_tell(&e->hash);
	events_counts(&e->events, &s->commit);
	s->quiet = s->quiet && s->commit.posted == before.posted;
	s->catalog_error = catalog_failure(e->catalog);
	if (!s->catalog_error)
		s->catalog_error = s->commit.error;
	s->catalog_open = catalog_is_open(e->catalog);
	if (!s->catalog_open)
		return 0;
	err = catalog_read(e->catalog, &txn);
	if (!err) {
		err = catalog_counts(txn, &s->catalog);
		if (!err)
			err = find_longest(e, txn, s);
		catalog_abort(txn);
	}
	s->catalog_bytes = catalog_bytes(e->catalog);
	s->catalog_open = catalog_is_open(e->catalog);
	return s->catalog_open ? err : 0;
}

static bool is_idle(const struct snapshot *s)
{
	const struct queue_counts *q = &s->queue;

	return s->catalog_open && s->caught_up && s->scan_idle && s->quiet &&
	       !s->commit.events && !q->queued && !q->running &&
	       q->delayed == q->unsteady && !s->texts_busy;
}

/* Paused, and all remaining work waits for the end of the pause. */
static bool is_stalled(const struct snapshot *s)
{
	const struct queue_counts *q = &s->queue;

	return q->paused && s->caught_up && s->scan_idle && !s->commit.events &&
	       !q->running &&
	       (q->queued || s->catalog.pending || s->texts_busy);
}

static json_t *digest_names(uint32_t set)
{
	json_t *names = json_array();
	int id;

	for (id = 0; names && id < DIGEST_COUNT; id++)
		if (set & DIGEST_BIT(id))
			json_array_append_new(
				names, json_string(digest_table[id]->name));
	return names;
}

/* Of the files and of the texts that are known to be made: 100 only when idle and
 * nothing is left, 0 while nobody knows how many files there are.  Includes the
 * parts of files that are being read. */
static uint64_t percent(const struct snapshot *s, bool makes_texts)
{
	const struct catalog_counts *c = &s->catalog;
	const struct queue_counts *q = &s->queue;
	double reading = (double)q->running, done;

	if (is_idle(s) && !q->unsteady && !c->pending)
		return 100;
	if (!c->files || c->pending > c->files || !s->walks)
		return 0;
	if (reading > (double)c->pending)
		reading = (double)c->pending;
	done = (double)(c->files - c->pending);
	if (q->size)
		done += reading * (double)q->done / (double)q->size;
	if (!makes_texts)
		return (uint64_t)(99 * done / (double)c->files);
	done += (double)(c->texts + c->failed_texts);
	return (uint64_t)(99 * done /
			  (double)(c->files + c->texts + c->failed_texts +
				   c->pending_texts));
}

static json_int_t number(uint64_t n)
{
	return (json_int_t)n;
}

static json_t *status_object(struct engine *e, const struct snapshot *s)
{
	const struct engine_options *o = &e->options;
	const struct catalog_counts *c = &s->catalog;
	const struct queue_counts *q = &s->queue;
	const int64_t since_ms = clock_now_ms() - e->started_ms;

	return json_pack(
		"{s:o, s:i, s:o, s:b, s:s?, s:b, s:I, s:I,"
		" s:{s:b, s:I, s:I}, s:{s:I, s:I, s:I}, s:{s:I, s:I, s:I},"
		" s:{s:o, s:b, s:I, s:s?}, s:{s:s, s:I, s:I, s:I},"
		" s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I,"
		" s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
		"source", json_text(e->source.path), "threshold", o->threshold,
		"digests", digest_names(o->digest_set), "idle", is_idle(s),
		"paused", q->paused ? "asked" : NULL, "stalled", is_stalled(s),
		"rate", number(o->rate), "share_min",
		number(e->search.context.share_min),

		"scan", "running", atomic_load(&e->scan.running), "files_seen",
		number(atomic_load(&e->scan.files)), "scans", number(s->walks),

		"hashed", "files", number(atomic_load(&e->hash.files)), "bytes",
		number(atomic_load(&e->hash.bytes)), "since",
		(json_int_t)since_ms / 1000,

		/* of the files that are being read */
		"progress", "done", number(q->done), "size", number(q->size),
		"speed", number(q->speed),

		"catalog", "path", json_text(o->catalog_dir), "open",
		s->catalog_open, "bytes", number(s->catalog_bytes), "error",
		s->catalog_error ? err_text(s->catalog_error) : NULL,

		"texts", "state",
		o->texts         ? "on" :
		o->texts_missing ? "not installed" :
				   "off",
		"made", number(c->texts), "pending", number(c->pending_texts),
		"failed", number(c->failed_texts),

		"percent", number(percent(s, o->texts)), "files",
		number(c->files), "directories", number(c->directories),
		"fresh", number(c->fresh), "pending", number(c->pending),
		"pending_bytes", number(c->pending_bytes), "failed",
		number(c->failed), "unread", number(c->unread + s->lacks),
		"skipped", number(atomic_load(&e->scan.skipped)),

		"queue", number(q->queued + q->delayed), "hashing",
		number(q->running), "uncommitted", number(s->commit.events),
		"unsteady", number(q->unsteady), "waiting", number(q->waiting),
		"contents", number(c->contents), "content_bytes",
		number(c->content_bytes), "index_bytes",
		number(index_bytes(e->index)));
}

int engine_status(struct engine *e, json_t **out)
{
	struct snapshot s = { 0 };
	json_t *longest;
	int err = take_snapshot(e, &s);

	if (!err && is_idle(&s))
		engine_hurry_until(e, 0);
	if (!err) {
		*out = status_object(e, &s);
		err = *out ? 0 : -ENOMEM;
	}
	if (!err && s.longest.len) {
		longest = json_pack("{s:I, s:I}", "size",
				    number(s.queue.longest_size), "left",
				    number(s.queue.longest_left));
		longest = json_with_path(longest, "path", s.longest.data);
		(void)json_object_set_new(*out, "longest", longest);
	}
	buf_release(&s.longest);
	return err;
}

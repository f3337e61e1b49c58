/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

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
	bool catalog_open, caught_up, scan_idle, quiet, texts_busy;
};

static int take_snapshot(struct engine *e, struct snapshot *s)
{
	struct event_counts before;
	struct catalog_txn *txn;
	int err;

	/* In the order in which a file passes through the parts (host, scan,
	 * events, feeder, queue, events again): a file that moves on meanwhile
	 * is found in the next part. */
	s->caught_up = source_catch_up(&e->source);
	events_counts(&e->events, &before);
	s->scan_idle = scan_is_idle(&e->scan);
	events_counts(&e->events, &s->commit);
	s->quiet = !s->commit.events && !hash_is_feeding(&e->hash);
	queue_counts(&e->queue, &s->queue);
	s->walks = atomic_load(&e->scan.walks);
	/* An event that was applied may have sent a request to the scan. */
	s->scan_idle = scan_is_idle(&e->scan) && s->scan_idle;
	s->texts_busy = hash_has_texts_to_make(&e->hash);
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

static json_t *scan_object(struct engine *e)
{
	return json_pack("{s:b, s:I, s:I}", "running",
			 atomic_load(&e->scan.running), "files_seen",
			 (json_int_t)atomic_load(&e->scan.files), "scans",
			 (json_int_t)atomic_load(&e->scan.walks));
}

static json_t *hashed_object(struct engine *e)
{
	int64_t since = (clock_now_ms() - e->started_ms) / 1000;

	return json_pack("{s:I, s:I, s:I}", "files",
			 (json_int_t)atomic_load(&e->hash.files), "bytes",
			 (json_int_t)atomic_load(&e->hash.bytes), "since",
			 (json_int_t)since);
}

/* The progress of the files that are being read. */
static json_t *progress_object(const struct queue_counts *q)
{
	return json_pack("{s:I, s:I, s:I}", "done", (json_int_t)q->done, "size",
			 (json_int_t)q->size, "speed", (json_int_t)q->speed);
}

static json_t *catalog_object(struct engine *e, const struct snapshot *s)
{
	json_t *error = s->catalog_error ?
				json_string(err_text(s->catalog_error)) :
				json_null();

	return json_pack("{s:o, s:b, s:I, s:o}", "path",
			 json_text(e->options.catalog_dir), "open",
			 s->catalog_open, "bytes", (json_int_t)s->catalog_bytes,
			 "error", error);
}

/* The texts of documents. */
static json_t *texts_object(struct engine *e, const struct snapshot *s)
{
	const struct engine_options *o = &e->options;

	return json_pack("{s:s, s:I, s:I}", "state",
			 o->texts         ? "on" :
			 o->texts_missing ? "not installed" :
					    "off",
			 "made", (json_int_t)s->catalog.texts, "pending",
			 (json_int_t)s->catalog.pending_texts);
}

static void set_number(json_t *o, const char *name, uint64_t value)
{
	json_object_set_new(o, name, json_integer((json_int_t)value));
}

/* 100 only when idle and nothing is left, 0 while nobody knows how many files
 * there are.  Includes the parts of files that are being read. */
static uint64_t percent(const struct snapshot *s)
{
	const struct catalog_counts *c = &s->catalog;
	const struct queue_counts *q = &s->queue;
	double reading = (double)q->running, done;

	if (is_idle(s) && !q->unsteady)
		return 100;
	if (!c->files || c->pending > c->files || !s->walks)
		return 0;
	if (reading > (double)c->pending)
		reading = (double)c->pending;
	done = (double)(c->files - c->pending);
	if (q->size)
		done += reading * (double)q->done / (double)q->size;
	return (uint64_t)(99 * done / (double)c->files);
}

static void set_counts(json_t *o, struct engine *e, const struct snapshot *s)
{
	set_number(o, "percent", percent(s));
	set_number(o, "files", s->catalog.files);
	set_number(o, "directories", s->catalog.directories);
	set_number(o, "fresh", s->catalog.fresh);
	set_number(o, "pending", s->catalog.pending);
	set_number(o, "pending_bytes", s->catalog.pending_bytes);
	set_number(o, "failed", s->catalog.failed);
	set_number(o, "skipped", atomic_load(&e->scan.skipped));
	set_number(o, "queue", s->queue.queued + s->queue.delayed);
	set_number(o, "hashing", s->queue.running);
	set_number(o, "uncommitted", s->commit.events);
	set_number(o, "unsteady", s->queue.unsteady);
	set_number(o, "waiting", s->queue.waiting);
	set_number(o, "contents", s->catalog.contents);
	set_number(o, "content_bytes", s->catalog.content_bytes);
	set_number(o, "index_bytes", index_bytes(e->index));
}

int engine_status(struct engine *e, json_t **out)
{
	struct snapshot s = { 0 };
	int err = take_snapshot(e, &s);
	json_t *o;

	if (err)
		return err;
	if (is_idle(&s)) {
		throttle_end_hurry(&e->throttle);
		queue_hurry(&e->queue, 0);
	}
	o = json_pack("{s:o, s:i, s:o, s:o, s:o, s:o, s:b}", "source",
		      json_text(e->source.path), "threshold",
		      e->options.threshold, "digests",
		      digest_names(e->options.digest_set), "scan",
		      scan_object(e), "hashed", hashed_object(e), "catalog",
		      catalog_object(e, &s), "idle", is_idle(&s));
	if (!o)
		return -ENOMEM;
	json_object_set_new(o, "progress", progress_object(&s.queue));
	json_object_set_new(o, "texts", texts_object(e, &s));
	json_object_set_new(o, "paused",
			    s.queue.paused ? json_string("asked") :
					     json_null());
	json_object_set_new(o, "stalled", json_boolean(is_stalled(&s)));
	set_number(o, "rate", e->options.rate);
	set_number(o, "share_min", e->search.context.share_min);
	set_counts(o, e, &s);
	*out = o;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/commit/commit.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/commit/apply.h"
#include "core/engine/engine_impl.h"

enum {
	BATCH_EVENTS = 4096,  /* a commit at least this often */
	BATCH_MS = 5000,      /* ... and this soon after a post */
	QUIET_MS = 250,       /* ... or so soon when no other one follows */
	BATCH_MAX = 16384,    /* events of one transaction */
	RETRY_MS = 2000,      /* after a failure */
	SCAN_ROOM = 256,      /* listings under way */
	EVENTS_MANY = 32768,  /* then nobody rests before they are written */
	EVENTS_MAX = 262144,  /* then names are dropped */
	STUCK_RESULTS = 4096, /* results kept while nothing can be written */
};

static void event_free(struct event *ev)
{
	result_free(ev->result);
	source_listing_free(ev->listing);
	free(ev->name);
	free(ev->new_name);
	free(ev);
}

/* ---- versions of names ---- */

static atomic_uint *version_of(struct commit *c, const struct file_key *dir)
{
	uint64_t h = (dir->inode ^ dir->device) * UINT64_C(0x9e3779b97f4a7c15);

	return &c->versions[(h >> 40) % NAME_VERSIONS];
}

unsigned commit_names_version(struct commit *c, const struct file_key *dir)
{
	return atomic_load(version_of(c, dir));
}

void commit_names_changed(struct commit *c, const struct file_key *dir)
{
	atomic_fetch_add(version_of(c, dir), 1);
}

/* ---- posting ---- */

static bool is_dispensable(const struct event *ev)
{
	return ev->kind != EVENT_RESULT;
}

static bool is_stuck(const struct commit *c)
{
	return c->error && c->results >= STUCK_RESULTS;
}

static bool is_stale(struct commit *c, const struct event *ev)
{
	const struct source_listing *l = ev->listing;

	if (l)
		return commit_names_version(c, &l->directory) != l->version;
	return ev->learned &&
	       commit_names_version(c, &ev->parent) != ev->version;
}

static int post_locked(struct commit *c, struct event *ev)
{
	if (c->stopped)
		return -ECANCELED;
	if (is_stale(c, ev))
		return -ESTALE;
	if (c->count >= EVENTS_MAX && is_dispensable(ev))
		return -ENOBUFS;
	if (ev->kind == EVENT_RESULT && is_stuck(c))
		return -ENOSPC;
	c->newest_ms = clock_now_ms();
	if (!c->count)
		c->oldest_ms = c->newest_ms;
	ev->next = NULL;
	if (c->last)
		c->last->next = ev;
	else
		c->first = ev;
	c->last = ev;
	c->count++;
	c->results += ev->kind == EVENT_RESULT;
	c->touches += ev->kind == EVENT_METADATA;
	c->listings += ev->kind == EVENT_LISTING;
	c->posted++;
	if (c->count == 1 || c->count == BATCH_EVENTS ||
	    c->listings == SCAN_ROOM)
		pthread_cond_signal(&c->work);
	if (c->count == EVENTS_MANY)
		gate_set(&c->gate, true);
	return 0;
}

int commit_post(struct engine *e, struct event *ev)
{
	struct commit *c = &e->commit;
	int err;

	pthread_mutex_lock(&c->lock);
	err = post_locked(c, ev);
	pthread_mutex_unlock(&c->lock);
	if (!err)
		return 0;
	if (ev->kind == EVENT_RESULT)
		ev->result = NULL; /* stays the caller's */
	if (err == -ESTALE)
		ev->listing = NULL;
	event_free(ev);
	if (err == -ENOBUFS)
		scan_request_tree(&e->scan);
	return err;
}

static void hurry_locked(struct commit *c)
{
	if (!c->count)
		return;
	c->urgent = true;
	gate_set(&c->gate, true);
	pthread_cond_signal(&c->work);
}

void commit_hurry(struct engine *e)
{
	struct commit *c = &e->commit;

	pthread_mutex_lock(&c->lock);
	hurry_locked(c);
	pthread_mutex_unlock(&c->lock);
}

bool commit_wait_room(struct engine *e)
{
	struct commit *c = &e->commit;
	bool room;

	pthread_mutex_lock(&c->lock);
	while (!atomic_load(&e->stopping) &&
	       (c->listings >= SCAN_ROOM || c->count >= EVENTS_MANY))
		pthread_cond_wait(&c->room, &c->lock);
	room = !atomic_load(&e->stopping);
	pthread_mutex_unlock(&c->lock);
	return room;
}

void commit_wait_writable(struct engine *e)
{
	struct commit *c = &e->commit;

	pthread_mutex_lock(&c->lock);
	while (!atomic_load(&e->stopping) && is_stuck(c))
		pthread_cond_wait(&c->room, &c->lock);
	pthread_mutex_unlock(&c->lock);
}

int commit_settle(struct engine *e)
{
	struct commit *c = &e->commit;
	uint64_t posted;
	int err;

	pthread_mutex_lock(&c->lock);
	posted = c->posted;
	hurry_locked(c);
	while (!atomic_load(&e->stopping) && !c->error && c->committed < posted)
		pthread_cond_wait(&c->room, &c->lock);
	err = atomic_load(&e->stopping) ? -ECANCELED : c->error;
	pthread_mutex_unlock(&c->lock);
	return err;
}

void commit_unblock(struct engine *e)
{
	struct commit *c = &e->commit;

	pthread_mutex_lock(&c->lock);
	pthread_cond_broadcast(&c->room);
	pthread_mutex_unlock(&c->lock);
}

void commit_counts(struct commit *c, struct commit_counts *out)
{
	pthread_mutex_lock(&c->lock);
	*out = (struct commit_counts){
		.events = c->count,
		.results = c->results,
		.touches = c->touches,
		.posted = c->posted,
		.attempted = c->attempted,
		.error = c->error,
	};
	pthread_mutex_unlock(&c->lock);
}

/* ---- batches ---- */

/* Tries to write the events first..(number of them); 0 or why not. */
static int write_batch(struct engine *e, const struct event *ev, size_t count,
		       struct catalog_changes *changes)
{
	struct catalog_txn *txn;
	int64_t slice_ns = 0;
	int err;

	err = catalog_write(e->catalog, &txn);
	if (err)
		return err;
	while (!err && count--) {
		gate_pass(&e->commit.gate, &slice_ns);
		err = event_apply(e, txn, ev);
		if (count) /* the last one's successor is not ours to read */
			ev = ev->next;
	}
	if (err) {
		catalog_abort(txn);
		return err;
	}
	slice_ns = 0;
	gate_pass(&e->commit.gate, &slice_ns);
	return catalog_commit(txn, changes);
}

static int write_batch_growing(struct engine *e, const struct event *ev,
			       size_t count, struct catalog_changes *changes)
{
	int err = write_batch(e, ev, count, changes);

	while (err == -E2BIG) {
		err = catalog_grow(e->catalog);
		if (!err)
			err = write_batch(e, ev, count, changes);
	}
	return err;
}

static int index_one(struct engine *e, struct catalog_txn *txn,
		     uint32_t content)
{
	struct sif_sketch sketch;
	struct digests d;
	int err = catalog_content_brief(txn, content, &d);
	bool has_sketch;

	if (err || !d.size)
		return err;
	err = catalog_sketch_get(txn, content, &sketch);
	has_sketch = !err;
	if (err && err != -ENOENT)
		return err;
	return index_add(e->index, content, &d, has_sketch ? &sketch : NULL);
}

static void update_index(struct engine *e, const struct catalog_changes *ch)
{
	struct catalog_txn *txn;
	int64_t slice_ns = 0;
	size_t i;
	int err;

	for (i = 0; i < ch->removed_count; i++)
		(void)index_remove(e->index, ch->removed[i]);
	if (!ch->added_count)
		return;
	err = catalog_read(e->catalog, &txn);
	if (!err) {
		for (i = 0; i < ch->added_count && !err; i++) {
			gate_pass(&e->commit.gate, &slice_ns);
			err = index_one(e, txn, ch->added[i]);
		}
		catalog_abort(txn);
	}
	if (err)
		logger_print(&e->log,
			     "index: %s; near-duplicates will be missing "
			     "until the next mount",
			     err_text(err));
}

/* Takes the first count events off. */
static struct event *detach(struct commit *c, size_t count)
{
	struct event *first = c->first, *last = first;
	size_t results = 0, touches = 0, listings = 0, i;

	for (i = 0;; last = last->next) {
		results += last->kind == EVENT_RESULT;
		touches += last->kind == EVENT_METADATA;
		listings += last->kind == EVENT_LISTING;
		if (++i == count)
			break;
	}
	pthread_mutex_lock(&c->lock);
	c->first = last->next;
	if (!c->first)
		c->last = NULL;
	c->count -= count;
	c->results -= results;
	c->touches -= touches;
	c->listings -= listings;
	c->committed += count;
	pthread_mutex_unlock(&c->lock);
	last->next = NULL;
	return first;
}

/* Frees the first count events and tells the queue about their results. */
static void drop_events(struct engine *e, size_t count)
{
	struct event *ev = count ? detach(&e->commit, count) : NULL;

	while (ev) {
		struct event *next = ev->next;

		if (ev->result)
			queue_committed(&e->queue, ev->result);
		event_free(ev);
		ev = next;
	}
}

static void note_outcome(struct engine *e, int err, uint64_t attempted)
{
	struct commit *c = &e->commit;
	int before;

	pthread_mutex_lock(&c->lock);
	before = c->error;
	c->error = err;
	c->attempted = attempted;
	c->oldest_ms = clock_now_ms();
	pthread_cond_broadcast(&c->room);
	pthread_mutex_unlock(&c->lock);
	if (err && err != before)
		logger_print(&e->log,
			     "catalog: %s; digests are still answered, and "
			     "written when it works again",
			     err_text(err));
	if (!err && before) {
		logger_print(&e->log, "catalog: works again");
		workers_feed_want(e); /* results were thrown away */
		queue_feed(&e->queue);
		scan_request_tree(
			&e->scan); /* what is old by now may not be found */
	}
	inquiry_committed(e, attempted);
}

static bool adds_pending(const struct event *ev, size_t count)
{
	while (count--) {
		if (ev->kind == EVENT_PENDING || ev->kind == EVENT_LISTING ||
		    ev->kind == EVENT_NAME_ADDED ||
		    ev->kind == EVENT_NAME_MOVED)
			return true;
		if (count)
			ev = ev->next;
	}
	return false;
}

static int commit_whole(struct engine *e, const struct event *first,
			size_t count)
{
	struct catalog_changes changes = { 0 };
	int err = write_batch_growing(e, first, count, &changes);

	if (!err)
		update_index(e, &changes);
	catalog_changes_release(&changes);
	return err;
}

/* What a damaged catalog cannot take is left out; halving finds it. */
static int commit_around_damage(struct engine *e, const struct event *first,
				size_t count)
{
	size_t half = count / 2, i;
	int err = commit_whole(e, first, count);

	if (err != -EUCLEAN)
		return err;
	engine_found_damage(e);
	if (!half)
		return 0;
	err = commit_around_damage(e, first, half);
	for (i = 0; i < half; i++)
		first = first->next;
	return err ? err : commit_around_damage(e, first, count - half);
}

static void commit_batch(struct engine *e, const struct event *first,
			 size_t count, uint64_t number)
{
	int err;

	scan_defer_requests(&e->scan, true);
	err = commit_around_damage(e, first, count);
	scan_defer_requests(&e->scan, false);
	if (!err) {
		bool feed = adds_pending(first, count);

		if (feed)
			workers_feed_want(e);
		drop_events(e, count);
		if (feed)
			queue_feed(&e->queue);
	}
	note_outcome(e, err, number);
}

/* ---- the thread ---- */

/* When the next batch is due; now or earlier means at once. */
static int64_t due_ms(const struct commit *c)
{
	if (!c->count)
		return c->stopped ? 0 : INT64_MAX;
	if (c->stopped)
		return 0;
	if (c->error)
		return c->oldest_ms + RETRY_MS;
	if (c->urgent || c->count >= BATCH_EVENTS || c->listings >= SCAN_ROOM)
		return 0;
	return c->newest_ms + QUIET_MS < c->oldest_ms + BATCH_MS ?
		       c->newest_ms + QUIET_MS :
		       c->oldest_ms + BATCH_MS;
}

static bool is_pressing(const struct commit *c)
{
	return c->urgent || c->stopped || c->count >= EVENTS_MANY;
}

static void *commit_run(void *arg)
{
	struct engine *e = arg;
	struct commit *c = &e->commit;
	bool last = false;

	thread_set_name("kinfs-commit");
	pthread_mutex_lock(&c->lock);
	while (!last) {
		int64_t due = due_ms(c);
		const struct event *first;
		uint64_t number;
		size_t count;

		if (due > clock_now_ms()) {
			cond_wait_until(&c->work, &c->lock, due);
			continue;
		}
		count = c->count < BATCH_MAX ? c->count : BATCH_MAX;
		first = c->first;
		number = c->committed + count;
		last = c->stopped && (count == c->count || c->error);
		gate_set(&c->gate, is_pressing(c));
		if (count == c->count)
			c->urgent = false;
		pthread_mutex_unlock(&c->lock);
		commit_batch(e, first, count, number);
		pthread_mutex_lock(&c->lock);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

int commit_init(struct commit *c)
{
	int err = -pthread_mutex_init(&c->lock, NULL);

	if (!err)
		err = cond_init_monotonic(&c->work);
	if (!err)
		err = cond_init_monotonic(&c->room);
	if (!err)
		err = gate_init(&c->gate);
	return err;
}

static int64_t gate_due_ns(void *arg)
{
	struct engine *e = arg;

	return throttle_due_ns(e, &e->commit.since_ns);
}

int commit_start(struct engine *e)
{
	struct commit *c = &e->commit;
	int err;

	c->gate.due_ns = gate_due_ns;
	c->gate.arg = e;
	err = gate_start(&c->gate);

	if (!err)
		err = -pthread_create(&c->thread, NULL, commit_run, e);
	c->started = !err;
	return err;
}

void commit_stop(struct engine *e)
{
	struct commit *c = &e->commit;

	pthread_mutex_lock(&c->lock);
	c->stopped = true;
	pthread_cond_broadcast(&c->work);
	pthread_mutex_unlock(&c->lock);
	gate_stop(&c->gate);
	if (c->started)
		pthread_join(c->thread, NULL);
	c->started = false;
}

void commit_release(struct commit *c)
{
	while (c->first) {
		struct event *ev = c->first;

		c->first = ev->next;
		event_free(ev);
	}
	gate_release(&c->gate);
	pthread_cond_destroy(&c->room);
	pthread_cond_destroy(&c->work);
	pthread_mutex_destroy(&c->lock);
}

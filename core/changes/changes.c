/* SPDX-License-Identifier: Apache-2.0 */
#include "core/changes/changes.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/array.h"
#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/changes/changes_impl.h"

const char *const change_kind_names[] = { "new", "changed", "moved",
					  "removed" };

/* ---- the list of a watcher; under the lock ---- */

static int by_path(const void *a, const void *b)
{
	const struct pending_change *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static void pending_free(struct pending_change *p)
{
	free(p->path);
	free(p->from);
	free(p);
}

static bool is_content(const struct pending_change *p)
{
	return p->is & (IS_NEW | IS_CHANGED | IS_REMOVED);
}

/* Merges a change of the same path, which is freed. */
static void merge(struct pending_change *into, struct pending_change *p)
{
	if (is_content(p) && into->time_ns != p->time_ns)
		into->merged++;
	if (p->is & IS_REMOVED)
		into->is = IS_REMOVED;
	else if (into->is & IS_REMOVED)
		into->is = IS_CHANGED | IS_REPLACED;
	else
		into->is |= p->is;
	if (p->kept >= 0 && (into->kept < 0 || p->kept < into->kept))
		into->kept = p->kept;
	if (p->is & IS_REMOVED)
		into->kept = -1;
	if (!into->from) {
		into->from = p->from;
		p->from = NULL;
	}
	into->size = p->size;
	into->time_ns = p->time_ns;
	pending_free(p);
}

/* Takes p. */
static int list_add(struct changes_watcher *w, struct pending_change *p)
{
	struct pending_change **found = tsearch(p, &w->by_path, by_path);

	if (!found || (*found == p && w->count == CHANGES_MOST)) {
		if (found)
			(void)tdelete(p, &w->by_path, by_path);
		pending_free(p);
		return found ? -ENOBUFS : -ENOMEM;
	}
	if (*found != p) {
		merge(*found, p);
		return 0;
	}
	w->count++;
	*(w->last ? &w->last->next : &w->first_change) = p;
	w->last = p;
	return 0;
}

static struct pending_change *list_take(struct changes_watcher *w)
{
	struct pending_change *p = w->first_change;

	if (!p)
		return NULL;
	(void)tdelete(p, &w->by_path, by_path);
	w->first_change = p->next;
	if (!p->next)
		w->last = NULL;
	w->count--;
	return p;
}

static void watcher_free(struct changes_watcher *w)
{
	struct pending_change *p;

	while ((p = list_take(w)))
		pending_free(p);
	search_paths_release(&w->within);
	credentials_release(&w->caller.credentials);
	free(w);
}

static enum change_kind kind_of(unsigned is)
{
	if (is & IS_REMOVED)
		return CHANGE_REMOVED;
	if (is & IS_CHANGED && (is & IS_REPLACED || !(is & IS_NEW)))
		return CHANGE_CHANGED;
	return is & IS_NEW ? CHANGE_NEW : CHANGE_MOVED;
}

/* Why there will be no more changes; 0: there will.  Under the lock. */
static int reason_of_end(const struct changes_watcher *w)
{
	const struct changes *c = w->changes;

	return w->cancelled || (c->stopped && !c->started) ? -ECANCELED :
							     w->err;
}

int changes_take(struct changes_watcher *w, bool waits,
		 struct content_change *out)
{
	struct changes *c = w->changes;
	struct pending_change *p;
	int err;

	pthread_mutex_lock(&c->lock);
	while (!(p = list_take(w)) && !(err = reason_of_end(w)) && waits)
		pthread_cond_wait(&c->told, &c->lock);
	pthread_mutex_unlock(&c->lock);
	if (!p)
		return err;
	*out = (struct content_change){
		.path = p->path,
		.kind = kind_of(p->is),
		.directory = p->directory,
		.size = p->size,
		.time_ns = p->time_ns,
		.merged = p->merged,
	};
	out->kept = out->kind == CHANGE_CHANGED ? p->kept : -1;
	if (out->kind == CHANGE_MOVED) {
		out->from = p->from;
		p->from = NULL;
	}
	p->path = NULL;
	pending_free(p);
	return 1;
}

/* ---- batches ---- */

static void batch_free(struct changes_batch *b)
{
	catalog_events_free(b->events, b->count);
	free(b);
}

/* Adds what w may know of a batch.  Without the lock, which is taken. */
static void tell(struct changes *c, struct changes_watcher *w,
		 const struct changes_batch *b)
{
	struct pending_change *p, *found = NULL;
	bool ended;
	int err;

	pthread_mutex_lock(&c->lock);
	ended = w->ended || w->err;
	pthread_mutex_unlock(&c->lock);
	if (ended)
		return;
	err = check_batch(c, w, b, &found);
	pthread_mutex_lock(&c->lock);
	while ((p = found)) {
		found = p->next;
		p->next = NULL;
		if (!err)
			err = list_add(w, p);
		else
			pending_free(p);
	}
	w->err = err;
	pthread_cond_broadcast(&c->told);
	pthread_mutex_unlock(&c->lock);
}

/* Removes watchers that have ended.  Under the lock. */
static void drop_ended(struct changes *c)
{
	struct changes_watcher **at = &c->first, *w;

	while ((w = *at)) {
		if (w->ended) {
			*at = w->next;
			watcher_free(w);
		} else {
			at = &w->next;
		}
	}
}

/* Only this thread removes watchers, and new ones come first, so the list can
 * be walked while the lock is released. */
static void work_unlocked(struct changes *c, struct changes_batch *b)
{
	struct changes_watcher *w = c->first;

	pthread_mutex_unlock(&c->lock);
	for (; w; w = w->next)
		tell(c, w, b);
	batch_free(b);
	pthread_mutex_lock(&c->lock);
}

/* Events were lost, so all watches end.  Under the lock. */
static void end_all(struct changes *c)
{
	struct changes_watcher *w;

	c->lost = false;
	for (w = c->first; w; w = w->next)
		w->err = -ENOMEM;
	pthread_cond_broadcast(&c->told);
}

static void *changes_run(void *arg)
{
	struct changes *c = arg;
	struct changes_batch *b;

	thread_set_name("kinfs-changes");
	pthread_mutex_lock(&c->lock);
	while (!c->stopped || c->batches) {
		drop_ended(c);
		if (c->lost)
			end_all(c);
		b = c->batches;
		if (!b) {
			pthread_cond_wait(&c->work, &c->lock);
			continue;
		}
		c->batches = b->next;
		if (!b->next)
			c->last = &c->batches;
		work_unlocked(c, b);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

void changes_post(struct changes *c, struct catalog_changes *from)
{
	struct changes_batch *b = calloc(1, sizeof(*b));

	pthread_mutex_lock(&c->lock);
	if (b) {
		b->events = from->events;
		b->count = from->event_count;
		b->time_ns = clock_ns(CLOCK_REALTIME);
		from->events = NULL;
		from->event_count = 0;
		*c->last = b;
		c->last = &b->next;
	}
	c->lost = c->lost || !b;
	pthread_cond_signal(&c->work);
	pthread_mutex_unlock(&c->lock);
}

/* ---- watchers ---- */

static bool is_watching(const struct changes *c, uid_t uid)
{
	const struct changes_watcher *w = c->first;

	while (w &&
	       (w->ended || w->cancelled || w->caller.credentials.uid != uid))
		w = w->next;
	return w;
}

static int start_locked(struct changes *c)
{
	int err;

	if (c->stopped)
		return -ECANCELED;
	err = c->started ? 0 :
			   -pthread_create(&c->thread, NULL, changes_run, c);
	c->started = !err;
	return err;
}

int changes_watch(struct changes *c, const struct search_caller *caller,
		  struct search_paths *within, struct changes_watcher **out)
{
	struct changes_watcher *w = calloc(1, sizeof(*w));
	int err = w ? credentials_copy(&caller->credentials,
				       &w->caller.credentials) :
		      -ENOMEM;

	if (err) {
		free(w);
		return err;
	}
	w->changes = c;
	w->caller.trusted = caller->trusted;
	pthread_mutex_lock(&c->lock);
	err = is_watching(c, caller->credentials.uid) ? -EBUSY :
							start_locked(c);
	if (!err) {
		w->within = *within;
		*within = (struct search_paths){ 0 };
		w->next = c->first;
		c->first = w;
		atomic_fetch_add(&c->watching, 1);
		*out = w;
	}
	pthread_mutex_unlock(&c->lock);
	if (err)
		watcher_free(w);
	return err;
}

void changes_cancel(struct changes_watcher *w)
{
	pthread_mutex_lock(&w->changes->lock);
	w->cancelled = true;
	pthread_cond_broadcast(&w->changes->told);
	pthread_mutex_unlock(&w->changes->lock);
}

void changes_end(struct changes_watcher *w)
{
	struct changes *c = w->changes;

	pthread_mutex_lock(&c->lock);
	w->ended = true;
	atomic_fetch_sub(&c->watching, 1);
	pthread_cond_signal(&c->work);
	pthread_mutex_unlock(&c->lock);
}

int changes_init(struct changes *c, const struct source *source,
		 struct catalog *catalog)
{
	c->source = source;
	c->catalog = catalog;
	c->last = &c->batches;
	(void)pthread_mutex_init(&c->lock, NULL);
	(void)pthread_cond_init(&c->work, NULL);
	(void)pthread_cond_init(&c->told, NULL);
	return credentials_own(&c->own);
}

void changes_stop(struct changes *c)
{
	bool started;

	pthread_mutex_lock(&c->lock);
	c->stopped = true;
	started = c->started;
	pthread_cond_signal(&c->work);
	pthread_mutex_unlock(&c->lock);
	if (started)
		pthread_join(c->thread, NULL);
	pthread_mutex_lock(&c->lock);
	c->started = false;
	pthread_cond_broadcast(&c->told);
	pthread_mutex_unlock(&c->lock);
}

void changes_release(struct changes *c)
{
	struct changes_batch *b;

	while ((b = c->batches)) {
		c->batches = b->next;
		batch_free(b);
	}
	drop_ended(c);
	credentials_release(&c->own);
	pthread_cond_destroy(&c->work);
	pthread_cond_destroy(&c->told);
	pthread_mutex_destroy(&c->lock);
}

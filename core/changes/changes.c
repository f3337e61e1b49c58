/* SPDX-License-Identifier: Apache-2.0 */
#include "core/changes/changes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/changes/changes_impl.h"

const char *const change_kind_names[] = { "new", "changed", "moved",
					  "removed" };

void content_change_release(struct content_change *change)
{
	free(change->path);
	free(change->from);
}

/* ---- positions ---- */

/* All of a commit. */
#define WHOLE UINT32_MAX

static bool is_before(const struct changes_position *a,
		      const struct changes_position *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns :
					  a->event < b->event;
}

static void print_cursor(const struct changes *c,
			 const struct changes_position *at,
			 char out[CHANGES_CURSOR])
{
	int len = snprintf(out, CHANGES_CURSOR, "%016" PRIx64 "-%016" PRIx64,
			   c->life, (uint64_t)at->time_ns);

	if (at->event != WHOLE)
		(void)snprintf(out + len, (size_t)(CHANGES_CURSOR - len),
			       "-%" PRIx32, at->event);
}

/* -ESTALE: of another life, or no cursor. */
static int parse_cursor(const struct changes *c, const char *text,
			struct changes_position *out)
{
	char again[CHANGES_CURSOR];
	uint64_t life, time_ns;
	uint32_t event = WHOLE;

	if (sscanf(text, "%16" SCNx64 "-%16" SCNx64 "-%8" SCNx32, &life,
		   &time_ns, &event) < 2)
		return -ESTALE;
	*out = (struct changes_position){ (int64_t)time_ns, event };
	print_cursor(c, out, again);
	return strcmp(again, text) ? -ESTALE : 0;
}

/* ---- batches; under the lock ---- */

static void batch_free(struct changes_batch *b)
{
	catalog_events_free(b->events, b->count);
	free(b);
}

static void forget_first(struct changes *c)
{
	struct changes_batch *b = c->batches;

	c->forgotten = (struct changes_position){ b->time_ns, WHOLE };
	c->bytes -= b->bytes;
	c->batches = b->next;
	b->forgotten = true;
	if (!b->readers)
		batch_free(b);
}

/* Gives the transaction that begins its time. */
static void take_time(struct changes *c)
{
	const int64_t now = clock_ns(CLOCK_REALTIME);

	c->newest_ns = now > c->newest_ns ? now : c->newest_ns + 1;
}

static void forget_all(struct changes *c)
{
	while (c->batches)
		forget_first(c);
	c->forgotten = (struct changes_position){ c->newest_ns, WHOLE };
	pthread_cond_broadcast(&c->told);
}

void changes_lose(struct changes *c)
{
	pthread_mutex_lock(&c->lock);
	take_time(c);
	forget_all(c);
	pthread_mutex_unlock(&c->lock);
}

/* What those follow who do not follow the whole tree. */
static int find_places(const struct changes *c, struct buf *out)
{
	const struct changes_watcher *w;
	size_t i;
	int err = 0;

	for (w = c->first; w && !err; w = w->next)
		for (i = 0; w->caller.trusted && !err && i < w->within.count;
		     i++)
			err = buf_append(out, w->within.paths[i],
					 strlen(w->within.paths[i]) + 1);
	return err;
}

void changes_begin(struct changes *c, struct catalog_txn *txn)
{
	struct buf within = { 0 };
	bool wanted;

	pthread_mutex_lock(&c->lock);
	take_time(c);
	wanted = c->first ||
		 (c->rest_ms && clock_now_ms() - c->rest_ms < CHANGES_REST_MS);
	if (!wanted || find_places(c, &within))
		forget_all(c);
	else
		catalog_watch(txn, &c->source->root, &within);
	pthread_mutex_unlock(&c->lock);
	buf_release(&within);
}

void changes_post(struct changes *c, struct catalog_changes *from)
{
	struct changes_batch *b = calloc(1, sizeof(*b));

	pthread_mutex_lock(&c->lock);
	if (!b || from->events_lost) {
		forget_all(c);
		free(b);
	} else {
		b->events = from->events;
		b->count = from->event_count;
		b->bytes = from->event_bytes;
		b->time_ns = c->newest_ns;
		from->events = NULL;
		from->event_count = 0;
		*(c->batches ? &c->last->next : &c->batches) = b;
		c->last = b;
		c->bytes += b->bytes;
		while (c->bytes > CHANGES_KEPT && c->batches != b)
			forget_first(c);
		pthread_cond_broadcast(&c->told);
	}
	pthread_mutex_unlock(&c->lock);
}

/* ---- a watcher reads ---- */

/* 1: *out is the first batch that is not in the list of the watcher; 0: all
 * are; -ENOBUFS: some are forgotten.  Under the lock. */
static int next_batch(const struct changes_watcher *w,
		      struct changes_batch **out)
{
	const struct changes *c = w->changes;
	struct changes_batch *b = c->batches;

	if (is_before(&w->at, &c->forgotten))
		return -ENOBUFS;
	while (b && (b->time_ns < w->at.time_ns ||
		     (b->time_ns == w->at.time_ns && w->at.event >= b->count)))
		b = b->next;
	*out = b;
	return b ? 1 : 0;
}

static size_t unread_of_user(const struct changes *c, uid_t uid)
{
	const struct changes_watcher *w;
	size_t bytes = 0;

	for (w = c->first; w; w = w->next)
		if (w->caller.credentials.uid == uid)
			bytes += w->bytes;
	return bytes;
}

/* With the lock, which is released meanwhile. */
static int read_batch(struct changes_watcher *w, struct changes_batch *b)
{
	struct changes *c = w->changes;
	int err;

	b->readers++;
	pthread_mutex_unlock(&c->lock);
	err = check_batch(w, b);
	w->at = (struct changes_position){ b->time_ns, WHOLE };
	pthread_mutex_lock(&c->lock);
	if (!--b->readers && b->forgotten)
		batch_free(b);
	w->bytes = w->list.bytes;
	if (!err &&
	    unread_of_user(c, w->caller.credentials.uid) > CHANGES_UNREAD)
		err = -ENOBUFS;
	return err;
}

int changes_wait(struct changes_watcher *w)
{
	struct changes *c = w->changes;
	struct changes_batch *b;
	int err = 0;

	pthread_mutex_lock(&c->lock);
	for (;;) {
		err = w->cancelled ? -ECANCELED : next_batch(w, &b);
		if (err == 1)
			err = read_batch(w, b);
		else if (!err && (w->asked || c->stopped) && list_has(&w->list))
			break;
		else if (!err && c->stopped)
			err = -ECANCELED;
		else if (!err)
			pthread_cond_wait(&c->told, &c->lock);
		if (err)
			break;
	}
	w->asked = false;
	pthread_mutex_unlock(&c->lock);
	return err;
}

/* How far the reader is that has taken all but what is in the list. */
static void set_cursor(const struct changes_watcher *w,
		       struct content_change *out)
{
	const struct path_change *next = TAILQ_FIRST(&w->list.changes);
	struct changes_position at = next ? next->first : w->at;

	if (next)
		at.event--;
	if (!w->caller.trusted) {
		at.time_ns = next ? at.time_ns - 1 : out->time_ns;
		at.event = WHOLE;
	}
	print_cursor(w->changes, &at, out->cursor);
}

int changes_take(struct changes_watcher *w, struct content_change *out)
{
	int got = list_take(&w->list, out);

	if (got == 1) {
		(void)list_has(&w->list);
		set_cursor(w, out);
	}
	return got;
}

/* ---- the life of a watcher ---- */

void changes_cursor(struct changes_watcher *w, char out[CHANGES_CURSOR])
{
	struct changes_position at = w->at;

	/* When others have committed is nobody's business. */
	if (!w->caller.trusted)
		at.time_ns = clock_ns(CLOCK_REALTIME);
	print_cursor(w->changes, &at, out);
}

/* Where the watch begins.  Under the lock. */
static int set_begin(struct changes_watcher *w, const char *since)
{
	const struct changes *c = w->changes;
	int err;

	w->at = (struct changes_position){ c->newest_ns, WHOLE };
	if (!since)
		return 0;
	err = parse_cursor(c, since, &w->at);
	if (err || is_before(&w->at, &c->forgotten))
		return -ESTALE;
	if (w->at.time_ns > c->newest_ns)
		w->at.time_ns = c->newest_ns;
	w->list.repeated_ns = c->newest_ns;
	return 0;
}

static void watcher_free(struct changes_watcher *w)
{
	list_release(&w->list);
	search_paths_release(&w->within);
	credentials_release(&w->caller.credentials);
	free(w);
}

int changes_watch(struct changes *c, const struct search_caller *caller,
		  struct search_paths *within, const char *since,
		  struct changes_watcher **out)
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
	list_init(&w->list, caller->trusted);
	pthread_mutex_lock(&c->lock);
	err = c->stopped ? -ECANCELED : set_begin(w, since);
	if (!err) {
		w->within = *within;
		*within = (struct search_paths){ 0 };
		w->next = c->first;
		c->first = w;
		*out = w;
	}
	pthread_mutex_unlock(&c->lock);
	if (err)
		watcher_free(w);
	return err;
}

void changes_ask(struct changes_watcher *w)
{
	pthread_mutex_lock(&w->changes->lock);
	w->asked = true;
	pthread_cond_broadcast(&w->changes->told);
	pthread_mutex_unlock(&w->changes->lock);
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
	struct changes_watcher **at = &c->first;

	pthread_mutex_lock(&c->lock);
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	c->rest_ms = clock_now_ms();
	pthread_mutex_unlock(&c->lock);
	watcher_free(w);
}

/* ---- the module ---- */

int changes_init(struct changes *c, const struct source *source)
{
	c->source = source;
	(void)pthread_mutex_init(&c->lock, NULL);
	(void)pthread_cond_init(&c->told, NULL);
	if (getrandom(&c->life, sizeof(c->life), 0) != sizeof(c->life))
		return -EIO;
	take_time(c);
	c->forgotten = (struct changes_position){ c->newest_ns, WHOLE };
	return credentials_own(&c->own);
}

void changes_stop(struct changes *c)
{
	pthread_mutex_lock(&c->lock);
	c->stopped = true;
	pthread_cond_broadcast(&c->told);
	pthread_mutex_unlock(&c->lock);
}

void changes_release(struct changes *c)
{
	while (c->batches)
		forget_first(c);
	credentials_release(&c->own);
	pthread_cond_destroy(&c->told);
	pthread_mutex_destroy(&c->lock);
}

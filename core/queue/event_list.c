/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/queue/event.h"

/* ---- life ---- */

int events_init(struct event_list *l, struct throttle *throttle)
{
	int err = -pthread_mutex_init(&l->lock, NULL);

	l->gate.throttle = throttle;
	if (!err)
		err = cond_init_monotonic(&l->work);
	if (!err)
		err = cond_init_monotonic(&l->progress);
	return err;
}

void events_release(struct event_list *l)
{
	while (l->first) {
		struct event *ev = l->first;

		l->first = ev->next;
		event_free(ev);
	}
	pthread_cond_destroy(&l->progress);
	pthread_cond_destroy(&l->work);
	pthread_mutex_destroy(&l->lock);
}

/* ---- versions of names ---- */

static atomic_uint *version_of(struct event_list *l, const struct file_key *dir)
{
	uint64_t h = (dir->inode ^ dir->device) * UINT64_C(0x9e3779b97f4a7c15);

	return &l->versions[(h >> 40) % NAME_VERSIONS];
}

unsigned events_names_version(struct event_list *l, const struct file_key *dir)
{
	return atomic_load(version_of(l, dir));
}

void events_names_changed(struct event_list *l, const struct file_key *dir)
{
	atomic_fetch_add(version_of(l, dir), 1);
}

/* ---- posting ---- */

static bool are_results_stuck(const struct event_list *l)
{
	return l->error && l->counts[EVENT_RESULT] >= STUCK_RESULTS;
}

static bool is_stale(struct event_list *l, const struct event *ev)
{
	const struct source_listing *listing = ev->listing;

	if (listing)
		return events_names_version(l, &listing->directory) !=
		       listing->version;
	return ev->learned &&
	       events_names_version(l, &ev->parent) != ev->version;
}

static int post_locked(struct event_list *l, struct event *ev)
{
	if (l->stopped)
		return -ECANCELED;
	if (is_stale(l, ev))
		return -ESTALE;
	/* A scan of the tree makes up for the loss of others. */
	if (l->count >= EVENTS_MAX && ev->kind != EVENT_RESULT)
		return -ENOBUFS;
	if (ev->kind == EVENT_RESULT && are_results_stuck(l))
		return -ENOSPC;
	l->newest_ms = clock_now_ms();
	if (!l->count)
		l->oldest_ms = l->newest_ms;
	ev->next = NULL;
	if (l->last)
		l->last->next = ev;
	else
		l->first = ev;
	l->last = ev;
	l->count++;
	l->counts[ev->kind]++;
	l->posted++;
	if (l->count == 1 || l->count == BATCH_EVENTS ||
	    l->counts[EVENT_LISTING] == LISTINGS_MANY)
		pthread_cond_signal(&l->work);
	if (l->count == EVENTS_MANY)
		gate_set(&l->gate, true);
	return 0;
}

int events_post(struct event_list *l, struct event *ev)
{
	int err;

	pthread_mutex_lock(&l->lock);
	err = ev ? post_locked(l, ev) : -ENOMEM;
	if (err == -ENOMEM || err == -ENOBUFS) {
		l->lost = true;
		pthread_cond_signal(&l->work);
	}
	pthread_mutex_unlock(&l->lock);
	if (!err || !ev)
		return err;
	if (ev->kind == EVENT_RESULT)
		ev->result = NULL; /* stays the caller's */
	if (err == -ESTALE)
		ev->listing = NULL;
	event_free(ev);
	return err;
}

static void hurry_locked(struct event_list *l)
{
	if (!l->count)
		return;
	l->urgent = true;
	gate_set(&l->gate, true);
	pthread_cond_signal(&l->work);
}

void events_hurry(struct event_list *l)
{
	pthread_mutex_lock(&l->lock);
	hurry_locked(l);
	pthread_mutex_unlock(&l->lock);
}

/* ---- waiting ---- */

bool events_wait_room(struct event_list *l)
{
	bool room;

	pthread_mutex_lock(&l->lock);
	while (!l->unblocked && (l->counts[EVENT_LISTING] >= LISTINGS_MANY ||
				 l->count >= EVENTS_MANY))
		pthread_cond_wait(&l->progress, &l->lock);
	room = !l->unblocked;
	pthread_mutex_unlock(&l->lock);
	return room;
}

void events_wait_writable(struct event_list *l)
{
	pthread_mutex_lock(&l->lock);
	while (!l->unblocked && are_results_stuck(l))
		pthread_cond_wait(&l->progress, &l->lock);
	pthread_mutex_unlock(&l->lock);
}

int events_settle(struct event_list *l)
{
	uint64_t posted;
	int err;

	pthread_mutex_lock(&l->lock);
	posted = l->posted;
	hurry_locked(l);
	while (!l->unblocked && !l->error && l->committed < posted)
		pthread_cond_wait(&l->progress, &l->lock);
	err = l->unblocked ? -ECANCELED : l->error;
	pthread_mutex_unlock(&l->lock);
	return err;
}

void events_unblock(struct event_list *l)
{
	pthread_mutex_lock(&l->lock);
	l->unblocked = true;
	pthread_cond_broadcast(&l->progress);
	pthread_mutex_unlock(&l->lock);
}

void events_counts(struct event_list *l, struct event_counts *out)
{
	pthread_mutex_lock(&l->lock);
	*out = (struct event_counts){
		.events = l->count + l->lost,
		.metadata_changes = l->counts[EVENT_METADATA],
		.posted = l->posted,
		.error = l->error,
	};
	pthread_mutex_unlock(&l->lock);
}

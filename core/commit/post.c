/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/base/clock.h"
#include "core/commit/commit_impl.h"

/* ---- versions of names ---- */

static atomic_uint *version_of(struct committer *c, const struct file_key *dir)
{
	uint64_t h = (dir->inode ^ dir->device) * UINT64_C(0x9e3779b97f4a7c15);

	return &c->versions[(h >> 40) % NAME_VERSIONS];
}

unsigned commit_names_version(struct committer *c, const struct file_key *dir)
{
	return atomic_load(version_of(c, dir));
}

void commit_names_changed(struct committer *c, const struct file_key *dir)
{
	atomic_fetch_add(version_of(c, dir), 1);
}

/* ---- posting ---- */

/* Whether a scan of the tree makes up for the loss of the event. */
static bool is_dispensable(const struct event *ev)
{
	return ev->kind != EVENT_RESULT;
}

static bool are_results_stuck(const struct committer *c)
{
	return c->error && c->results >= STUCK_RESULTS;
}

static bool is_stale(struct committer *c, const struct event *ev)
{
	const struct source_listing *l = ev->listing;

	if (l)
		return commit_names_version(c, &l->directory) != l->version;
	return ev->learned &&
	       commit_names_version(c, &ev->parent) != ev->version;
}

static int post_locked(struct committer *c, struct event *ev)
{
	if (c->stopped)
		return -ECANCELED;
	if (is_stale(c, ev))
		return -ESTALE;
	if (c->count >= EVENTS_MAX && is_dispensable(ev))
		return -ENOBUFS;
	if (ev->kind == EVENT_RESULT && are_results_stuck(c))
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
	c->metadata_changes += ev->kind == EVENT_METADATA;
	c->listings += ev->kind == EVENT_LISTING;
	c->posted++;
	if (c->count == 1 || c->count == BATCH_EVENTS ||
	    c->listings == LISTINGS_MANY)
		pthread_cond_signal(&c->work);
	if (c->count == EVENTS_MANY)
		gate_set(&c->gate, true);
	return 0;
}

int commit_post(struct committer *c, struct event *ev)
{
	int err;

	if (!ev) {
		scan_request_tree(c->context.scan);
		return -ENOMEM;
	}
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
		scan_request_tree(c->context.scan);
	return err;
}

static void hurry_locked(struct committer *c)
{
	if (!c->count)
		return;
	c->urgent = true;
	gate_set(&c->gate, true);
	pthread_cond_signal(&c->work);
}

void commit_hurry(struct committer *c)
{
	pthread_mutex_lock(&c->lock);
	hurry_locked(c);
	pthread_mutex_unlock(&c->lock);
}

/* ---- waiting ---- */

bool commit_wait_room(struct committer *c)
{
	bool room;

	pthread_mutex_lock(&c->lock);
	while (!c->unblocked &&
	       (c->listings >= LISTINGS_MANY || c->count >= EVENTS_MANY))
		pthread_cond_wait(&c->progress, &c->lock);
	room = !c->unblocked;
	pthread_mutex_unlock(&c->lock);
	return room;
}

void commit_wait_writable(struct committer *c)
{
	pthread_mutex_lock(&c->lock);
	while (!c->unblocked && are_results_stuck(c))
		pthread_cond_wait(&c->progress, &c->lock);
	pthread_mutex_unlock(&c->lock);
}

int commit_settle(struct committer *c)
{
	uint64_t posted;
	int err;

	pthread_mutex_lock(&c->lock);
	posted = c->posted;
	hurry_locked(c);
	while (!c->unblocked && !c->error && c->committed < posted)
		pthread_cond_wait(&c->progress, &c->lock);
	err = c->unblocked ? -ECANCELED : c->error;
	pthread_mutex_unlock(&c->lock);
	return err;
}

void commit_unblock(struct committer *c)
{
	pthread_mutex_lock(&c->lock);
	c->unblocked = true;
	pthread_cond_broadcast(&c->progress);
	pthread_mutex_unlock(&c->lock);
}

void commit_counts(struct committer *c, struct commit_counts *out)
{
	pthread_mutex_lock(&c->lock);
	*out = (struct commit_counts){
		.events = c->count,
		.results = c->results,
		.metadata_changes = c->metadata_changes,
		.posted = c->posted,
		.attempted = c->attempted,
		.error = c->error,
	};
	pthread_mutex_unlock(&c->lock);
}

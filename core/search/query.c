/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/query.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/engine/engine_impl.h"
#include "core/search/near.h"

/* ---- the way of a request ---- */

static int take_place(struct request *r)
{
	struct inquiry *q = &r->engine->inquiry;
	int err;

	pthread_mutex_lock(&q->lock);
	err = share_take(&q->share, r->caller.credentials.uid, &r->turn);
	pthread_mutex_unlock(&q->lock);
	return err;
}

static void give_place(struct request *r)
{
	struct inquiry *q = &r->engine->inquiry;

	pthread_mutex_lock(&q->lock);
	share_give(&q->share, r->caller.credentials.uid);
	pthread_mutex_unlock(&q->lock);
}

static void request_release(struct request *r)
{
	if (r->fd >= 0)
		close(r->fd);
	if (r->digests)
		digests_release(r->digests);
	free(r->digests);
	credentials_release(&r->caller.credentials);
	free(r);
}

static void request_free(struct request *r)
{
	give_place(r);
	request_release(r);
}

/* fd: -1 for none. */
static int request_new(struct engine *e, int fd,
		       const struct engine_caller *caller, struct request **out)
{
	struct request *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->engine = e;
	r->caller.trusted = caller->trusted;
	r->fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	err = fd >= 0 && r->fd < 0 ? -errno : 0;
	if (!err)
		err = credentials_copy(&caller->credentials,
				       &r->caller.credentials);
	if (!err)
		err = take_place(r);
	if (err)
		request_release(r);
	else
		*out = r;
	return err;
}

static void request_fail(struct request *r, int err)
{
	if (r->on_hits)
		r->on_hits(r->arg, err, &(struct engine_hits){ 0 });
	else
		r->on_entries(r->arg, err, &(struct engine_entries){ 0 });
	request_free(r);
}

static void request_answer(struct request *r)
{
	struct engine_hits hits = { 0 };
	struct engine_entries entries = { 0 };
	const struct credentials *own = &r->engine->inquiry.own;
	bool trusted = r->caller.trusted;
	int err = trusted ? 0 : credentials_enter(&r->caller.credentials, own);

	if (err) {
		request_fail(r, err);
		return;
	}
	if (r->directories)
		err = near_directories(r, &hits);
	else if (r->on_hits)
		err = near_list(r, &hits);
	else
		err = near_browse(r, &entries);
	if (!trusted)
		credentials_leave(own);
	hits.incomplete = r->incomplete;
	if (err == -EUCLEAN)
		engine_found_damage(r->engine);
	if (r->on_hits)
		r->on_hits(r->arg, err, &hits);
	else
		r->on_entries(r->arg, err, &entries);
	request_free(r);
}

static void insert_ready(struct inquiry *q, struct request *r)
{
	struct request **at = &q->first;

	while (*at && (*at)->turn <= r->turn)
		at = &(*at)->next;
	r->next = *at;
	*at = r;
	pthread_cond_signal(&q->work);
}

/* Whether files that a scan found are still to be hashed.  Those that were
 * closed a moment ago do not count: a tree in use would never be complete. */
static bool is_incomplete(struct engine *e)
{
	struct queue_counts counts;

	/* In the order in which work flows, see status.c. */
	if (scan_is_running(&e->scan) || hash_is_feeding(&e->hash))
		return true;
	queue_counts(&e->queue, &counts);
	return counts.scanned != 0;
}

/* Lets r wait until the committer has got as far as what is posted now. */
static void request_hold(struct request *r)
{
	struct engine *e = r->engine;
	struct inquiry *q = &e->inquiry;
	struct commit_counts counts;
	bool held = false, stopped;

	r->incomplete = is_incomplete(e); /* what is hashed now is posted */
	pthread_mutex_lock(&q->lock);
	stopped = q->stopped;
	if (!stopped) {
		commit_counts(&e->commit, &counts);
		r->number = counts.posted;
		held = counts.attempted < counts.posted;
		if (held) {
			r->next = q->held;
			q->held = r;
		} else {
			insert_ready(q, r);
		}
	}
	pthread_mutex_unlock(&q->lock);
	if (stopped)
		request_fail(r, -ECANCELED);
	else if (held)
		commit_hurry(&e->commit);
}

void inquiry_committed(struct engine *e, uint64_t number)
{
	struct inquiry *q = &e->inquiry;
	struct request **at = &q->held;
	bool more;

	pthread_mutex_lock(&q->lock);
	while (*at) {
		struct request *r = *at;

		if (r->number > number) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		insert_ready(q, r);
	}
	more = q->held != NULL;
	pthread_mutex_unlock(&q->lock);
	if (more)
		commit_hurry(&e->commit);
}

static void on_hashed(void *arg, int result)
{
	if (result == -ECANCELED || result == -EINTR)
		request_fail(arg, result);
	else
		request_hold(arg);
}

/* ---- asking ---- */

int engine_similar(struct engine *e, const struct engine_question *q,
		   const struct engine_caller *caller,
		   void (*done)(void *arg, int result,
				struct engine_hits *hits),
		   void *arg)
{
	struct engine_answer answer;
	struct request *r;
	bool pending;
	int err;

	err = engine_ask(e, q->fd, &answer);
	if (err)
		return err;
	pending =
		answer.state == ENGINE_PENDING || answer.state == ENGINE_CLOSED;
	engine_answer_release(&answer);
	err = request_new(e, q->fd, caller, &r);
	if (err)
		return err;
	r->relation = q->relation;
	r->on_hits = done;
	r->arg = arg;
	if (!pending || !q->timeout_ms) {
		request_hold(r);
		return 0;
	}
	err = engine_park(e, q->fd,
			  &(struct parked_request){
				  .uid = caller->credentials.uid,
				  .deadline_ms = clock_now_ms() + q->timeout_ms,
				  .ticket = q->ticket,
				  .done = on_hashed,
				  .arg = r,
			  });
	if (err)
		request_free(r);
	return err;
}

int engine_similar_to(struct engine *e, const struct digests *digests,
		      enum index_relation relation,
		      const struct engine_caller *caller,
		      void (*done)(void *arg, int result,
				   struct engine_hits *hits),
		      void *arg)
{
	struct request *r;
	int err = request_new(e, -1, caller, &r);

	if (err)
		return err;
	r->digests = calloc(1, sizeof(*r->digests));
	err = r->digests ? digests_copy(digests, r->digests) : -ENOMEM;
	if (err) {
		request_free(r);
		return err;
	}
	r->relation = relation;
	r->on_hits = done;
	r->arg = arg;
	request_hold(r);
	return 0;
}

int engine_directories(struct engine *e, int fd,
		       const struct engine_caller *caller,
		       void (*done)(void *arg, int result,
				    struct engine_hits *hits),
		       void *arg)
{
	struct request *r;
	int err = request_new(e, fd, caller, &r);

	if (err)
		return err;
	r->directories = true;
	r->on_hits = done;
	r->arg = arg;
	request_hold(r);
	return 0;
}

int engine_browse(struct engine *e, int fd, const struct engine_caller *caller,
		  void (*done)(void *arg, int result,
			       struct engine_entries *entries),
		  void *arg)
{
	struct request *r;
	int err = request_new(e, fd, caller, &r);

	if (err)
		return err;
	r->on_entries = done;
	r->arg = arg;
	request_hold(r);
	return 0;
}

/* ---- threads ---- */

static bool takes_long(const struct request *r)
{
	return r->directories || !r->on_hits;
}

static bool may_begin(const struct inquiry *q, const struct request *r)
{
	size_t i;

	if (!takes_long(r))
		return true;
	for (i = 0; i < q->browsing; i++)
		if (q->browsers[i] == r->caller.credentials.uid)
			return false;
	return q->browsing < INQUIRY_BROWSERS;
}

/* The first request that a thread may begin, taken off the list, or NULL. */
static struct request *take_ready(struct inquiry *q)
{
	struct request **at = &q->first, *r;

	while (*at && !may_begin(q, *at))
		at = &(*at)->next;
	r = *at;
	if (!r)
		return NULL;
	*at = r->next;
	share_serve(&q->share, r->turn);
	return r;
}

static void browse_end(struct inquiry *q, uid_t uid)
{
	size_t i = 0;

	while (q->browsers[i] != uid)
		i++;
	q->browsers[i] = q->browsers[--q->browsing];
}

/* Under the lock, which it gives up meanwhile. */
static void answer_unlocked(struct inquiry *q, struct request *r)
{
	bool browses = takes_long(r);
	uid_t uid = r->caller.credentials.uid;

	if (browses)
		q->browsers[q->browsing++] = uid;
	pthread_mutex_unlock(&q->lock);
	request_answer(r);
	pthread_mutex_lock(&q->lock);
	if (browses)
		browse_end(q, uid);
	if (!q->rest_ms)
		q->rest_ms = clock_now_ms() + INQUIRY_REST_MS;
}

/* The same. */
static void rest_unlocked(struct engine *e)
{
	struct inquiry *q = &e->inquiry;

	q->rest_ms = 0;
	pthread_mutex_unlock(&q->lock);
	(void)catalog_trim_rss(e->catalog);
	pthread_mutex_lock(&q->lock);
}

static void *inquiry_run(void *arg)
{
	struct engine *e = arg;
	struct inquiry *q = &e->inquiry;
	struct request *r;

	thread_set_name("kinfs-search");
	pthread_mutex_lock(&q->lock);
	while (!q->stopped) {
		if (q->rest_ms && q->rest_ms <= clock_now_ms())
			rest_unlocked(e);
		else if ((r = take_ready(q)))
			answer_unlocked(q, r);
		else
			cond_wait_until(&q->work, &q->lock,
					q->rest_ms ? q->rest_ms : INT64_MAX);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

int inquiry_init(struct inquiry *q)
{
	int err = -pthread_mutex_init(&q->lock, NULL);

	q->share.most = INQUIRIES_MAX;
	if (!err)
		err = cond_init_monotonic(&q->work);
	if (!err)
		err = credentials_own(&q->own);
	q->near = calloc(NEAR_SLOTS, sizeof(*q->near));
	return err || q->near ? err : -ENOMEM;
}

int inquiry_start(struct engine *e)
{
	struct inquiry *q = &e->inquiry;
	int err = 0;

	while (q->started < INQUIRY_THREADS && !err) {
		err = -pthread_create(&q->threads[q->started], NULL,
				      inquiry_run, e);
		q->started += !err;
	}
	return err;
}

static void fail_all(struct request *r)
{
	while (r) {
		struct request *next = r->next;

		request_fail(r, -ECANCELED);
		r = next;
	}
}

void inquiry_stop(struct engine *e)
{
	struct inquiry *q = &e->inquiry;
	struct request *ready, *held;
	size_t i;

	pthread_mutex_lock(&q->lock);
	q->stopped = true;
	ready = q->first;
	held = q->held;
	q->first = q->held = NULL;
	pthread_cond_broadcast(&q->work);
	pthread_mutex_unlock(&q->lock);
	for (i = 0; i < q->started; i++)
		pthread_join(q->threads[i], NULL);
	q->started = 0;
	fail_all(ready);
	fail_all(held);
}

void inquiry_release(struct inquiry *q)
{
	free(q->near);
	credentials_release(&q->own);
	pthread_cond_destroy(&q->work);
	pthread_mutex_destroy(&q->lock);
}

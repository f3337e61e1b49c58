/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/queue.h"

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/queue/crew.h"
#include "core/queue/queue_impl.h"

/* The choice of the next job, and when a running job has to be handed over. */

/* A background worker feeds the queue when fewer jobs of the scan are left. */
enum { FEED_BELOW = 1024 };

/* How many jobs of a list are searched for one of another user. */
enum { SPARE_LOOK = 64 };

static bool is_hurried(const struct queue *q)
{
	return q->hurry_ms > clock_now_ms();
}

/* ---- how many workers a user occupies ---- */

static size_t count_large(const struct job_list *running, bool large)
{
	const struct job *job;
	size_t count = 0;

	for (job = running->first; job; job = job->next)
		count += job->large == large;
	return count;
}

/* Whether a worker is at a small or large file of the user. */
static bool is_served(const struct queue *q, bool large, uid_t uid)
{
	const struct job *job = q->running[0].first;

	while (job && (job->large != large || job->uid != uid))
		job = job->next;
	return job != NULL;
}

/* The first job of the list that a worker may take.  When serve_most workers
 * are busy, that is one of a user that no worker serves.  Turns put the first
 * jobs of all users in front, so a short search is enough. */
static struct job *first_of(const struct queue *q, const struct job_list *list,
			    bool large)
{
	struct job *job = list->first;
	int i;

	if (count_large(&q->running[0], large) < q->serve_most)
		return job;
	for (i = 0; job && i < SPARE_LOOK && is_served(q, large, job->uid); i++)
		job = job->next;
	return i < SPARE_LOOK ? job : NULL;
}

static bool has_room_for_large(const struct queue *q, bool background)
{
	size_t most = q->serve_most + (background ? 0 : QUEUE_SPARE - 1);

	return count_large(&q->running[background], true) < most;
}

static struct job *first_waited(const struct queue *q)
{
	struct job *small = first_of(q, &q->levels[JOB_WAITED], false);
	struct job *large = NULL;

	if (has_room_for_large(q, false))
		large = first_of(q, &q->large[0], true);
	if (small && large)
		return large->turn < small->turn ? large : small;
	return small ? small : large;
}

/* The spare worker runs only when all others are at large files.  In a hurry
 * background workers end and do not count. */
static bool has_room_in_background(const struct queue *q)
{
	const struct job_list *running = &q->running[1];

	return running->count < q->serve_most || is_hurried(q) ||
	       count_large(running, false) == 0;
}

static struct job *first_of_background(const struct queue *q)
{
	if (q->paused || !has_room_in_background(q))
		return NULL;
	if (q->large[1].first && has_room_for_large(q, true))
		return q->large[1].first;
	if (q->levels[JOB_CLOSED].first)
		return q->levels[JOB_CLOSED].first;
	return q->levels[JOB_SCAN].first;
}

/* ---- taking ---- */

/* Whether the worker may take a job of the background now. */
static bool may_take_background(const struct queue *q, bool background)
{
	if (!is_hurried(q))
		return background;
	return !background && q->hurrying < q->serve_most;
}

static struct job *take_next(struct queue *q, bool background)
{
	struct job *job = background ? NULL : first_waited(q);
	bool served = job;
	struct kept *kept;

	if (!job && may_take_background(q, background))
		job = first_of_background(q);
	if (!job)
		return NULL;
	kept = job_take_kept(q, job);
	job_leave(q, job);
	job->state = JOB_RUNNING;
	job->kept = kept;
	job->since_ms = clock_now_ms();
	job->served = served;
	if (served)
		share_serve(&q->share, job->turn);
	job_list_append(&q->running[!served], job);
	job->identity = (struct file_identity){ 0 };
	job->scanned = job->level == JOB_SCAN;
	q->scanning += job->scanned;
	job->hurried = !served && !background;
	q->hurrying += job->hurried;
	return job;
}

static bool wants_feed(const struct queue *q)
{
	return q->feed && q->levels[JOB_SCAN].count < FEED_BELOW &&
	       q->jobs < QUEUE_MAX / 2;
}

/* Whether jobs are queued that are for workers of the kind, now or later. */
static bool has_queued(const struct queue *q, bool background)
{
	if (!background && (q->levels[JOB_WAITED].first || q->large[0].first))
		return true;
	return (background || is_hurried(q)) &&
	       (q->levels[JOB_CLOSED].first || q->levels[JOB_SCAN].first ||
		q->large[1].first || q->feed);
}

/* Waits for a job; false: the worker is to end. */
static bool wait_for_job(struct queue *q, bool background, int64_t idle_ms)
{
	pthread_cond_t *work = background ? &q->work : &q->served_work;
	int64_t until_ms = is_hurried(q) ? q->hurry_ms : INT64_MAX;

	if (has_queued(q, background))
		idle_ms = clock_now_ms();
	if (q->workers[background])
		return crew_wait(q->workers[background], work, until_ms,
				 idle_ms);
	cond_wait_until(work, &q->lock, until_ms);
	return true;
}

struct job *queue_take(struct queue *q, bool background, bool *feed_out)
{
	struct crew *crew = q->workers[background];
	int64_t idle_ms = clock_now_ms();
	struct job *job = NULL;

	*feed_out = false;
	pthread_mutex_lock(&q->lock);
	while (!job && !*feed_out && !q->stopped) {
		if (may_take_background(q, background) && wants_feed(q)) {
			q->feed = false;
			*feed_out = true;
		} else {
			job = take_next(q, background);
			if (!job && !wait_for_job(q, background, idle_ms))
				break;
		}
	}
	if (crew && job && has_queued(q, background))
		crew_want(crew); /* another one, for these */
	else if (crew && !job && !*feed_out)
		crew_leave(crew);
	pthread_mutex_unlock(&q->lock);
	return job;
}

void queue_feed(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->feed = true;
	job_wake_background(q);
	pthread_mutex_unlock(&q->lock);
}

void queue_hurry(struct queue *q, int64_t until_ms)
{
	pthread_mutex_lock(&q->lock);
	q->hurry_ms = until_ms;
	pthread_cond_broadcast(&q->work);
	pthread_cond_broadcast(&q->served_work);
	if (q->jobs || q->feed)
		job_wake_background(q);
	pthread_cond_broadcast(&q->recalls);
	pthread_mutex_unlock(&q->lock);
}

bool queue_admit(struct queue *q, struct job *job)
{
	struct job_list *running = &q->running[!job->served];
	bool may = true;

	pthread_mutex_lock(&q->lock);
	if (job->large) {
		/* The limits are those for a new large job, so that it is left
		 * out of the count. */
		job_list_remove(running, job);
		may = has_room_for_large(q, !job->served) &&
		      (!job->served ||
		       count_large(running, true) < q->serve_most ||
		       !is_served(q, true, job->uid));
		job_list_append(running, job);
	}
	/* The job counts as large now, so a small one may have room. */
	if (may && job->large && job->served)
		job_wake_served(q);
	else if (may && job->large)
		job_wake_background(q);
	pthread_mutex_unlock(&q->lock);
	return may;
}

/* ---- handing over ---- */

/* Whether the time slice is over and a large file of another user waits for a
 * worker. */
static bool is_turn_over(struct queue *q, const struct job *job)
{
	const struct job *other = q->large[0].first;
	int i;

	if (!job->large || clock_now_ms() - job->since_ms < q->slice_ms)
		return false;
	for (i = 0; other && i < SPARE_LOOK && other->uid == job->uid; i++)
		other = other->next;
	return other && i < SPARE_LOOK && job_may_keep(q);
}

void queue_hand_over(struct queue *q, struct job *job, struct kept *kept)
{
	const struct job *other;

	pthread_mutex_lock(&q->lock);
	other = q->large[0].first;
	/* A job that has had its slice goes behind those of others. */
	if (kept && job->served && job->level == JOB_WAITED && other) {
		job->turn = other->turn > q->share.turn ? other->turn :
							  q->share.turn;
		job->turn++;
	}
	if (job->again) {
		kept_free(kept);
		kept = NULL;
	}
	job->again = false;
	job_leave(q, job);
	job_keep(q, job, kept);
	job_enqueue(q, job);
	pthread_mutex_unlock(&q->lock);
}

static enum queue_recall recall_locked(struct queue *q, const struct job *job)
{
	if (!job)
		return QUEUE_GO_ON;
	if (!job->served && (job->waiters || job->hurried != is_hurried(q)))
		return QUEUE_WAITED;
	if (!job->served)
		return q->paused ? QUEUE_PAUSED : QUEUE_GO_ON;
	if (!job->waiters)
		return QUEUE_ABANDONED;
	return is_turn_over(q, job) ? QUEUE_TURN_OVER : QUEUE_GO_ON;
}

enum queue_recall queue_recall(struct queue *q, const struct job *job)
{
	enum queue_recall why;

	pthread_mutex_lock(&q->lock);
	why = recall_locked(q, job);
	pthread_mutex_unlock(&q->lock);
	return why;
}

bool queue_wait_until(struct queue *q, const struct job *job, int64_t until_ms)
{
	bool over = false, recalled = false;

	pthread_mutex_lock(&q->lock);
	while (!over && !recalled) {
		recalled = q->stopped || recall_locked(q, job) != QUEUE_GO_ON;
		over = clock_now_ms() >= until_ms;
		if (!over && !recalled)
			cond_wait_until(&q->recalls, &q->lock, until_ms);
	}
	pthread_mutex_unlock(&q->lock);
	return !recalled;
}

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_QUEUE_H
#define CORE_QUEUE_QUEUE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/queue/share.h"
#include "core/catalog/catalog.h"

/*
 * The queue of files that are to be hashed: one job a file, keyed by inode.
 *
 *            queue_push()           queue_take()          queue_done()
 *   (none) ------------> QUEUED ------------> RUNNING ------------> DONE
 *              |           ^  ^                  |                   |
 *              |    timer  |  | timer            | queue_delay()     | commit
 *              +-> COALESCING DELAYED <----------+                (none)
 *
 *   QUEUED      in the list of its level
 *   COALESCING  the file was closed a moment ago, so its timestamps are too
 *               young, and it may change again; all such jobs are queued
 *               together some milliseconds later, or at once when a request
 *               waits for the file
 *   DELAYED     the timestamps are too young, or the file changes all the time
 *   RUNNING     a worker has the job
 *   DONE        the result is to be committed; until then the queue answers
 *               with it
 *
 * Levels.  Files that a request waits for come first, then files that were
 * closed, then files that the scan found.  If the file of a running job
 * changes, the job is queued again at its end.  If the file of a job that is
 * done changes, the job is queued again at once; the result that is still to be
 * committed is one of a past state.
 *
 * Life of a parked request.  queue_park() makes or raises the job of its file,
 * and a worker takes the job.  The worker hashes the file and calls
 * queue_done(); or the catalog has the digests and the worker calls
 * queue_finish_known(); or the file is not to be hashed and the worker calls
 * queue_finish().  That call answers each request of the job, once, with the
 * result.  A commit that fails later does not change the answer.  The timer
 * answers the requests whose deadline has passed.
 *
 * Fairness.  Each user may park a share of WAITERS_MAX requests, and jobs that
 * requests wait for are served in rotation among users.  When serve_most
 * workers are busy with them, the other QUEUE_SPARE take only jobs of users
 * that no worker serves.  Large files are in lists of their own and never
 * occupy all workers of a kind.  A large file that a request waits for gives
 * its worker to a large file of another user after QUEUE_SLICE_MS, or when no
 * request waits for it any more.  The work done so far is kept with the job,
 * for QUEUE_KEPT_MAX files.
 *
 * Hurry.  While a user waits for the background (queue_hurry()), its jobs are
 * not for the background workers, which may get no processor, but for the
 * workers of normal priority.  serve_most of these may be at such jobs; a job
 * that is running at the other kind is recalled.
 *
 * Memory is bounded by QUEUE_MAX jobs and WAITERS_MAX requests; a file that
 * does not fit is put on the catalog's pending list by the caller, and fed back
 * when the lists run low (queue_feed()).
 *
 * Threads and locks: any thread may call anything.  One mutex guards all of it;
 * no callback runs and no other part is called while it is held.  A new job
 * wakes one worker of its kind, or has one started (crew.h).
 *
 * It must never: keep a request without a job, answer one twice or not at all,
 * run two jobs of one file at a time, or wait for the disk.
 */

enum job_level { JOB_WAITED, JOB_CLOSED, JOB_SCAN, JOB_LEVELS };
enum job_state {
	JOB_QUEUED,
	JOB_COALESCING,
	JOB_DELAYED,
	JOB_RUNNING,
	JOB_DONE,
};

enum { QUEUE_MAX = 65536, QUEUE_BUCKETS = 16384, WAITERS_MAX = 16384 };

enum {
	QUEUE_SPARE = 2, /* workers for users that no other worker serves */
	QUEUE_LARGE = 64 << 20,
	QUEUE_SLICE_MS = 1000,
	QUEUE_KEPT_MAX = 8,
};

/*
 * The digests of a file, or why it cannot be read.  The queue and the committer
 * share it by reference counting.  After queue_done() only the counter and
 * committed change.
 */
struct result {
	struct file_key key;
	struct file_identity identity;
	int error; /* positive errno: reading failed */
	struct digests digests;
	atomic_uint shared; /* references beyond the first */
	bool committed;     /* under the lock of the queue */
};

/* Drops a reference.  NULL is allowed. */
void result_free(struct result *r);

/* ---- parked requests ---- */

/*
 * A ticket identifies a request, so that it can be given up.  Initialise it,
 * and keep it until done is called.  A thread that gives the request up sets
 * given_up and then calls queue_give_up_waiting(); it may do so before the
 * request is parked and after it was answered.
 */
struct queue_ticket {
	uint64_t number;
	atomic_bool given_up;
};

void queue_ticket_init(struct queue_ticket *ticket);

/*
 * Answers a parked request.  Called exactly once, by any thread, with no lock
 * held.  err: 0 when a worker has ended the job, -ETIMEDOUT, -EINTR (given up)
 * or -ECANCELED (the queue is released).  found (borrowed) is the worker's
 * result; NULL when there is none, because the file is excluded, gone or open
 * for writing.  The file may have changed since, so the callee compares
 * found->identity with the present identity.
 */
typedef void parked_fn(void *arg, int err, const struct result *found);

/* A request that waits for a file to be hashed. */
struct parked_request {
	/* The identity for which the caller found no digests; borrowed during
	 * the call.  NULL: the caller did not look. */
	const struct file_identity *identity;
	uid_t uid;
	int64_t deadline_ms;               /* CLOCK_MONOTONIC */
	const struct queue_ticket *ticket; /* borrowed until done; or NULL */
	parked_fn *done;
	void *arg;
};

struct waiter;
struct crew;
struct fingerprint;

/* The unfinished digest of a large file. */
struct kept {
	struct fingerprint *fp; /* owned */
	struct file_identity identity;
	uint64_t done; /* bytes that fp has digested */
	bool is_document;
};

void kept_free(struct kept *k);

struct job {
	struct file_key key;
	enum job_state state;
	enum job_level level;
	enum job_level background; /* its level without requests */
	bool again;                /* running only: run again at the end */
	bool changed;   /* hash the file even if its identity is known */
	bool large;     /* false until queue_identify() */
	bool joined;    /* running only: a request was parked meanwhile */
	unsigned tries; /* how often the file changed while it was hashed */
	uint64_t turn;  /* JOB_WAITED only: the order of its list */
	uid_t uid;      /* JOB_WAITED only: the user whose turn it is */
	bool served;    /* running only: taken at JOB_WAITED */
	bool scanned;   /* running only: taken at JOB_SCAN */
	bool hurried;   /* running only: of the background, taken in a hurry */
	int64_t since_ms; /* running only: when it was taken */
	int64_t ready_ms; /* coalescing and delayed only */
	/* Owned.  While the job runs, its worker takes it and sets NULL. */
	struct kept *kept;
	struct file_identity identity; /* running only: of the file hashed */
	struct file_identity seen;     /* at the last queue_identify() */
	int64_t seen_ms;               /* when it was first seen */
	struct result *result;         /* done only; a reference */
	struct waiter *waiters;
	struct job *chain;       /* in the hash bucket */
	struct job *prev, *next; /* in the job_list of its state */
};

struct job_list {
	struct job *first, *last;
	size_t count;
};

struct queue {
	pthread_mutex_t lock;       /* everything below */
	pthread_cond_t served_work; /* a JOB_WAITED was queued, or stopped */
	pthread_cond_t work;    /* another job was queued, feed, or stopped */
	pthread_cond_t recalls; /* a running job may have been recalled */
	struct job *buckets[QUEUE_BUCKETS];
	struct job_list levels[JOB_LEVELS];
	struct job_list large[2];   /* [0] JOB_WAITED, [1] other levels */
	struct job_list running[2]; /* [0] served, [1] in the background */
	struct job_list coalescing; /* by ready_ms */
	struct job_list delayed;    /* by ready_ms */
	size_t serve_most;          /* see queue_init(); constant */
	int64_t slice_ms;           /* QUEUE_SLICE_MS; constant */
	struct job *keepers[QUEUE_KEPT_MAX]; /* jobs whose kept is counted */
	struct waiter *waiting_first, *waiting_last; /* by deadline */
	size_t waiting;
	struct share share; /* of the waiters */
	size_t jobs;        /* in all states */
	size_t scanning;    /* running jobs with scanned set */
	size_t hurrying;    /* running jobs with hurried set */
	int64_t hurry_ms;   /* see queue_hurry() */
	size_t unsteady;    /* delayed jobs with several tries */
	size_t done;
	bool stopped;
	bool feed; /* queue_feed() was called */
	bool paused;
	/* The workers, [1] of the background; set before queue_start().  NULL:
	 * none is started. */
	struct crew *workers[2];
	struct crew *crews; /* whose threads the timer starts; constant */
	sem_t wake;         /* of the timer */
	pthread_t timer_thread;
	bool timer_started;
};

/* serve_most: how many workers one user may occupy, and how many the background
 * has.  QUEUE_SPARE more workers serve requests.  One more is for the
 * background and idle unless all others of it are at large files. */
int queue_init(struct queue *q, size_t serve_most);
int queue_start(struct queue *q);
/* Wakes the timer: a deadline is earlier than before, or a crew wants a
 * thread. */
void queue_wake_timer(struct queue *q);
/* Wakes every worker; queue_take() returns NULL from now on. */
void queue_stop(struct queue *q);
/* Every parked request gets -ECANCELED; frees all. */
void queue_release(struct queue *q);

/* Adds the job of the file or raises its level.  A new JOB_CLOSED coalesces
 * first.  identity is the present one; NULL: the caller did not look.
 * -ENOBUFS: the queue is full. */
int queue_push(struct queue *q, const struct file_key *key,
	       enum job_level level, const struct file_identity *identity);
/* Adds the job of a file whose content may have changed even if its identity
 * has not. */
int queue_push_changed(struct queue *q, const struct file_key *key,
		       const struct file_identity *identity);

/* Waits for the next job and sets its state to running; background: of a level
 * below JOB_WAITED, otherwise a JOB_WAITED, or in a hurry any.  NULL with
 * feed_out: the worker has to feed the queue (queue_feed() was called and few
 * jobs of the scan are left).  NULL without: it ends, and does not count any
 * more; the queue was stopped, or there was nothing to do for a while.  The
 * worker ends the job with queue_finish() or one of the functions after it. */
struct job *queue_take(struct queue *q, bool background, bool *feed_out);

/* Until until_ms (clock_now_ms()) jobs of the background are hurried; a time in
 * the past ends that. */
void queue_hurry(struct queue *q, int64_t until_ms);

/* The catalog's pending list has files that are not in the queue. */
void queue_feed(struct queue *q);

/* The worker is about to hash the file in that state.  Returns the present
 * level of the job. */
enum job_level queue_identify(struct queue *q, struct job *job,
			      const struct file_identity *identity);
/* Whether the file of the running job may be read now.  False: it is large and
 * too many workers are at large files, so the worker hands it over. */
bool queue_admit(struct queue *q, struct job *job);

/* The file is not to be hashed: answers the waiters and drops the job. */
void queue_finish(struct queue *q, struct job *job);
/* The digests are known (borrowed): answers the waiters with them and drops the
 * job. */
void queue_finish_known(struct queue *q, struct job *job,
			const struct result *known);
/* As queue_finish().  But if a request was parked after queue_identify(), the
 * file may have changed since the worker looked: the job runs again. */
void queue_give_up(struct queue *q, struct job *job);
/* Queues the job again at its present level, for another worker.  Takes kept
 * (NULL: none), the work done so far; it is freed when there is no room. */
void queue_hand_over(struct queue *q, struct job *job, struct kept *kept);
/* Queues the job again in delay_ms.  unsteady: because the file changed. */
void queue_delay(struct queue *q, struct job *job, int64_t delay_ms,
		 bool unsteady);
/*
 * Ends the job with a result (taken).  post() gets a reference to it; it is
 * called without a lock and while the job is still running, so the results of
 * one file are posted in order.  Then the waiters are answered, also when
 * post() fails, and queue_look() finds the result until queue_committed().  If
 * the file changed while it was hashed, the job runs again instead.
 */
void queue_done(struct queue *q, struct job *job, struct result *r,
		int (*post)(void *arg, struct result *r), void *arg);
/* The catalog has r: the queue drops it. */
void queue_committed(struct queue *q, struct result *r);

/* While paused, workers get only jobs that requests wait for.  Other jobs are
 * queued as before. */
void queue_pause(struct queue *q, bool on);

/* Why the worker of a running job should hand it over. */
enum queue_recall {
	QUEUE_GO_ON,     /* it should not */
	QUEUE_WAITED,    /* a background job that the other workers are to do */
	QUEUE_PAUSED,    /* a background job, and the queue is paused */
	QUEUE_ABANDONED, /* a served job that no request waits for any more */
	QUEUE_TURN_OVER, /* a served job whose time slice is over */
};
enum queue_recall queue_recall(struct queue *q, const struct job *job);

/* Waits until until_ms.  Returns false, at once, when the running job (NULL:
 * none) is recalled or the queue is stopped. */
bool queue_wait_until(struct queue *q, const struct job *job, int64_t until_ms);

enum queue_view {
	QUEUE_UNKNOWN,   /* there is no job */
	QUEUE_UNDER_WAY, /* the file is to be hashed */
	QUEUE_CHANGED, /* ... and older digests of that identity are invalid */
	QUEUE_RESULT,  /* the queue has the result for that identity */
};
/* Looks the file up.  QUEUE_RESULT: error_out is set, or if that is 0,
 * digests_out (a copy).  -ENOMEM. */
int queue_look(struct queue *q, const struct file_key *key,
	       const struct file_identity *identity, enum queue_view *view_out,
	       int *error_out, struct digests *digests_out);

/* Whether queue_push_changed() was called for the file and it has not been
 * hashed since. */
bool queue_doubts_file(struct queue *q, const struct file_key *key);

/* Whether the file was closed, or hashed, a moment ago: its job is not of the
 * scan. */
bool queue_is_recent(struct queue *q, const struct file_key *key);

/* Parks a request for a file, whose job moves to the head of the queue.  If the
 * queue has a result for parked->identity, the request is answered at once.
 * When this function fails, parked->done is not called: -EAGAIN, the user has
 * too many requests parked; -EINTR, the ticket was given up; -ECANCELED;
 * -ENOMEM. */
int queue_park(struct queue *q, const struct file_key *key,
	       const struct parked_request *parked);
/* Answers the request of that ticket number with -EINTR, if it is parked. */
void queue_give_up_waiting(struct queue *q, uint64_t ticket);

struct queue_counts {
	size_t queued, delayed, unsteady, running, done, waiting;
	size_t scanned; /* of queued and running: found by the scan */
	bool paused;
};
void queue_counts(struct queue *q, struct queue_counts *out);

#endif

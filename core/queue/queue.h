/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_QUEUE_H
#define CORE_QUEUE_QUEUE_H

#include <pthread.h>
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
 *            queue_push()            queue_take()          queue_done()
 *   (none) ------------> QUEUED ------------> RUNNING ------------> DONE
 *              |           ^  ^                  |                    |
 *              |    timer  |  | timer            | queue_delay()      | committed
 *              +-> COALESCING DELAYED <----------+                 (none)
 *
 *   QUEUED      in the list of its level
 *   COALESCING  closed just now: too young to be read, perhaps changed again
 *               soon, and one of many; queued after some milliseconds together
 *               with the others, or at once when a request waits for it
 *   DELAYED     too young, or it changes all the time
 *   RUNNING     a worker has it
 *   DONE        its result is on the way to the catalog, and can be asked for
 *               here meanwhile
 *
 * Levels: a file that a request waits for comes before one that was closed, and
 * that before one that the scan found.  A running job whose file got another
 * identity is queued again at its end; a job that is done and whose file got
 * another identity is queued again at once, and the result that is under way is
 * of a past state.
 *
 * Life of a parked request: queue_park() makes or raises the job of its file; a
 * worker takes it, hashes the file and calls queue_done(), or finds that the
 * digests are known and calls queue_finish_known(), or finds nothing to do and
 * calls queue_finish(); then that thread answers each request of the job, once,
 * with the result.  A commit that fails later changes nothing about the answer.
 * The timer answers the requests whose time is over.
 *
 * Fairness: each user may park a share of WAITERS_MAX requests, and jobs that
 * are waited for are served in rotation among users.  There are more workers
 * for them than one user may occupy: the spare ones take a job of a user for
 * whom no worker runs.  Large files are in lists of their own and never occupy
 * all workers of a kind.  A large file that is waited for hands its worker over
 * to another user's after QUEUE_SLICE_MS, or when no request waits for it any
 * more; what was done of it is kept with the job, for QUEUE_KEPT_MAX files.
 *
 * Memory is bounded by QUEUE_MAX jobs and WAITERS_MAX requests; a file that
 * does not fit is put on the catalog's pending list by the caller, and fed back
 * when the lists run low (queue_feed()).
 *
 * Threads and locks: any thread may call anything.  One mutex guards all of it;
 * no callback runs and no other part is called while it is held.  A new job
 * wakes one worker of its kind at most.
 *
 * It must never: keep a request without a job, answer one twice or not at all,
 * run two jobs of one file at a time, or wait for the disk.
 */

/* Reasons to give out nothing but jobs that are waited for.  Everything else is
 * queued as before. */
enum queue_pause {
	QUEUE_PAUSE_ASKED = 1,
	QUEUE_PAUSE_BATTERY = 2,
};

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
	QUEUE_SPARE = 2, /* workers for users for whom none works */
	QUEUE_LARGE = 64 << 20,
	QUEUE_SLICE_MS = 1000,
	QUEUE_KEPT_MAX = 8,
};

/*
 * What a worker found out about a file.  The queue and the committer have it at
 * one time, for as long as each needs it; the last of them frees it.  Nothing
 * but the references changes once it was handed to queue_done().
 */
struct result {
	struct file_key key;
	struct file_identity identity;
	int error; /* positive errno: reading failed */
	struct digests digests;
	atomic_uint shared; /* references beyond the first; the queue's own */
	bool committed;     /* under the lock of the queue */
};

/* Gives one reference up.  NULL is allowed. */
void result_free(struct result *r);

/* ---- parked requests ---- */

/*
 * A ticket finds a parked request again, so that it need not be waited for any
 * longer.  Initialise it, and keep it until done is called.  A thread that
 * gives the request up sets given_up and then calls queue_give_up_waiting(),
 * which it may do when the request has been answered or is not parked yet.
 */
struct queue_ticket {
	uint64_t number;
	atomic_bool given_up;
};

void queue_ticket_init(struct queue_ticket *ticket);

/*
 * Answers a parked request.  Called exactly once, by any thread, with no lock
 * held: with 0 when a worker has dealt with the file, -ETIMEDOUT, -EINTR (given
 * up) or -ECANCELED at the end.  found (borrowed) is what the worker found out;
 * NULL when there are no digests to give out, as the file is excluded, gone or
 * being written.  The file may have changed since: the caller compares
 * found->identity with the identity that the file has now.
 */
typedef void parked_fn(void *arg, int err, const struct result *found);

/* A request that waits for a file to be hashed. */
struct parked_request {
	/* The file's as the caller saw it, for whose digests it asked in vain;
	 * borrowed during the call.  NULL: the caller did not look. */
	const struct file_identity *identity;
	uid_t uid;
	int64_t deadline_ms;               /* CLOCK_MONOTONIC */
	const struct queue_ticket *ticket; /* borrowed until done; or NULL */
	parked_fn *done;
	void *arg;
};

struct waiter;
struct fingerprint;

/* What is done of a large file. */
struct kept {
	struct fingerprint *fp; /* owned */
	struct file_identity identity;
	uint64_t done; /* bytes */
};

void kept_free(struct kept *k);

struct job {
	struct file_key key;
	enum job_state state;
	enum job_level level;
	enum job_level background; /* its level without requests */
	bool again;
	bool changed;     /* whatever the times say: it is hashed in any case */
	bool large;       /* as far as is known */
	bool joined;      /* running only: a request was parked meanwhile */
	unsigned tries;   /* how often it changed while it was hashed */
	uint64_t turn;    /* JOB_WAITED only: the list is in this order */
	uid_t uid;        /* JOB_WAITED only: whose turn it is */
	bool served;      /* running only: taken at JOB_WAITED */
	bool scanned;     /* running only: taken at JOB_SCAN */
	int64_t since_ms; /* running only: when it was taken */
	int64_t ready_ms; /* coalescing and delayed only */
	struct kept *kept; /* owned; running: by the worker, which clears it */
	struct file_identity identity; /* running only: what is hashed */
	struct file_identity seen;     /* what it was when it was looked at */
	int64_t seen_ms;               /* ... and since when */
	struct result *result;         /* done only; a reference */
	struct waiter *waiters;
	struct job *chain;
	/* In the list of its level, of the large, the coalescing, the delayed
	 * or the running ones. */
	struct job *prev, *next;
};

struct job_list {
	struct job *first, *last;
	size_t count;
};

struct queue {
	pthread_mutex_t lock;       /* everything below */
	pthread_cond_t served_work; /* a waited job was queued, or the end */
	pthread_cond_t work;        /* another one, or the catalog's */
	pthread_cond_t timer;       /* an earlier time to wake up at */
	pthread_cond_t recalls;     /* reasons to end queue_wait_until() */
	struct job *buckets[QUEUE_BUCKETS];
	struct job_list levels[JOB_LEVELS];
	struct job_list large[2];   /* waited for, in the background */
	struct job_list running[2]; /* taken as waited for, as background */
	struct job_list coalescing; /* by ready_ms */
	struct job_list delayed;    /* by ready_ms */
	size_t serve_most; /* from here on spare workers take jobs; constant */
	int64_t slice_ms;  /* QUEUE_SLICE_MS; constant */
	struct job
		*keepers[QUEUE_KEPT_MAX]; /* jobs not running with work kept */
	struct waiter *waiting_first, *waiting_last; /* by deadline */
	size_t waiting;
	struct share share; /* of the waiters */
	size_t jobs;        /* in all states */
	size_t scanning;    /* jobs that run: struct job's scanned */
	size_t unsteady;    /* delayed after several tries: not waited for */
	size_t done;
	bool stopped;
	bool feed;       /* the catalog has pending files for us */
	unsigned paused; /* the reasons */
	pthread_t timer_thread;
	bool timer_started;
};

/* serve_most: how many workers a single user may occupy, and the background.
 * There are QUEUE_SPARE more for what is waited for, and one for the
 * background, which is idle unless all others are at large files. */
int queue_init(struct queue *q, size_t serve_most);
int queue_start(struct queue *q);
/* Wakes every worker: no job is taken any more. */
void queue_stop(struct queue *q);
/* Every parked request gets -ECANCELED; frees all. */
void queue_release(struct queue *q);

/* Adds the job or raises its level; at JOB_CLOSED it waits for others first.
 * identity is the file's as the caller saw it, NULL when it did not look.
 * -ENOBUFS when the queue is full. */
int queue_push(struct queue *q, const struct file_key *key,
	       enum job_level level, const struct file_identity *identity);
/* Adds the job of a file whose content may have changed although its identity
 * is what it was. */
int queue_push_changed(struct queue *q, const struct file_key *key,
		       const struct file_identity *identity);

/* The next job in state running: one that is waited for, or one of the
 * background.  Waits for it.  NULL when the queue was stopped, or in the
 * background when the scan's level runs low and queue_feed() was called: time
 * to feed, once.  The worker ends the job with queue_finish() or one of the
 * functions behind it. */
struct job *queue_take(struct queue *q, bool background);

/* The catalog has pending files that the queue does not know. */
void queue_feed(struct queue *q);

/* The worker has seen that identity of the file and is about to hash it.
 * Returns the level that the job has by now. */
enum job_level queue_identify(struct queue *q, struct job *job,
			      const struct file_identity *identity);
/* Whether the job came of queue_push_changed(). */
bool queue_is_changed(struct queue *q, const struct job *job);

/* Whether the file of the running job may be read now.  False when others that
 * are large leave no room for it: the worker hands it over. */
bool queue_admit(struct queue *q, struct job *job);

/* Nothing (more) to do: answers the waiters and drops the job. */
void queue_finish(struct queue *q, struct job *job);
/* The digests are known (borrowed): answers the waiters with them and drops the
 * job. */
void queue_finish_known(struct queue *q, struct job *job,
			const struct result *known);
/* As queue_finish(); but if requests were parked after queue_identify(), so
 * later than the worker looked at the file, the job runs again from the
 * start. */
void queue_give_up(struct queue *q, struct job *job);
/* Another worker shall do the job, at its present level.  kept (taken, NULL:
 * none) is what is done of the file; it stays if there is room for it. */
void queue_hand_over(struct queue *q, struct job *job, struct kept *kept);
/* The job is queued again in delay_ms. */
void queue_delay(struct queue *q, struct job *job, int64_t delay_ms,
		 bool unsteady);
/*
 * Ends the job with a result (taken): hands a reference to post, which runs
 * without any lock while the job still counts as running, so the results of one
 * file are posted in order.  Then the waiters are answered, and the result can
 * be asked for until the committer says queue_committed().  When the file
 * changed meanwhile the result is dropped, or superseded, and the job runs
 * again; when post fails the waiters are answered all the same.
 */
void queue_done(struct queue *q, struct job *job, struct result *r,
		int (*post)(void *arg, struct result *r), void *arg);
/* The catalog has r; the queue need not keep it. */
void queue_committed(struct queue *q, struct result *r);

/* Sets or clears a reason to give out nothing but what is waited for. */
void queue_pause(struct queue *q, enum queue_pause reason, bool on);

/* Why a running job should be handed over: one of the background, because a
 * request waits for it now, or because the queue is paused; one that was waited
 * for, because no request waits any more, or because its time slice is over. */
enum queue_recall {
	QUEUE_GO_ON,
	QUEUE_WAITED,
	QUEUE_PAUSED,
	QUEUE_ABANDONED,
	QUEUE_TURN_OVER,
};
enum queue_recall queue_recall(struct queue *q, const struct job *job);

/* Waits until the time while nothing recalls the running job, if there is one;
 * false when it is, or when the queue was stopped. */
bool queue_wait_until(struct queue *q, const struct job *job, int64_t until_ms);

enum queue_view {
	QUEUE_UNKNOWN,
	QUEUE_UNDER_WAY,
	QUEUE_CHANGED, /* the same, and what was known of it holds no longer */
	QUEUE_RESULT,
};
/* What the queue knows of the file at that identity; QUEUE_RESULT fills
 * error_out and digests_out (a copy), -ENOMEM is possible. */
int queue_look(struct queue *q, const struct file_key *key,
	       const struct file_identity *identity, enum queue_view *view_out,
	       int *error_out, struct digests *digests_out);

/* Whether the file's content may have changed although its identity is what it
 * was, and no worker has hashed it since. */
bool queue_doubts_file(struct queue *q, const struct file_key *key);

/* Parks a request for a file, which moves to the head of the queue.  If a
 * result for the identity that the caller saw has come meanwhile, it is the
 * answer at once, and the file is not hashed again.  Nothing is called when it
 * fails: -EAGAIN, the user has too many requests parked; -EINTR, the ticket was
 * given up; -ECANCELED, -ENOMEM. */
int queue_park(struct queue *q, const struct file_key *key,
	       const struct parked_request *parked);
/* Answers the request with that ticket with -EINTR, if it is parked. */
void queue_give_up_waiting(struct queue *q, uint64_t ticket);

struct queue_counts {
	size_t queued, delayed, unsteady, running, done, waiting;
	size_t scanned;  /* queued and running: found by the scan */
	unsigned paused; /* the reasons: enum queue_pause */
};
void queue_counts(struct queue *q, struct queue_counts *out);

#endif

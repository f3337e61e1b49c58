/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_QUEUE_H
#define CORE_QUEUE_QUEUE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "core/catalog/catalog.h"
#include "core/queue/crew.h"
#include "core/queue/throttle.h"
#include "core/queue/quota.h"

/*
 * The queue of files that are to be hashed: one job a file, keyed by inode, and
 * one more for each digest of it that is not stored and was demanded.
 *
 *            queue_push()           queue_take()          queue_done()
 *   (none) ------------> QUEUED ------------> RUNNING ------------> DONE
 *              |            ^                    |                   |
 *              |      timer |                    | queue_delay()     | commit
 *              +--------> DELAYED <--------------+                (none)
 *
 *   QUEUED   waits for a worker
 *   DELAYED  the timestamps are too young, or the file changes all the time.
 *            A file that was closed a moment ago COALESCES: it is queued some
 *            milliseconds later, or at once when a request waits for it
 *   RUNNING  a worker has the job
 *   DONE     the result is to be committed; until then the queue answers with it
 *
 * If the file of a running job changes, the job is queued again at its end.  So is
 * the job of a file that the pending list gave meanwhile, if it ends without a
 * result: the worker may have read an older record.
 *
 * Order.  Files that a request waits for come first, then files that were closed,
 * then files that the scan found.  Jobs that requests wait for are served in
 * rotation among users (quota.h).
 *
 * Workers.  Each kind of them has the queued jobs that it takes:
 *
 *   WORKER_SERVING     files that a request waits for; normal priority
 *   WORKER_BACKGROUND  the others; SCHED_IDLE
 *   WORKER_LARGE       files from QUEUE_LARGE on.  A worker that finds a file to be
 *                      large hands its job over.  So one worker hashes it from
 *                      its beginning to its end, and large files keep no worker
 *                      from small ones
 *   WORKER_TEXT        texts of documents (texts.c)
 *
 * The last two are of normal priority, and wait at a gate (throttle.h) while no
 * request waits for their job.  Of each kind, serve_most workers are at jobs of the
 * background at most, and when as many are at jobs that requests wait for, the
 * others take only jobs of users that none of them serves.
 *
 * Hurry.  While a user waits for the background (queue_hurry()), its jobs are
 * not for the background workers, which may get no processor, but for the
 * workers of normal priority; a job that a background worker has is recalled.
 *
 * Life of a parked request.  queue_park() makes or raises the job of its file.
 * The call that ends the job answers each of its requests, once, with the result;
 * or with none if the file is not to be hashed, or the catalog has the digests.  A
 * commit that fails later does not change the answer.  The timer answers the
 * requests whose deadline has passed.
 *
 * Read your writes.  A query is to include every file that was closed before it
 * began.  So each report that a file was closed has a number, and the files whose
 * last report has not led to a result yet are in a list, in the order of these
 * numbers.  A query takes the latest number when it begins, and parks a request
 * for each file in the list up to that number (queue_list_closed(), parked_request
 * .closed_until), which ends the coalescing.  The request is answered when the
 * file has been hashed, and as soon as the file is closed once more, so a file
 * that is written all the time holds no query up.  A file for which one query
 * has waited in vain is overdue, and no further query waits for it.
 *
 * Digests on demand.  The catalog does not store all digests: sdhash is large,
 * and those for exchange with other programs are seldom read.  A request that
 * demands one has a job of its own, which ends when the request is given up; so has
 * one for the text of a document.  The last QUEUE_DEMANDED_KEPT results are kept,
 * because a reader of an attribute first asks for the length.
 *
 * Two more jobs are of no file.  QUEUE_TEXT makes all texts that no request waits
 * for, one after the other, when no file is left to be hashed.  QUEUE_FEED goes
 * over the catalog's pending list, a part of it at a time, when few jobs of the scan
 * are queued.  So memory is bounded by QUEUE_MAX jobs and WAITERS_MAX requests: a
 * file that does not fit is put on that list by the caller.
 *
 * Threads and locks: any thread may call anything.  One mutex guards all of it;
 * no callback runs and no other part is called while it is held.  A job that is
 * queued wakes one worker of its kind, or has one started (crew.h), and that one
 * wakes the next.
 *
 * It must never: keep a request without a job, answer one twice or not at all,
 * run two jobs of one file at a time, or wait for the disk.
 */

enum job_level { JOB_WAITED, JOB_CLOSED, JOB_SCAN, JOB_LEVELS };

enum worker_kind {
	WORKER_SERVING,
	WORKER_BACKGROUND,
	WORKER_LARGE,
	WORKER_TEXT,
	WORKER_KINDS,
};

enum job_state {
	JOB_NEW,
	JOB_QUEUED,
	JOB_COALESCES,
	JOB_DELAYED,
	JOB_RUNNING,
	JOB_DONE,
};

enum { QUEUE_MAX = 65536, QUEUE_BUCKETS = 16384, WAITERS_MAX = 16384 };

enum {
	/* Demanded in place of a digest: the text of a document, or of no file. */
	QUEUE_TEXT = 1 << 30,
	QUEUE_FEED = 1 << 29,
	/* Workers for users that no other worker serves. */
	QUEUE_SPARE = 2,
	QUEUE_LARGE_USERS = 8,
	QUEUE_LARGE = 64 << 20,
	QUEUE_DEMANDED_KEPT = 4,
	/* A worker that has less left of a small file finishes it. */
	HAND_OVER_BYTES = 8 << 20,
	SPEED_MS = 5000,
	/* The queue is fed when fewer jobs of the scan are queued. */
	FEED_BELOW = 1024,
};

/*
 * The digests of a file, or why it cannot be read.  The queue and the committer
 * share it by reference counting.  After queue_done() only the counter and
 * committed change.
 */
struct result {
	struct file_key key;
	struct file_identity identity;
	uint32_t demanded; /* of the job */
	int error;         /* positive errno: reading failed */
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
 * or -ECANCELED (the queue has stopped).  found (borrowed) is the worker's
 * result; NULL when there is none, because the file is excluded, gone or open
 * for writing.  The file may have changed since, so the callee compares
 * found->identity with the present identity.
 */
typedef void parked_fn(void *arg, int err, const struct result *found);

/* A request that waits for a file to be hashed; kept by the caller until done is
 * called. */
struct parked_request {
	/* The identity for which the caller found no digests; borrowed during
	 * the call.  NULL: the caller did not look. */
	const struct file_identity *identity;
	uint32_t demanded; /* see struct job */
	/* Not 0: only for a file whose last closing has at most this number, and
	 * is still to be hashed. */
	uint64_t closed_until;
	uid_t uid;
	int64_t deadline_ms;               /* CLOCK_MONOTONIC */
	const struct queue_ticket *ticket; /* or NULL */
	parked_fn *done;
	void *arg;

	/* The queue's.  The thread that removes the request from both lists
	 * calls done(), which is so called exactly once. */
	struct job *job;
	LIST_ENTRY(parked_request) job_link;
	TAILQ_ENTRY(parked_request) link; /* of all, by deadline */
};

LIST_HEAD(request_list, parked_request);

struct job_list {
	TAILQ_HEAD(job_links, job) jobs;
	size_t count;
};

struct job {
	struct file_key key; /* all zeros: of no file */
	/* DIGEST_BIT() of a digest that is not stored, QUEUE_TEXT or QUEUE_FEED;
	 * 0: all digests that are stored. */
	uint32_t demanded;
	enum job_state state;
	struct job_list *list; /* the one that it is in; or NULL */
	uint64_t order;        /* the key that its list is sorted by */
	enum job_level level;  /* without requests */
	bool again;            /* at the end it is queued again, ... */
	bool fed;              /* ... if it has no result */
	bool changed;          /* hash the file even if its identity is known */
	/* Running only. */
	enum worker_kind worker;
	bool for_request;  /* it was taken for one */
	bool scanned;      /* found by the scan */
	bool reported;     /* its file was closed */
	bool suspended;    /* in queue_sit_out_pause() */
	uint64_t left;     /* bytes still to be read */
	struct gate *gate; /* its worker's; or NULL */

	unsigned tries; /* how often the file changed while it was hashed */
	uint64_t turn;  /* with requests only: the first one's */
	uid_t uid;      /* ... and its user */
	struct file_identity seen; /* at the last queue_identify() */
	int64_t seen_ms;           /* when it was first seen */
	struct result *result;     /* done only; a reference */
	struct request_list waiters;
	/* The number of the last closing of the file, if that is still to be
	 * hashed; else 0.  overdue: a query has waited for it in vain. */
	uint64_t closed;
	struct file_identity closed_as; /* its identity then */
	bool overdue;
	TAILQ_ENTRY(job) closed_link;
	struct job *chain; /* in the hash bucket */
	TAILQ_ENTRY(job) link;
};

/* Bytes read since a time. */
struct read_window {
	int64_t since_ms;
	uint64_t bytes;
};

struct queue {
	pthread_mutex_t lock;              /* everything below */
	pthread_cond_t work[WORKER_KINDS]; /* a job for the kind is queued */
	pthread_cond_t resumed; /* a suspended job may have to go on */
	struct job *buckets[QUEUE_BUCKETS];
	size_t jobs; /* in all states */
	struct job_list queued[WORKER_KINDS][JOB_LEVELS];
	struct job_list feed; /* the job that feeds, when queued */
	struct job_list coalescing, delayed; /* by time */
	struct job_list running;
	struct job_list kept; /* done, of digests on demand; the last ones */
	size_t serve_most;    /* see queue_init(); constant */
	TAILQ_HEAD(request_queue, parked_request) waiting; /* by deadline */
	struct quota quota;                                /* of these */
	struct job_links closed; /* those with closed, by that number */
	uint64_t closings;       /* the last number */
	struct read_window read, read_before; /* SPEED_MS long, for the speed */
	int64_t hurry_ms; /* see queue_hurry(); 0: there is none */
	bool waits_end;   /* see queue_end_waits() */
	bool stopped;
	bool paused;
	struct crew workers[WORKER_KINDS]; /* most 0: none is started */
	struct crew *crews; /* whose threads the timer starts; constant */
	sem_t wake;         /* of the timer */
	pthread_t timer_thread;
	bool timer_started;
};

/* serve_most: how many workers of a kind one user may occupy, and how many the
 * background may. */
int queue_init(struct queue *q, size_t serve_most);
int queue_start(struct queue *q);
/* Answers every parked request with -ECANCELED, and parks none any more. */
void queue_end_waits(struct queue *q);
/* As queue_end_waits(); wakes every worker, and queue_take() returns NULL from now
 * on. */
void queue_stop(struct queue *q);
/* Frees all.  The queue was stopped. */
void queue_release(struct queue *q);

/* Adds the job of the file or raises its level, JOB_CLOSED or JOB_SCAN.  A new
 * JOB_CLOSED coalesces first.  identity is the present one; NULL: the caller
 * did not look, the file is in the pending list.  -ENOBUFS: the queue is full, or
 * there is no memory. */
int queue_push(struct queue *q, const struct file_key *key,
	       enum job_level level, const struct file_identity *identity);
/* Adds the job of a file whose content may have changed even if its identity
 * has not. */
int queue_push_changed(struct queue *q, const struct file_key *key,
		       const struct file_identity *identity);
/* The job of no file is needed, in delay_ms at the latest: QUEUE_FEED, the pending
 * list has new files; QUEUE_TEXT, texts may be pending. */
void queue_want(struct queue *q, uint32_t demanded, int64_t delay_ms);

/* Until until_ms (clock_now_ms()) jobs of the background are hurried; a time in
 * the past ends that. */
void queue_hurry(struct queue *q, int64_t until_ms);

/* While paused, workers get only jobs that requests wait for.  Other jobs are
 * queued as before. */
void queue_pause(struct queue *q, bool on);

/* ---- a job runs ---- */

/* Waits for the next job of the kind, which runs from then on.  NULL: the worker
 * ends, and does not count any more; the queue was stopped, or there was nothing
 * to do for a while.  The worker ends the job with queue_done(), queue_delay() or
 * queue_hand_over().  gate (borrowed until then; or NULL) is open while a request
 * waits. */
struct job *queue_take(struct queue *q, enum worker_kind kind,
		       struct gate *gate);

/* The worker is about to hash the file in that state. */
void queue_identify(struct queue *q, struct job *job,
		    const struct file_identity *identity);

/* The worker of a running job, which has so many bytes left, gets one of these. */
enum queue_order {
	QUEUE_GO_ON,
	QUEUE_HAND_OVER, /* queue_hand_over() */
	QUEUE_SUSPEND,   /* queue_sit_out_pause() */
};
enum queue_order queue_order(struct queue *q, struct job *job, uint64_t left);

/* So many bytes are left to be read, for the progress. */
void queue_note_left(struct queue *q, struct job *job, uint64_t left);

/* Waits while the queue is paused, and no request waits for the job. */
void queue_sit_out_pause(struct queue *q, struct job *job);

/* Queues the job again at its present level, for another worker; drops it if a
 * digest was demanded that no request waits for any more. */
void queue_hand_over(struct queue *q, struct job *job);
/* Queues the job again in delay_ms.  unsteady: because the file changed. */
void queue_delay(struct queue *q, struct job *job, int64_t delay_ms,
		 bool unsteady);
/*
 * Ends the job, and answers its requests, with a result (taken); or without one
 * (NULL): the file is not to be hashed, or the catalog has its digests, and the
 * requests look again.
 *
 * posted: the committer has a reference to the result, too; the worker has posted
 * it while the job was running, so the results of one file are posted in order.
 * queue_find_result() finds it until queue_committed().  If the file changed
 * while it was hashed, the job runs again instead.
 */
void queue_done(struct queue *q, struct job *job, struct result *r,
		bool posted);
/* The catalog has r: the queue drops it. */
void queue_committed(struct queue *q, struct result *r);

/* ---- what is known of a file ---- */

/* A reference to the result that the queue has for that state of the file, or
 * NULL. */
struct result *queue_find_result(struct queue *q, const struct file_key *key,
				 const struct file_identity *identity);

/* Whether queue_push_changed() was called for the file and it has not been
 * hashed since. */
bool queue_doubts_file(struct queue *q, const struct file_key *key);

/* Whether the file was closed, or hashed, a moment ago: its job is not of the
 * scan. */
bool queue_is_recent(struct queue *q, const struct file_key *key);

/* Parks a request for a file, whose job moves to the head of the queue.  If the
 * queue has a result for w->identity, the request is answered at once.
 * When this function fails, w->done is not called: -EAGAIN, the user has
 * too many requests parked; -EINTR, the ticket was given up; -ECANCELED;
 * -ENOMEM; with closed_until -ENOENT, there is nothing to wait for, and
 * -ETIMEDOUT, the file is overdue. */
int queue_park(struct queue *q, const struct file_key *key,
	       struct parked_request *w);
/* Answers the parked requests with that ticket number with -EINTR. */
void queue_give_up_waiting(struct queue *q, uint64_t ticket);

/* The number of the last closing. */
uint64_t queue_closings(struct queue *q);
/* The files whose last closing is still to be hashed and has a number above
 * *after and up to until, most at most.  Returns how many; *after becomes the
 * number of the last of them. */
size_t queue_list_closed(struct queue *q, uint64_t *after, uint64_t until,
			 struct file_key *out, size_t most);

struct queue_counts {
	size_t queued; /* and suspended */
	size_t delayed, unsteady, waiting;
	size_t running; /* but for digests on demand */
	size_t scanned; /* of queued and running: found by the scan */
	bool feeding;   /* files of the pending list may not be in the queue */
	/* Bytes of the files that are being read, and of these read. */
	uint64_t size, done;
	uint64_t speed; /* bytes a second; 0: not known, or nothing is read */
	/* Of these files the one of which most is left. */
	struct file_key longest;
	uint64_t longest_size, longest_left; /* 0: none */
	bool paused;
};
void queue_counts(struct queue *q, struct queue_counts *out);

#endif

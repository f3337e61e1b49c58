/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_QUEUE_H
#define CORE_QUEUE_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

#include "core/base/share.h"
#include "core/engine/engine.h"

/*
 * What must be hashed, most urgent first, one job a file.
 *
 *   queued   in the list of its level
 *   resting  closed just now: most likely too young to be read, soon changed
 *            again, and one of many; becomes queued at ready_ms together with
 *            others, or when somebody waits for it
 *   delayed  too young or unsteady; becomes queued at ready_ms
 *   running  a worker has it
 *   done     its result is on the way to the catalog; kept here so that the
 *            digests can be read before they are committed
 *
 * News of an identity that is not the one being hashed sets again, and the job
 * is queued once more at its end.  Such news while it is done simply makes it
 * queued: the result that is under way belongs to the committer and is of a
 * past state.
 *
 * Memory is bounded by QUEUE_MAX jobs; what does not fit is put on the
 * catalog's pending list by the caller and fed back later.  Those who wait are
 * bounded by WAITERS_MAX, of which each user has a share, and what they wait
 * for is served in rotation among users.  There are more workers for that than
 * one user may occupy: the spare ones take a job of a user for whom none is
 * running, so nobody's jobs keep all others waiting.
 *
 * Large files are in lists of their own, once a worker has seen how large they
 * are, and never occupy all workers of a kind: one at least is left for small
 * ones.  A large file that is waited for makes room for that of another user
 * when it had a worker for QUEUE_SLICE_MS, and when nobody waits any more.  What
 * is done of it is kept with its job: of at most KEPT_MAX files, of which those
 * that nobody waits for give way.
 *
 * There are two kinds of takers, for what is waited for and for the background,
 * and a new job wakes one of its kind at most.
 *
 * While it is paused, for one reason or several, only what is waited for is
 * given out.  All else is queued as before.
 */
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
	KEPT_MAX = 8,
};

/* What a worker found out about a file. */
struct result {
	struct file_key key;
	struct file_identity identity;
	int error; /* positive errno: reading failed */
	struct digests digests;
};

void result_free(struct result *r);

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
	enum job_level background; /* its level when nobody waits */
	bool again;
	bool changed;     /* whatever the times say: it is hashed in any case */
	bool large;       /* as far as is known */
	bool joined;      /* running only: somebody began to wait meanwhile */
	unsigned tries;   /* how often it changed while it was hashed */
	uint64_t turn;    /* JOB_WAITED only: the list is in this order */
	uid_t uid;        /* JOB_WAITED only: whose turn it is */
	bool served;      /* running only: taken at JOB_WAITED */
	bool scanned;     /* running only: taken at JOB_SCAN */
	int64_t since_ms; /* running only: when it was taken */
	int64_t ready_ms; /* resting and delayed only */
	struct kept *kept; /* owned; running: by the worker, which clears it */
	struct file_identity identity; /* running only: what is hashed */
	struct file_identity seen;     /* what it was when it was looked at */
	int64_t seen_ms;               /* ... and since when */
	struct result *result;         /* done only; the committer owns it */
	struct waiter *waiters;
	struct job *chain;
	/* In the list of its level, of the large, the resting, the delayed or
	 * the running ones. */
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
	pthread_cond_t rest;        /* reasons to end queue_rest() */
	struct job *buckets[QUEUE_BUCKETS];
	struct job_list levels[JOB_LEVELS];
	struct job_list large[2];   /* waited for, in the background */
	struct job_list running[2]; /* taken as waited for, as background */
	struct job_list resting;    /* by ready_ms */
	struct job_list delayed;    /* by ready_ms */
	size_t serve_most; /* from here on spare workers take jobs; constant */
	int64_t slice_ms;  /* QUEUE_SLICE_MS; constant */
	struct job *keepers[KEPT_MAX]; /* jobs not running with work kept */
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
/* Wakes every worker; jobs are taken no more. */
void queue_stop(struct queue *q);
/* Every parked request gets -ECANCELED; frees all. */
void queue_release(struct queue *q);

/* Adds the job or raises its level; at JOB_CLOSED it rests first.  identity is
 * the file's as the caller saw it, NULL when it did not look.  -ENOBUFS when
 * the queue is full. */
int queue_push(struct queue *q, const struct file_key *key,
	       enum job_level level, const struct file_identity *identity);
/* The same for a file whose content may have changed although its identity is
 * what it was. */
int queue_push_changed(struct queue *q, const struct file_key *key,
		       const struct file_identity *identity);

/* The next job in state running: one that is waited for, or one of the
 * background.  Waits for it.  NULL when the queue was stopped, or in the
 * background when the scan's level runs low and queue_feed() was called: time
 * to feed, once.  The worker ends the job with one of the four below. */
struct job *queue_take(struct queue *q, bool background);

/* The catalog has pending files that the queue does not know. */
void queue_feed(struct queue *q);

/* What the running job has found and is about to hash.  Returns the level the
 * job has by now. */
enum job_level queue_identify(struct queue *q, struct job *job,
			      const struct file_identity *identity);
/* Whether the job came of queue_push_changed(). */
bool queue_is_changed(struct queue *q, const struct job *job);

/* Whether the file of the running job may be read now.  False when others that
 * are large leave no room for it: the worker hands it over. */
bool queue_admit(struct queue *q, struct job *job);

/* Nothing (more) to do: answers the waiters and drops the job. */
void queue_finish(struct queue *q, struct job *job);
/* The same, but whoever began to wait since queue_identify() asked later than
 * the worker looked: for those it is done again, from the start. */
void queue_give_up(struct queue *q, struct job *job);
/* Somebody else shall do it, at its present level.  kept (taken, NULL: none) is
 * what is done of it, if there is room for that. */
void queue_hand_over(struct queue *q, struct job *job, struct kept *kept);
/* Not now: back in delay_ms. */
void queue_delay(struct queue *q, struct job *job, int64_t delay_ms,
		 bool unsteady);
/* Ends the job with a result: hands it to post, with the queue locked, and
 * answers the waiters.  When post fails the waiters are answered all the same
 * and the result is freed after them. */
void queue_done(struct queue *q, struct job *job, struct result *r,
		int (*post)(void *arg, struct result *r), void *arg);
/* The committer is finished with r and is about to free it. */
void queue_committed(struct queue *q, const struct result *r);

/* Sets or clears a reason to give out nothing but what is waited for. */
void queue_pause(struct queue *q, enum queue_pause reason, bool on);

/* Why a running job should be handed over: of the background, because somebody
 * waits for it now, or because all of them pause; of those that are waited for,
 * because nobody does any more, or because it is the turn of another one. */
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
bool queue_rest(struct queue *q, const struct job *job, int64_t until_ms);

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

/* engine_wait(); nothing is called when it fails. */
int queue_wait(struct queue *q, const struct file_key *key, uid_t uid,
	       int64_t deadline_ms, void (*done)(void *arg, int result),
	       void *arg);

/* The same, with a ticket. */
int queue_park(struct queue *q, const struct file_key *key,
	       const struct engine_parked *parked);
/* engine_give_up() */
void queue_give_up_waiting(struct queue *q, uint64_t ticket);

struct queue_counts {
	size_t queued, delayed, unsteady, running, done, waiting;
	size_t scanned;  /* queued and running: found by the scan */
	unsigned paused; /* the reasons: enum queue_pause */
};
void queue_counts(struct queue *q, struct queue_counts *out);

#endif
